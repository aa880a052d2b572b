public import Logging

/// Options for opening a store.
public struct OpenOptions: Sendable {
  /// Refuses every write. The file is still opened for writing if that is allowed, so that SQLite can undo a killed
  /// writer's journal.
  public var isReadOnly = false
  /// Opens a store that is only read, and whose file and folder are never changed: a store in an app's bundle, on a
  /// read-only disk or of another owner, in either journal mode.
  ///
  /// A journal or log that a killed writer left beside it is read through a private copy of the sealed files in
  /// `TMPDIR`, which closing the store deletes.
  public var leavesFileUnchanged = false
  /// Lets published test keys open TEST stores; for tests only.
  public var allowsTestKeys = false
  /// Opens only the store with this pin: anyone can make a store for a public key.
  public var expectedPin: String?
  /// Opens a store with the pin that its unfinished rekey will end with; otherwise that is `pinUnfinished`.
  public var acceptsUnfinishedRekey = false
  /// The longest time to wait for another process's lock; nil waits for ever.
  public var wait: Duration? = .seconds(10)
  /// Size in bytes of the cache of texts that were read one by one; a cached text is read without a row. 0 for none.
  ///
  /// A text is wiped when it is evicted or changed, or the store closes. Never stale: another process's commit empties
  /// it.
  public var textCacheBytes = 8 << 20
  /// Size in bytes of SQLite's cache of pages, sealed as they are in the file, for each connection that reads. As many
  /// connections are open as reads run at once, and up to four afterwards. The connection that writes has at least
  /// 64 MiB, which hold the pages of a bulk transaction.
  public var pageCacheBytes = 8 << 20
  /// Size in bytes of the caches of opened index pages, of all connections of a store together. Each connection that
  /// searches, queries or lists has an equal share, and adjusts it at its next search, query or list: up to four idle
  /// connections keep the share that they had. A query that groups or joins a
  /// million rows in the order of an index is several times faster if the index fits.
  public var indexCacheBytes = 64 << 20
  /// The most memory in bytes for pages of an index that are changed where the file can't be written; beyond it
  /// searches and queries throw `indexBehind`.
  public var indexMemoryBytes = 64 << 20
  /// The strategies by which Codable values become JSON.
  public var values = ValueCoding()
  /// Tries this slot only, with raised bounds for its scrypt.
  public var slot: Int?
  /// The store's logger, for counts and ids, never text, titles, names of collections or keys: `debug` for each commit,
  /// `info` for rarer events.
  public var logger: Logger?
  /// The options of a store that is created because it is missing.
  public var creation = CreateOptions()

  /// Options of a store that is read and written, waits ten seconds for locks, and accepts any pin.
  public init() {}
}

/// Options of a new store. Its title mode can be changed only by a rekey (``RekeyOptions/changeTitles(to:)``).
public struct CreateOptions: Sendable {
  /// Whether titles are sealed, in clear or not stored.
  public var titles: TitleMode = .sealed
  /// Hides exact lengths at a cost of at most 12 % of size.
  public var isPadded = true
  /// The way in which SQLite makes commits whole; chosen for good.
  public var journal: Journal = .rollback
  /// Accepts test keys and no others; anyone can read the store.
  public var isTest = false
  /// One label for each new key, in their order; missing ones are empty.
  public var labels: [String] = []

  /// Options of a padded store with sealed titles, in rollback journal mode.
  public init() {}

  /// The way in which SQLite makes commits whole.
  public enum Journal: String, Sendable, CaseIterable {
    /// One file at rest; opens from a read-only place.
    case rollback
    /// Readers continue while a writer writes; two more files while the store is open.
    case writeAheadLog = "wal"
  }
}
