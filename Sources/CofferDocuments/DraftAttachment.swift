/// An incoming document's attachment.
///
/// Bulk calls attach it in the transaction that stores the document. They replace a stored document's attachment with
/// the same name if the content differs, and keep other attachments.
public struct DraftAttachment: Sendable {
  /// A closure that passes on a content in parts.
  package typealias Reader = @Sendable ((UnsafeRawBufferPointer) throws -> Void) throws -> Void

  package enum Content: Sendable {
    case bytes([UInt8])
    case file(String)
    case parts(Reader)
  }

  /// The name, of up to 1,024 bytes.
  public var name: String
  /// The media type, such as `image/png`, or `nil` to use the type for the name's extension.
  public var mediaType: String?
  /// The content's date, or `nil` to use the file's date, or else the transaction's date.
  public var date: Timestamp?
  package let content: Content

  /// Creates an attachment from bytes in memory.
  public init(name: String, bytes: some Sequence<UInt8>, mediaType: String? = nil, date: Timestamp? = nil) {
    self.init(name: name, mediaType: mediaType, date: date, content: .bytes(Array(bytes)))
  }

  /// Creates an attachment from a regular file, which is read when the document is stored.
  public init(name: String, path: String, mediaType: String? = nil, date: Timestamp? = nil) {
    self.init(name: name, mediaType: mediaType, date: date, content: .file(path))
  }

  package init(name: String, mediaType: String?, date: Timestamp?, content: Content) {
    (self.name, self.mediaType, self.date, self.content) = (name, mediaType, date, content)
  }
}
