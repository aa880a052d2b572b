/// Options of bulk insertion.
public struct BulkOptions {
  /// Inserts before the existing documents instead of behind them; in the source's order either way.
  public var atTop = false
  /// Keeps the ids that the source gives; documents without one get the next. Parents are ids too: they are kept only
  /// if this is true.
  public var keepsIDs = false
  /// The rule for a document without a title; nil uses the collection's rule. A collection that is created here keeps
  /// this as its rule.
  public var titleRule: TitleRule?
  /// The handling of a kept id or a key that is taken. Modes other than `fail` cost a lookup for each document.
  public var onConflict = ConflictMode.fail
  /// Called after each batch with the number of documents handled; if it throws, the work ends.
  public var progress: ProgressHandler?
  /// Called with the id of each new document, in order.
  public var onInsert: ((DocumentID) -> Void)?

  /// Options with which new documents go to the bottom, get new ids, and a taken key throws.
  public init() {}
}

/// The result of a bulk insertion.
public struct BulkReport: Sendable {
  /// The number of new documents.
  public internal(set) var created = 0
  /// Existing documents that were changed (``ConflictMode/update``).
  public internal(set) var updated = 0
  /// Existing documents that were to be updated and were the same already.
  public internal(set) var unchanged = 0
  /// Documents that were left out because their id or key was taken (``ConflictMode/skip``).
  public internal(set) var skipped = 0
  /// The first created document, in the source's order; nil if none was created.
  public internal(set) var firstID: DocumentID?
  /// The last created document, in the source's order; nil if none was created.
  public internal(set) var lastID: DocumentID?
  /// The number of created documents by collection name.
  public internal(set) var collections: [String: Int] = [:]
  /// Documents whose parent was not taken over because ids were not kept.
  public internal(set) var parentsDropped = 0
}

/// The handling of an incoming document whose kept id, or key, belongs to another document.
public enum ConflictMode: Hashable, Sendable {
  /// The work ends with `alreadyExists` or `duplicateKey`.
  case fail
  /// The existing document is updated from the incoming one; a missing title and missing attributes are kept.
  case update
  /// The existing document stays unchanged.
  case skip
}
