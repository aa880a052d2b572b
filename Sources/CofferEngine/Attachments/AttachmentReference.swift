internal import CofferDocuments

/// A reference to an attachment from a value or a text of its document: the SHA-256 of the content.
///
/// It also leads to the attachment in copies of the document and in other stores, where IDs differ. It's encoded as 64
/// hexadecimal digits.
///
/// ```swift
/// struct Note: Codable { var body: String; var cover: AttachmentReference? }
/// ```
public struct AttachmentReference: Hashable, Sendable, Codable, CustomStringConvertible {
  /// The SHA-256 of the content, 32 bytes.
  public let sha256: [UInt8]

  /// Creates a reference to the content of an attachment.
  public init(_ attachment: Attachment) {
    sha256 = attachment.sha256
  }

  /// Creates a reference from 64 hexadecimal digits in lower case, or returns `nil` for any other text.
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
