/// The documents that an export copies.
public enum ExportSelection: Sendable {
  /// All documents of all collections, empty collections included.
  case everything
  /// One that doesn't exist yet is left out.
  case collections([DocumentCollection])
  /// These documents with their collections, and no others.
  case documents([DocumentID])
}

/// Options for making a store from another.
public struct ExportOptions: Sendable {
  /// Options of the new store; nil uses this store's titles and padding, and rollback journal mode.
  public var creation: CreateOptions?
  /// Replaces an existing file, which no process may have open.
  public var replacesExisting = false

  /// Options that refuse an existing file and take this store's titles and padding.
  public init() {}
}

/// The result of making a new store from another.
public struct ExportReport: Sendable {
  /// The number of copied documents.
  public internal(set) var documents = 0
  /// Documents whose parent was not exported: they have none in the new store.
  public internal(set) var parentsDropped = 0
  /// The new store's id.
  public internal(set) var storeID = ""
  /// The new store's pin, for its recipient to compare before trusting it.
  public internal(set) var pin = ""
  /// Whether the new store's keys may be published ones.
  public internal(set) var isTest = false
}
