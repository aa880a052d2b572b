internal import CofferRecords
internal import CofferSealing

/// A file that belongs to a document, without its content.
///
/// The content never changes, because a replacement is another attachment with another ``id``.
public struct Attachment: Hashable, Sendable, Identifiable {
  /// The attachment's number in its store, which is 1 or more and never reused.
  public struct ID: Hashable, Comparable, Sendable, RawRepresentable, CustomStringConvertible {
    public let rawValue: Int64

    public init(rawValue: Int64) {
      self.rawValue = rawValue
    }

    public static func < (lhs: ID, rhs: ID) -> Bool { lhs.rawValue < rhs.rawValue }

    public var description: String { String(rawValue) }
  }

  public let id: ID
  /// The document that the attachment belongs to.
  public let document: DocumentID
  /// The name, which is unique in the document. It can contain any characters, including `/`.
  public let name: String
  /// The media type, such as `image/png`, or an empty string.
  public let mediaType: String
  /// The content's size in bytes.
  public let byteCount: Int
  /// The content's SHA-256, as 32 bytes.
  public let sha256: [UInt8]
  /// The date of the attached file, or the date when it was attached.
  public let date: Timestamp

  init(_ record: AttachmentRecord) {
    id = ID(rawValue: record.number)
    document = DocumentID(record.document)
    name = record.name
    mediaType = record.mediaType
    byteCount = record.chunks.byteCount
    var digest = [UInt8](repeating: 0, count: TextDigest.byteCount)
    digest.withUnsafeMutableBytes { record.digest.write(to: $0) }
    sha256 = digest
    date = Timestamp(millisecondsSince1970: record.date)
  }
}
