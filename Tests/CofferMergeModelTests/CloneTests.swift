import Testing

@testable import CofferMergeModel

/// Random histories in which a byte copy of a store is written under the same replica identity.
@Suite struct CloneTests {
  @Test(arguments: Histories.seeds)
  func writtenClonesAreNoticed(seed: UInt64) throws {
    let world = World(seed: seed)
    let participants = try newParticipants(in: world)
    var original = participants[0]
    var clone = original
    for _ in 0..<world.number(in: 1...6) {
      try original.act()
    }
    for _ in 0..<world.number(in: 1...6) {
      try clone.act()
    }
    let bothWereWritten = original.hasCommitUnknown(to: clone) && clone.hasCommitUnknown(to: original)

    var (one, other) = (original, clone)
    if world.chance(0.5) {
      // Each of the two has met a third store, and only those meet.
      (one, other) = (participants[1], participants[1].fork())
      try one.meet(original)
      try other.meet(clone)
    }
    if world.chance(0.5) {
      swap(&one, &other)
    }
    let before = one
    do {
      try one.store.merge(other.store)
      try check(!bothWereWritten, "A clone was not noticed.")
    } catch ModelError.cloned {
      try check(one.hasSameState(as: before), "A merge that failed changed something.")
      try check(
        bothWereWritten || one.store.replica == other.store.replica, "A store was taken for a clone, but is none.")
    }
  }
}

extension Participant {
  /// Returns whether the latest commit of this store is unknown to another store with the same identity.
  fileprivate func hasCommitUnknown(to other: Participant) -> Bool {
    let theirs = other.store.marks[store.replica]?.commits ?? []
    return (store.marks[store.replica]?.commits.last).map { !theirs.contains($0) } ?? false
  }

  /// Merges another store and goes on writing.
  fileprivate mutating func meet(_ other: Participant) throws {
    try store.merge(other.store)
    for _ in 0..<world.number(in: 0...3) {
      try act()
    }
  }
}
