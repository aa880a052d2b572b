import CofferTestSupport
import CofferText
import Testing

/// Short valid and invalid texts for every encoding and choice.
private let texts: [[UInt8]] = {
  let sound = "aя世😀\u{FFFD}b"
  var texts: [[UInt8]] = [
    [], [0x61], [0xEF], [0xEF, 0xBB], [0xEF, 0xBB, 0xBF], [0xEF, 0xBB, 0xEF], [0xEF, 0xBB, 0xBF, 0xFF, 0x61],
    [0xFF], [0xFE], [0xFF, 0xFE], [0xFF, 0xFE, 0], [0xFF, 0xFE, 0, 0], [0xFF, 0xFE, 0, 0, 0x61],
    [0xFF, 0xFE, 0, 0x61, 0x62], [0, 0, 0xFE], [0, 0, 0xFE, 0xFF], [0, 0, 0xFE, 0x61], [0, 0], [0],
    [0x3D, 0xD8, 0x3D, 0xD8, 0x00, 0xDE, 0x00, 0xDE, 0x61], [0xFF, 0xFE, 0x61, 0, 0x3D, 0xD8, 0x61],
    [0xF0, 0x9F, 0x98, 0xF0, 0x9F, 0x98, 0x80, 0xED, 0xA0, 0x80, 0xE0, 0x80, 0xC3],
    [0x61, 0xE4, 0xB8, 0x00, 0x62], [0x98, 0x61, 0x81, 0xE9],
    [UInt8](sound.utf8), [0xEF, 0xBB, 0xBF] + [UInt8](sound.utf8),
  ]
  for text in ["aß世ö", "aß世öü"] { texts.append([UInt8](text.utf8) + [0xE9, 0x62, 0x00]) }
  for encoding in [TextEncoding.utf16LittleEndian, .utf16BigEndian] {
    for mark in [false, true] {
      texts.append(encode([UInt8](sound.utf8), encoding, mark: mark).bytes ?? [])
    }
  }
  return texts
}()

private let choices: [EncodingChoice] =
  [.automatic, .utf16WithMark] + TextEncoding.allCases.prefix(5).map { .fixed($0) }

@Suite struct ChunkTests {
  @Test(arguments: choices, [CodingErrorMode.fail, .replace])
  func decodingIgnoresChunkSize(choice: EncodingChoice, mode: CodingErrorMode) {
    for text in texts {
      let whole = decode(text, choice, onError: mode)
      for size in 1...max(1, text.count) {
        #expect(decode(text, choice, onError: mode, chunks: [size]) == whole, "\(text) by \(size)")
      }
    }
  }

  @Test(arguments: choices, [CodingErrorMode.fail, .replace])
  func decodingIgnoresSplits(choice: EncodingChoice, mode: CodingErrorMode) {
    for text in texts {
      let whole = decode(text, choice, onError: mode)
      for first in 0...text.count {
        for second in 0...(text.count - first) {
          let split = decode(text, choice, onError: mode, chunks: [first, second, .max])
          #expect(split == whole, "\(text) at \(first) and \(second)")
        }
      }
    }
  }

  @Test(.slow, arguments: choices, [CodingErrorMode.fail, .replace])
  func decodingIgnoresOutputSize(choice: EncodingChoice, mode: CodingErrorMode) {
    for text in texts {
      let whole = decode(text, choice, onError: mode)
      for room in TextDecoder.minimumOutput...24 {
        for size in [1, 3, 5, .max] {
          #expect(decode(text, choice, onError: mode, chunks: [size], room: room) == whole, "\(text) into \(room)")
        }
      }
    }
  }

  @Test(arguments: TextEncoding.allCases.prefix(5), [CodingErrorMode.fail, .replace])
  func encodingIgnoresChunkSize(encoding: TextEncoding, mode: CodingErrorMode) {
    for text in texts {
      let whole = encode(text, encoding, mark: true, onError: mode)
      for size in 1...max(1, text.count) {
        for room in [TextEncoder.minimumOutput, 5, 7, 16, 64] {
          let parts = encode(text, encoding, mark: true, onError: mode, chunks: [size], room: room)
          #expect(parts == whole, "\(text) by \(size) into \(room)")
        }
      }
    }
  }

  @Test func consumesWholeInput() throws {
    var decoder = TextDecoder(.automatic)
    var output = [UInt8](repeating: 0, count: 64)
    for chunk in [[0xFF], [0xFE, 0x61], [0x00, 0x3D], [0xD8], [0x00, 0xDE]] as [[UInt8]] {
      _ = try chunk.withUnsafeBytes { input in
        try output.withUnsafeMutableBytes { try decoder.decode(input, into: $0, isFinal: false) }
      }
    }
    #expect(decoder.bytesConsumed == 8)
    #expect(decoder.encoding == .utf16LittleEndian)
  }
}
