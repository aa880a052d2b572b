/// A decoding or encoding error, with its place in the stream.
///
/// Two errors are equal when their ``code`` is. Holds no byte of the text.
public struct TextCodingError: Error, Sendable {
  /// The kind of error, by what the caller can do about it.
  public enum Code: Hashable, Sendable {
    /// The bytes are not well formed in their encoding: replace them, or repair the input.
    case invalidBytes
    /// UTF-16 was asked for without an order, and there is no byte order mark: choose `utf-16le` or `utf-16be`.
    case needsMark
    /// The byte order mark is that of an encoding that is not read here (UTF-32).
    case unsupportedEncoding
    /// No byte order mark, and not UTF-8 without U+0000: choose an encoding, see ``TextCodingError/suggestions``.
    case undecidedEncoding
    /// A character that the output's code page lacks.
    case unencodableCharacter
  }

  public let code: Code
  /// The offset of the first invalid byte in the stream, the byte order mark included.
  ///
  /// UTF-16: the first byte of the bad unit, or of the part of a unit at the end. UTF-8: the first byte of the bad
  /// sequence.
  public let byteOffset: Int
  /// The fault in words: "unpaired surrogate".
  public let reason: String
  /// Encodings worth trying, the likeliest first; `.utf8` means: with U+0000 let in, or invalid bytes replaced.
  public internal(set) var suggestions: [TextEncoding] = []
  /// The encoding that the bytes resemble, if it is none of those that are read; there are no suggestions then.
  public internal(set) var lookalike: UnreadEncoding?
}

extension TextCodingError: Equatable {
  public static func == (lhs: TextCodingError, rhs: TextCodingError) -> Bool {
    lhs.code == rhs.code
  }
}

extension TextCodingError: CustomStringConvertible {
  public var description: String {
    "\(reason) at byte \(byteOffset)"
  }
}
