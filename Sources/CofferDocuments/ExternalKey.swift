/// The caller's own name for a document, which is 1 to 1024 bytes, unique in its collection and encrypted on disk.
///
/// Most keys are text. Bytes that aren't valid UTF-8 are kept exactly.
public struct DocumentKey: Hashable, Sendable {
  /// The maximum length of a key in bytes (FORMAT, "Column classes and sizes").
  public static let maximumByteCount = 1024

  /// The key's bytes.
  public let bytes: [UInt8]

  /// Creates a key from bytes. Writing a key that's empty or longer than ``maximumByteCount`` throws `tooLarge`.
  public init(bytes: some Sequence<UInt8>) {
    self.bytes = Array(bytes)
  }

  /// Creates a key from a text's UTF-8 bytes.
  public init(_ text: some StringProtocol) {
    self.bytes = Array(text.utf8)
  }

  /// The key as text, or `nil` if its bytes aren't valid UTF-8.
  public var text: String? {
    String(validating: bytes, as: UTF8.self)
  }
}

extension DocumentKey: ExpressibleByStringLiteral {
  public init(stringLiteral value: String) {
    self.init(value)
  }
}
