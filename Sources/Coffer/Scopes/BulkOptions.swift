/// How documents come in in bulk.
public struct BulkOptions {
  /// Before what is there, instead of behind it; in the source's order either way.
  public var atTop = false
  /// Keeps the numbers that the source gives; documents without one get the next. Parents are numbers too: they are
  /// kept only then.
  public var keepsIDs = false
  /// What happens to a document without a title; nil leaves it to the collection. A collection that is made here keeps
  /// this as its own rule.
  public var titleRule: TitleRule?
  /// Called after each batch with how many documents were written; throwing from it ends the work.
  public var progress: ((Int) throws -> Void)?
  /// Told each number that was given, in order.
  public var onInsert: ((DocumentID) -> Void)?

  public init() {}
}

/// What came in.
public struct BulkReport: Sendable {
  public internal(set) var created = 0
  /// In the source's order.
  public internal(set) var firstID: DocumentID?
  public internal(set) var lastID: DocumentID?
  /// By name.
  public internal(set) var collections: [String: Int] = [:]
  /// Documents whose parent was not taken over, because their numbers were not.
  public internal(set) var parentsDropped = 0
}
