internal import CofferRecords

/// The findings of `DocumentStore.verify`.
public struct Verdict: Sendable {
  /// Number of rows.
  public internal(set) var documents = 0
  /// Sorted by id.
  public internal(set) var damaged: [DamagedDocument] = []
  /// Problems of the file as a whole.
  public internal(set) var problems: [String] = []
  /// Problems of indexes, which hold no document: they can be made again.
  public internal(set) var indexProblems: [String] = []
  /// Whether the rows are exactly those that were written.
  public internal(set) var setMatches = true
  /// Whether the number of documents is the one that was written.
  public internal(set) var countMatches = true
  /// The comparison with the anchor, if one was given.
  public internal(set) var anchor: AnchorCheck?
  /// The reason why the anchor does not fit.
  public internal(set) var anchorError: StoreError?

  /// True if nothing was found and the anchor, if one was given, fits.
  public var isSound: Bool { error == nil }

  /// The error to report: a set or anchor that does not match precedes single damages; nil if there is no problem.
  public var error: StoreError? {
    if !setMatches || !countMatches {
      return .setMismatch
    }
    if let anchorError { return anchorError }
    if let first = damaged.first {
      return StoreError(
        .damaged,
        damaged.count == 1
          ? "document \(first.id) is damaged"
          : "\(damaged.count) of \(documents) documents are damaged, the first is \(first.id)",
        hint: "restore them from a backup, or salvage the others into a new store", documentID: first.id)
    }
    if let first = problems.first {
      return StoreError(
        .damaged, "the store is damaged: \(first)",
        hint: "restore it from a backup, or salvage what can be read into a new store")
    }
    if let first = indexProblems.first {
      return StoreError(.damaged, first, hint: "the documents are sound; \(.updateIndex) makes the index again")
    }
    return nil
  }
}

/// The depth of a verification.
public enum VerifyDepth: Sendable, Hashable {
  /// Set hash, count, structure; opens no document.
  case quick
  /// Also opens the head and the text of each document that was changed after a generation: for a newer copy of a store
  /// whose earlier copy was verified. Documents that a rekey encrypted again do not count as changed.
  case changed(since: UInt64)
  /// Also opens every head and every text.
  case full
}
