internal import CofferDocuments
internal import CofferEngine

/// The deletions, insertions and moves that result from removing and placing rows in a list.
package struct ListDifference {
  /// A row in the new list.
  struct Placed {
    let header: DocumentHeader
    /// The index in the old list, or `nil` for a new row.
    let from: Int?
    /// The index in the new list.
    let to: Int
  }

  var deleted: [Int] = []
  var inserted: [ListChange.Insertion] = []
  var moved: [ListChange.Move] = []
  /// Rows that were removed and placed at the same relative position.
  var stayed: [ListChange.Update] = []

  /// - Parameters:
  ///   - gone: The indexes of removed rows in the old list, in ascending order.
  ///   - placed: The placed rows, sorted by index in the new list.
  init(gone: [Int], placed: [Placed]) {
    let gaps = placed.map { $0.from.map { from in from - gone.lowerBound(of: from) } }
    // A row is unmoved if the same number of untouched rows precede it, and it doesn't cross another unmoved row.
    var candidates: [Int] = []
    for (place, row) in placed.enumerated() where row.to - place == gaps[place] { candidates.append(place) }
    let chain = longestIncreasingSubsequence(of: candidates.map { placed[$0].from! })
    let staying = Set(chain.map { candidates[$0] })
    var isBack: Set<Int> = []
    for (place, row) in placed.enumerated() {
      guard let from = row.from else {
        inserted.append(ListChange.Insertion(index: row.to, header: row.header))
        continue
      }
      isBack.insert(from)
      if staying.contains(place) {
        stayed.append(ListChange.Update(from: from, index: row.to, header: row.header))
      } else {
        moved.append(ListChange.Move(from: from, to: row.to, header: row.header))
      }
    }
    deleted = gone.filter { !isBack.contains($0) }
  }
}
