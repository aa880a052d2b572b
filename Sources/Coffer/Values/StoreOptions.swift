public import Logging

/// How a store is opened.
public struct OpenOptions: Sendable {
  /// Refuses every write; the file is still opened for writing where it may be, so that SQLite can undo a killed
  /// writer's journal.
  public var isReadOnly = false
  /// Lets published test keys open TEST stores; for tests only.
  public var allowsTestKeys = false
  /// Opens only the store of this pin: anyone can make a store for a public key.
  public var expectedPin: String?
  /// How long to wait for another process's lock; nil waits for ever.
  public var wait: Duration? = .seconds(10)
  /// Keeps so many bytes of texts that were read one by one, so that reading one again looks at no row; 0 for none.
  ///
  /// Wiped when they give way, are changed, or the store is closed. Never stale: what another process commits empties it.
  public var textCacheBytes = 8 << 20
  /// Tries this slot only, with raised bounds for its scrypt.
  public var slot: Int?
  /// Told what the store does, in counts and ids, never text, titles, names of collections or keys: at `debug` each
  /// commit, at `info` what is rarer.
  public var logger: Logger?
  /// What a store is made with where it is missing.
  public var creation = CreateOptions()

  public init() {}
}

/// What a new store is like. Its title mode can be changed only by a rekey (``RekeyOptions/changeTitles(to:)``).
public struct CreateOptions: Sendable {
  public var titles: TitleMode = .sealed
  /// Hides exact lengths at a cost of at most 12 % of size.
  public var isPadded = true
  public var journal: Journal = .rollback
  /// Takes test keys and no others; anyone can read it.
  public var isTest = false
  /// One for each new key, in their order; missing ones are empty.
  public var labels: [String] = []

  public init() {}

  public enum Journal: String, Sendable, CaseIterable {
    /// One file at rest; opens from a read-only place.
    case rollback
    /// Readers go on beside a writer; two more files while it is open.
    case writeAheadLog = "wal"
  }
}
