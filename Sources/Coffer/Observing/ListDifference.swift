internal import CofferEngine

/// The deletions, insertions, moves and updates that result from removing and placing rows in a list.
struct ListDifference<Element: Sendable> {
  /// A row in the new list.
  struct Placed {
    let element: Element
    /// The index in the old list, or `nil` for a new row.
    let from: Int?
    /// The index in the new list.
    let to: Int
  }

  private(set) var deleted: [Int] = []
  private(set) var inserted: [ListChange<Element>.Insertion] = []
  private(set) var moved: [ListChange<Element>.Move] = []
  /// The updated rows, and rows removed and placed again at the same relative position.
  private(set) var updated: [ListChange<Element>.Update] = []

  /// - Parameters:
  ///   - gone: The indexes of removed rows in the old list, in ascending order.
  ///   - placed: The placed rows, sorted by index in the new list.
  ///   - updated: The changed rows that are neither removed nor placed.
  init(gone: [Int], placed: [Placed], updated: [ListChange<Element>.Update]) {
    let gaps = placed.map { $0.from.map { from in from - gone.lowerBound(of: from) } }
    // A row is unmoved if the same number of untouched rows precede it, and it doesn't cross another unmoved row.
    var candidates: [Int] = []
    for (place, row) in placed.enumerated() where row.to - place == gaps[place] { candidates.append(place) }
    let chain = longestIncreasingSubsequence(of: candidates.map { placed[$0].from! })
    let staying = Set(chain.map { candidates[$0] })
    var isBack: Set<Int> = []
    var stayed: [ListChange<Element>.Update] = []
    for (place, row) in placed.enumerated() {
      guard let from = row.from else {
        inserted.append(ListChange.Insertion(index: row.to, element: row.element))
        continue
      }
      isBack.insert(from)
      if staying.contains(place) {
        stayed.append(ListChange.Update(from: from, index: row.to, element: row.element))
      } else {
        moved.append(ListChange.Move(from: from, to: row.to, element: row.element))
      }
    }
    deleted = gone.filter { !isBack.contains($0) }
    self.updated = (updated + stayed).sorted { $0.index < $1.index }
  }

  /// Compares two whole lists.
  ///
  /// - Parameters:
  ///   - old: The IDs of the old list. Rows are the same if their IDs are equal.
  ///   - new: The IDs of the new list.
  ///   - element: Returns the row at an index of the new list.
  ///   - isChanged: Returns whether a row's contents changed.
  init<ID: Hashable>(
    from old: [ID], to new: [ID], element: (Int) -> Element, isChanged: (_ from: Int, _ to: Int) -> Bool
  ) {
    let before = Dictionary(uniqueKeysWithValues: zip(old, old.indices))
    let kept = new.indices.compactMap { to in before[new[to]].map { (from: $0, to: to) } }
    let staying = longestIncreasingSubsequence(of: kept.map(\.from)).map { kept[$0] }
    let stayingBefore = Set(staying.map(\.from))
    let stayingAfter = Set(staying.map(\.to))
    self.init(
      gone: old.indices.filter { !stayingBefore.contains($0) },
      placed: new.indices.filter { !stayingAfter.contains($0) }.map {
        Placed(element: element($0), from: before[new[$0]], to: $0)
      },
      updated: staying.filter { isChanged($0.from, $0.to) }.map {
        ListChange.Update(from: $0.from, index: $0.to, element: element($0.to))
      })
  }
}

extension ListChange {
  init(
    _ difference: ListDifference<Element>, from countBefore: Int, to count: Int, hasMore: Bool, at generation: UInt64
  ) {
    self.init(
      generation: generation, countBefore: countBefore, count: count, hasMore: hasMore, deleted: difference.deleted,
      inserted: difference.inserted, moved: difference.moved, updated: difference.updated)
  }
}
