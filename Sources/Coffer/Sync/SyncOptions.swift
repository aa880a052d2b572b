/// One document of a source of truth, as ``StoreWriter/synchronize(_:with:options:)`` takes it.
public struct SyncItem: Sendable {
  /// Identifies the document of the collection that the item describes.
  public enum Identity: Hashable, Sendable {
    /// The document with this key. A new document gets the key.
    case key(ExternalKey)
    /// The only item among its siblings: the first document there.
    case singleton
    /// None: each time it is a new document.
    case alwaysNew
  }

  public var identity: Identity?
  /// Its parent is not looked at: the parent is the document of the item that lists it as a child.
  public var document: Document
  /// The documents below it; nil leaves existing ones unchanged, an empty array says that there are none.
  public var children: [SyncItem]?

  /// - Parameter identity: nil uses the document's key; without a key the item is invalid.
  public init(_ document: Document, identity: Identity? = nil, children: [SyncItem]? = nil) {
    self.document = document
    self.identity = identity
    self.children = children
  }
}

extension SyncItem {
  /// A Codable value as an item, identified by its key.
  ///
  /// - Parameters:
  ///   - title: the title for lists; nil takes the value's `title` or `name`.
  ///   - coding: the strategies that the store was opened with, if those are not the usual ones.
  /// - Throws: `notEncodable`.
  public init(
    value: some Encodable & Sendable, key: ExternalKey, title: String? = nil, attributes: Attributes = Attributes(),
    children: [SyncItem]? = nil, coding: ValueCoding = ValueCoding()
  ) throws(StoreError) {
    var document = try CodableValues(coding: coding).document(of: value, title: title, attributes)
    document.key = key
    self.init(document, children: children)
  }
}

/// Options of ``StoreWriter/synchronize(_:with:options:)``.
public struct SyncOptions {
  /// The handling of documents that the source no longer has.
  public enum Stale: Hashable, Sendable {
    /// They stay, and are listed.
    case keep
    /// They are removed, with everything below them, unless they are a larger part of the collection than this, from 0
    /// to 1: then nothing at all is done, and `removalRefused` is thrown.
    case remove(atMost: Double)
  }

  public var stale = Stale.keep
  /// Called after the last record; returns false if records were left out, so that it is unknown which documents are
  /// gone. Then stale documents stay, as they do if a record had neither id nor key.
  public var isSourceWhole: (() -> Bool)?
  /// Finds out what would happen, and changes nothing.
  public var isDryRun = false
  /// Called with the old header and the new document; true says that neither the document nor anything below it has
  /// changed: no text is opened, and descendants stay unchanged. Nil compares title, text, key, attributes and parent,
  /// byte by byte.
  public var isUnchanged: ((DocumentHeader, Document) -> Bool)?
  /// The reason why a document must not be stored, without any of its text; nil for a valid document.
  public var invalidReason: ((Document) -> String?)?
  /// Removes an existing document that is now invalid, instead of leaving it unchanged.
  public var removesInvalid = false
  /// Lists and skips an invalid document; false throws the reason.
  public var skipsInvalid = true
  /// The rule for a document without a title; nil uses the collection's rule. A collection that is created here keeps
  /// this as its rule.
  public var titleRule: TitleRule?
  /// A collection that is created here treats keys that differ only in case or composition as one.
  public var foldsKeys = false
  /// New documents go before the existing ones, in the source's order.
  public var atTop = false
  /// Documents of a ``DraftSource`` that have ids are identified by them, and keep them.
  public var keepsIDs = false
  /// Called now and then with the number of documents handled; if it throws, the work ends.
  public var progress: ProgressHandler?

  public init(stale: Stale = .keep, isDryRun: Bool = false) {
    self.stale = stale
    self.isDryRun = isDryRun
  }
}

/// The result of a synchronisation: ids and reasons, never text.
public struct SyncReport: Sendable {
  public enum DeletionReason: Hashable, Sendable {
    /// The source no longer has it.
    case stale
    /// It was below a document that was removed.
    case parentDeleted
    /// The source's document for it is invalid.
    case invalid(String)
  }

  public struct Deletion: Hashable, Sendable {
    public let id: DocumentID
    public let reason: DeletionReason
  }

  public struct Invalid: Hashable, Sendable {
    /// The number of the document in the source, from 1, parents before their children.
    public let record: Int
    /// The document that it describes, if that exists; nil also if it is unknown which.
    public let id: DocumentID?
    public let reason: String
  }

  public internal(set) var created: [DocumentID] = []
  public internal(set) var updated: [DocumentID] = []
  public internal(set) var unchanged: [DocumentID] = []
  public internal(set) var deleted: [Deletion] = []
  public internal(set) var invalid: [Invalid] = []
  /// Documents that the source no longer has, and that were kept.
  public internal(set) var stale: [DocumentID] = []
  /// They were kept because the source is not known to be complete.
  public internal(set) var removalWasWithheld = false

  public init() {}
}
