internal import CofferRecords
internal import Synchronization

/// Shared by all connections of one open store: the keys, and the latest generation seen.
final class Session: Sendable {
  struct Known {
    /// Nil once the store is closed, so that nothing keeps the keys longer than the last transaction.
    var keys: SessionKeys?
    var header: StoreHeader
    /// Keys of a commit in progress: other threads may find them in the file before the commit is noted here.
    var next: SessionKeys?
    var generation: UInt64
  }

  private let known: Mutex<Known>
  /// nil if the cache is off.
  let texts: TextCache?
  let feed = ChangeFeed()
  let values: CodableValues
  private let closing = Atomic<Bool>(false)

  let indexCaches: IndexCaches
  let indexMemoryBytes: Int

  init(keys: SessionKeys, generation: UInt64, options: OpenOptions) {
    let cacheBytes = options.textCacheBytes
    values = CodableValues(coding: options.values)
    indexCaches = IndexCaches(byteCount: options.indexCacheBytes)
    indexMemoryBytes = options.indexMemoryBytes
    texts = cacheBytes > 0 ? TextCache(capacity: cacheBytes) : nil
    known = Mutex(Known(keys: keys, header: keys.header, next: nil, generation: generation))
  }

  /// - Throws: `misuse` once the store is closed.
  var keys: SessionKeys {
    get throws(StoreError) {
      guard let keys = known.withLock({ $0.keys }) else { throw StoreError.storeClosed }
      return keys
    }
  }

  /// The header that the keys were last verified with; kept after the store is closed.
  var header: StoreHeader {
    known.withLock { $0.header }
  }

  /// The state of knowledge at one moment. A transaction reads it before it begins: the file may then be newer but not
  /// older, even if other threads commit before the transaction has read.
  var snapshot: Known {
    known.withLock { $0 }
  }

  /// Notes the generation a transaction found or made.
  func note(generation: UInt64) {
    known.withLock { $0.generation = max($0.generation, generation) }
  }

  /// Notes the keys that the next commit will write to the file; nil if the commit failed.
  func announce(_ next: SessionKeys?) {
    known.withLock { $0.next = next }
  }

  /// Call after a change of header or slots by this process.
  func replaceKeys(_ keys: SessionKeys) {
    known.withLock {
      $0.replace(keys)
      $0.next = nil
    }
  }

  /// Call after a change of header or slots by another process; does nothing if another thread replaced `old` already.
  func replaceKeys(_ old: SessionKeys, with keys: SessionKeys) {
    known.withLock { if $0.keys === old { $0.replace(keys) } }
  }

  /// Whether the store is being closed, or is closed: reading transactions then give out nothing more.
  var isClosing: Bool { closing.load(ordering: .acquiring) }

  func beginClosing() {
    closing.store(true, ordering: .releasing)
  }

  /// Releases the keys: the end of the last transaction that uses them wipes them.
  func forgetKeys() {
    known.withLock { $0.forgetKeys() }
  }
}

extension Session.Known {
  fileprivate mutating func forgetKeys() {
    keys = nil
    next = nil
  }

  fileprivate mutating func replace(_ keys: SessionKeys) {
    // A transaction that ends after the store was closed must not store keys again.
    guard self.keys != nil else { return }
    self.keys = keys
    header = keys.header
  }
}

extension Session {
  // MARK: Commits of this process

  /// Call before a commit: until the commit ends, its rows are not taken for another process's.
  func willCommit(_ generation: UInt64) {
    texts?.willCommit()
    feed.willCommit(generation)
  }

  func commitFailed() {
    texts?.commitFailed()
    feed.commitFailed()
  }

  func didCommit(_ commit: StoreTransaction.Announcement) {
    texts?.didCommit(commit.before, commit.after, changed: commit.staleTexts)
    feed.didCommit(commit.report)
  }
}
