public import CofferRecords

/// A change to an observed list, as index differences between the last list that the task received and the new list.
///
/// You can apply a change in two equivalent ways:
///
/// - **As a batch**, such as with UIKit's `performBatchUpdates`. ``deleted``, ``Move/from`` and ``Update/from`` are
///   indexes in the old list. ``inserted``, ``Move/to`` and ``Update/index`` are indexes in the new list.
/// - **In steps**, such as in SwiftUI and arrays. The indexes in each of the ``steps`` refer to the list after the
///   previous steps.
///
/// To update an array, use ``apply(to:)``. A row is never both deleted and inserted, or both moved and updated.
public struct ListChange<Element: Sendable>: Sendable {
  /// A new row in the list.
  public struct Insertion: Sendable {
    /// The index in the new list.
    public let index: Int
    /// The row.
    public let element: Element
  }

  /// A row with a new position in the list.
  public struct Move: Sendable {
    /// The index in the old list.
    public let from: Int
    /// The index in the new list.
    public let to: Int
    /// The current row, whose contents can also have changed.
    public let element: Element
  }

  /// A changed row with the same position in the list.
  public struct Update: Sendable {
    /// The index in the old list.
    public let from: Int
    /// The index in the new list.
    public let index: Int
    /// The current row.
    public let element: Element
  }

  /// The generation of the write transaction that produced the new list.
  public let generation: UInt64
  /// The number of rows in the old list.
  public let countBefore: Int
  /// The number of rows in the new list.
  public let count: Int
  /// A Boolean value that indicates whether more documents follow beyond the list's limit.
  public let hasMore: Bool
  /// The indexes of deleted rows in the old list, in ascending order.
  public let deleted: [Int]
  /// The inserted rows, sorted by index in the new list.
  public let inserted: [Insertion]
  /// The moved rows, sorted by index in the new list. They're as few as possible, unless another process changed very
  /// many documents.
  public let moved: [Move]
  /// The changed rows, sorted by index in the new list. A document is changed if its text, title, key, attributes,
  /// parent or dates changed.
  public let updated: [Update]

  package var isEmpty: Bool { deleted.isEmpty && inserted.isEmpty && moved.isEmpty && updated.isEmpty }

  /// Updates an array from the old list to the new list. The time depends on the list's length.
  ///
  /// Pass an empty array for an iteration's first change.
  /// - Throws: `misuse` if the array's length doesn't match. The array is then unchanged.
  public func apply(to rows: inout [Element]) throws(StoreError) {
    guard rows.count == countBefore else {
      throw StoreError(
        .misuse, "the change follows a list of \(countBefore) rows, and the array has \(rows.count)",
        hint: "apply each change of an iteration once, beginning with an empty array")
    }
    if !(deleted.isEmpty && inserted.isEmpty && moved.isEmpty) {
      var result: [Element] = []
      result.reserveCapacity(count)
      var gone = (deleted + moved.map(\.from)).sorted()[...]
      var placed = mergedPlacements[...]
      for (index, row) in rows.enumerated() {
        while let next = placed.first, next.index == result.count {
          result.append(next.element)
          placed.removeFirst()
        }
        if index == gone.first { gone.removeFirst() } else { result.append(row) }
      }
      for next in placed { result.append(next.element) }
      rows = result
    }
    for update in updated { rows[update.index] = update.element }
  }

  /// The insertions and move targets, in ascending index order.
  var mergedPlacements: [Insertion] {
    (inserted + moved.map { Insertion(index: $0.to, element: $0.element) }).sorted { $0.index < $1.index }
  }
}

extension ListChange: Equatable where Element: Equatable {}
extension ListChange.Insertion: Equatable where Element: Equatable {}
extension ListChange.Move: Equatable where Element: Equatable {}
extension ListChange.Update: Equatable where Element: Equatable {}
