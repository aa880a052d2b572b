import CofferText
import Testing

/// Invalid UTF-8 with the error offset, the reason and the output of WHATWG's decoder.
private let broken: [(bytes: [UInt8], offset: Int, reason: String, replaced: String)] = [
  ([0x80], 0, "UTF-8 continuation byte without a beginning", "\u{FFFD}"),
  ([0x61, 0xBF, 0x62], 1, "UTF-8 continuation byte without a beginning", "a\u{FFFD}b"),
  ([0xC0, 0x80], 0, "overlong UTF-8 sequence", "\u{FFFD}\u{FFFD}"),
  ([0xC1, 0xBF], 0, "overlong UTF-8 sequence", "\u{FFFD}\u{FFFD}"),
  ([0xE0, 0x80, 0x80], 0, "overlong UTF-8 sequence", "\u{FFFD}\u{FFFD}\u{FFFD}"),
  ([0xE0, 0x9F, 0xBF], 0, "overlong UTF-8 sequence", "\u{FFFD}\u{FFFD}\u{FFFD}"),
  ([0xF0, 0x80, 0x80, 0x80], 0, "overlong UTF-8 sequence", "\u{FFFD}\u{FFFD}\u{FFFD}\u{FFFD}"),
  ([0xF0, 0x8F, 0xBF, 0xBF], 0, "overlong UTF-8 sequence", "\u{FFFD}\u{FFFD}\u{FFFD}\u{FFFD}"),
  ([0xED, 0xA0, 0x80], 0, "surrogate in UTF-8", "\u{FFFD}\u{FFFD}\u{FFFD}"),
  ([0xED, 0xBF, 0xBF], 0, "surrogate in UTF-8", "\u{FFFD}\u{FFFD}\u{FFFD}"),
  ([0xF4, 0x90, 0x80, 0x80], 0, "UTF-8 sequence beyond U+10FFFF", "\u{FFFD}\u{FFFD}\u{FFFD}\u{FFFD}"),
  ([0xF5, 0x80], 0, "UTF-8 sequence beyond U+10FFFF", "\u{FFFD}\u{FFFD}"),
  ([0xFF], 0, "byte that UTF-8 never uses", "\u{FFFD}"),
  ([0xFE, 0x61], 0, "byte that UTF-8 never uses", "\u{FFFD}a"),
  ([0xC3, 0x61], 0, "incomplete UTF-8 sequence", "\u{FFFD}a"),
  ([0xE4, 0xB8, 0x61], 0, "incomplete UTF-8 sequence", "\u{FFFD}a"),
  ([0xF0, 0x9F, 0x98, 0x61], 0, "incomplete UTF-8 sequence", "\u{FFFD}a"),
  ([0xF0, 0x9F, 0x98, 0xC3, 0xA9], 0, "incomplete UTF-8 sequence", "\u{FFFD}é"),
  ([0x61, 0xC3], 1, "truncated UTF-8 sequence at the end", "a\u{FFFD}"),
  ([0x61, 0xE4, 0xB8], 1, "truncated UTF-8 sequence at the end", "a\u{FFFD}"),
  ([0x61, 0xF0, 0x9F, 0x98], 1, "truncated UTF-8 sequence at the end", "a\u{FFFD}"),
  ([0xF1, 0x80, 0x80, 0xE1, 0x80, 0xC2, 0x62], 0, "incomplete UTF-8 sequence", "\u{FFFD}\u{FFFD}\u{FFFD}b"),
]

@Suite struct UTF8Tests {
  @Test(arguments: broken)
  func reportsOffsetOfInvalidUTF8(bytes: [UInt8], offset: Int, reason: String, replaced: String) {
    #expect(decode(bytes, .fixed(.utf8)) == .error(.invalidBytes, at: offset, reason))
    #expect(decode(bytes, .automatic) == .error(.undecidedEncoding, at: offset, reason))
  }

  @Test(arguments: broken)
  func replacesMaximalSubparts(bytes: [UInt8], offset: Int, reason: String, replaced: String) {
    #expect(decode(bytes, .fixed(.utf8), onError: .replace).string == replaced)
  }

  @Test(arguments: broken)
  func reportsOffsetInsideLongText(bytes: [UInt8], offset: Int, reason: String, replaced: String) {
    for filler in ["a", "я", "世", "😀"] {
      for count in [3, 8, 33] {
        let around = String(repeating: filler, count: count)
        let outcome = decode([UInt8](around.utf8) + bytes + [UInt8](around.utf8), .fixed(.utf8))
        #expect(outcome.errorOffset == around.utf8.count + offset)
      }
    }
  }

  @Test func decodesEveryScalar() {
    let bytes = [UInt8](everyScalar.utf8)
    #expect(decode(bytes, .fixed(.utf8)).bytes == bytes)
  }

  @Test func reportsOffsetsOfReplacements() throws {
    var decoder = TextDecoder(.fixed(.utf8), onError: .replace)
    var output = [UInt8](repeating: 0, count: 64)
    let bytes: [UInt8] = [0x61, 0xFF, 0xEF, 0xBF, 0xBD, 0x62, 0xC3]
    let step = try bytes.withUnsafeBytes { input in
      try output.withUnsafeMutableBytes { try decoder.decode(input, into: $0, isFinal: true) }
    }
    #expect(String(decoding: output[..<step.written], as: UTF8.self) == "a\u{FFFD}\u{FFFD}b\u{FFFD}")
    // U+FFFD in the input is text.
    #expect(decoder.replacements.map(\.outputOffset) == [1, 8])
    #expect(decoder.replacements.map(\.inputOffset) == [1, 6])
    #expect(decoder.replacements.map(\.reason).last == "truncated UTF-8 sequence at the end")
  }
}
