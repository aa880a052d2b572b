/// One transaction's changes, as the state's ring stores them (FORMAT, "State").
package enum RingChanges: Sendable, Equatable {
  /// The changes to documents of one collection, or to the collection itself.
  package struct Entry: Sendable, Equatable {
    package var kind: Kind
    package var collection: UInt32
    /// The documents in ascending, non-adjacent ranges, or an empty array for a collection.
    package var ranges: [ClosedRange<Int64>]

    package init(_ kind: Kind, in collection: UInt32, _ ranges: [ClosedRange<Int64>] = []) {
      self.kind = kind
      self.collection = collection
      self.ranges = ranges
    }
  }

  package enum Kind: UInt8, Sendable {
    case inserted = 1
    case textChanged = 2
    /// Title, key, attributes, parent, dates or attachments, or flags if the text is unchanged.
    case headChanged = 3
    case moved = 4
    case deleted = 5
    /// The collection was created, renamed, changed or dropped.
    case collection = 6
  }

  /// More changes than a ring can hold, or IDs are being reused.
  case everything
  /// The entries, sorted by kind, then collection. Each combination occurs once.
  case entries([Entry])

  /// The created, renamed, changed or dropped collections, or an empty set for ``everything``.
  package var collections: Set<UInt32> {
    guard case .entries(let entries) = self else { return [] }
    return Set(entries.filter { $0.kind == .collection }.map(\.collection))
  }
}
