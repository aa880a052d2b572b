/// A document without its text, as shown in lists. Reading a header doesn't decrypt the text.
public struct DocumentHeader: Hashable, Sendable, Identifiable {
  public let id: DocumentID
  /// The collection's number (see ``CollectionID``).
  public let collection: CollectionID
  /// The position in the collection. Headers are sorted by position, then by ID.
  public let position: DocumentPosition
  /// The parent's ID, or `nil` if the document doesn't have a parent. The parent may have been deleted.
  public let parent: DocumentID?
  /// The title, or `nil` if the document is untitled or the store doesn't keep titles.
  public let title: String?
  /// The caller's own name for the document, or `nil` if the document doesn't have a key.
  public let key: DocumentKey?
  /// The document's metadata. Empty if the document doesn't have attributes.
  public let attributes: Attributes
  /// The creation date.
  public let created: Timestamp
  /// The date of the last change.
  public let modified: Timestamp
  /// The length of the text in UTF-8 bytes.
  public let byteCount: Int
  /// A Boolean value that indicates whether the text is the JSON of a `Codable` value.
  public let isJSON: Bool
  /// The number of attachments, including damaged attachments.
  public package(set) var attachmentCount = 0
  /// The total size of the attachments in bytes, excluding damaged attachments.
  public package(set) var attachmentByteCount = 0

  /// Creates a header without storing a document, for example for a preview or a test.
  public init(
    id: DocumentID, collection: CollectionID, position: DocumentPosition, parent: DocumentID?, title: String?,
    key: DocumentKey?, attributes: Attributes, created: Timestamp, modified: Timestamp, byteCount: Int, isJSON: Bool
  ) {
    self.id = id
    self.collection = collection
    self.position = position
    self.parent = parent
    self.title = title
    self.key = key
    self.attributes = attributes
    self.created = created
    self.modified = modified
    self.byteCount = byteCount
    self.isJSON = isJSON
  }
}

/// The number of a collection in its store, which is 1 or more.
public struct CollectionID: Hashable, Comparable, Sendable, RawRepresentable, CustomStringConvertible {
  public let rawValue: UInt32

  public init(rawValue: UInt32) {
    self.rawValue = rawValue
  }

  /// Creates an ID. A number outside of 1 … 2^31 − 1 results in an ID that doesn't belong to any collection.
  @inlinable
  public init(_ number: some BinaryInteger) {
    self.init(rawValue: UInt32(clamping: number))
  }

  public var description: String { "#\(rawValue)" }

  public static func < (lhs: CollectionID, rhs: CollectionID) -> Bool {
    lhs.rawValue < rhs.rawValue
  }
}

/// A document in a bulk export, with its header and its text. The text's bytes are valid only during one call.
public struct OpenedDocument {
  /// The document without its text.
  public let header: DocumentHeader
  /// The text in UTF-8. Copy the bytes to keep them, because the memory is reused for the next document.
  public let utf8: UnsafeRawBufferPointer
  private let listAttachments: (() throws -> [OpenedAttachment])?

  /// Creates a document for one call, such as writing it to a sink. `utf8` must be valid UTF-8 and outlive the call.
  ///
  /// `attachments` returns the document's attachments. Pass `nil` if the document doesn't have attachments.
  public init(
    header: DocumentHeader, utf8: UnsafeRawBufferPointer, attachments: (() throws -> [OpenedAttachment])? = nil
  ) {
    self.header = header
    self.utf8 = utf8
    listAttachments = attachments
  }

  /// Returns the attachments. Their contents can be read only during the same call.
  ///
  /// - Throws: An error if a row can't be read, such as `damaged`.
  public func attachments() throws -> [OpenedAttachment] { try listAttachments?() ?? [] }

  /// The text, copied to a `String`.
  public var text: String { String(decoding: utf8, as: UTF8.self) }
}
