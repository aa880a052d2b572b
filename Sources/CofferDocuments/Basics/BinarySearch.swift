extension Range<Int> {
  /// The first index for which `isBefore` is false, by binary search; the upper bound if there is none.
  ///
  /// - Parameter isBefore: true for a prefix of the range and false for the rest.
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
