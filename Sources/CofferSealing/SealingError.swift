/// An error of a key or a seal. Equality compares the code; no message ever holds key bytes or text.
public struct SealingError: Error, Hashable, Sendable {
  /// The kind of error.
  public enum Code: String, Hashable, Sendable {
    /// The tag does not fit: another key, or bytes that were changed.
    case notAuthentic
    /// Authentic bytes of an invalid shape.
    case malformed
    /// A key line, key file, identity or recipient that is not one.
    case invalidKeyLine
    /// A passphrase that is empty, too long, not UTF-8 or holds U+0000.
    case invalidPassphrase
    /// A key line, or text in another encoding, in place of a passphrase.
    case misplacedSecret
    /// Slot parameters outside the bounds of FORMAT, "Slots".
    case parametersRefused
    /// A file that can't be read or written.
    case fileFailure
    /// OpenSSL, swift-crypto or the kernel refused: no memory, no randomness.
    case systemFailure
  }

  /// The kind of error, which decides whether two errors are equal.
  public let code: Code
  /// The fault in words, without key bytes or text.
  public let message: String

  /// An error with its message.
  public init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  public static func == (lhs: SealingError, rhs: SealingError) -> Bool {
    lhs.code == rhs.code
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(code)
  }
}

extension SealingError: CustomStringConvertible {
  public var description: String { message }
}
