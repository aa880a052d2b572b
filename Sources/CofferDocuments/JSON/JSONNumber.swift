/// The values of JSON's numbers.
package enum JSONNumber {
  /// Returns the double nearest to a number's literal, or `nil` if it's beyond a double's range, or so small that only
  /// 0 is near.
  package static func double(_ literal: UnsafeRawBufferPointer) -> Double? {
    if let value = shortDouble(literal) { return value }
    return Double(String(decoding: literal, as: UTF8.self)).flatMap { isHeld($0, literal) ? $0 : nil }
  }

  /// Returns the float nearest to a number's literal, without first rounding to a double, or `nil` as in
  /// ``double(_:)``.
  package static func float(_ literal: UnsafeRawBufferPointer) -> Float? {
    Float(String(decoding: literal, as: UTF8.self)).flatMap { isHeld($0, literal) ? $0 : nil }
  }

  private static func isHeld(_ value: some BinaryFloatingPoint, _ literal: UnsafeRawBufferPointer) -> Bool {
    guard value.isFinite else { return false }
    return value != 0 || !literal.prefix { $0 | 0x20 != UInt8(ascii: "e") }.contains { (0x31...0x39).contains($0) }
  }

  private static let powers: [Double] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20,
    1e21, 1e22,
  ]

  /// Returns the value of a literal whose digits and power of ten are doubles, because their product or quotient is
  /// then rounded once, which is exact (Clinger, "How to Read Floating Point Numbers Accurately").
  private static func shortDouble(_ literal: UnsafeRawBufferPointer) -> Double? {
    var digits: UInt64 = 0
    var exponent = 0
    var isFraction = false
    let isNegative = literal.first == 0x2D
    guard literal.count <= 20 else { return nil }
    for byte in literal.dropFirst(isNegative ? 1 : 0) {
      if byte == UInt8(ascii: ".") {
        isFraction = true
        continue
      }
      guard (0x30...0x39).contains(byte), digits < 1 << 58 else { return nil }
      digits = digits * 10 + UInt64(byte - 0x30)
      if isFraction { exponent += 1 }
    }
    guard digits <= 1 << 53, exponent < powers.count else { return nil }
    let value = Double(digits) / powers[exponent]
    return isNegative ? -value : value
  }
}
