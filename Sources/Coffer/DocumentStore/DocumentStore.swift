internal import CofferEngine
public import CofferFoundation
internal import CofferRecords
internal import CofferSQLite
internal import CofferSealing
internal import Synchronization

/// An encrypted document store in one SQLite file.
///
/// Every text is encrypted with XAES-256-GCM before SQLite receives it, and bound to its row. Any number of threads can
/// use a store. One thread can write at a time, while others read. Between transactions, only the file remains open.
///
/// ```swift
/// let store = try DocumentStore.open(at: url, key: .keyFile(keyURL), creatingIfMissing: true)
/// try store.write { tx in
///   try tx.insert(Document(title: "Plans", text: "Sail at dawn."), into: "notes", at: .top)
/// }
/// let titles = try store.read { try $0.headers(in: "notes").map(\.title) }
/// ```
///
/// A helper function that only reads can take either scope, so you can call it in `read` and `write`:
///
/// ```swift
/// func openTasks(in scope: borrowing some StoreReading & ~Copyable) throws -> [Task] {
///   try scope.values(Task.self, in: "tasks") { !$0.isDone }.map(\.value)
/// }
/// ```
public final class DocumentStore: Sendable {
  /// The way in which the store was opened.
  public enum Opening: Sendable, Hashable {
    /// The file was created by this call, or already existed.
    case created, opened
    /// The file existed and was emptied as requested.
    case reset
  }

  /// The way in which the store was opened.
  public let opening: Opening
  /// The result of comparing the store with its original, or `nil` if `openEditableCopy` didn't open the store.
  public let original: OriginalCheck?
  package let engine: StoreEngine

  init(_ engine: StoreEngine, _ opening: Opening, original: OriginalCheck? = nil) {
    self.engine = engine
    self.opening = opening
    self.original = original
    engine.beginIndexUpkeep()
  }

  /// A Boolean value that indicates whether writes are rejected, because of the options, the file's permissions, or a
  /// later format version that only allows reading.
  public var isReadOnly: Bool { engine.isReadOnly }

  /// The store's identity as 32 hexadecimal digits, which never changes and is the same in every copy.
  public var storeID: String { Hexadecimal.text(engine.session.header.storeID) }

  /// The store's pin, which recipients compare before they trust the store (``OpenOptions/pin``).
  ///
  /// It changes with the root key, and at the end of each rekey.
  public var pin: StorePin { StorePin(engine.session.header) }

  /// The title mode, which determines whether titles are encrypted, in plaintext or not stored.
  public var titles: CreateOptions.Titles { CreateOptions.Titles(rawValue: engine.session.header.titles)! }

  /// A Boolean value that indicates whether this is a TEST store, which published test keys can open.
  public var isTest: Bool { engine.session.header.isTest }

  /// Stops readers, waits for a running write, closes the file, and erases texts and keys from memory.
  ///
  /// Afterward, every other call throws `closed`. So do the next call or row of scopes, searches, copies, queries and
  /// `verify` on other threads, and threads that wait to write. `close` returns after these closures have returned, so
  /// texts can't be read afterward. A `write` that has begun continues and commits. A rekey stops between two batches.
  /// The sequences of observers and subscribers end. A closure that waits for the closing thread causes a deadlock.
  ///
  /// If the store is writable and no other writer is active, indexes that reads updated in memory, or that lack 256
  /// documents or about 60 commits, are first updated in the file. `close` also waits for an update that has begun in
  /// the background. A store that's no longer referenced closes automatically, without that update.
  ///
  /// With a write-ahead log, the last store to close copies the log to the file and removes the log. A store that was
  /// only read doesn't wait for a writer, and a store that was written to waits at most its waiting time. Otherwise,
  /// the file's next store to close copies the log.
  ///
  /// - Throws: `misuse` inside this store's `read` or `write`.
  public func close() throws(StoreError) {
    engine.updateIndexesBeforeClosing()
    try engine.connections.close()
  }
}

// MARK: - Opening

