/// A sort key for a value in a JSON text. The order is missing and null, false, true, numbers, strings, arrays and
/// objects.
package struct JSONSortKey: Comparable, Sendable {
  private enum Rank: Int {
    case nothing, no, yes, number, string, other
  }

  private let rank: Rank
  private var number = 0.0
  /// The difference of an integer to ``number``, which distinguishes integers beyond 2^53.
  private var remainder: Int64 = 0
  private var bytes: [UInt8] = []

  /// Creates a key for the value at `path` in UTF-8. If the bytes aren't JSON, the value is missing.
  package init(of json: UnsafeRawBufferPointer, at path: JSONPath) {
    guard let (kind, range) = path.find(in: json) else {
      rank = .nothing
      return
    }
    let literal = UnsafeRawBufferPointer(rebasing: json[range])
    switch kind {
    case .null: rank = .nothing
    case .bool: rank = literal.first == UInt8(ascii: "t") ? .yes : .no
    case .number:
      rank = .number
      let text = String(decoding: literal, as: UTF8.self)
      // A number beyond a double's range sorts as infinite.
      number = Double(text) ?? 0
      if let integer = Int64(text) { remainder = Int64(truncatingIfNeeded: Int128(integer) - Int128(number)) }
    case .string:
      rank = .string
      bytes = JSONPath.bytes(ofStringAt: range, in: json)
    case .array, .object:
      rank = .other
      bytes = Array(literal)
    }
  }

  package static func < (lhs: JSONSortKey, rhs: JSONSortKey) -> Bool {
    if lhs.rank != rhs.rank { return lhs.rank.rawValue < rhs.rank.rawValue }
    if lhs.rank == .number { return (lhs.number, lhs.remainder) < (rhs.number, rhs.remainder) }
    return lhs.bytes.lexicographicallyPrecedes(rhs.bytes)
  }
}
