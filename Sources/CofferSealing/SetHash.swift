/// The keyed multiset hash over all rows (FORMAT, "Set hash"): a sum modulo 2^256, whatever the order.
package struct SetHash: Hashable, Sendable {
  package static let byteCount = 32

  /// Big-endian: the first word is the highest.
  private var words: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)

  /// Of no rows.
  package init() {}

  package init(bytes: UnsafeRawBufferPointer) {
    precondition(bytes.count == Self.byteCount, "internal error: a set hash has 32 bytes")
    func word(_ index: Int) -> UInt64 {
      UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8 * index, as: UInt64.self))
    }
    words = (word(0), word(1), word(2), word(3))
  }

  package var bytes: [UInt8] {
    var builder = ByteBuilder(reserving: Self.byteCount)
    builder.append(words.0)
    builder.append(words.1)
    builder.append(words.2)
    builder.append(words.3)
    return builder.bytes
  }

  /// Adds a row.
  package mutating func add(_ element: SetHash) {
    var carry: Bool
    (words.3, carry) = words.3.addingReportingOverflow(element.words.3)
    (words.2, carry) = Self.add(words.2, element.words.2, carry)
    (words.1, carry) = Self.add(words.1, element.words.1, carry)
    (words.0, _) = Self.add(words.0, element.words.0, carry)
  }

  /// Removes a row.
  package mutating func subtract(_ element: SetHash) {
    add(element.negated)
  }

  private var negated: SetHash {
    var result = SetHash()
    result.words = (~words.0, ~words.1, ~words.2, ~words.3)
    var one = SetHash()
    one.words.3 = 1
    result.add(one)
    return result
  }

  private static func add(_ lhs: UInt64, _ rhs: UInt64, _ carry: Bool) -> (UInt64, Bool) {
    let (sum, first) = lhs.addingReportingOverflow(rhs)
    let (total, second) = sum.addingReportingOverflow(carry ? 1 : 0)
    return (total, first || second)
  }

  package static func == (lhs: SetHash, rhs: SetHash) -> Bool {
    lhs.words == rhs.words
  }

  package func hash(into hasher: inout Hasher) {
    hasher.combine(words.3)
  }
}

extension HMACKey {
  /// The code of one element as a number of the set hash.
  package func number(of element: UnsafeRawBufferPointer) throws(SealingError) -> SetHash {
    try authenticate(element, into: UnsafeMutableRawBufferPointer(start: code, count: Self.byteCount))
    return SetHash(bytes: UnsafeRawBufferPointer(start: code, count: Self.byteCount))
  }
}
