import CofferTestSupport
import Testing

@testable import CofferText

/// Compares the validation in blocks of 32 bytes with the standard library's reader.
@Suite struct UTF8ValidityTests {
  /// The boundary bytes in the standard's table of well-formed sequences, and their neighbors.
  private static let kinds: [UInt8] = [
    0x00, 0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1, 0xEC, 0xED, 0xEE, 0xEF,
    0xF0, 0xF1, 0xF3, 0xF4, 0xF5, 0xF8, 0xFF,
  ]

  private func isValid(_ bytes: [UInt8]) -> Bool { bytes.withUnsafeBytes(UTF8Validity.isValid) }

  private func isValidSlowly(_ bytes: some Sequence<UInt8>) -> Bool { String(validating: bytes, as: UTF8.self) != nil }

  @Test func validatesEveryBytePair() {
    var different: [[UInt8]] = []
    for first in UInt8.min...UInt8.max {
      for second in UInt8.min...UInt8.max where isValid([first, second]) != isValidSlowly([first, second]) {
        different.append([first, second])
      }
    }
    #expect(different == [])
  }

  @Test func detectsInvalidByteAtEveryOffset() {
    for count in [1, 7, 8, 9, 31, 32, 33, 40, 64, 71] {
      for place in 0..<count {
        var bytes = [UInt8](repeating: 0x61, count: count)
        #expect(isValid(bytes))
        bytes[place] = 0xFF
        #expect(!isValid(bytes), "\(place) of \(count)")
      }
    }
  }

  /// Tests four bytes of every kind at block ends and within blocks, in ASCII and in longer characters.
  @Test(.slow, arguments: [29, 30, 31, 32, 45, 60, 61, 62, 63, 64])
  func validatesEveryFourByteCombination(offset: Int) {
    let ascii = [UInt8](repeating: 0x61, count: 128)
    let greek = [UInt8](String(repeating: "γ", count: 64).utf8)
    for first in Self.kinds {
      for second in Self.kinds {
        for third in Self.kinds {
          for fourth in Self.kinds {
            let bytes = [first, second, third, fourth]
            let isExpected = isValidSlowly(bytes)
            var among = ascii
            among.replaceSubrange(offset..<offset + 4, with: bytes)
            guard isValid(among) == isExpected else {
              Issue.record("\(bytes) at \(offset) among ASCII")
              return
            }
            among = greek
            among.replaceSubrange((offset & ~1)..<(offset & ~1) + 4, with: bytes)
            guard isValid(among) == isExpected else {
              Issue.record("\(bytes) at \(offset & ~1) among characters of two bytes")
              return
            }
          }
        }
      }
    }
  }

  @Test func validatesEveryTruncationOfEveryLength() {
    let text = [UInt8](String(repeating: "aéह€😀", count: 20).utf8)
    for start in 0..<40 {
      for end in start...text.count {
        #expect(isValid(Array(text[start..<end])) == isValidSlowly(text[start..<end]), "\(start)..<\(end)")
      }
    }
  }

  @Test func reportsOffsetAfterLongText() throws {
    let good = [UInt8](String(repeating: "日本語 текст ", count: 50).utf8)
    for place in stride(from: 0, to: good.count, by: 7) where good[place] & 0xC0 != 0x80 {
      var bytes = good
      bytes[place] = 0xFF
      let error = #expect(throws: TextCodingError.self) { try TextDecoder.utf8(from: bytes, in: .fixed(.utf8)) }
      #expect(error?.byteOffset == place)
    }
  }

  @Test func reportsOffsetOfNUL() throws {
    let good = [UInt8](String(repeating: "日本語 текст ", count: 30).utf8)
    for place in stride(from: 0, to: good.count, by: 5) where good[place] & 0xC0 != 0x80 {
      var bytes = good
      bytes.insert(0, at: place)
      #expect(throws: TextCodingError.self) { try TextDecoder.utf8(from: bytes, in: .automatic) }
    }
  }
}
