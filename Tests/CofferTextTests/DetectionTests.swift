import CofferText
import Testing

@Suite struct DetectionTests {
  // MARK: Without a mark

  @Test func acceptsUnmarkedUTF8() {
    #expect(decode([UInt8]("Grüße, 世界".utf8), .automatic) == .text("Grüße, 世界", .utf8))
  }

  @Test func detectsEmptyTextAsUTF8() {
    for choice in [EncodingChoice.automatic, .utf16WithMark, .fixed(.utf8)] {
      #expect(decode([], choice) == .text("", .utf8))
    }
    #expect(decode([], .fixed(.utf16LittleEndian)) == .text("", .utf16LittleEndian))
    #expect(decode([], .fixed(.windows1251)) == .text("", .windows1251))
  }

  @Test func reportsOffsetOfUnmarkedNUL() {
    let outcome = decode([0x61, 0x62, 0x00, 0x63], .automatic)
    #expect(outcome == .error(.undecidedEncoding, at: 2, "U+0000 in text without a byte order mark"))
  }

  @Test func reportsOffsetOfDistantNUL() {
    for position in [7, 8, 31, 32, 40, 63, 20_000] {
      var bytes = [UInt8](repeating: 0x61, count: 40_000)
      bytes[position] = 0
      #expect(decode(bytes, .automatic).errorOffset == position)
      #expect(decode(bytes, .fixed(.utf8)).bytes == bytes)
    }
  }

  @Test func reportsTruncatedCharacterBeforeNUL() {
    #expect(decode([0x61, 0xC3, 0x00], .automatic).errorOffset == 1)
  }

