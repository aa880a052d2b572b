import CofferTestSupport
import CofferText
import Testing

/// Invalid little-endian UTF-16 with the error offset, the reason and the output of WHATWG's decoder.
private let broken: [(bytes: [UInt8], offset: Int, reason: String, replaced: String)] = [
  ([0x61], 0, "truncated UTF-16 unit at the end", "\u{FFFD}"),
  ([0x61, 0x00, 0x62], 2, "truncated UTF-16 unit at the end", "a\u{FFFD}"),
  ([0x3D, 0xD8], 0, "unpaired surrogate", "\u{FFFD}"),
  ([0x61, 0x00, 0x3D, 0xD8, 0x00], 2, "unpaired surrogate", "a\u{FFFD}"),
  ([0x3D, 0xD8, 0x61, 0x00], 0, "unpaired surrogate", "\u{FFFD}a"),
  ([0x00, 0xDE, 0x61, 0x00], 0, "unpaired surrogate", "\u{FFFD}a"),
  ([0x00, 0xDE, 0x3D, 0xD8], 0, "unpaired surrogate", "\u{FFFD}\u{FFFD}"),
  ([0x3D, 0xD8, 0x3D, 0xD8, 0x00, 0xDE], 0, "unpaired surrogate", "\u{FFFD}\u{1F600}"),
  ([0x3D, 0xD8, 0x00, 0xDE, 0x00, 0xDE], 4, "unpaired surrogate", "\u{1F600}\u{FFFD}"),
]

@Suite struct UTF16Tests {
  @Test(arguments: broken)
  func reportsOffsetOfInvalidUTF16(bytes: [UInt8], offset: Int, reason: String, replaced: String) {
    #expect(decode(bytes, .fixed(.utf16LittleEndian)) == .error(.invalidBytes, at: offset, reason))
    #expect(decode(swapped(bytes), .fixed(.utf16BigEndian)) == .error(.invalidBytes, at: offset, reason))
    #expect(decode([0xFF, 0xFE] + bytes, .automatic) == .error(.invalidBytes, at: offset + 2, reason))
  }

  @Test(arguments: broken)
  func replacesInvalidUTF16UnitByUnit(bytes: [UInt8], offset: Int, reason: String, replaced: String) {
    #expect(decode(bytes, .fixed(.utf16LittleEndian), onError: .replace).string == replaced)
    #expect(decode(swapped(bytes), .fixed(.utf16BigEndian), onError: .replace).string == replaced)
  }

  @Test(arguments: broken)
  func handlesInvalidUTF16AfterLongText(bytes: [UInt8], offset: Int, reason: String, replaced: String) throws {
    for filler in ["a", "я", "世", "😀"] {
      for count in [1, 3, 4, 17] {
        let before = [UInt8](String(repeating: filler, count: count).utf8)
        let around = try TextEncoder.bytes(fromUTF8: before, in: .utf16LittleEndian)
        #expect(decode(around + bytes, .fixed(.utf16LittleEndian)).errorOffset == around.count + offset)
        let outcome = decode(around + bytes, .fixed(.utf16LittleEndian), onError: .replace)
        #expect(outcome.string == String(decoding: before, as: UTF8.self) + replaced)
      }
    }
  }

  @Test(.slow) func decodesEveryScalar() {
    let little = littleEnd(everyScalar.utf16)
    let expected = [UInt8](everyScalar.utf8)
    #expect(decode(little, .fixed(.utf16LittleEndian)).bytes == expected)
    #expect(decode(swapped(little), .fixed(.utf16BigEndian)).bytes == expected)
  }

  @Test(.slow, arguments: [0x61, 0x44F, 0x4E16, 0xD83D, 0xDE00] as [UInt16])
  func decodesEveryUnitLikeStandardLibrary(neighbor: UInt16) {
    var units: [UInt16] = []
    for unit in 0...0xFFFF as ClosedRange<UInt16> { units += [neighbor, unit, 0x62, neighbor] }
    let expected = [UInt8](String(decoding: units, as: UTF16.self).utf8)
    let little = littleEnd(units)
    #expect(decode(little, .fixed(.utf16LittleEndian), onError: .replace).bytes == expected)
    #expect(decode(swapped(little), .fixed(.utf16BigEndian), onError: .replace).bytes == expected)
  }

  @Test func decodesEveryMixOfLengths() {
    // Mix 8 units of one or two bytes, and 4 units of one to three bytes, and repeat them to fill every loop.
    var mixes = (0..<256).map { mask in (0..<8).map { mask >> $0 & 1 } }
    for mix in 0..<81 {
      let quad = [mix % 3, mix / 3 % 3, mix / 9 % 3, mix / 27]
      mixes.append(quad + quad.reversed())
    }
    for mix in mixes {
      for samples in [[0x61, 0x44F, 0x4E16], [0x7F, 0x80, 0x800], [0x00, 0x7FF, 0xFFFF], [0x20, 0xBF, 0xE000]] {
        let units = (0..<6).flatMap { _ in mix.map { UInt16(samples[$0]) } }
        let expected = [UInt8](String(decoding: units, as: UTF16.self).utf8)
        #expect(decode(littleEnd(units), .fixed(.utf16LittleEndian)).bytes == expected)
        #expect(decode(swapped(littleEnd(units)), .fixed(.utf16BigEndian), room: 61).bytes == expected)
      }
    }
  }
}
