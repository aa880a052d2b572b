/// One document of a source of truth, as ``StoreWriter/synchronize(_:with:options:)`` takes it.
public struct SyncItem: Sendable {
  /// Which document of the collection it stands for.
  public enum Identity: Hashable, Sendable {
    /// The one with this key. The document gets it.
    case key(ExternalKey)
    /// The only one there ever is beside its siblings: the first of them.
    case singleton
    /// None: each time it is a new one.
    case alwaysNew
  }

  public var identity: Identity?
  /// Its parent is not looked at: the item that it is a child of says it.
  public var document: Document
  /// The documents below it; nil leaves those that there are as they are, an empty array says that there are none.
  public var children: [SyncItem]?

  /// - Parameter identity: nil is the document's own key; without one the item is invalid.
  public init(_ document: Document, identity: Identity? = nil, children: [SyncItem]? = nil) {
    self.document = document
    self.identity = identity
    self.children = children
  }
}

/// How ``StoreWriter/synchronize(_:with:options:)`` goes about it.
public struct SyncOptions {
  /// What happens to documents that the source no longer has.
  public enum Stale: Hashable, Sendable {
    /// They stay, and are listed.
    case keep
    /// They go, with everything below them, unless they are a larger part of the collection than this, from 0 to 1:
    /// then nothing at all is done, and `removalRefused` is thrown.
    case remove(atMost: Double)
  }

  public var stale = Stale.keep
  /// Asked when all has come: false where records were left out, so that nobody can say what is gone. Then what is stale
  /// stays, as it does when a document came without a number or key.
  public var isSourceWhole: (() -> Bool)?
  /// Finds out what would happen, and leaves everything as it was.
  public var isDryRun = false
  /// Told the old header and the new document; true says that nothing of it has changed, nor below it: no text is opened,
  /// and what is below stays as it is. Nil compares title, text, key, attributes and parent, byte by byte.
  public var isUnchanged: ((DocumentHeader, Document) -> Bool)?
  /// Why a document is not to be stored, without any of its text; nil where it is.
  public var invalidReason: ((Document) -> String?)?
  /// An invalid document that is there already goes, in place of staying as it is.
  public var removesInvalid = false
  /// An invalid document is listed and passed over; false throws why.
  public var skipsInvalid = true
  /// What happens to a document without a title; nil leaves it to the collection. A collection that is made here keeps
  /// this as its own rule.
  public var titleRule: TitleRule?
  /// A collection that is made here takes keys that differ in case or composition only for one.
  public var foldsKeys = false
  /// New documents go before what is there, in the source's order.
  public var atTop = false
  /// Documents of a ``DraftSource`` that have numbers are told by them, and keep them.
  public var keepsIDs = false
  /// Called now and then with how many documents have been looked at; throwing from it ends the work.
  public var progress: ((Int) throws -> Void)?

  public init(stale: Stale = .keep, isDryRun: Bool = false) {
    self.stale = stale
    self.isDryRun = isDryRun
  }
}

/// What a synchronisation did: ids and reasons, never text.
public struct SyncReport: Sendable {
  public enum DeletionReason: Hashable, Sendable {
    /// The source no longer has it.
    case stale
    /// It was below one that went.
    case parentDeleted
    /// What came for it is invalid.
    case invalid(String)
  }

  public struct Deletion: Hashable, Sendable {
    public let id: DocumentID
    public let reason: DeletionReason
  }

  public struct Invalid: Hashable, Sendable {
    /// Which document of the source it is, from 1, parents before their children.
    public let record: Int
    /// The document that it stands for, if there is one; nil also when it is not known which.
    public let id: DocumentID?
    public let reason: String
  }

  public internal(set) var created: [DocumentID] = []
  public internal(set) var updated: [DocumentID] = []
  public internal(set) var unchanged: [DocumentID] = []
  public internal(set) var deleted: [Deletion] = []
  public internal(set) var invalid: [Invalid] = []
  /// Documents that the source no longer has, and that stay.
  public internal(set) var stale: [DocumentID] = []
  /// They stay because the source is not known to be whole.
  public internal(set) var removalWasWithheld = false

  public init() {}
}
