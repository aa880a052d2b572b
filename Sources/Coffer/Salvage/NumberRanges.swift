/// Rising numbers; those in a row cost nothing.
struct NumberRanges {
  private var ranges: [ClosedRange<Int64>] = []

  mutating func append(_ number: Int64) {
    if let last = ranges.last, last.upperBound + 1 == number {
      ranges[ranges.count - 1] = last.lowerBound...number
    } else {
      ranges.append(number...number)
    }
  }

  func contains(_ number: Int64) -> Bool {
    var (low, high) = (0, ranges.count)
    while low < high {
      let middle = (low + high) / 2
      if ranges[middle].upperBound < number { low = middle + 1 } else { high = middle }
    }
    return low < ranges.count && ranges[low].contains(number)
  }
}
