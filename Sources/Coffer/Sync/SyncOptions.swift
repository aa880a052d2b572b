internal import CofferEngine

/// A document from a source of truth, for `synchronize`.
public struct SyncItem: Sendable {
  /// The way to identify an item's document in the collection.
  public enum Identity: Hashable, Sendable {
    /// The document with this key. A new document receives the key.
    case key(DocumentKey)
    /// The first document among the siblings. The item must be the only item at its level.
    case singleton
    /// A new document in each synchronization.
    case alwaysNew
  }

  /// The document's identity, or `nil` to use the key of ``document``.
  public var identity: Identity?
  /// The document. Its parent is ignored, because the item that lists it as a child determines the parent.
  public var document: Document
  /// The child items, or `nil` to leave existing children unchanged. With an empty array, existing children are stale.
  public var children: [SyncItem]?

  /// Creates an item with its child items.
  ///
  /// Without an `identity`, the document's key identifies it. Without a key, the item is invalid. If `children` is
  /// `nil`, existing children are unchanged. If it's empty, existing children are stale.
  public init(_ document: Document, identity: Identity? = nil, children: [SyncItem]? = nil) {
    self.document = document
    self.identity = identity
    self.children = children
  }
}

extension SyncItem {
  /// Creates an item from a Codable value, identified by its key.
  ///
  /// - Parameters:
  ///   - value: The value, which is encoded immediately as the text of ``document``.
  ///   - key: The key that identifies the document.
  ///   - title: The title for lists, or `nil` to use the value's `title` or `name`.
  ///   - attributes: Details for headers, which can be read without the value.
  ///   - children: The child items, or `nil` to leave existing children unchanged.
  ///   - coding: The strategies used to open the store, if they aren't the defaults.
  /// - Throws: `notEncodable`, or `invalidArgument` if JSON can't represent the attributes.
  public init(
    value: some Encodable & Sendable, key: DocumentKey, title: String? = nil, attributes: Attributes = Attributes(),
    children: [SyncItem]? = nil, coding: ValueCoding = ValueCoding()
  ) throws(StoreError) {
    var document = try CodableValues(coding: coding).document(of: value, title: title, attributes)
    document.key = key
    self.init(document, children: children)
  }
}

/// Options for a synchronization.
public struct SyncOptions {
  /// The action for documents that the source no longer contains.
  public enum Stale: Hashable, Sendable {
    /// Keeps and lists the documents.
    case keep
    /// Removes the documents and their descendants. If they exceed this fraction of the collection, from 0 to 1, the
    /// synchronization throws `removalRefused` instead, and the store is unchanged.
    case remove(atMost: Double)
  }

  /// The action for documents that the source no longer contains.
  public var stale = Stale.keep
  /// A closure called after the last record, which returns `false` if the source omitted records. Stale documents are
  /// then kept. They're also kept if a record had neither an ID nor a key, or repeated an earlier record's ID or key.
  public var isSourceWhole: (() -> Bool)?
  /// A Boolean value that indicates whether to report the changes without making them.
  public var isDryRun = false
  /// A closure that receives the old header and the new document, and returns `true` if the document and its
  /// descendants haven't changed. Texts then aren't decrypted, and descendants are skipped. If `nil`, the title, text,
  /// key, attributes and parent are compared, byte by byte.
  public var isUnchanged: ((DocumentHeader, Document) -> Bool)?
  /// A closure that returns why a document is invalid, without any of its text, or `nil` for a valid document.
  public var invalidReason: ((Document) -> String?)?
  /// A Boolean value that indicates whether to remove an existing document if its new version is invalid.
  public var removesInvalid = false
  /// A Boolean value that indicates whether to list and skip invalid documents. If `false`, they cause an error.
  public var skipsInvalid = true
  /// The rule for documents without a title, or `nil` to use the collection's rule. A new collection keeps this rule.
  public var titleRule: TitleRule?
  /// A Boolean value that indicates whether a new collection ignores case and composition in keys.
  public var foldsKeys = false
  /// A Boolean value that indicates whether new documents precede existing documents, in the source's order.
  public var atTop = false
  /// A Boolean value that indicates whether documents in a ``DraftSource`` are identified by their IDs and keep them.
  public var keepsIDs = false
  /// A closure called periodically with the number of processed documents. If it throws, the work ends.
  public var progress: ProgressHandler?

  /// Creates options that skip invalid documents and add new documents at the bottom.
  public init(stale: Stale = .keep, isDryRun: Bool = false) {
    self.stale = stale
    self.isDryRun = isDryRun
  }
}

/// The result of a synchronization, with IDs and reasons but without texts.
public struct SyncReport: Sendable {
  /// The reason for removing a document.
  public enum DeletionReason: Hashable, Sendable {
    /// The source no longer contains the document.
    case stale
    /// An ancestor was removed.
    case parentDeleted
    /// The document's version in the source is invalid.
    case invalid(String)
  }

  /// A removed document.
  public struct Deletion: Hashable, Sendable {
    /// The document's former ID.
    public let id: DocumentID
    /// The reason for the removal.
    public let reason: DeletionReason
  }

  /// A source document that wasn't stored.
  public struct Invalid: Hashable, Sendable {
    /// The document's number in the source, starting at 1, with parents before their children.
    public let record: Int
    /// The existing document that it describes, or `nil` if it doesn't exist or is unknown.
    public let id: DocumentID?
    /// A description of the error, without any of the text.
    public let reason: String
  }

  /// The added documents.
  public internal(set) var created: [DocumentID] = []
  /// The changed documents.
  public internal(set) var updated: [DocumentID] = []
  /// The documents already up to date.
  public internal(set) var unchanged: [DocumentID] = []
  /// The number of added or replaced attachments.
  public internal(set) var attachments = 0
  /// The removed documents, with reasons.
  public internal(set) var deleted: [Deletion] = []
  /// The source documents that weren't stored, if the options skip them.
  public internal(set) var invalid: [Invalid] = []
  /// The documents that the source no longer contains, but that were kept.
  public internal(set) var stale: [DocumentID] = []
  /// A Boolean value that indicates whether stale documents were kept because the source may be incomplete.
  public internal(set) var removalWasWithheld = false

  /// Creates an empty report.
  public init() {}
}
