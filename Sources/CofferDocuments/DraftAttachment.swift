/// A file that an incoming document brings.
///
/// The bulk calls attach it in the transaction that stores the document. A stored document's attachment of the same name
/// is replaced if its content differs, and other attachments stay.
public struct DraftAttachment: Sendable {
  /// Passes a content on in parts.
  package typealias Reader = @Sendable ((UnsafeRawBufferPointer) throws -> Void) throws -> Void

  package enum Content: Sendable {
    case bytes([UInt8])
    case file(String)
    case parts(Reader)
  }

  /// The name, of up to 1,024 bytes.
  public var name: String
  /// The media type, such as `image/png`, or `nil` for the type that the name's extension stands for.
  public var mediaType: String?
  /// The date of the content, or `nil` for the date of the file, or else of the transaction.
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
