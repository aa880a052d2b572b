import CofferTestSupport
import CofferText
import Testing

/// Compares the decoders with a literal implementation of WHATWG's Encoding Standard, for every split of all short
/// texts from significant bytes.
@Suite struct StandardDecoderTests {
  /// The bytes on both sides of every range boundary in the UTF-8 decoder.
  private static let utf8Bytes: [UInt8] = [
    0x41, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC1, 0xC2, 0xE0, 0xE1, 0xED, 0xF0, 0xF1, 0xF4, 0xF5,
  ]
  private static let utf16Bytes: [UInt8] = [0x00, 0x41, 0xD7, 0xD8, 0xDB, 0xDC, 0xDF, 0xE0]

  private static func texts(of bytes: [UInt8], count: Int) -> [[UInt8]] {
    count == 0 ? [[]] : texts(of: bytes, count: count - 1).flatMap { text in bytes.map { text + [$0] } }
  }

  @Test(.slow) func decodesShortUTF8TextsLikeStandard() {
    for text in (0...3).flatMap({ Self.texts(of: Self.utf8Bytes, count: $0) }) {
      expect(text, .utf8, StandardUTF8.decode(text), cuts: Array(0...text.count))
    }
    // Test a fourth byte only after possible beginnings.
    for text in Self.texts(of: Self.utf8Bytes, count: 4) where text[0] >= 0xF0 && text[1] >= 0x80 && text[1] < 0xC0 {
      expect(text, .utf8, StandardUTF8.decode(text), cuts: [1, 2, 3])
    }
  }

  @Test(.slow, arguments: [TextEncoding.utf16LittleEndian, .utf16BigEndian])
  func decodesShortUTF16TextsLikeStandard(encoding: TextEncoding) {
    for text in (0...4).flatMap({ Self.texts(of: Self.utf16Bytes, count: $0) }) {
      let expected = StandardUTF16.decode(text, isBigEndian: encoding == .utf16BigEndian)
      expect(text, encoding, expected, cuts: text.count < 4 ? Array(0...text.count) : [1, 2, 3])
    }
    // Test a pair followed by an unpaired surrogate.
    for text in Self.texts(of: [0x00, 0xD8, 0xDC], count: 6) {
      let expected = StandardUTF16.decode(text, isBigEndian: encoding == .utf16BigEndian)
      expect(text, encoding, expected, cuts: Array(1...5))
    }
  }

  private func expect(_ text: [UInt8], _ encoding: TextEncoding, _ expected: [Unicode.Scalar?], cuts: [Int]) {
    let replaced = expected.map { $0 ?? "\u{FFFD}" }
    let utf8 = Array(String(String.UnicodeScalarView(replaced)).utf8)
    for cut in cuts {
      let outcome = decode(text, .fixed(encoding), onError: .replace, chunks: [cut, .max], room: 32)
      if outcome.bytes != utf8 { Issue.record("\(text) cut at \(cut): \(outcome)") }
      let isSound = decode(text, .fixed(encoding), chunks: [cut, .max], room: 32).bytes == utf8
      if isSound != !expected.contains(nil) { Issue.record("\(text) cut at \(cut) strictly") }
    }
  }
}

/// The standard's "UTF-8 decoder". `nil` represents an error.
private enum StandardUTF8 {
  static func decode(_ text: [UInt8]) -> [Unicode.Scalar?] {
    var output: [Unicode.Scalar?] = []
    var codePoint: UInt32 = 0
    var bytesSeen = 0
    var bytesNeeded = 0
    var lowerBoundary: UInt8 = 0x80
    var upperBoundary: UInt8 = 0xBF
    var position = 0
    while position < text.count {
      let byte = text[position]
      position += 1
      if bytesNeeded == 0 {
        switch byte {
        case 0x00...0x7F: output.append(Unicode.Scalar(byte))
        case 0xC2...0xDF:
          bytesNeeded = 1
          codePoint = UInt32(byte & 0x1F)
        case 0xE0...0xEF:
          if byte == 0xE0 { lowerBoundary = 0xA0 }
          if byte == 0xED { upperBoundary = 0x9F }
          bytesNeeded = 2
          codePoint = UInt32(byte & 0xF)
        case 0xF0...0xF4:
          if byte == 0xF0 { lowerBoundary = 0x90 }
          if byte == 0xF4 { upperBoundary = 0x8F }
          bytesNeeded = 3
          codePoint = UInt32(byte & 0x7)
        default: output.append(nil)
        }
        continue
      }
      guard lowerBoundary <= byte, byte <= upperBoundary else {
        (codePoint, bytesNeeded, bytesSeen, lowerBoundary, upperBoundary) = (0, 0, 0, 0x80, 0xBF)
        position -= 1
        output.append(nil)
        continue
      }
      (lowerBoundary, upperBoundary) = (0x80, 0xBF)
      codePoint = codePoint << 6 | UInt32(byte & 0x3F)
      bytesSeen += 1
      guard bytesSeen == bytesNeeded else { continue }
      output.append(Unicode.Scalar(codePoint))
      (codePoint, bytesNeeded, bytesSeen) = (0, 0, 0)
    }
    if bytesNeeded != 0 { output.append(nil) }
    return output
  }
}

/// The standard's "shared UTF-16 decoder". `nil` represents an error.
enum StandardUTF16 {
  static func decode(_ text: [UInt8], isBigEndian: Bool) -> [Unicode.Scalar?] {
    var output: [Unicode.Scalar?] = []
    var leadByte: UInt8?
    var leadSurrogate: UInt32?
    var queue = text[...]
    while let byte = queue.popFirst() {
      guard let lead = leadByte else {
        leadByte = byte
        continue
      }
      leadByte = nil
      let unit = isBigEndian ? UInt32(lead) << 8 | UInt32(byte) : UInt32(byte) << 8 | UInt32(lead)
      if let high = leadSurrogate {
        leadSurrogate = nil
        if (0xDC00...0xDFFF).contains(unit) {
          output.append(Unicode.Scalar(0x10000 + (high - 0xD800) << 10 + (unit - 0xDC00)))
        } else {
          queue = queue.startIndex >= 2 ? text[(queue.startIndex - 2)...] : text[...]
          output.append(nil)
        }
        continue
      }
      switch unit {
      case 0xD800...0xDBFF: leadSurrogate = unit
      case 0xDC00...0xDFFF: output.append(nil)
      default: output.append(Unicode.Scalar(unit))
      }
    }
    if leadByte != nil || leadSurrogate != nil { output.append(nil) }
    return output
  }
}
