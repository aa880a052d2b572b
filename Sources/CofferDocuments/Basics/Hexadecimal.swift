/// Hexadecimal digits, and the numbers and bytes that they write.
package enum Hexadecimal {
  /// Returns a digit's value, or `nil` if the byte isn't an uppercase or lowercase digit.
  @inlinable
  package static func value(of digit: UInt8) -> UInt8? {
    switch digit {
    case 0x30...0x39: digit - 0x30
    case 0x41...0x46: digit - 0x37
    case 0x61...0x66: digit - 0x57
    default: nil
    }
  }

  /// Returns the digit for a number below 16.
  @inlinable
  package static func digit(_ value: UInt8, uppercase: Bool = false) -> UInt8 {
    value < 10 ? 0x30 + value : (uppercase ? 0x37 : 0x57) + value
  }

  /// Returns the bytes for pairs of lowercase digits, or `nil` if the text is invalid.
  package static func bytes(_ text: Substring) -> [UInt8]? {
    let digits = Array(text.utf8)
    guard digits.count.isMultiple(of: 2) else { return nil }
    var bytes: [UInt8] = []
    for index in stride(from: 0, to: digits.count, by: 2) {
      guard let high = value(of: digits[index]), let low = value(of: digits[index + 1]),
        !(0x41...0x46).contains(digits[index]), !(0x41...0x46).contains(digits[index + 1])
      else { return nil }
      bytes.append(high << 4 | low)
    }
    return bytes
  }

  /// Returns two lowercase digits for each byte.
  package static func text(_ bytes: some Sequence<UInt8>) -> String {
    String(decoding: bytes.flatMap { [digit($0 >> 4), digit($0 & 0xF)] }, as: UTF8.self)
  }
}
