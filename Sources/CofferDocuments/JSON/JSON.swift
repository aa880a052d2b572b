// JSON: parsing and writing it as bytes, without a value for each part.
//
// Does: checks that UTF-8 is one strict RFC 8259 value and finds its parts (JSONScanner), keeps their places for reading
//       them in any order (JSONTape), writes strings and numbers (JSONWriter) and whole values with sorted members
//       (JSONComposer), and converts values to the canonical form of RFC 8785 (JSONNode), in which attributes are kept.
// Knows: bytes and offsets. Callers guarantee valid UTF-8.
// Doesn't know: the meaning of members, files, lines.

/// An error in JSON, or in JSON for attributes.
public struct JSONError: Error, Hashable, Sendable {
  /// The kind of fault.
  public enum Code: Hashable, Sendable {
    /// Not RFC 8259.
    case malformed
    /// More than 512 nested arrays and objects.
    case tooDeep
    /// An unpaired escape such as `\ud800`.
    case loneSurrogate
    /// An object with the same name twice, if that is refused.
    case duplicateName
    /// An integer that a double can't represent exactly, or a number beyond a double's range.
    case inexactNumber
    /// Valid JSON, but not an object.
    case notAnObject
    /// Bytes that are not UTF-8.
    case notUTF8
  }

  /// The kind of fault, which decides whether two errors are equal.
  public let code: Code
  /// The byte offset in the JSON where the parser noticed it.
  public let byteOffset: Int
  /// The fault in words, without any of the text.
  public let reason: String

  package init(_ code: Code, at byteOffset: Int, _ reason: String) {
    self.code = code
    self.byteOffset = byteOffset
    self.reason = reason
  }

  public static func == (lhs: JSONError, rhs: JSONError) -> Bool {
    lhs.code == rhs.code
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(code)
  }
}

extension JSONError: CustomStringConvertible {
  public var description: String { "\(reason) (byte \(byteOffset) of the JSON)" }
}

/// The order of UTF-16 code units, by which RFC 8785 sorts names, computed from UTF-8.
package enum JSONOrder {
  package static func precedes(_ lhs: some Sequence<UInt8>, _ rhs: some Sequence<UInt8>) -> Bool {
    lhs.lexicographicallyPrecedes(rhs) { rank($0) < rank($1) }
  }

  /// Returns a byte's rank in the order. It's the order of the bytes, except that characters with surrogates in UTF-16
  /// precede U+E000…U+FFFF.
  private static func rank(_ byte: UInt8) -> UInt8 {
    byte == 0xEE || byte == 0xEF ? byte + 0x10 : byte
  }
}

/// The bytes of JSON's grammar.
package enum JSONByte {
  package static let quote: UInt8 = 0x22
  package static let comma: UInt8 = 0x2C
  package static let colon: UInt8 = 0x3A
  package static let backslash: UInt8 = 0x5C
  package static let openBracket: UInt8 = 0x5B
  package static let closeBracket: UInt8 = 0x5D
  package static let openBrace: UInt8 = 0x7B
  package static let closeBrace: UInt8 = 0x7D
}

/// Tests on eight bytes at once. Bit 7 of each result byte marks a match.
///
/// Only the lowest mark of a result is reliable, because a higher mark may be a carry.
enum EightBytes {
  private static let ones: UInt64 = 0x0101_0101_0101_0101
  private static let highs: UInt64 = 0x8080_8080_8080_8080

  @inline(__always)
  static func repeating(_ byte: UInt8) -> UInt64 {
    ones &* UInt64(byte)
  }

  /// Marks the bytes equal to the byte that `pattern` repeats.
  @inline(__always)
  static func marks(in word: UInt64, equalTo pattern: UInt64) -> UInt64 {
    let difference = word ^ pattern
    return (difference &- ones) & ~difference & highs
  }

  /// Marks the bytes below U+0020.
  @inline(__always)
  static func controlMarks(in word: UInt64) -> UInt64 {
    (word &- 0x2020_2020_2020_2020) & ~word & highs
  }

  /// Returns the index, from 0 to 7, of the byte with the lowest mark.
  @inline(__always)
  static func index(ofLowest marks: UInt64) -> Int {
    marks.trailingZeroBitCount >> 3
  }
}
