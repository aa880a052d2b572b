import CofferTestSupport
import CofferText
import Testing

@Suite struct EncoderTests {
  private let text = "aя世😀\0\u{FEFF}\u{FFFF}\u{10FFFF}"

  @Test func encodesUTF16InByteOrder() {
    let little = littleEnd(text.utf16)
    #expect(encode([UInt8](text.utf8), .utf16LittleEndian).bytes == little)
    #expect(encode([UInt8](text.utf8), .utf16BigEndian).bytes == swapped(little))
  }

  @Test func writesMarkOnce() {
    for encoding in [TextEncoding.utf8, .utf16LittleEndian, .utf16BigEndian] {
      #expect(encode([], encoding, mark: true).bytes == encoding.byteOrderMark)
      let bytes = encode([UInt8](text.utf8), encoding, mark: true, chunks: [1], room: 4).bytes
      #expect(bytes?.starts(with: encoding.byteOrderMark) == true)
      #expect(bytes.map { decode($0, .fixed(encoding)) } == .text(text, encoding, mark: true))
    }
  }

  @Test func omitsMarkForCodePage() {
    #expect(encode([0x61], .koi8R, mark: true).bytes == [0x61])
  }

  @Test func reportsOffsetOfInvalidUTF8() {
    for encoding in TextEncoding.allCases {
      #expect(encode([0x61, 0xC3, 0x62], encoding) == .error(.invalidBytes, at: 1, "incomplete UTF-8 sequence"))
      #expect(encode([0x61, 0xC3], encoding) == .error(.invalidBytes, at: 1, "truncated UTF-8 sequence at the end"))
    }
  }

  @Test func replacesInvalidUTF8() {
    let bytes: [UInt8] = [0x61, 0xFF, 0xE4, 0xB8]
    #expect(encode(bytes, .utf8, onError: .replace).string == "a\u{FFFD}\u{FFFD}")
    #expect(encode(bytes, .utf16BigEndian, onError: .replace).bytes == [0x00, 0x61, 0xFF, 0xFD, 0xFF, 0xFD])
    #expect(encode(bytes, .windows1252, onError: .replace).string == "a??")
  }

  @Test(.slow) func roundTripsEveryScalar() throws {
    let text = [UInt8](everyScalar.utf8)
    for encoding in [TextEncoding.utf16LittleEndian, .utf16BigEndian, .utf8] {
      let bytes = try TextEncoder.bytes(fromUTF8: text, in: encoding)
      #expect(try TextDecoder.utf8(from: bytes, in: .fixed(encoding)) == text)
    }
  }
}
