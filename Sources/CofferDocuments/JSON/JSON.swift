// JSON: reading and writing it as bytes, without a value for every part of it.
//
// Does: checks that UTF-8 is one strict RFC 8259 value and finds its parts (JSONScanner), writes strings and numbers
//       (JSONWriter), and puts values into the one canonical form of RFC 8785 (JSONNode), which attributes are kept in.
// Knows: bytes and offsets. Its callers see to it that the bytes are valid UTF-8.
// Does not know: which members mean what, files, lines.

/// Why bytes are not JSON, or not JSON that attributes can hold.
public struct JSONError: Error, Hashable, Sendable {
  public enum Code: Hashable, Sendable {
    /// Not RFC 8259.
    case malformed
    /// Arrays and objects inside each other more than 512 deep.
    case tooDeep
    /// An escape such as `\ud800` without its other half.
    case loneSurrogate
    /// An object with the same name twice, where that is refused.
    case duplicateName
    /// An integer that a double cannot hold exactly, or a number beyond a double's range.
    case inexactNumber
    /// Valid JSON, but not an object where one is needed.
    case notAnObject
    /// Bytes that are not UTF-8.
    case notUTF8
  }

  public let code: Code
  /// Where in the JSON it was noticed, in bytes from 0.
  public let byteOffset: Int
  /// What is wrong there, in words, without any of the text.
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

/// The order of UTF-16 code units, which RFC 8785 sorts names by, told from UTF-8.
package enum JSONOrder {
  package static func precedes(_ lhs: some Sequence<UInt8>, _ rhs: some Sequence<UInt8>) -> Bool {
    lhs.lexicographicallyPrecedes(rhs) { rank($0) < rank($1) }
  }

  /// It is the order of the bytes, except that what UTF-16 writes with surrogates comes before U+E000…U+FFFF.
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

/// Eight bytes looked at in one go: bit 7 of each byte of a result says whether that byte is meant.
///
/// Only the lowest mark of a result is sure; a higher one may be a carry.
package enum EightBytes {
  private static let ones: UInt64 = 0x0101_0101_0101_0101
  private static let highs: UInt64 = 0x8080_8080_8080_8080

  @inline(__always)
  package static func repeating(_ byte: UInt8) -> UInt64 {
    ones &* UInt64(byte)
  }

  /// Marks the bytes that equal the one that `pattern` repeats.
  @inline(__always)
  package static func marks(in word: UInt64, equalTo pattern: UInt64) -> UInt64 {
    let difference = word ^ pattern
    return (difference &- ones) & ~difference & highs
  }

  /// Marks the bytes below U+0020.
  @inline(__always)
  package static func controlMarks(in word: UInt64) -> UInt64 {
    (word &- 0x2020_2020_2020_2020) & ~word & highs
  }

  /// Which byte the lowest mark stands for, 0 to 7.
  @inline(__always)
  package static func index(ofLowest marks: UInt64) -> Int {
    marks.trailingZeroBitCount >> 3
  }
}
