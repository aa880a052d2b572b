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
  /// What happens where a kept number or a key is taken. Other than `fail` costs a look for each document.
  public var onConflict = ConflictMode.fail
  /// Called after each batch with how many documents were dealt with; throwing from it ends the work.
  public var progress: ((Int) throws -> Void)?
  /// Told each number that was given, in order.
  public var onInsert: ((DocumentID) -> Void)?

  public init() {}
}

/// What came in.
public struct BulkReport: Sendable {
  public internal(set) var created = 0
  /// Documents that were there and were changed, were the same already, or were to be left as they are.
  public internal(set) var updated = 0
  public internal(set) var unchanged = 0
  public internal(set) var skipped = 0
  /// Of those created, in the source's order.
  public internal(set) var firstID: DocumentID?
  public internal(set) var lastID: DocumentID?
  /// Of those created, by name.
  public internal(set) var collections: [String: Int] = [:]
  /// Documents whose parent was not taken over, because their numbers were not.
  public internal(set) var parentsDropped = 0
}

/// What happens when a document that comes in has a kept number, or a key, that another document has.
public enum ConflictMode: Hashable, Sendable {
  /// The work ends with `alreadyExists` or `duplicateKey`.
  case fail
  /// The one that is there becomes what comes in; a title and attributes that are not given are kept.
  case update
  /// The one that is there stays as it is.
  case skip
}
