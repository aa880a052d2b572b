/// An error with a key or seal. Two errors are equal if their codes are equal. Messages don't contain key bytes or
/// text.
public struct SealingError: Error, Hashable, Sendable {
  /// The kind of error.
  public enum Code: String, Hashable, Sendable {
    /// The tag doesn't match, because the key is wrong or the bytes were changed.
    case notAuthentic
    /// The bytes are authentic but have an invalid form.
    case malformed
    /// The key line, key file, identity or recipient is invalid.
    case invalidKeyLine
    /// The passphrase is empty, too long, not UTF-8, or contains U+0000.
    case invalidPassphrase
    /// The passphrase is a key line, or text in another encoding.
    case misplacedSecret
    /// Slot parameters are outside the bounds in FORMAT, "Slots".
    case parametersRefused
    /// A file can't be read or written.
    case fileFailure
    /// OpenSSL, swift-crypto or the kernel failed, because memory or randomness isn't available.
    case systemFailure
  }

  /// The kind of error, which determines whether two errors are equal.
  public let code: Code
  /// A description of the error, without key bytes or text.
  public let message: String

  /// Creates an error with a message.
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
