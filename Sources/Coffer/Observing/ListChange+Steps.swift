extension ListChange {
  /// A single step from the old list to the new list.
  public enum Step: Sendable {
    /// `rows.remove(at: index)`.
    case delete(at: Int)
    /// `rows.insert(element, at: index)`.
    case insert(Element, at: Int)
    /// `rows.insert(rows.remove(at: from), at: to)`. For `move(fromOffsets:toOffset:)`, pass `[from]` and `to > from ?
    /// to + 1 : to`, because its offset includes the moved row.
    case move(from: Int, to: Int, Element)
    /// `rows[index] = element`.
    case update(Element, at: Int)
  }

  /// The change as single steps. Each step's indexes refer to the list after the previous steps.
  ///
  /// - Complexity: O(*n* log *n*) at each access for *n* steps, regardless of the list's length.
  public var steps: [Step] {
    var steps: [Step] = deleted.reversed().map { .delete(at: $0) }
    steps += placements()
    steps += updated.map { .update($0.element, at: $0.index) }
    return steps
  }

  /// Returns insertions and moves in ascending target order. Rows waiting to move remain in the list, after the rows
  /// placed in the same gap between unmoved rows.
  private func placements() -> [Step] {
    let gone = (deleted + moved.map(\.from)).sorted()
    let movers = moved.sorted { $0.from < $1.from }
    // The number of unmoved rows before each row to move.
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
        // Other moves can shift a row to its target, but its contents may have changed.
        steps.append(from == to ? .update(placed.element, at: to) : .move(from: from, to: to, placed.element))
      } else {
        steps.append(.insert(placed.element, at: placed.index + before))
      }
      placedGaps.append(gap)
    }
    return steps
  }
}

extension ListChange.Step: Equatable where Element: Equatable {}

extension [Int] {
  /// Returns the number of elements below a value in a sorted array.
  func lowerBound(of value: Int) -> Int {
    var (low, high) = (0, count)
    while low < high {
      let middle = (low + high) / 2
      if self[middle] < value { low = middle + 1 } else { high = middle }
    }
    return low
  }
}

/// A Fenwick tree that counts the remaining elements in 0..<n before an index.
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
