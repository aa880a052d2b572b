import CofferMergeModel

/// What all participants of one history share: the random numbers, and the record of who wrote what.
final class World {
  /// A content of a part, named by the dot that the store gave it.
  struct Content: Hashable {
    let record: RecordID
    let part: PartName
    let dot: Dot
  }

  /// Documents that were inserted together.
  struct Run {
    let documents: [RecordID]
    let places: [Place]
    /// What the author's state descended from, the insertion included.
    let log: EventLog
  }

  var generator: SeededGenerator
  private(set) var events: [Event] = []
  /// The edits and deletions of each record.
  private(set) var changes: [RecordID: [EventID]] = [:]
  /// The decisions about each record.
  private(set) var decisions: [RecordID: [EventID]] = [:]
  /// For each edit and deletion, the changes of the record that the author's state descended from.
  private(set) var seen: [EventID: EventLog] = [:]
  private var ids: [Event: EventID] = [:]
  private var edits: [Content: EventID] = [:]
  private var lastNumber = 0
  /// The documents that keep a text which lost a conflict.
  var copies: Set<RecordID> = []
  var runs: [Run] = []
  /// The number of documents that participants edit and delete rather than inserting others.
  let documents: Int

  init(seed: UInt64, documents: Int = .max) {
    self.documents = documents
    generator = SeededGenerator(seed: seed)
  }

  /// Returns a number that was never returned before.
  func newNumber() -> Int {
    lastNumber += 1
    return lastNumber
  }

  /// Returns the index of an event, which is new if the event has not happened before.
  func id(of event: Event) -> EventID {
    if let id = ids[event] { return id }
    let id = events.count
    events.append(event)
    ids[event] = id
    return id
  }

  /// Records an edit by an author who had seen the given changes of the record.
  func addEdit(of record: RecordID, _ part: PartName, dot: Dot, seen log: EventLog) -> EventID {
    let id = id(of: .edit(record, part, number: newNumber()))
    changes[record, default: []].append(id)
    edits[Content(record: record, part: part, dot: dot)] = id
    seen[id] = log
    return id
  }

  /// Records a deletion by an author who had seen the given changes of the document.
  func addDeletion(of document: RecordID, seen log: EventLog) -> EventID {
    let id = id(of: .deletion(document, number: newNumber()))
    changes[document, default: []].append(id)
    seen[id] = log
    return id
  }

  /// Records a decision about a conflict.
  func addDecision(about record: RecordID) -> EventID {
    let id = id(of: .decision(record, number: newNumber()))
    decisions[record, default: []].append(id)
    return id
  }

  /// Returns the edit that wrote a content, if somebody did.
  func edit(of record: RecordID, _ part: PartName, dot: Dot) -> EventID? {
    edits[Content(record: record, part: part, dot: dot)]
  }

  /// Returns the part that an edit wrote, or `nil` if the event is no edit.
  func part(of event: EventID) -> PartName? {
    if case .edit(_, let part, _) = events[event] { part } else { nil }
  }

  /// Returns whether one event had seen another.
  func has(_ event: EventID, seen other: EventID) -> Bool {
    seen[event]?.contains(other) ?? false
  }
}

// Random choices.
extension World {
  /// Returns a number from zero up to one.
  func fraction() -> Double {
    Double.random(in: 0..<1, using: &generator)
  }

  /// Returns `true` with the given probability.
  func chance(_ probability: Double) -> Bool {
    fraction() < probability
  }

  func number(in range: ClosedRange<Int>) -> Int {
    Int.random(in: range, using: &generator)
  }

  /// Returns one of the elements, which must not be empty.
  func pick<Element>(_ elements: [Element]) -> Element {
    elements[number(in: 0...elements.count - 1)]
  }
}
