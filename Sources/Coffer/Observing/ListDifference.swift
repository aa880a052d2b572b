internal import CofferDocuments

/// The deletions, insertions and moves that follow when rows are taken out of a list and put into it.
struct ListDifference {
  /// A row in the list after.
  struct Placed {
    let header: DocumentHeader
    /// In the list before; nil for a new row.
    let from: Int?
    /// In the list after.
    let to: Int
  }

  var deleted: [Int] = []
  var inserted: [ListChange.Insertion] = []
  var moved: [ListChange.Move] = []
  /// Rows that were taken out and are back in their place among the others.
  var stayed: [ListChange.Update] = []

  /// - Parameters:
  ///   - gone: rising indexes of the rows that were taken out of the list before.
  ///   - placed: sorted by index in the list after.
  init(gone: [Int], placed: [Placed]) {
    let gaps = placed.map { $0.from.map { from in from - gone.lowerBound(of: from) } }
    // A row stays if as many of the untouched rows are before it as were, and it passes none of those that stay, too.
    var candidates: [Int] = []
    for (place, row) in placed.enumerated() where row.to - place == gaps[place] { candidates.append(place) }
    let chain = Self.longestRise(candidates.map { placed[$0].from! })
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

  /// The places of a longest rising subsequence.
  static func longestRise(_ values: [Int]) -> [Int] {
    /// For each length, the place of the smallest value that ends such a rise.
    var ends: [Int] = []
    var previous = [Int](repeating: -1, count: values.count)
    for (place, value) in values.enumerated() {
      var (low, high) = (0, ends.count)
      while low < high {
        let middle = (low + high) / 2
        if values[ends[middle]] < value { low = middle + 1 } else { high = middle }
      }
      if low > 0 { previous[place] = ends[low - 1] }
      if low == ends.count { ends.append(place) } else { ends[low] = place }
    }
    var rise: [Int] = []
    var next = ends.last ?? -1
    while next >= 0 {
      rise.append(next)
      next = previous[next]
    }
    return rise.reversed()
  }
}
