/// A decoding or encoding error, with its location in the stream.
///
/// Two errors are equal if their ``code`` is equal. Errors don't contain bytes from the text.
public struct TextCodingError: Error, Sendable {
  /// The kind of error, based on how the caller can respond.
  public enum Code: Hashable, Sendable {
    /// The bytes are invalid in their encoding. Replace them, or repair the input.
    case invalidBytes
    /// A UTF-16 text needs a byte order mark, because the caller didn't specify the byte order. Choose `utf-16le` or
    /// `utf-16be`.
    case needsMark
    /// The byte order mark belongs to an unsupported encoding (UTF-32).
    case unsupportedEncoding
    /// The text doesn't have a byte order mark, and isn't UTF-8 without U+0000. Choose an encoding. See
    /// ``TextCodingError/suggestions``.
    case undecidedEncoding
    /// The output's code page doesn't contain a character.
    case unencodableCharacter
  }

  public let code: Code
  /// The offset of the first invalid byte in the stream, including the byte order mark.
  ///
  /// For UTF-16, this is the first byte of the invalid unit, or of the incomplete unit at the end. For UTF-8, it's the
  /// first byte of the invalid sequence.
  public let byteOffset: Int
  /// A description of the fault, such as "unpaired surrogate".
  public let reason: String
  /// The encodings to try, with the likeliest encoding first. `.utf8` means UTF-8 with U+0000 allowed, or with invalid
  /// bytes replaced.
  public internal(set) var suggestions: [TextEncoding] = []
  /// The unsupported encoding that the bytes resemble, or `nil`. If it's set, ``suggestions`` is empty.
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
