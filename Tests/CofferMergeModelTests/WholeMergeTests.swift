import Testing

@testable import CofferMergeModel

/// Random histories in which stores merge everything that another store has.
@Suite struct WholeMergeTests {
  @Test(arguments: Histories.seeds)
  func mergedStoresAgree(seed: UInt64) throws {
    let world = World(seed: seed)
    var history = WholeMergeHistory(world: world, participants: try newParticipants(in: world))
    for _ in 0..<world.number(in: 15...60) {
      try history.step()
    }
    try history.finish()
  }
}

private struct WholeMergeHistory {
  let world: World
  var participants: [Participant]
  var backups: [Participant] = []
  /// Whether nobody decides a conflict by hand.
  let isAutomatic: Bool

  init(world: World, participants: [Participant]) {
    self.world = world
    self.participants = participants
    isAutomatic = world.chance(0.4)
  }

  mutating func step() throws {
    let index = world.number(in: 0...participants.count - 1)
    switch world.fraction() {
    case ..<0.55:
      try participants[index].act()
    case ..<0.58:
      backups.append(participants[index])
    case ..<0.60 where !backups.isEmpty:
      participants[index] = world.pick(backups).fork()
    case ..<0.61:
      let vectors = (participants + backups).map(\.store.vector)
      participants[index].store.prune(knownBy: vectors)
    default:
      if !backups.isEmpty, world.chance(0.15) {
        try merge(world.pick(backups), into: index)
      } else {
        let other = world.number(in: 0...participants.count - 1)
        if other != index {
          try merge(participants[other], into: index)
        }
      }
    }
  }

  private mutating func merge(_ other: Participant, into index: Int) throws {
    let policy = isAutomatic ? .both : world.pick([MergePolicy.fail, .mine, .theirs, .both, .both])
    let before = participants[index]
    let isDecision = policy == .mine || policy == .theirs
    if isDecision, world.chance(0.5) {
      try checkMirror(before, other)
    }
    let report = try participants[index].merge(other, policy: policy)
    if policy == .fail, !report.conflicts.isEmpty { return }

    let after = participants[index]
    let repeated = try participants[index].store.merge(other.store, policy: policy)
    try check(
      repeated.changes.isEmpty && repeated.conflicts.isEmpty && participants[index].hasSameState(as: after),
      "A repeated merge changed something: \(repeated)")
    if isDecision, !report.conflicts.isEmpty {
      try checkDecision(report, before: before, other: other, after: after)
    }
  }

  /// Checks that one side's decision for its own content is the other side's decision for the other content.
  ///
  /// Who holds a key or a name, and where a cycle of parents is cut, may differ where that part is in conflict. It depends
  /// on dots, and only the decision for one's own content has a new one.
  private func checkMirror(_ one: Participant, _ other: Participant) throws {
    var first = one.store.fork()
    var second = other.store.fork()
    let report = try first.merge(other.store, policy: .mine)
    try second.merge(one.store, policy: .theirs)
    let (reading, mirror) = (Reading(first), Reading(second))
    let mirrors =
      reading.documents == mirror.documents && reading.order == mirror.order
      && (reading.keys == mirror.keys || report.hasConflict(about: .key))
      && (reading.names == mirror.names || report.hasConflict(about: .name))
      && (reading.parents == mirror.parents || report.hasConflict(about: .place))
    try check(mirrors, "Both sides decided the same, and differ.")
  }

  /// Checks that a decision holds for stores that did not make it, and raises no further question.
  private func checkDecision(
    _ report: Report, before: Participant, other: Participant, after: Participant
  ) throws {
    let undecided = before.store.fork()
    var automatic = before.store.fork()
    try automatic.merge(other.store, policy: .both)
    for var store in [other.store.fork(), undecided, automatic] {
      let second = try store.merge(after.store, policy: .fail)
      try check(second.conflicts.isEmpty, "A decided conflict is listed again: \(second.conflicts)")
      for conflict in report.conflicts {
        let decided = after.store.documents[conflict.record]
        let record = store.documents[conflict.record]
        if case .bothChanged(_, let name, _, _) = conflict {
          try check(decided == nil || decided?[name] == record?[name], "The decision \(conflict) does not hold.")
        } else {
          try check(decided != nil || record == nil, "The decision \(conflict) does not hold.")
        }
      }
    }
  }

  mutating func finish() throws {
    let agree = try participants.exchange { try $0.merge($1) }
    try check(agree, "The stores do not agree.")
    for index in participants.indices {
      for other in participants {
        let report = try participants[index].store.merge(other.store, policy: .fail)
        try check(report.changes.isEmpty && report.conflicts.isEmpty, "Stores that agree have something to merge.")
      }
    }
    try check(participants.agree, "Stores that agreed differ.")
    try participants.checkRuns()
  }
}

extension Report {
  fileprivate func hasConflict(about part: PartName) -> Bool {
    conflicts.contains { conflict in
      if case .bothChanged(_, part, _, _) = conflict { true } else { false }
    }
  }
}
