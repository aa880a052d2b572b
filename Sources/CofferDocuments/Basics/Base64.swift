/// Base64 with padding and the alphabet of RFC 4648, section 4.
package enum Base64 {
  /// Appends the decoded bytes.
  ///
  /// - Returns: `false` for a text that isn't strict Base64. The appended bytes are then invalid.
  package static func append(decoding text: UnsafeRawBufferPointer, to output: inout [UInt8]) -> Bool {
    guard text.count % 4 == 0 else { return false }
    let padding = text.count - (text.lastIndex { $0 != UInt8(ascii: "=") }.map { $0 + 1 } ?? 0)
    guard padding <= 2 else { return false }
    var bits: UInt32 = 0
    var bitCount = 0
    for byte in text.dropLast(padding) {
      guard let value = value(of: byte) else { return false }
      bits = bits << 6 | value
      bitCount += 6
      if bitCount >= 8 {
        bitCount -= 8
        output.append(UInt8(truncatingIfNeeded: bits >> UInt32(bitCount)))
      }
    }
    // Unused bits of the last character must be zero, or two texts would decode to the same bytes.
    return bits & (1 << UInt32(bitCount) - 1) == 0
  }

  private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

  package static func append(encoding bytes: UnsafeRawBufferPointer, to output: inout [UInt8]) {
    alphabet.withUnsafeBufferPointer { alphabet in
      var start = 0
      while start < bytes.count {
        let count = min(3, bytes.count - start)
        var bits = UInt32(bytes[start]) << 16
        if count > 1 { bits |= UInt32(bytes[start + 1]) << 8 }
        if count > 2 { bits |= UInt32(bytes[start + 2]) }
        for index in 0..<4 {
          output.append(index <= count ? alphabet[Int(bits >> UInt32(18 - 6 * index) & 0x3F)] : UInt8(ascii: "="))
        }
        start += 3
      }
    }
  }

  package static func text(_ bytes: [UInt8]) -> String {
    var text: [UInt8] = []
    bytes.withUnsafeBytes { append(encoding: $0, to: &text) }
    return String(decoding: text, as: UTF8.self)
  }

  private static func value(of byte: UInt8) -> UInt32? {
    switch byte {
    case 0x41...0x5A: UInt32(byte) - 0x41
    case 0x61...0x7A: UInt32(byte) - 0x61 + 26
    case 0x30...0x39: UInt32(byte) - 0x30 + 52
    case UInt8(ascii: "+"): 62
    case UInt8(ascii: "/"): 63
    default: nil
    }
  }
}
