internal import CofferDocuments

/// A reference from a document's value or text to an attachment of the document, by the content's SHA-256.
///
/// It also leads to the attachment in copies of the document and in other stores, where IDs differ. It's encoded as 64
/// hexadecimal digits.
///
/// ```swift
/// struct Note: Codable { var body: String; var cover: AttachmentReference? }
/// ```
public struct AttachmentReference: Hashable, Sendable, Codable, CustomStringConvertible {
  /// The content's SHA-256, as 32 bytes.
  public let sha256: [UInt8]

  /// Creates a reference to an attachment's content.
  public init(_ attachment: Attachment) {
    sha256 = attachment.sha256
  }

  /// Creates a reference from 64 lowercase hexadecimal digits, or returns `nil` for other texts.
  public init?(_ description: String) {
    guard let bytes = Hexadecimal.bytes(description[...]), bytes.count == 32 else { return nil }
    sha256 = bytes
  }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    guard let reference = Self(try container.decode(String.self)) else {
      throw DecodingError.dataCorruptedError(
        in: container, debugDescription: "a reference to an attachment has 64 hexadecimal digits")
    }
    self = reference
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(description)
  }

  public var description: String { Hexadecimal.text(sha256) }
}
