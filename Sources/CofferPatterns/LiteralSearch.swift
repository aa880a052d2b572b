internal import CofferPlatform

/// A search for a literal byte sequence. It's a class, so searching another text copies only a reference.
final class LiteralSearch: Sendable {
  /// The number of false candidates after which the byte-by-byte search replaces the pair scan.
  private static let patience = 16

  let bytes: [UInt8]
  /// A scan for the two rarest bytes.
  private let scan: PairScan
  /// For each length of a matched prefix, the length of its longest proper prefix that is also its suffix.
  private let borders: [Int]

  init(_ bytes: [UInt8]) {
    self.bytes = bytes
    borders = Borders.borders(of: bytes)
    let byFrequency = bytes.indices.sorted { Self.frequency(bytes[$0]) < Self.frequency(bytes[$1]) }
    let (first, second) = (byFrequency[0], byFrequency[byFrequency.count > 1 ? 1 : 0])
    scan = PairScan([bytes[first]], at: first, and: [bytes[second]], at: second)
  }

  /// Returns the first occurrence at or after `start`.
  func first(in text: UnsafeRawBufferPointer, from start: Int = 0) -> Int? {
    guard let base = text.baseAddress, text.count - start >= bytes.count else { return nil }
    let end = text.count - bytes.count + 1
    return bytes.withUnsafeBytes { bytes in
      var place = start
      var misses = 0
      while true {
        place = scan.next(in: text, from: place, before: end)
        guard place < end else { return nil }
        if memcmp(base + place, bytes.baseAddress!, bytes.count) == 0 { return place }
        place += 1
        misses += 1
        // The two bytes are too frequent in this text.
        if misses >= Self.patience, misses * 32 > place - start { return firstByteByByte(in: text, from: place) }
      }
    }
  }

  /// Returns the first occurrence in a time linear in the text's length (Knuth, Morris and Pratt).
  private func firstByteByByte(in text: UnsafeRawBufferPointer, from start: Int) -> Int? {
    var met = 0
    for place in start..<text.count {
      while met > 0, text[place] != bytes[met] { met = borders[met] }
      if text[place] == bytes[met] { met += 1 }
      if met == bytes.count { return place + 1 - met }
    }
    return nil
  }

  /// Returns a rough estimate of a byte's frequency in texts, which only affects the speed.
  private static func frequency(_ byte: UInt8) -> Int {
    switch byte {
    case UInt8(ascii: " "): 255
    case UInt8(ascii: "a")...UInt8(ascii: "z"):
      // The order is English letter frequency, which is close enough for related languages.
      100 + 5 * (26 - (Array("etaoinshrdlcumwfgypbvkjxqz".utf8).firstIndex(of: byte) ?? 26))
    case UInt8(ascii: "0")...UInt8(ascii: "9"), 0x0A, UInt8(ascii: "\""), UInt8(ascii: ","), UInt8(ascii: "."): 90
    // In many scripts, all letters begin with the same byte.
    case 0xC3, 0xCE, 0xCF, 0xD0, 0xD1, 0xD7...0xD9, 0xE0...0xEF: 240
    case 0x80...0xBF: 110
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): 60
    default: 40
    }
  }
}

/// The table for the Knuth–Morris–Pratt algorithm.
enum Borders {
  /// Returns the length of the longest proper prefix that is also a suffix, for each length of a prefix.
  static func borders<Element: Equatable>(of pattern: [Element]) -> [Int] {
    var borders = Array(repeating: 0, count: pattern.count + 1)
    var border = 0
    for length in pattern.indices.dropFirst() {
      while border > 0, pattern[length] != pattern[border] { border = borders[border] }
      if pattern[length] == pattern[border] { border += 1 }
      borders[length + 1] = border
    }
    return borders
  }
}
