@testable import CofferMergeModel

/// Participants that meet only in a folder, which delays, repeats and reorders files, and loses some unless it's faithful.
struct Folder {
  /// A file in the folder: a changeset, and its sender as it was.
  struct File {
    let number: Int
    let changes: Changeset
    let sender: Participant
  }

  struct Member {
    var participant: Participant
    /// The vectors that the files of each replica ended with.
    var known: [ReplicaID: VersionVector] = [:]
    /// What the member has read.
    var heard = VersionVector()
    /// The vector at the end of the member's last file.
    var sent: VersionVector
    /// What the files in the folder hold, as far as the member knows them.
    var published: VersionVector { sent.union(heard) }

    init(_ participant: Participant) {
      self.participant = participant
      sent = participant.store.vector
    }
  }

  let world: World
  /// Whether members send on what they have read from others.
  let relays: Bool
  /// Whether every file arrives sooner or later, so a file holds nothing that its sender read in another one.
  let isFaithful: Bool
  var members: [Member]
  var files: [File] = []
  var backups: [Participant] = []
  /// The numbers of the files that nobody can read any more.
  var lost: Set<Int> = []

  init(world: World, participants: [Participant], isFaithful: Bool = false) {
    self.world = world
    self.isFaithful = isFaithful
    members = participants.map { Member($0) }
    relays = !isFaithful && world.chance(0.5)
    for index in members.indices {
      publish(from: index, since: VersionVector())
    }
  }

  /// Makes one random step of a history.
  mutating func step() throws {
    let index = world.number(in: 0...members.count - 1)
    switch world.fraction() {
    case ..<0.50:
      try members[index].participant.act()
    case ..<0.70:
      publish(from: index, since: relays ? members[index].sent : members[index].published)
    case ..<0.80 where isFaithful: break
    case ..<0.72:
      backups.append(members[index].participant)
    case ..<0.74 where !backups.isEmpty:
      members[index] = Member(world.pick(backups).fork())
    case ..<0.78:
      lost.insert(world.pick(files).number)
    case ..<0.80:
      let all = members.map(\.participant) + backups + files.map(\.sender)
      members[index].participant.store.prune(knownBy: all.map(\.store.vector))
    default:
      var visible = files.filter { !lost.contains($0.number) && world.chance(0.5) }
      if !visible.isEmpty {
        visible += [world.pick(visible), world.pick(visible)]
      }
      try read(visible, by: index)
    }
  }

  /// Lets the members exchange files that arrive, until all stores agree. What was lost stays lost.
  ///
  /// - Returns: Whether the stores agree after at most 40 rounds.
  mutating func settle() throws -> Bool {
    for _ in 0..<40 {
      members.shuffle(using: &world.generator)
      for index in members.indices {
        try read(files.filter { !lost.contains($0.number) }, by: index)
        publish(from: index, since: isFaithful ? members[index].published : commonBase(for: index))
      }
      if !isFaithful { files = files.suffix(3 * members.count) }
      if members.map(\.participant).agree { return true }
    }
    return false
  }

  /// Returns what every other member is known to have.
  private func commonBase(for index: Int) -> VersionVector {
    let member = members[index]
    var base: VersionVector?
    for other in members where other.participant.store.replica != member.participant.store.replica {
      let vector = member.known[other.participant.store.replica] ?? VersionVector()
      base = base?.intersection(vector) ?? vector
    }
    return base ?? VersionVector()
  }

  private mutating func publish(from index: Int, since base: VersionVector) {
    let participant = members[index].participant
    let changes = participant.store.changes(since: base)
    files.append(File(number: world.newNumber(), changes: changes, sender: participant))
    members[index].sent = participant.store.vector
  }

  /// Reads files in random order. A file that comes too early is read again later.
  private mutating func read(_ visible: [File], by index: Int) throws {
    let shuffled = visible.shuffled(using: &world.generator)
    for file in shuffled + shuffled + shuffled {
      let changes = file.changes
      members[index].known[changes.sender, default: VersionVector()].formUnion(changes.end)
      if members[index].participant.store.vector.includes(changes.end), !world.chance(0.1) { continue }
      do {
        try members[index].participant.take(changes, from: file.sender)
        members[index].heard.formUnion(changes.end)
      } catch ModelError.notYet {
        continue
      }
    }
  }
}

extension VersionVector {
  /// Returns the commits that both vectors include.
  fileprivate func intersection(_ other: VersionVector) -> VersionVector {
    var result = VersionVector()
    for (replica, counter) in counters {
      result[replica] = min(counter, other[replica])
    }
    return result
  }
}
