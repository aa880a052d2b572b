import CofferMergeModel

/// Something that happened in a history.
enum Event: Hashable {
  /// A content was written.
  case edit(RecordID, PartName, number: Int)
  /// A document was deleted, by hand or by a decision.
  case deletion(RecordID, number: Int)
  /// A conflict of a record was decided.
  case decision(RecordID, number: Int)
  /// A person edited, deleted or decided away the last appearance of a text in a store.
  case removed(text: String)
  /// An edit was replaced by one that did not know it.
  case lost(EventID)
}

/// The index of an event among all events of a history.
typealias EventID = Int

/// A set of events.
struct EventLog: Equatable {
  private var words: [UInt64] = []

  func contains(_ event: EventID) -> Bool {
    let index = event >> 6
    return index < words.count && words[index] >> UInt64(event & 63) & 1 == 1
  }

  mutating func insert(_ event: EventID) {
    let index = event >> 6
    grow(to: index + 1)
    words[index] |= 1 << UInt64(event & 63)
  }

  mutating func formUnion(_ other: EventLog) {
    grow(to: other.words.count)
    for (index, word) in other.words.enumerated() where word != 0 {
      words[index] |= word
    }
  }

  private mutating func grow(to count: Int) {
    if words.count < count {
      words += Array(repeating: 0, count: count - words.count)
    }
  }
}
