/// The changes of one transaction, as the state's ring holds them (FORMAT, "State").
package enum RingChanges: Sendable, Equatable {
  /// The changes of some documents of one collection, or of the collection itself.
  package struct Entry: Sendable, Equatable {
    package var kind: Kind
    package var collection: UInt32
    /// The documents, in rising ranges that don't touch each other; empty for a collection.
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
    /// Title, key, attributes, parent or dates; flags if the text stayed the same.
    case headChanged = 3
    case moved = 4
    case deleted = 5
    /// The collection was made, renamed, changed or dropped.
    case collection = 6
  }

  /// More changed than a ring holds, or ids were given out again.
  case everything
  /// Sorted by kind, then collection; no two entries have both in common.
  case entries([Entry])

  /// The collections that were made, renamed, changed or dropped; none if everything changed.
  package var collections: Set<UInt32> {
    guard case .entries(let entries) = self else { return [] }
    return Set(entries.filter { $0.kind == .collection }.map(\.collection))
  }
}
