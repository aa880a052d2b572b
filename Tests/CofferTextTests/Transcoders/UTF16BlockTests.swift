import CofferTestSupport
import CofferText
import Testing

/// Tests every position and end in the kernel's blocks of 8 or 16 UTF-16 units.
@Suite struct UTF16BlockTests {
  /// A character of one, two and three UTF-8 bytes, and a surrogate pair.
  private static let fillers: [[UInt16]] = [[0x61], [0x44F], [0x4E16], [0xD83D, 0xDE00]]
  private static let mixed = fillers.flatMap { $0 + $0 }

  /// Returns exactly `count` units of the repeated filler.
  private func filled(_ filler: [UInt16], count: Int) -> [UInt16] {
    (0..<count).map { filler[$0 % filler.count] }
  }

  /// Compares strict and replacing decoding in both byte orders with the standard's steps.
  private func expectStandard(_ units: [UInt16], oddByte: Bool = false, chunks: [Int] = [.max], room: Int = 512) {
    let little = littleEnd(units)
    for (encoding, bytes) in [(TextEncoding.utf16LittleEndian, little), (.utf16BigEndian, swapped(little))] {
      let text = bytes + (oddByte ? [0xD8] : [])
      let scalars = StandardUTF16.decode(text, isBigEndian: encoding == .utf16BigEndian)
      let utf8 = [UInt8](String(String.UnicodeScalarView(scalars.map { $0 ?? "\u{FFFD}" })).utf8)
      let replaced = decode(text, .fixed(encoding), onError: .replace, chunks: chunks, room: room)
      if replaced.bytes != utf8 { Issue.record("\(text) by \(chunks) into \(room): \(replaced)") }
      let offset = scalars.firstIndex(of: nil).map { end in
        scalars[..<end].reduce(0) { $0 + ($1!.value < 0x10000 ? 2 : 4) }
      }
      let strict = decode(text, .fixed(encoding), chunks: chunks, room: room)
      if strict.errorOffset != offset { Issue.record("\(text) by \(chunks) into \(room) strictly: \(strict)") }
    }
  }

  @Test(.slow, arguments: 0..<16) func decodesEveryUnitInEveryLane(lane: Int) {
    var units: [UInt16] = []
    for unit in 0...0xFFFF as ClosedRange<UInt16> where unit & 0xF800 != 0xD800 {
      var block = Self.mixed + [0x62, 0x7FF, 0x800, 0xFFFF, 0x80, 0x7F]
      block[lane] = unit
      // Replace the unpaired half of an overwritten pair.
      if lane < 10, Self.mixed[lane] == 0xD83D { block[lane + 1] = 0x63 }
      if lane < 10, Self.mixed[lane] == 0xDE00 { block[lane - 1] = 0x64 }
      units += block
    }
    let expected = [UInt8](String(decoding: units, as: UTF16.self).utf8)
    let little = littleEnd(units)
    #expect(decode(little, .fixed(.utf16LittleEndian)).bytes == expected)
    #expect(decode(swapped(little), .fixed(.utf16BigEndian)).bytes == expected)
  }

  @Test(.slow, arguments: [0xD800, 0xDBFF, 0xDC00, 0xDFFF] as [UInt16])
  func decodesSurrogatesInEveryLane(surrogate: UInt16) {
    for filler in Self.fillers {
      for lane in 0..<34 {
        for neighbour in [0x61, 0x44F, 0x4E16, 0xD83D, 0xDE00] as [UInt16] {
          var units = filled(filler, count: 52)
          units[lane] = surrogate
          units[lane + 1] = neighbour
          expectStandard(units)
        }
      }
    }
  }

  @Test(.slow, arguments: [[0x61], [0x44F], [0x4E16], [0xD83D, 0xDE00], mixed] as [[UInt16]])
  func decodesEveryLengthAtAnySplit(filler: [UInt16]) {
    for count in 0...80 {
      let units = filled(filler, count: count)
      expectStandard(units)
      expectStandard(units, oddByte: true)
      for cut in stride(from: count % 3, through: 2 * count, by: 3) { expectStandard(units, chunks: [cut, .max]) }
    }
  }

  @Test(.slow, arguments: [[0x61], [0x44F], [0x4E16], [0xD83D, 0xDE00], mixed] as [[UInt16]])
  func decodesWithEveryOutputSize(filler: [UInt16]) {
    let units = filled(filler, count: 72)
    for room in TextDecoder.minimumOutput...220 { expectStandard(units, room: room) }
  }

  @Test func decodesASCIIAroundEveryOtherUnit() {
    for place in 0..<100 {
      for unit in [0x80, 0x8000, 0xFF00, 0xD800] as [UInt16] {
        var units = filled([0x61, 0x62, 0x7F, 0], count: 100)
        units[place] = unit
        expectStandard(units)
      }
    }
  }
}
