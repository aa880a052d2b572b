/// Returns the indices of a longest strictly increasing subsequence, in order.
///
/// Takes n log n comparisons.
package func longestIncreasingSubsequence(of values: [Int]) -> [Int] {
  /// For each length, the index of the smallest value that ends a subsequence with that length.
  var ends: [Int] = []
  var previous = [Int](repeating: -1, count: values.count)
  for (index, value) in values.enumerated() {
    var (low, high) = (0, ends.count)
    while low < high {
      let middle = (low + high) / 2
      if values[ends[middle]] < value { low = middle + 1 } else { high = middle }
    }
    if low > 0 { previous[index] = ends[low - 1] }
    if low == ends.count { ends.append(index) } else { ends[low] = index }
  }
  var indices: [Int] = []
  var next = ends.last ?? -1
  while next >= 0 {
    indices.append(next)
    next = previous[next]
  }
  return indices.reversed()
}
