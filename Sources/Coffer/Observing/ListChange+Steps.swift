public import CofferDocuments

extension ListChange {
  /// One step from the list before to the list after.
  public enum Step: Sendable, Hashable {
    /// `rows.remove(at: index)`.
    case delete(at: Int)
    /// `rows.insert(header, at: index)`.
    case insert(DocumentHeader, at: Int)
    /// `rows.insert(rows.remove(at: from), at: to)`. SwiftUI's and an array's `move(fromOffsets:toOffset:)` count the
    /// row itself: they take `[from]` and `to > from ? to + 1 : to`.
    case move(from: Int, to: Int, DocumentHeader)
    /// `rows[index] = header`.
    case update(DocumentHeader, at: Int)
  }

  /// The change one step at a time, each with indexes in the list that the steps before it left.
  ///
  /// Computed at each access, in time n log n for n steps; the list's length doesn't matter.
  public var steps: [Step] {
    var steps: [Step] = deleted.reversed().map { .delete(at: $0) }
    steps += placements()
    steps += updated.map { .update($0.header, at: $0.index) }
    return steps
  }

  /// Insertions and moves, by rising target. Rows that are still to be moved are in the list meanwhile, each behind the
  /// rows that are placed in the same gap between rows that stay.
  private func placements() -> [Step] {
    let gone = (deleted + moved.map(\.from)).sorted()
    let movers = moved.sorted { $0.from < $1.from }
    // The number of rows that stay before each row to be moved.
    let gaps = movers.map { $0.from - gone.lowerBound(of: $0.from) }
    let ranks = Dictionary(uniqueKeysWithValues: movers.enumerated().map { ($1.to, $0) })
    var pending = CountTree(count: movers.count)
    var placedGaps: [Int] = []
    var steps: [Step] = []
    for placed in mergedPlacements {
      let gap = placed.index - placedGaps.count
      var before = pending.count(before: gaps.lowerBound(of: gap))
      if let rank = ranks[placed.index] {
        let from = gaps[rank] + placedGaps.lowerBound(of: gaps[rank] + 1) + pending.count(before: rank)
        if gaps[rank] < gap { before -= 1 }
        pending.remove(rank)
        let to = placed.index + before
        // Rows that others passed may be in their place by now; the header changed all the same.
        steps.append(from == to ? .update(placed.header, at: to) : .move(from: from, to: to, placed.header))
      } else {
        steps.append(.insert(placed.header, at: placed.index + before))
      }
      placedGaps.append(gap)
    }
    return steps
  }
}

extension [Int] {
  /// The number of elements below a value, in a sorted array.
  func lowerBound(of value: Int) -> Int {
    var (low, high) = (0, count)
    while low < high {
      let middle = (low + high) / 2
      if self[middle] < value { low = middle + 1 } else { high = middle }
    }
    return low
  }
}

/// Counts the elements of 0..<n that are left before any of them (a Fenwick tree).
private struct CountTree {
  private var sums: [Int]

  init(count: Int) {
    sums = (0...count).map { $0 & -$0 }
  }

  func count(before index: Int) -> Int {
    var (sum, place) = (0, index)
    while place > 0 {
      sum += sums[place]
      place &= place - 1
    }
    return sum
  }

  mutating func remove(_ index: Int) {
    var place = index + 1
    while place < sums.count {
      sums[place] -= 1
      place += place & -place
    }
  }
}
