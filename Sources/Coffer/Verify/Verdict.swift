internal import CofferRecords

/// What ``DocumentStore/verify(_:anchor:progress:)`` found.
public struct Verdict: Sendable {
  /// How many rows there are.
  public internal(set) var documents = 0
  /// By rising id.
  public internal(set) var damaged: [DamagedDocument] = []
  /// What is wrong with the file as a whole.
  public internal(set) var problems: [String] = []
  /// Whether the rows are exactly those that were written.
  public internal(set) var setMatches = true
  /// Whether there are as many as were written.
  public internal(set) var countMatches = true
  /// How the anchor compares, where one was given.
  public internal(set) var anchor: AnchorCheck?
  /// Why the anchor does not fit.
  public internal(set) var anchorError: StoreError?

  public var isSound: Bool { error == nil }

  /// What to report: a set or anchor that does not match comes before single damages; nil when all is well.
  public var error: StoreError? {
    if !setMatches || !countMatches {
      return StoreError(
        .setMismatch, "the documents are not the set that was written: some are missing, older or changed",
        hint: "restore the store from a backup, or salvage what can be read into a new store")
    }
    if let anchorError { return anchorError }
    if let first = damaged.first {
      return StoreError(
        .damaged, "\(damaged.count) of \(documents) documents are damaged, the first is \(first.id)",
        hint: "restore them from a backup, or salvage the others into a new store", documentID: first.id)
    }
    if let first = problems.first {
      return StoreError(
        .damaged, "the store is damaged: \(first)",
        hint: "restore it from a backup, or salvage what can be read into a new store")
    }
    return nil
  }
}

/// How deep a store is verified.
public enum VerifyDepth: Sendable {
  /// Set hash, count, structure; opens no document.
  case quick
  /// Also opens every head and every text.
  case full
}
