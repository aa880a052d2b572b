import CofferTestSupport
import CofferText
import Testing

/// Compares random texts with the standard library, which uses the same replacement rules.
@Suite struct RandomTests {
  /// Returns text-like runs of equally long characters.
  private func scalars(_ numbers: inout Pseudorandom, count: Int) -> [Unicode.Scalar] {
    let ranges: [ClosedRange<UInt32>] = [
      0x20...0x7E, 0x80...0x7FF, 0x800...0xD7FF, 0xE000...0xFFFF, 0x10000...0x10FFFF,
    ]
    var result: [Unicode.Scalar] = []
    while result.count < count {
      let range = ranges.randomElement(using: &numbers)!
      for _ in 0..<Int.random(in: 1...40, using: &numbers) {
        result.append(Unicode.Scalar(UInt32.random(in: range, using: &numbers))!)
      }
    }
    return result
  }

  @Test(arguments: 0..<40 as Range<UInt64>)
  func decodesUTF16LikeStandardLibrary(seed: UInt64) {
    var numbers = Pseudorandom(seed: seed)
    let text = String(String.UnicodeScalarView(scalars(&numbers, count: 600)))
    var units = [UInt16](text.utf16)
    if seed.isMultiple(of: 2) {
      for _ in 0..<20 {
        units[Int.random(in: units.indices, using: &numbers)] = UInt16.random(in: 0xD7F0...0xE010, using: &numbers)
      }
    }
    let expected = [UInt8](String(decoding: units, as: UTF16.self).utf8)
    let little = littleEnd(units)
    let big = swapped(little)
    for _ in 0..<8 {
      let chunks = (0..<60).map { _ in Int.random(in: 0...50, using: &numbers) } + [.max]
      let room = Int.random(in: 4...200, using: &numbers)
      // The first unit can look like a mark, so add a mark before it.
      let first = decode([0xFF, 0xFE] + little, .automatic, onError: .replace, chunks: chunks, room: room)
      #expect(first.bytes == expected)
      let second = decode([0xFE, 0xFF] + big, .automatic, onError: .replace, chunks: chunks, room: room)
      #expect(second.bytes == expected)
      #expect(first.replacements == second.replacements)
    }
  }

  @Test(arguments: 0..<40 as Range<UInt64>)
  func decodesUTF8LikeStandardLibrary(seed: UInt64) {
    var numbers = Pseudorandom(seed: seed)
    var bytes = [UInt8](String(String.UnicodeScalarView(scalars(&numbers, count: 600))).utf8)
    for _ in 0..<(seed.isMultiple(of: 2) ? 30 : 0) {
      bytes[Int.random(in: bytes.indices, using: &numbers)] = UInt8.random(in: 0x70...0xFF, using: &numbers)
    }
    let expected = [UInt8](String(decoding: bytes, as: UTF8.self).utf8)
    for _ in 0..<8 {
      let chunks = (0..<60).map { _ in Int.random(in: 0...50, using: &numbers) } + [.max]
      let room = Int.random(in: 4...200, using: &numbers)
      let marked = [0xEF, 0xBB, 0xBF] + bytes
      let replaced = decode(marked, .automatic, onError: .replace, chunks: chunks, room: room)
      #expect(replaced.bytes == expected)
      // Strict decoding fails at the first replacement.
      let strict = decode(marked, .automatic, chunks: chunks, room: room)
      #expect(strict.errorOffset == replaced.replacements?.first?[1])
      #expect(replaced.replacements?.isEmpty == String(validating: bytes, as: UTF8.self).map { _ in true } ?? false)
    }
  }
}