  @Test func rejectsUnmarkedInvalidUTF8WhenReplacing() {
    for mode in [CodingErrorMode.fail, .replace] {
      #expect(
        decode([0x61, 0xE9, 0x62], .automatic, onError: mode)
          == .error(.undecidedEncoding, at: 1, "incomplete UTF-8 sequence"))
      #expect(decode([0x61, 0xE4, 0xB8], .automatic, onError: mode).failure == .undecidedEncoding)
      #expect(decode([0x00], .automatic, onError: mode).errorOffset == 0)
    }
  }

  @Test func replacesFaultsAfterFourLongCharacters() {
    let decided = Array("aßöäü".utf8)
    #expect(decode(decided + [0xE9, 0x62], .automatic, onError: .replace).string == "aßöäü\u{FFFD}b")
    #expect(
      decode(Array(decided.dropLast(2)) + [0xE9, 0x62], .automatic, onError: .replace).failure == .undecidedEncoding)
    #expect(decode(decided + [0xE9, 0x62], .automatic).failure == .undecidedEncoding)
    #expect(decode(decided + [0x00], .automatic, onError: .replace).failure == .undecidedEncoding)
  }

  @Test func failedDecoderKeepsFailing() throws {
    var decoder = TextDecoder(.automatic)
    var output = [UInt8](repeating: 0, count: 16)
    for bytes in [[0x61, 0xFF], [0x61, 0x61]] as [[UInt8]] {
      let error = #expect(throws: TextCodingError.self) {
        try bytes.withUnsafeBytes { input in
          try output.withUnsafeMutableBytes { _ = try decoder.decode(input, into: $0, isFinal: false) }
        }
      }
      #expect(error?.byteOffset == 1)
    }
  }

  // MARK: With a mark

  @Test func dropsUTF8Mark() {
    #expect(decode([0xEF, 0xBB, 0xBF, 0x61], .automatic) == .text("a", .utf8, mark: true))
    #expect(decode([0xEF, 0xBB, 0xBF, 0x61], .fixed(.utf8)) == .text("a", .utf8, mark: true))
  }

  @Test func detectsUTF16ByMark() {
    #expect(decode([0xFF, 0xFE, 0x61, 0x00], .automatic) == .text("a", .utf16LittleEndian, mark: true))
    #expect(decode([0xFE, 0xFF, 0x00, 0x61], .automatic) == .text("a", .utf16BigEndian, mark: true))
    #expect(decode([0xFF, 0xFE, 0x61, 0x00], .utf16WithMark) == .text("a", .utf16LittleEndian, mark: true))
    #expect(decode([0xFE, 0xFF, 0x00, 0x61], .utf16WithMark) == .text("a", .utf16BigEndian, mark: true))
  }

  @Test func decodesBareMarkAsEmptyText() {
    #expect(decode([0xFF, 0xFE], .automatic) == .text("", .utf16LittleEndian, mark: true))
    #expect(decode([0xEF, 0xBB, 0xBF], .automatic) == .text("", .utf8, mark: true))
  }

  @Test func dropsOnlyOneMark() {
    #expect(
      decode([0xFF, 0xFE, 0xFF, 0xFE, 0x61, 0x00], .automatic) == .text("\u{FEFF}a", .utf16LittleEndian, mark: true))
    #expect(decode([UInt8]("\u{FEFF}\u{FEFF}a".utf8), .automatic) == .text("\u{FEFF}a", .utf8, mark: true))
    #expect(decode([UInt8]("a\u{FEFF}".utf8), .automatic) == .text("a\u{FEFF}", .utf8))
  }

  @Test func acceptsNULAfterMark() {
    #expect(decode([0xEF, 0xBB, 0xBF, 0x00], .automatic) == .text("\0", .utf8, mark: true))
    #expect(
      decode([0xFF, 0xFE, 0x61, 0x00, 0x00, 0x00], .automatic) == .text("a\0", .utf16LittleEndian, mark: true))
  }

  @Test func replacesFaultsAfterMark() {
    #expect(decode([0xEF, 0xBB, 0xBF, 0xFF], .automatic, onError: .replace).string == "\u{FFFD}")
    #expect(decode([0xEF, 0xBB, 0xBF, 0xFF], .automatic).failure == .invalidBytes)
  }

  @Test func treatsBrokenMarkAsBytes() {
    #expect(
      decode([0xEF, 0xBB], .automatic) == .error(.undecidedEncoding, at: 0, "truncated UTF-8 sequence at the end"))
    #expect(decode([0xFF], .automatic).errorOffset == 0)
    #expect(decode([0xEF, 0xBB, 0xEF], .fixed(.utf8), onError: .replace).string == "\u{FFFD}\u{FFFD}")
  }

  // MARK: UTF-32

  @Test func rejectsUTF32Mark() {
    for choice in [EncodingChoice.automatic, .utf16WithMark] {
      for mode in [CodingErrorMode.fail, .replace] {
        let little = decode([0xFF, 0xFE, 0, 0, 0x61, 0, 0, 0], choice, onError: mode)
        #expect(little == .error(.unsupportedEncoding, at: 0, "byte order mark of UTF-32, little end first"))
        let big = decode([0, 0, 0xFE, 0xFF, 0, 0, 0, 0x61], choice, onError: mode)
        #expect(big == .error(.unsupportedEncoding, at: 0, "byte order mark of UTF-32, big end first"))
      }
    }
  }

  @Test func chosenByteOrderAcceptsUTF32Mark() {
    #expect(
      decode([0xFF, 0xFE, 0, 0], .fixed(.utf16LittleEndian)) == .text("\0", .utf16LittleEndian, mark: true))
    #expect(
      decode([0, 0, 0xFE, 0xFF], .fixed(.utf16BigEndian)) == .text("\0\u{FEFF}", .utf16BigEndian))
  }

  @Test func detectsPartialUTF32MarkAsUTF16() {
    #expect(decode([0xFF, 0xFE, 0], .automatic) == .error(.invalidBytes, at: 2, "truncated UTF-16 unit at the end"))
  }

  // MARK: Chosen encodings

  @Test func utf16RequiresMark() {
    #expect(decode([0x61, 0x00], .utf16WithMark) == .error(.needsMark, at: 0, "no byte order mark of UTF-16"))
    #expect(decode([0xEF, 0xBB, 0xBF, 0x61], .utf16WithMark, onError: .replace).failure == .needsMark)
  }

  @Test func chosenByteOrderDropsMark() {
    #expect(decode([0x61, 0x00], .fixed(.utf16LittleEndian)) == .text("a", .utf16LittleEndian))
    #expect(decode([0xFF, 0xFE, 0x61, 0x00], .fixed(.utf16LittleEndian)) == .text("a", .utf16LittleEndian, mark: true))
    #expect(decode([0x00, 0x61], .fixed(.utf16BigEndian)) == .text("a", .utf16BigEndian))
    #expect(decode([0xFE, 0xFF, 0x00, 0x61], .fixed(.utf16BigEndian)) == .text("a", .utf16BigEndian, mark: true))
  }

  @Test func codePageKeepsMarkBytes() {
    #expect(decode([0xEF, 0xBB, 0xBF], .fixed(.windows1252)) == .text("ï»¿", .windows1252))
  }

  @Test func parsesChoiceNames() {
    for name in EncodingChoice.allNames {
      #expect(EncodingChoice(name: name)?.name == name)
      #expect(EncodingChoice(name: name.uppercased())?.name == name)
    }
    #expect(EncodingChoice.allNames.count == TextEncoding.allCases.count + 2)
    #expect(EncodingChoice(name: "auto") == .automatic)
    #expect(EncodingChoice(name: "utf-16") == .utf16WithMark)
    #expect(EncodingChoice(name: "windows-1251") == .fixed(.windows1251))
    #expect(EncodingChoice(name: "utf-32") == nil)
    #expect(EncodingChoice(name: "") == nil)
  }
}
