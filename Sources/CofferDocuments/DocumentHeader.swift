/// A document without its text, as lists show it. Reading it opens no text.
public struct DocumentHeader: Hashable, Sendable, Identifiable {
  public let id: DocumentID
  /// The number of the collection (see ``CollectionID``).
  public let collection: CollectionID
  /// The place in the collection; headers are sorted by (position, id).
  public let position: DocumentPosition
  /// The document that this one belongs to, which may have been deleted; nil for none.
  public let parent: DocumentID?
  /// The title; nil for a document without one, and in a store that does not keep titles.
  public let title: String?
  /// The caller's own name for the document; nil for none.
  public let key: DocumentKey?
  /// The document's metadata; empty without any.
  public let attributes: Attributes
  /// The creation date.
  public let created: Timestamp
  /// The date of the last change.
  public let modified: Timestamp
  /// Length of the text in bytes of UTF-8.
  public let byteCount: Int
  /// The text is the JSON of a `Codable` value.
  public let isJSON: Bool
  /// The number of the document's attachments.
  public package(set) var attachmentCount = 0
  /// The number of bytes of the document's attachments, without those that are damaged.
  public package(set) var attachmentByteCount = 0

  /// A header, such as for a preview or a test; stores nothing.
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

/// The number of a collection in its store, 1 or more.
public struct CollectionID: Hashable, Comparable, Sendable, RawRepresentable, CustomStringConvertible {
  public let rawValue: UInt32

  public init(rawValue: UInt32) {
    self.rawValue = rawValue
  }

  /// Numbers outside of 1 … 2^31 − 1 are clamped to ones that no collection has.
  @inlinable
  public init(_ number: some BinaryInteger) {
    self.init(rawValue: UInt32(clamping: number))
  }

  public var description: String { "#\(rawValue)" }

  public static func < (lhs: CollectionID, rhs: CollectionID) -> Bool {
    lhs.rawValue < rhs.rawValue
  }
}

/// A document in a bulk export: its header, and its text as bytes that are valid during one call only.
public struct OpenedDocument {
  /// The document without its text.
  public let header: DocumentHeader
  /// The text in UTF-8. The memory is reused for the next document: copy the bytes to keep them.
  public let utf8: UnsafeRawBufferPointer
  private let listAttachments: (() throws -> [OpenedAttachment])?

  /// A document for one call, such as to write it into a sink; `utf8` must be valid UTF-8 and outlive the call.
  ///
  /// `attachments` lists its attachments; nil for a document without any.
  public init(
    header: DocumentHeader, utf8: UnsafeRawBufferPointer, attachments: (() throws -> [OpenedAttachment])? = nil
  ) {
    self.header = header
    self.utf8 = utf8
    listAttachments = attachments
  }

  /// Returns the attachments, whose contents can be read during the same call only.
  ///
  /// - Throws: Errors of reading their rows, such as `damaged`.
  public func attachments() throws -> [OpenedAttachment] { try listAttachments?() ?? [] }

  /// The text as a `String`, copied.
  public var text: String { String(decoding: utf8, as: UTF8.self) }
}
