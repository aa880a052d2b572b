import CofferText
import Testing

@Suite struct CodePageTests {
  /// Only the matching table decodes each line correctly.
  @Test(
    arguments: [
      (.windows1250, [0x8A, 0x9D, 0xB3, 0xF9], "Šťłů"),
      (.windows1251, [0xCF, 0xF0, 0xE8, 0xE2, 0xE5, 0xF2, 0xB8, 0xB9], "Приветё№"),
      (.windows1252, [0x80, 0x93, 0x9C, 0xE9, 0xFF], "€“œéÿ"),
      (.windows1253, [0xC1, 0xF9, 0xA2, 0xA1], "ΑωΆ΅"),
      (.windows1254, [0xD0, 0xDD, 0xFE], "Ğİş"),
      (.windows1255, [0xE0, 0xFA, 0xA4, 0xC0], "את₪\u{5B0}"),
      (.windows1256, [0xC7, 0xED, 0x81, 0xFE], "ايپ\u{200F}"),
      (.windows1257, [0xC0, 0xF0, 0xFF], "Ąš˙"),
      (.windows1258, [0xD0, 0xF5, 0xCC, 0xFE], "Đơ\u{300}₫"),
      (.koi8R, [0xF0, 0xD2, 0xC9, 0xD7, 0xC5, 0xD4, 0xA3, 0x80], "Приветё─"),
      (.iso88591, [0x80, 0x9F, 0xA4, 0xFF], "\u{80}\u{9F}¤ÿ"),
      (.iso885915, [0xA4, 0xA6, 0xBD, 0xFF], "€Šœÿ"),
    ] as [(TextEncoding, [UInt8], String)])
  func decodesBytesByTable(encoding: TextEncoding, bytes: [UInt8], text: String) {
    #expect(decode(bytes, .fixed(encoding)) == .text(text, encoding))
    #expect(encode([UInt8](text.utf8), encoding).bytes == bytes)
  }

  /// Covers all undefined bytes in the consortium's tables.
  @Test(
    arguments: [
      (.windows1250, [0x81, 0x83, 0x88, 0x90, 0x98]),
      (.windows1251, [0x98]),
      (.windows1252, [0x81, 0x8D, 0x8F, 0x90, 0x9D]),
      (
        .windows1253,
        [0x81, 0x88, 0x8A, 0x8C, 0x8D, 0x8E, 0x8F, 0x90, 0x98, 0x9A, 0x9C, 0x9D, 0x9E, 0x9F, 0xAA, 0xD2, 0xFF]
      ),
      (.windows1254, [0x81, 0x8D, 0x8E, 0x8F, 0x90, 0x9D, 0x9E]),
      (
        .windows1255,
        [
          0x81, 0x8A, 0x8C, 0x8D, 0x8E, 0x8F, 0x90, 0x9A, 0x9C, 0x9D, 0x9E, 0x9F, 0xCA, 0xD9, 0xDA, 0xDB, 0xDC, 0xDD,
          0xDE, 0xDF, 0xFB, 0xFC, 0xFF,
        ]
      ),
      (.windows1256, []),
      (.windows1257, [0x81, 0x83, 0x88, 0x8A, 0x8C, 0x90, 0x98, 0x9A, 0x9C, 0x9F, 0xA1, 0xA5]),
      (.windows1258, [0x81, 0x8A, 0x8D, 0x8E, 0x8F, 0x90, 0x9A, 0x9D, 0x9E]),
      (.koi8R, []), (.iso88591, []), (.iso885915, []),
    ] as [(TextEncoding, [UInt8])])
  func rejectsUndefinedBytes(encoding: TextEncoding, undefined: [UInt8]) {
    for byte in 0...255 as ClosedRange<UInt8> {
      let outcome = decode([0x61, byte, 0x62], .fixed(encoding))
      if undefined.contains(byte) {
        #expect(outcome == .error(.invalidBytes, at: 1, "byte that the code page does not define"))
        #expect(decode([0x61, byte, 0x62], .fixed(encoding), onError: .replace).string == "a\u{FFFD}b")
      } else {
        #expect(outcome.bytes.map { encode($0, encoding).bytes } == [0x61, byte, 0x62])
      }
    }
  }

  @Test func decodesLowerHalfAsASCII() {
    let ascii = [UInt8](0..<128)
    for encoding in TextEncoding.allCases where encoding.byteOrderMark.isEmpty {
      #expect(decode(ascii, .fixed(encoding)).bytes == ascii)
      #expect(encode(ascii, encoding).bytes == ascii)
    }
  }

  @Test func rejectsOrReplacesMissingCharacter() {
    let text = [UInt8]("aя世😀b".utf8)
    #expect(
      encode(text, .windows1251) == .error(.unencodableCharacter, at: 3, "character that the encoding does not have"))
    #expect(encode(text, .windows1251, onError: .replace).bytes == [0x61, 0xFF, 0x3F, 0x3F, 0x62])
  }

  @Test func encodesNUL() {
    #expect(encode([0], .windows1252).bytes == [0])
  }
}
