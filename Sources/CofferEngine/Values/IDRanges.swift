/// Ranges of IDs that don't overlap, at most as many as are quickly searched.
struct IDRanges {
  private static let limit = 1024

  /// The ranges in order.
  private var ranges: [ClosedRange<Int64>] = []

  func contains(_ id: Int64) -> Bool {
    let place = place(of: id)
    return place < ranges.count && ranges[place].lowerBound <= id
  }

  /// Adds a range. If there are too many, the others are forgotten.
  mutating func insert(_ range: ClosedRange<Int64>) {
    if ranges.count == Self.limit { ranges.removeAll(keepingCapacity: true) }
    ranges.insert(range, at: place(of: range.lowerBound))
  }

  /// Returns the index of the first range that doesn't end below an ID.
  private func place(of id: Int64) -> Int {
    var (low, high) = (0, ranges.count)
    while low < high {
      let middle = (low + high) / 2
      if ranges[middle].upperBound < id { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
