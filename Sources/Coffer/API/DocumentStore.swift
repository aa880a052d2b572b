internal import CofferRecords
internal import CofferSQLite
internal import CofferSealing
public import FoundationEssentials
internal import Synchronization

/// An encrypted document store in one SQLite file.
///
/// Every text is sealed with XAES-256-GCM before SQLite sees it, and bound to its row. Any number of threads may use a
/// store; one writes at a time, others read. Between transactions only the file itself is kept open.
///
/// ```swift
/// let store = try DocumentStore.open(at: url, key: .keyFile(keyURL), creatingIfMissing: true)
/// let notes = store.collection("notes")
/// try store.write { tx in
///   try tx.insert(Document(title: "Plans", text: "Sail at dawn."), into: notes, at: .top)
/// }
/// let titles = try store.read { try $0.headers(in: notes).map(\.title) }
/// ```
///
/// A helper that only reads takes any scope, so that `read` and `write` can both call it:
///
/// ```swift
/// func openTasks(in scope: borrowing some ReadScope & ~Copyable) throws -> [Task] {
///   try scope.values(Task.self, in: "tasks") { !$0.isDone }
/// }
/// ```
public final class DocumentStore: Sendable {
  /// How the store was opened.
  public enum Opening: Sendable, Hashable {
    /// The file was made by this call, or existed.
    case created, opened
    /// It existed, and was emptied as the caller asked.
    case reset
  }

  /// How this value was opened: the file was created, opened, or opened and emptied.
  public let opening: Opening
  /// The comparison with its original, for a store that `openEditableCopy` opened; otherwise nil.
  public let original: OriginalCheck?
  let engine: StoreEngine

  init(_ engine: StoreEngine, _ opening: Opening, original: OriginalCheck? = nil) {
    self.engine = engine
    self.opening = opening
    self.original = original
  }

  /// Whether every write is refused: because the options or the file's permissions say so, or because a later version
  /// of the format made the store so that this one may only read it.
  public var isReadOnly: Bool { engine.isReadOnly }

  /// 32 hex digits, the same for the store's whole life and in every copy of it.
  public var storeID: String { Hexadecimal.text(engine.session.header.storeID) }

  /// The store's pin, one line: a recipient compares it before trusting the store (``OpenOptions/expectedPin``). It
  /// changes with the root key, and at the end of each rekey.
  public var pin: String { StorePin(engine.session.header).line }

  /// Whether titles are sealed, in clear, or not stored.
  public var titles: TitleMode { TitleMode(rawValue: engine.session.header.titles)! }

  /// Whether this is a TEST store: published test keys may open it.
  public var isTest: Bool { engine.session.header.isTest }

  /// A handle to a collection by name; reads and creates nothing. The name is checked when the collection is made.
  public func collection(_ name: String) -> DocumentCollection {
    DocumentCollection(name)
  }

  /// Ends what reads, waits for a write that runs, closes the file, and wipes texts and keys in memory.
  ///
  /// From the call on every other call throws `closed`, and so do the next call and the next row of scopes that read on
  /// other threads, of searches, exports, queries and `verify`, and threads that wait to write. `close` returns when
  /// these closures have returned: then no text can be given out any more. A `write` that has begun is let to its end
  /// and commits; a rekey stops between two batches. Observers and subscribers get the end of their sequence. A closure
  /// that waits for the closing thread keeps both waiting for ever.
  ///
  /// A store that is no longer referenced closes by itself.
  ///
  /// - Throws: `misuse` inside a `read` or `write` of this store; `locked` if another process holds the lock for the
  ///   last copy of the write-ahead log into the file. That process is left to make the copy; this store is closed.
  public func close() throws(StoreError) {
    try engine.connections.close()
  }
}

// MARK: - Opening

extension DocumentStore {
  /// Opens the store at `url`, or creates it.
  ///
  /// An app that writes while others read, such as one with a window that lists what a background task imports, creates
  /// the store with ``CreateOptions/Journal/writeAheadLog``: readers then continue during a write. In the rollback
  /// journal, the default, readers and writers wait for each other, and the store is one file at rest. The journal is
  /// chosen when a store is created (`options.creation.journal`).
  ///
  /// The checks follow FORMAT, "Opening": nothing in the file is trusted before the key has verified it, and no key is
  /// derived before the bounds of every slot are checked. With a key file no scrypt runs.
  ///
  /// - Parameters:
  ///   - url: the store's file. Its folder must exist.
  ///   - key: the way, or the ways, to unlock it; each is tried in turn.
  ///   - creatingIfMissing: creates a store with one slot for each way of `key`.
  ///   - startingAfresh: empties an existing store in one transaction: it deletes its collections with all documents,
  ///     even damaged ones, and ids restart at 1. It stays the same store with the same keys. Use it for data that can
  ///     be rebuilt, such as a cache whose form has changed; ``opening`` is then `reset`.
  ///   - options: waiting time, caches, pin and access; its `creation` counts only for a store that is created.
  /// - Throws: `noSuchFile`, `notAStore`, `otherFormat`, `cannotUnlock`, `testKeyRefused`, `pinMismatch`,
  ///   `pinUnfinished`, `damaged`, `rolledBack`, `unsafeFile`, `parametersRefused`, `keyFileInvalid`, `locked`.
  public static func open(
    at url: URL, key: StoreKey, creatingIfMissing: Bool = false, startingAfresh: Bool = false,
    options: OpenOptions = OpenOptions()
  ) throws(StoreError) -> DocumentStore {
    try StoreEngine.requireSoundCipher()
    let engine: StoreEngine
    do throws(StoreError) {
      engine = try StoreEngine(at: url.path, key: key, options: options)
    } catch {
      guard error.code == .noSuchFile, creatingIfMissing, !options.isReadOnly else { throw error }
      return try create(at: url, keys: key.newKeys, creation: options.creation, options: options, openedWith: key)
    }
    if startingAfresh {
      try engine.writing { transaction throws(StoreError) in
        try transaction.writer.deleteEverything()
        try transaction.commit()
      }
    }
    return DocumentStore(engine, startingAfresh ? .reset : .opened)
  }

  /// Unlocks the store again after a transaction threw `keyChanged`: with another key, or with the same.
  ///
  /// A store does this automatically if it was opened with a passphrase or a key file that still opens it: the key is
  /// asked for again, on the thread of the transaction. It does not if it was opened through the slot of a recipient or
  /// a provider, which anyone may be able to make, or with an expected pin, which every such change changes.
  ///
  /// If `pin` is given, the store must have this pin.
  ///
  /// - Throws: `cannotUnlock`, `pinMismatch`, `rolledBack`, errors of asking for the key; the store is then unchanged.
  public func unlock(with key: StoreKey, expectingPin pin: String? = nil) throws(StoreError) {
    try engine.unlock(with: key, expectingPin: pin)
  }
}
