/// Which documents leave a store.
public enum ExportSelection: Sendable {
  case everything
  case collections([DocumentCollection])
  /// With their collections, and no others.
  case documents([DocumentID])
}

/// How a store is made from another.
public struct ExportOptions: Sendable {
  /// What the new store is like; nil is titles and padding as here, and the rollback journal.
  public var creation: CreateOptions?
  /// Puts the new store in the place of a file that stands there, which nobody may have open.
  public var replacesExisting = false

  public init() {}
}

/// What went into a new store.
public struct ExportReport: Sendable {
  public internal(set) var documents = 0
  /// Documents whose parent stayed behind: they have none in the new store.
  public internal(set) var parentsDropped = 0
  /// The new store's.
  public internal(set) var storeID = ""
  /// What the new store's recipient compares before believing it.
  public internal(set) var pin = ""
  /// Whether the new store's keys may be published ones.
  public internal(set) var isTest = false
}
