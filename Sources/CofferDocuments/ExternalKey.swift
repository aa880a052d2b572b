/// The caller's own name for a document: 1 to 1024 bytes, unique in its collection, sealed on disk.
///
/// Most keys are text; bytes that are not UTF-8 are kept exactly.
public struct DocumentKey: Hashable, Sendable {
  /// The longest key in bytes (FORMAT, "Column classes and sizes").
  public static let maximumByteCount = 1024

  /// The key's bytes.
  public let bytes: [UInt8]

  /// A key of these bytes. A key that is empty or longer than ``maximumByteCount`` is refused by the write, with
  /// `tooLarge`.
  public init(bytes: some Sequence<UInt8>) {
    self.bytes = Array(bytes)
  }

  /// A key of the text's UTF-8.
  public init(_ text: some StringProtocol) {
    self.bytes = Array(text.utf8)
  }

  /// The key as text, or nil when its bytes are not UTF-8.
  public var text: String? {
    String(validating: bytes, as: UTF8.self)
  }
}

extension DocumentKey: ExpressibleByStringLiteral {
  public init(stringLiteral value: String) {
    self.init(value)
  }
}
