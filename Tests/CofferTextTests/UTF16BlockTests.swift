import CofferText
import Testing

/// The kernel takes UTF-16 in blocks of 8 or 16 units: every place in a block, and every end of one.
@Suite struct UTF16BlockTests {
  /// One of each class: one byte, two, three, and a pair.
  private static let fillers: [[UInt16]] = [[0x61], [0x44F], [0x4E16], [0xD83D, 0xDE00]]
  private static let mixed = fillers.flatMap { $0 + $0 }

  /// The filler again and again, exactly `count` units.
  private func filled(_ filler: [UInt16], count: Int) -> [UInt16] {
    (0..<count).map { filler[$0 % filler.count] }
  }

  /// Compares both ends first with the standard's steps, strict and replacing.
  private func expectTheStandard(_ units: [UInt16], oddByte: Bool = false, chunks: [Int] = [.max], room: Int = 512) {
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

  @Test(.slow, arguments: 0..<16) func everyUnitInEveryLaneIsRead(lane: Int) {
    var units: [UInt16] = []
    for unit in 0...0xFFFF as ClosedRange<UInt16> where unit & 0xF800 != 0xD800 {
      var block = Self.mixed + [0x62, 0x7FF, 0x800, 0xFFFF, 0x80, 0x7F]
      block[lane] = unit
      // A pair whose other half was there.
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
  func surrogatesInEveryLaneAreReadByTheStandard(surrogate: UInt16) {
    for filler in Self.fillers {
      for lane in 0..<34 {
        for neighbour in [0x61, 0x44F, 0x4E16, 0xD83D, 0xDE00] as [UInt16] {
          var units = filled(filler, count: 52)
          units[lane] = surrogate
          units[lane + 1] = neighbour
          expectTheStandard(units)
        }
      }
    }
  }

  @Test(.slow, arguments: [[0x61], [0x44F], [0x4E16], [0xD83D, 0xDE00], mixed] as [[UInt16]])
  func everyLengthIsReadByTheStandardCutAnywhere(filler: [UInt16]) {
    for count in 0...80 {
      let units = filled(filler, count: count)
      expectTheStandard(units)
      expectTheStandard(units, oddByte: true)
      for cut in stride(from: count % 3, through: 2 * count, by: 3) { expectTheStandard(units, chunks: [cut, .max]) }
    }
  }

  @Test(.slow, arguments: [[0x61], [0x44F], [0x4E16], [0xD83D, 0xDE00], mixed] as [[UInt16]])
  func everyRoomIsReadByTheStandard(filler: [UInt16]) {
    let units = filled(filler, count: 72)
    for room in TextDecoder.minimumOutput...220 { expectTheStandard(units, room: room) }
  }

  @Test func asciiIsReadAroundEveryOtherUnit() {
    for place in 0..<100 {
      for unit in [0x80, 0x8000, 0xFF00, 0xD800] as [UInt16] {
        var units = filled([0x61, 0x62, 0x7F, 0], count: 100)
        units[place] = unit
        expectTheStandard(units)
      }
    }
  }
}
