extension Range<Int> {
  /// Returns the first index for which `isBefore` is `false`, or else the upper bound, with a binary search.
  ///
  /// - Parameter isBefore: A closure that returns `true` for a prefix of the range and `false` for the rest.
  @inlinable
  package func partitionPoint(_ isBefore: (Int) throws -> Bool) rethrows -> Int {
    var (low, high) = (lowerBound, upperBound)
    while low < high {
      let middle = low + (high - low) / 2
      if try isBefore(middle) { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
