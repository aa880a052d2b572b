/// One document of a source of truth, as `synchronize` takes it.
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

  /// The document of the collection that the item describes; nil for the one with the key of ``document``.
  public var identity: Identity?
  /// Its parent is not looked at: the parent is the document of the item that lists it as a child.
  public var document: Document
  /// The documents below it; nil leaves existing ones unchanged, an empty array says that there are none.
  public var children: [SyncItem]?

  /// An item with the documents below it.
  ///
  /// Without an `identity` the document's key is the identity; without a key, too, the item is invalid. `children` that
  /// are nil leave existing documents below it unchanged; an empty array says that there are none.
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
  ///   - value: encoded at once, as the text of ``document``.
  ///   - key: identifies the document.
  ///   - title: the title for lists; nil takes the value's `title` or `name`.
  ///   - attributes: details for headers, which can be read without the value.
  ///   - children: the documents below it; nil leaves existing ones unchanged.
  ///   - coding: the strategies that the store was opened with, if those are not the usual ones.
  /// - Throws: `notEncodable`, or `invalidArgument` for attributes that JSON can't hold.
  public init(
    value: some Encodable & Sendable, key: ExternalKey, title: String? = nil, attributes: Attributes = Attributes(),
    children: [SyncItem]? = nil, coding: ValueCoding = ValueCoding()
  ) throws(StoreError) {
    var document = try CodableValues(coding: coding).document(of: value, title: title, attributes)
    document.key = key
    self.init(document, children: children)
  }
}

/// Options of a synchronisation.
public struct SyncOptions {
  /// The handling of documents that the source no longer has.
  public enum Stale: Hashable, Sendable {
    /// They stay, and are listed.
    case keep
    /// They are removed, with everything below them, unless they are a larger part of the collection than this, from 0
    /// to 1: then nothing at all is done, and `removalRefused` is thrown.
    case remove(atMost: Double)
  }

  /// The handling of documents that the source no longer has.
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

  /// Options with which stale documents stay, invalid documents throw, and new ones go to the bottom.
  public init(stale: Stale = .keep, isDryRun: Bool = false) {
    self.stale = stale
    self.isDryRun = isDryRun
  }
}

/// The result of a synchronisation: ids and reasons, never text.
public struct SyncReport: Sendable {
  /// The reason why a document was removed.
  public enum DeletionReason: Hashable, Sendable {
    /// The source no longer has it.
    case stale
    /// It was below a document that was removed.
    case parentDeleted
    /// The source's document for it is invalid.
    case invalid(String)
  }

  /// A document that was removed.
  public struct Deletion: Hashable, Sendable {
    /// The document's former id.
    public let id: DocumentID
    /// The reason why it was removed.
    public let reason: DeletionReason
  }

  /// A document of the source that was not stored.
  public struct Invalid: Hashable, Sendable {
    /// The number of the document in the source, from 1, parents before their children.
    public let record: Int
    /// The document that it describes, if that exists; nil also if it is unknown which.
    public let id: DocumentID?
    /// The fault in words, without any of the text.
    public let reason: String
  }

  /// The documents that were added.
  public internal(set) var created: [DocumentID] = []
  /// The documents that were changed.
  public internal(set) var updated: [DocumentID] = []
  /// The documents that were the same already, or that were left alone with what is above them.
  public internal(set) var unchanged: [DocumentID] = []
  /// The documents that were removed, with the reasons.
  public internal(set) var deleted: [Deletion] = []
  /// The documents of the source that were not stored, if the options skip those.
  public internal(set) var invalid: [Invalid] = []
  /// Documents that the source no longer has, and that were kept.
  public internal(set) var stale: [DocumentID] = []
  /// They were kept because the source is not known to be complete.
  public internal(set) var removalWasWithheld = false

  /// A report of no documents.
  public init() {}
}
