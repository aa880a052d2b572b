import CofferText
import Testing

@Suite struct SuggestionTests {
  private func suggestions(_ bytes: [UInt8], _ choice: EncodingChoice = .automatic) -> [TextEncoding] {
    do throws(TextCodingError) {
      _ = try TextDecoder.utf8(from: bytes, in: choice)
      return []
    } catch {
      return error.suggestions
    }
  }

  @Test func zerosAtOddOffsetsSuggestLittleEndian() throws {
    let bytes = try TextEncoder.bytes(fromUTF8: [UInt8]("Hello, world".utf8), in: .utf16LittleEndian)
    #expect(suggestions(bytes) == [.utf16LittleEndian])
    #expect(suggestions(bytes, .utf16WithMark) == [.utf16LittleEndian])
  }

  @Test func zerosAtEvenOffsetsSuggestBigEndian() throws {
    let bytes = try TextEncoder.bytes(fromUTF8: [UInt8]("Hello, world".utf8), in: .utf16BigEndian)
    #expect(suggestions(bytes) == [.utf16BigEndian])
    #expect(suggestions(bytes, .utf16WithMark) == [.utf16BigEndian])
  }

  @Test func spacesInCyrillicTextSuggestUTF16() throws {
    let text = [UInt8]("Широкая электрификация южных губерний".utf8)
    #expect(suggestions(try TextEncoder.bytes(fromUTF8: text, in: .utf16LittleEndian)) == [.utf16LittleEndian])
    #expect(suggestions(try TextEncoder.bytes(fromUTF8: text, in: .utf16BigEndian)) == [.utf16BigEndian])
  }

  @Test func otherInvalidBytesSuggestCodePages() {
    #expect(suggestions([0x63, 0x61, 0x66, 0xE9]) == [.windows1252, .windows1251])
    // Only pages that define the bytes.
    #expect(suggestions([0x63, 0xE9, 0x81]) == [.windows1251])
    #expect(suggestions([0x63, 0xE9, 0x98]) == [.windows1252])
    #expect(suggestions([0x63, 0xE9, 0x81, 0x98]) == [])
  }

  @Test func suggestsUTF8ForSingleNUL() {
    var bytes = [UInt8](repeating: 0x61, count: 5000)
    bytes[100] = 0
    #expect(suggestions(bytes) == [.utf8])
  }

  @Test(arguments: [
    "a:b\0001 some text\nc:d\0002 more\n", "a\0b\n", "one\0two\0three\0", "\0", "x\0\0\0\0yy\0", "é\0à",
  ])
  func suggestsUTF8ForTextWithNUL(text: String) {
    #expect(suggestions(Array(text.utf8)) == [.utf8])
  }

  @Test func suggestsUTF8ForInvalidBytesInIt() {
    let text = Array("Широкая электрификация\n".utf8)
    for fault in [[0xFF], [0x80], [0xC3, 0x28]] as [[UInt8]] {
      #expect(suggestions(text + fault + text) == [.utf8])
    }
    #expect(suggestions(Array("Grüße".utf8) + [0xE9]) == [.utf8])
  }

  @Test func binaryContentLacksSuggestions() {
    #expect(suggestions([0x00, 0xFF, 0x00, 0x80, 0x01]) == [])
  }

  @Test(arguments: ["a", "ab\r\n", "title\ttext\r\n", "é,ü", "Ελληνικά κείμενα", "हिन्दी पाठ", "Привет"])
  func suggestsUTF16ForItsText(text: String) throws {
    for encoding in [TextEncoding.utf16LittleEndian, .utf16BigEndian] {
      let bytes = try TextEncoder.bytes(fromUTF8: Array("\(text) \(text)".utf8), in: encoding)
      #expect(suggestions(bytes) == [encoding])
    }
  }

  @Test func ambiguousByteOrderSuggestsBoth() {
    #expect(suggestions([0x3B, 0x4E], .utf16WithMark) == [.utf16LittleEndian, .utf16BigEndian])
    #expect(suggestions([0xEF, 0xBB, 0xBF, 0x61], .utf16WithMark) == [.utf8])
  }

  @Test func wellFormednessErrorLacksSuggestions() {
    #expect(suggestions([0xFF, 0xFE, 0x00], .automatic) == [])
    #expect(suggestions([0xFF], .fixed(.utf8)) == [])
  }
}
