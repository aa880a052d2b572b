/// Reads a UTF-8 character.
enum UTF8Scalar {
  /// Returns the length of the character at a word's beginning, or 0 if ``read(_:available:)`` must read a longer or
  /// invalid character.
  @inline(__always)
  static func lengthInBasicPlane(_ word: UInt64) -> Int {
    if word & 0x80 == 0 { return 1 }
    // A lead of C0 or C1 would be overlong.
    if word & 0xC0E0 == 0x80C0, word & 0x1E != 0 { return 2 }
    // 0000 in these bits would be overlong, and 200D would be a surrogate.
    let range = word & 0x200F
    return word & 0xC0C0F0 == 0x8080E0 && range != 0 && range != 0x200D ? 3 : 0
  }

  /// The character or fault at a byte.
  enum Reading {
    case character(scalar: UInt32, length: Int)
    /// The bytes end before the character does, and are valid so far.
    case incomplete
    /// The longest valid beginning of a character, or one byte (Unicode's "maximal subpart").
    case fault(Fault, length: Int)
  }

  /// Reads the character at `source`. `available` must be at least 1.
  static func read(_ source: UnsafeRawPointer, available: Int) -> Reading {
    func byte(_ offset: Int) -> UInt32 { UInt32(source.load(fromByteOffset: offset, as: UInt8.self)) }
    let lead = byte(0)
    if lead < 0x80 { return .character(scalar: lead, length: 1) }
    let length: Int
    // The second byte has a narrower range after E0, ED, F0 and F4 (Unicode, table 3-7).
    var second: ClosedRange<UInt32> = 0x80...0xBF
    switch lead {
    case 0x80..<0xC0: return .fault(.strayContinuation, length: 1)
    case 0xC0..<0xC2: return .fault(.overlong, length: 1)
    case 0xC2..<0xE0: length = 2
    case 0xE0..<0xF0:
      length = 3
      if lead == 0xE0 { second = 0xA0...0xBF }
      if lead == 0xED { second = 0x80...0x9F }
    case 0xF0..<0xF5:
      length = 4
      if lead == 0xF0 { second = 0x90...0xBF }
      if lead == 0xF4 { second = 0x80...0x8F }
    case 0xF5..<0xF8: return .fault(.beyondUnicode, length: 1)
    default: return .fault(.neverInUTF8, length: 1)
    }
    guard available > 1 else { return .incomplete }
    guard second.contains(byte(1)) else {
      let isContinuation = byte(1) & 0xC0 == 0x80
      let special: Fault = lead == 0xED ? .surrogateInUTF8 : lead == 0xF4 ? .beyondUnicode : .overlong
      return .fault(isContinuation ? special : .incompleteSequence, length: 1)
    }
    var scalar = (lead & (0x7F &>> UInt32(length))) &<< 6 | byte(1) & 0x3F
    for offset in 2..<max(length, 2) {
      guard available > offset else { return .incomplete }
      guard byte(offset) & 0xC0 == 0x80 else { return .fault(.incompleteSequence, length: offset) }
      scalar = scalar &<< 6 | byte(offset) & 0x3F
    }
    return .character(scalar: scalar, length: length)
  }
}
