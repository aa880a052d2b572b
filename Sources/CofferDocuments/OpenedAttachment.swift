/// An attachment of a document in a bulk export, whose content is read in parts.
public struct OpenedAttachment {
  /// A closure that passes on the content in parts, and throws the errors of its argument. The bytes are valid during
  /// each call.
  public typealias Reader = ((UnsafeRawBufferPointer) throws -> Void) throws -> Void

  /// The name, which can contain any characters.
  public let name: String
  /// The media type, or an empty string.
  public let mediaType: String
  /// The content's date.
  public let date: Timestamp
  /// The content's size in bytes.
  public let byteCount: Int
  /// The content's SHA-256, as 32 bytes.
  public let sha256: [UInt8]
  private let read: Reader

  /// Creates an attachment for a sink.
  public init(
    name: String, mediaType: String, date: Timestamp, byteCount: Int, sha256: [UInt8], content: @escaping Reader
  ) {
    self.name = name
    self.mediaType = mediaType
    self.date = date
    self.byteCount = byteCount
    self.sha256 = sha256
    read = content
  }

  /// Calls `body` with the content, part by part. Don't trust the parts before the method returns.
  ///
  /// - Throws: Errors of `body`, or of reading, such as `damaged`.
  public func forEachPart(_ body: (UnsafeRawBufferPointer) throws -> Void) throws { try read(body) }
}
