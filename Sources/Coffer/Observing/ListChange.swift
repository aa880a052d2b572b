public import CofferDocuments
public import CofferRecords

/// A change of an observed list, as index differences between the list before and the list after it.
///
/// Two reckonings are at hand, which lead to the same list:
///
/// - **All at once**, as UIKit's `performBatchUpdates` takes it: ``deleted``, ``Move/from`` and ``Update/from`` are
///   indexes in the list before; ``inserted``, ``Move/to`` and ``Update/index`` are indexes in the list after.
/// - **One by one**, as SwiftUI and arrays take it: ``steps``, each with indexes in the list that the steps before it
///   left.
///
/// ``apply(to:)`` brings an array up to date. No row is both deleted and inserted, or both moved and updated.
public struct ListChange: Sendable, Hashable {
  /// A row that is new in the list.
  public struct Insertion: Sendable, Hashable {
    /// In the list after.
    public let index: Int
    /// The row.
    public let header: DocumentHeader
  }

  /// A row with another place in the list.
  public struct Move: Sendable, Hashable {
    /// In the list before.
    public let from: Int
    /// In the list after.
    public let to: Int
    /// As of now; more than its position may have changed.
    public let header: DocumentHeader
  }

  /// A row whose document changed, and whose place in the list did not.
  public struct Update: Sendable, Hashable {
    /// In the list before.
    public let from: Int
    /// In the list after.
    public let index: Int
    /// The row as of now.
    public let header: DocumentHeader
  }

  /// The write transaction whose list this is.
  public let generation: UInt64
  /// Number of rows before.
  public let countBefore: Int
  /// Number of rows after.
  public let count: Int
  /// Whether the collection has documents behind the list, beyond its limit.
  public let hasMore: Bool
  /// Rising indexes in the list before.
  public let deleted: [Int]
  /// Sorted by index in the list after.
  public let inserted: [Insertion]
  /// Sorted by index in the list after. The fewest possible moves, if no other process changed very many documents.
  public let moved: [Move]
  /// Rows whose text, title, key, attributes, parent or dates changed, sorted by index in the list after.
  public let updated: [Update]

  var isEmpty: Bool { deleted.isEmpty && inserted.isEmpty && moved.isEmpty && updated.isEmpty }

  /// Makes the list before the list after; in time that rises with its length.
  ///
  /// The array must be the list before: empty for the first change of an iteration.
  /// - Throws: `misuse` for an array of another length; it is unchanged then.
  public func apply(to rows: inout [DocumentHeader]) throws(StoreError) {
    guard rows.count == countBefore else {
      throw StoreError(
        .misuse, "the change follows a list of \(countBefore) documents, and the array has \(rows.count)",
        hint: "apply each change of an iteration once, beginning with an empty array")
    }
    if !(deleted.isEmpty && inserted.isEmpty && moved.isEmpty) {
      var result: [DocumentHeader] = []
      result.reserveCapacity(count)
      var gone = (deleted + moved.map(\.from)).sorted()[...]
      var placed = mergedPlacements[...]
      for (index, row) in rows.enumerated() {
        while let next = placed.first, next.index == result.count {
          result.append(next.header)
          placed.removeFirst()
        }
        if index == gone.first { gone.removeFirst() } else { result.append(row) }
      }
      for next in placed { result.append(next.header) }
      rows = result
    }
    for update in updated { rows[update.index] = update.header }
  }

  /// Insertions and targets of moves, by rising index.
  var mergedPlacements: [Insertion] {
    (inserted + moved.map { Insertion(index: $0.to, header: $0.header) }).sorted { $0.index < $1.index }
  }
}
