/// Wagner's tree over many lists (FORMAT, "Why so wide"), with eight bits in place of 16 for each merge and
/// sixteen for the last merge.
///
/// The tree chooses one value from each list to make the lowest `width` bits of the sum zero. 2^(width / 8) lists with
/// 16 values have one such sum on average.
struct KTree {
  static let step = 8
  static let lastStep = 16
  /// The maximum length of a list.
  static let limit = 1 << 10

  let width: Int
  /// Adds two values. Carries move only to higher bits, so low zeros remain.
  let add: (UInt64, UInt64) -> UInt64

  var listCount: Int { 1 << (width / Self.step) }

  private struct Node {
    var value: UInt64
    /// The added nodes of a sum, or the list index and -1 of an input value.
    var left, right: Int32
  }

  /// Returns the value indexes of each zero sum, ordered by list.
  func zeroSums(of values: [[UInt64]]) -> [[Int]] {
    precondition(values.count == listCount)
    var nodes: [Node] = []
    func appending(_ node: Node) -> Int32 {
      nodes.append(node)
      return Int32(nodes.count - 1)
    }
    var lists = values.map { list in
      list.enumerated().map { appending(Node(value: $1, left: Int32($0), right: -1)) }
    }
    /// Returns the sums of two lists with `count` zero bits, starting at the bit `known`.
    func merged(_ left: [Int32], _ right: [Int32], known: Int, count: Int) -> [Int32] {
      let mask = UInt64(1) << count - 1
      var places: [UInt64: [Int32]] = [:]
      for place in right { places[nodes[Int(place)].value >> known & mask, default: []].append(place) }
      var sums: [Int32] = []
      for place in left {
        let value = nodes[Int(place)].value
        for other in places[(0 &- (value >> known)) & mask] ?? [] where sums.count < Self.limit {
          sums.append(appending(Node(value: add(value, nodes[Int(other)].value), left: place, right: other)))
        }
      }
      return sums
    }
    func mergeInPairs(known: Int, count: Int) {
      lists = stride(from: 0, to: lists.count, by: 2).map {
        merged(lists[$0], lists[$0 + 1], known: known, count: count)
      }
    }
    mergeInPairs(known: 0, count: 0)
    var known = 0
    while lists.count > 2 {
      mergeInPairs(known: known, count: Self.step)
      known += Self.step
    }
    precondition(known + Self.lastStep == width)
    mergeInPairs(known: known, count: Self.lastStep)

    func numbers(_ place: Int32) -> [Int] {
      let node = nodes[Int(place)]
      return node.right < 0 ? [Int(node.left)] : numbers(node.left) + numbers(node.right)
    }
    return lists[0].map(numbers)
  }
}
