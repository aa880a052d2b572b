import CofferMergeModel

/// A store, and beside it the set of all events that its state descends from.
///
/// The log is kept without looking at version vectors, so it is an independent account of who had seen what. A copy of
/// the value is a byte copy of the store.
struct Participant {
  let world: World
  var store: ModelStore
  var log = EventLog()

  init(world: World, store: ModelStore) {
    self.world = world
    self.store = store
  }

  func fork() -> Participant {
    var fork = self
    fork.store = store.fork()
    return fork
  }

  /// The texts that the store shows.
  var texts: Set<String> {
    Set(store.documents.values.map(\.text))
  }

  /// Returns the edits and deletions of a record in the log.
  func changes(of record: RecordID) -> [EventID] {
    world.changes[record, default: []].filter(log.contains)
  }

  /// Returns the edits of a record in the log.
  func edits(of record: RecordID) -> [EventID] {
    changes(of: record).filter { world.part(of: $0) != nil }
  }

  /// Returns the deletions of a document in the log.
  func deletions(of document: RecordID) -> [EventID] {
    changes(of: document).filter { world.part(of: $0) == nil }
  }

  private func seenChanges(of record: RecordID) -> EventLog {
    var seen = EventLog()
    for event in changes(of: record) {
      seen.insert(event)
    }
    return seen
  }

  /// Returns whether a store that descends from the log lost an edit to one that did not know it.
  func lost(_ edit: EventID) -> Bool {
    log.contains(world.id(of: .lost(edit)))
  }

  /// Returns whether a person removed the last appearance of a text.
  func removed(_ text: String) -> Bool {
    log.contains(world.id(of: .removed(text: text)))
  }

  /// Records that this participant wrote a part which the store shows now.
  mutating func noteEdit(of document: RecordID, _ part: PartName) {
    guard let dot = store.documents[document]?.parts[part]?.dot else { return }
    log.insert(world.addEdit(of: document, part, dot: dot, seen: seenChanges(of: document)))
  }

  /// Records that this participant deleted a document.
  mutating func noteDeletion(of document: RecordID) {
    log.insert(world.addDeletion(of: document, seen: seenChanges(of: document)))
  }

  /// Records that nobody shows a text any more where this participant removed it.
  mutating func noteRemoval(of text: String) {
    log.insert(world.id(of: .removed(text: text)))
  }

  /// Records that the edit which wrote a content was replaced by one that did not know it.
  mutating func noteLoss(of document: RecordID, _ part: PartName, dot: Dot) {
    if let edit = world.edit(of: document, part, dot: dot) {
      log.insert(world.id(of: .lost(edit)))
    }
  }

  /// Returns whether the store shows a text of this document that somebody wrote over an earlier one.
  func showsRewrittenText(of document: RecordID) -> Bool {
    guard let dot = store.documents[document]?.parts[.text]?.dot,
      let edit = world.edit(of: document, .text, dot: dot)
    else { return false }
    return world.copies.contains(document)
      || world.changes[document, default: []].contains { world.part(of: $0) == .text && world.has(edit, seen: $0) }
  }
}

/// Creates a few stores with a common beginning.
func newParticipants(in world: World) throws -> [Participant] {
  var first = Participant(world: world, store: ModelStore(generator: world.generator))
  for _ in 0..<world.number(in: 2...9) {
    try first.act()
  }
  return [first] + (1..<world.number(in: 2...5)).map { _ in first.fork() }
}
