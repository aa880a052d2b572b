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
    #expect(suggestions([0x63, 0x61, 0x66, 0xE9]) == [.windows1252, .windows1251, .utf8])
  }

  @Test func suggestsUTF8ForSingleNUL() {
    var bytes = [UInt8](repeating: 0x61, count: 5000)
    bytes[100] = 0
    #expect(suggestions(bytes) == [.utf8])
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
