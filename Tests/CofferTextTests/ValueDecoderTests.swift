import CofferText
import Testing

@Suite struct ValueDecoderTests {
  private func decode(
    _ bytes: [UInt8], _ encoding: TextEncoding, onError mode: CodingErrorMode = .fail
  ) throws -> [UInt8] {
    let decoder = ValueDecoder(encoding, onError: mode)
    return try bytes.withUnsafeBytes { Array(try decoder.utf8(from: $0)) }
  }

  @Test func treatsMarkAsText() throws {
    let text = Array("\u{FEFF}a\0".utf8)
    #expect(try decode(text, .utf8) == text)
    #expect(try decode([0xFF, 0xFE, 0x61, 0, 0, 0], .utf16LittleEndian) == text)
    #expect(try decode([0xFE, 0xFF, 0, 0x61, 0, 0], .utf16BigEndian) == text)
  }

  @Test func decodesEmptyText() throws {
    for encoding in [TextEncoding.utf8, .utf16LittleEndian, .utf16BigEndian] {
      #expect(try decode([], encoding) == [])
    }
  }

  @Test func failedTextDoesNotAffectNextText() throws {
    let decoder = ValueDecoder(.utf16LittleEndian)
    let (bad, good): ([UInt8], [UInt8]) = ([0x61, 0, 0x62], [0x61, 0])
    for _ in 0..<3 {
      #expect(throws: TextCodingError.self) { try bad.withUnsafeBytes { _ = try decoder.utf8(from: $0) } }
      #expect(try good.withUnsafeBytes { Array(try decoder.utf8(from: $0)) } == [0x61])
    }
  }

  @Test func reservesSpaceForReplacements() throws {
    let bad = [UInt8](repeating: 0xFF, count: 100_001)
    let replaced = [UInt8]([[UInt8]](repeating: [0xEF, 0xBF, 0xBD], count: 100_001).joined())
    #expect(try decode(bad, .utf8, onError: .replace) == replaced)
    // A lead surrogate followed by half a unit is one error.
    let surrogates = [UInt8](repeating: 0xD8, count: 99_999)
    #expect(try decode(surrogates, .utf16BigEndian, onError: .replace).count == 49_999 * 3)
    #expect(
      try decode(Array(repeating: [0x16, 0x4E], count: 50_000).flatMap { $0 }, .utf16LittleEndian).count == 150_000)
  }
}