extension DocumentStore {
  /// Opens the store at `url`, or creates it.
  ///
  /// If an app writes while it reads, for example if a window lists documents that a background task imports, create
  /// the store with ``CreateOptions/Journal/writeAheadLog`` (`options.creation.journal`), so readers can continue
  /// during a write. With the default rollback journal, readers and writers wait for each other, and the store is a
  /// single file when it's closed. The journal can't be changed later.
  ///
  /// Follows FORMAT, "Opening". Data in the file isn't trusted before the key has verified it, and keys aren't derived
  /// before the bounds of every slot are checked. Opening with a key file doesn't run scrypt.
  ///
  /// - Parameters:
  ///   - url: The store's file. Its folder must exist.
  ///   - key: The key, or several keys that are tried in order.
  ///   - creatingIfMissing: Whether to create a missing store with one slot for each key in `key`. If several processes
  ///     create it at once, one of them does, and the others open it. Options that a new store can't meet, such as a
  ///     pin, a publisher or reading only, leave it missing.
  ///   - startingAfresh: Whether to empty an existing store in one transaction. This deletes its collections with all
  ///     documents, even damaged documents, without leaving deletions, so other copies keep their documents. IDs
  ///     restart. The store keeps its identity and keys, and ``opening`` is `reset`. Use it for data that can be
  ///     rebuilt, such as a cache whose format has changed. A store of a newer version of the app is emptied, too.
  ///   - options: The waiting time, caches, pin and access. Its `creation` only applies if the store is created.
  /// - Throws: `noSuchFile`, `notAStore`, `otherFormat`, `cannotUnlock`, `testKeyRefused`, `pinMismatch`,
  ///   `pinUnfinished`, `damaged`, `rolledBack`, `unsafeFile`, `parametersRefused`, `keyFileInvalid`, `locked`. Also
  ///   `migrationFailed` and other errors of ``OpenOptions/migrations``. For starting afresh, `invalidArgument` while
  ///   the store syncs through a folder, and `rekeyUnfinished` while a rekey is unfinished. The store is then
  ///   unchanged.
  public static func open(
    at url: URL, key: StoreKey, creatingIfMissing: Bool = false, startingAfresh: Bool = false,
    options: OpenOptions = OpenOptions()
  ) throws(StoreError) -> DocumentStore {
    try StoreEngine.requireWorkingCipher()
    let engine: StoreEngine
    do throws(StoreError) {
      engine = try StoreEngine(at: url.path, key: key, options: options)
    } catch {
      guard error.code == .noSuchFile, creatingIfMissing, !options.requiresExistingStore else { throw error }
      // Ask for the secret once, even if another process creates the store first.
      let remembering = key.remembering()
      do throws(StoreError) {
        let created = try create(at: url, keys: [remembering], creation: options.creation, options: options)
        created.engine.keepKey(key)
        return created
      } catch {
        // If the file doesn't exist, the error is about another store's leftover journal.
        guard error.code == .alreadyExists, (try? FileLocation(of: url.path)) != nil else { throw error }
        engine = try StoreEngine(at: url.path, key: remembering, options: options)
        engine.keepKey(key)
      }
    }
    try engine.migrate(emptying: startingAfresh)
    return DocumentStore(engine, startingAfresh ? .reset : .opened)
  }

  /// Unlocks the store after a transaction threw `keyChanged`, with the same key or another key.
  ///
  /// If a store was opened with a passphrase or a key file that still opens it, this happens automatically, and the
  /// transaction's thread asks for the key again. It doesn't happen if the store was opened with a recipient's or
  /// provider's slot, because anyone may be able to create such a slot, or with an expected pin, because every rekey
  /// changes the pin.
  ///
  /// If you specify a `pin`, the store must have this pin.
  ///
  /// - Throws: `cannotUnlock`, `pinMismatch`, `rolledBack`, or errors of asking for the key. The store is then
  ///   unchanged.
  public func unlock(with key: StoreKey, expecting pin: StorePin? = nil) throws(StoreError) {
    try engine.unlock(with: key, expecting: pin)
  }
}
