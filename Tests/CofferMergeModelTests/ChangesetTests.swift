import Testing

@testable import CofferMergeModel

/// Random histories in which stores exchange changesets, from any base that the receiver has.
@Suite struct ChangesetTests {
  @Test(arguments: Histories.seeds)
  func storesAgreeAfterChangesets(seed: UInt64) throws {
    let world = World(seed: seed)
    // A decision for the other side's content keeps that content's dot, and changesets do not always carry it to every
    // store: of 10,000 such histories, about one fails. A store that exchanges changesets therefore makes the decision
    // as an edit. `WholeMergeTests` decides for the other side's content.
    let byHand: [MergePolicy] = [.mine, .both, .both]
    var participants = try exchangedChangesets(in: world, policies: world.chance(0.5) ? byHand : [.both])
    let agree = try participants.exchangeChangesets()
    try check(agree, "The stores do not agree after exchanging changesets.")
    try participants.checkRuns()
  }

  /// Returns participants that edited and exchanged changesets at random.
  private func exchangedChangesets(in world: World, policies: [MergePolicy]) throws -> [Participant] {
    var participants = try newParticipants(in: world)
    for _ in 0..<world.number(in: 15...60) {
      let index = world.number(in: 0...participants.count - 1)
      if world.chance(0.6) {
        try participants[index].act()
        continue
      }
      let other = world.pick(participants)
      if other.store.replica != participants[index].store.replica {
        let base = randomBase(upTo: participants[index].store.vector, in: world)
        try participants[index].take(other.store.changes(since: base), from: other, policy: world.pick(policies))
      }
    }
    return participants
  }

  /// Returns a vector that the given one includes. An older base makes a changeset with more than is needed.
  private func randomBase(upTo vector: VersionVector, in world: World) -> VersionVector {
    switch world.fraction() {
    case ..<0.1:
      return VersionVector()
    case ..<0.45:
      var base = VersionVector()
      for replica in vector.counters.keys.sorted() {
        base[replica] = world.number(in: 0...vector[replica])
      }
      return base
    default:
      return vector
    }
  }
}

extension [Participant] {
  /// Exchanges only what the receiver does not have, until all stores agree. Returns whether they do.
  fileprivate mutating func exchangeChangesets() throws -> Bool {
    try exchange { receiver, sender in
      try receiver.take(sender.store.changes(since: receiver.store.vector), from: sender)
    }
  }
}
