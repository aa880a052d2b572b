internal import CCofferText
internal import CofferPlatform

/// Bytes with a meaning in text formats.
enum Byte {
  static let tab: UInt8 = 0x09
  static let lineFeed: UInt8 = 0x0A
  static let carriageReturn: UInt8 = 0x0D
  static let quote: UInt8 = 0x22
  static let comma: UInt8 = 0x2C
}

extension UnsafeRawBufferPointer {
  /// Returns the offset of the next `byte`, starting at `start`.
  @inline(__always)
  func firstOffset(of byte: UInt8, from start: Int) -> Int? {
    guard start < count, let base = baseAddress,
      let found = memchr(base + start, Int32(byte), count - start)
    else { return nil }
    return UnsafeRawPointer(found) - base
  }

  /// Returns the offset of the next occurrence of either byte, starting at `start`, or ``count`` if there isn't one.
  @inline(__always)
  func firstOffset(of first: UInt8, or second: UInt8, from start: Int) -> Int {
    guard let base = baseAddress?.assumingMemoryBound(to: UInt8.self), start < count else { return count }
    return start + coffer_first_of_two(base + start, count - start, first, second)
  }

  func count(of byte: UInt8) -> Int {
    count { $0 == byte }
  }

  /// Returns the number of Unicode scalars in valid UTF-8, and the number of scalars beyond U+FFFF.
  func scalarCounts() -> (all: Int, astral: Int) {
    (count { $0 & 0xC0 != 0x80 }, count { $0 >= 0xF0 })
  }

  /// Counts bytes in blocks whose counts fit into a byte, because compilers can vectorize this form.
  @inline(__always)
  private func count(where matches: (UInt8) -> Bool) -> Int {
    guard let base = baseAddress?.assumingMemoryBound(to: UInt8.self) else { return 0 }
    var total = 0
    var offset = 0
    while offset < count {
      let blockEnd = Swift.min(offset + 128, count)
      var inBlock: UInt8 = 0
      while offset < blockEnd {
        inBlock &+= matches(base[offset]) ? 1 : 0
        offset &+= 1
      }
      total &+= Int(inBlock)
    }
    return total
  }
}

extension UnsafeRawBufferPointer {
  /// Returns the line at `start` without its LF or CRLF, and the offset of the next line, or `nil` if the line is
  /// incomplete.
  @inline(__always)
  func line(from start: Int, isFinal: Bool) -> (content: Range<Int>, end: Int)? {
    guard let lineFeed = firstOffset(of: Byte.lineFeed, from: start) else {
      return isFinal ? (start..<count, count) : nil
    }
    let hasReturn = lineFeed > start && self[lineFeed - 1] == Byte.carriageReturn
    return (start..<(hasReturn ? lineFeed - 1 : lineFeed), lineFeed + 1)
  }
}
