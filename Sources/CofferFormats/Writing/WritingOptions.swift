public import CofferText

/// How documents are to be written, whatever the format.
public struct WritingOptions: Sendable {
  public var encoding: TextEncoding
  /// A byte order mark comes first.
  public var byteOrderMark: Bool

  public init(encoding: TextEncoding = .utf8, byteOrderMark: Bool = false) {
    self.encoding = encoding
    self.byteOrderMark = byteOrderMark
  }
}
