public import CofferFoundation
public import Logging

/// The options for opening a store.
public struct OpenOptions: Sendable {
  /// A Boolean value that indicates whether writes are rejected. The file is still opened for writing if possible, so
  /// SQLite can roll back a killed writer's journal.
  public var isReadOnly = false
  /// A Boolean value that indicates whether the store is read without ever changing its file or folder. Use it for a
  /// store in an app bundle, on a read-only disk or with another owner, in either journal mode.
  ///
  /// If a killed writer left a journal or log, the sealed files are copied to a private directory in `TMPDIR`, and the
  /// store is read from the copy. The copy is deleted when the store closes.
  public var leavesFileUnchanged = false
  /// A Boolean value that indicates whether published test keys may open TEST stores. Use it only in tests.
  public var allowsTestKeys = false
  /// The expected pin, or `nil` to accept any pin. Use it for public keys, because anyone can create a store for a
  /// public key.
  public var pin: StorePin?
  /// The expected publisher, or `nil` to open any store.
  ///
  /// The store is then opened for reading only, and its rows must match its newest release. The release must be signed
  /// by this publisher, or by a successor that this publisher named. Opening reads all heads. Each document, collection
  /// and attachment read later is compared with them, and texts with their digests, because a slot holder could have
  /// forged them. Indexes aren't used.
  public var publisher: Publisher?
  /// The file that records which rows were verified for a release, or `nil` to verify them at each opening.
  ///
  /// Reopening the same state of the store then doesn't read heads. The file is created if it's missing, and replaced
  /// when the store has changed. Keep it where only the reader can write, because anyone who changes it decides which
  /// rows are accepted.
  public var proofFile: URL?
  /// A Boolean value that indicates whether the expected pin may come from the store's unfinished rekey. Otherwise,
  /// opening the store throws `pinUnfinished`.
  public var acceptsUnfinishedRekey = false
  /// The maximum time to wait for another process's lock, or `nil` to wait indefinitely. Waits for this process's own
  /// reads and writes aren't limited, and end when the task is canceled or the store is closed. However, if writes wait
  /// for each other's reads, because each write is inside a read of another write's store, one write throws `locked`
  /// after this time.
  ///
  /// In WAL mode, reads don't wait for writers. Opening a store then waits at least ten seconds for the first process
  /// to open it, or the last process to close it.
  public var wait: Duration? = .seconds(10)
  /// The maximum number of concurrent reads. Further reads wait, in the order of their calls.
  ///
  /// Each read has a connection with caches (``pageCacheBytes``). A read inside another store's scope doesn't wait.
  public var maximumReaders = 8
  /// The cache size in bytes for individually read texts, or 0 to disable the cache. Cached texts don't need their row.
  ///
  /// Texts are erased when they're evicted or changed, or when the store closes. The cache is never stale, because
  /// commits from other processes empty it.
  public var textCacheBytes = 8 << 20
  /// The size of SQLite's page cache for each reading connection, in bytes. Cached pages are sealed, as in the file.
  /// There are as many connections as concurrent reads (``maximumReaders``), of which up to four remain open. The
  /// writing connection has at least 64 MiB, for a bulk transaction's pages.
  public var pageCacheBytes = 8 << 20
  /// The total size of the caches for opened index pages, in bytes. Each connection that searches, queries or lists has
  /// an equal share, which it adjusts in its next operation. Up to four idle connections keep their previous share.
  /// Queries that group or join a million rows in index order are several times faster if the index fits.
  public var indexCacheBytes = 64 << 20
  /// The maximum memory in bytes for the index pages that readers change, which all readers of the file in this process
  /// share. Beyond it, indexes are updated in the file, or searches and queries throw `indexBehind` if that isn't
  /// possible.
  public var indexMemoryBytes = 64 << 20
  /// The strategies for encoding Codable values as JSON.
  public var values = ValueCoding()
  /// The app's migrations in order, or `nil` for a program that isn't an app with migrations.
  ///
  /// Opening the store applies the missing migrations in one transaction, so the store has all of them or remains
  /// unchanged. If several processes open a store at the same time, one process applies the migrations, and the others
  /// wait. A new or emptied store applies all migrations.
  ///
  /// The migration names in a store are its application version. If a store has a migration that isn't listed here, a
  /// newer app version changed the store. Opening it for reading or writing then throws `otherFormat`. If the newer
  /// version opens the store while an older version has it open, the next `read` or `write` in the older version throws
  /// `otherFormat`. Therefore, list migrations from the app's first version, even if there aren't any yet. Without this
  /// option, migrations are neither applied nor compared.
  public var migrations: [Migration]?
  /// The only slot to try, with raised limits for its scrypt cost.
  public var slot: Int?
  /// The store's logger, which receives counts and IDs but never text, titles, collection names or keys. Commits are
  /// logged as `debug`, and rarer events as `info`.
  public var logger: Logger?
  /// The options for creating the store if it's missing.
  public var creation = CreateOptions()

  /// Whether these options only allow reading.
  var isReadOnlyByChoice: Bool { isReadOnly || publisher != nil }

  /// Whether a newly created store can't be opened with these options.
  package var requiresExistingStore: Bool { isReadOnlyByChoice || leavesFileUnchanged || pin != nil }

  /// Creates options for reading and writing that wait ten seconds for locks and accept any pin.
  public init() {}
}

/// The options for a new store. Changing the title mode later requires a rekey (``RekeyOptions/changeTitles(to:)``).
public struct CreateOptions: Sendable {
  /// The title mode, which determines whether titles are sealed, in plaintext or not stored.
  public var titles: Titles = .sealed
  /// A Boolean value that indicates whether padding hides exact lengths. It increases the size by at most 12 %.
  public var isPadded = true
  /// The journal mode, which can't be changed later.
  public var journal: Journal = .rollback
  /// A Boolean value that indicates whether the store accepts only test keys, so anyone can read it.
  public var isTest = false
  /// The labels for the new keys, in the same order. Missing labels are empty.
  public var labels: [String] = []

  /// Creates options for a padded store with sealed titles and a rollback journal.
  public init() {}

  /// The storage of titles.
  public typealias Titles = TitleMode

  /// The method that SQLite uses for atomic commits.
  public enum Journal: String, Sendable, CaseIterable {
    /// One file when closed. The store can be opened from a read-only folder.
    case rollback
    /// Readers continue while a writer writes. An open store has two additional files.
    case writeAheadLog = "wal"
  }
}
