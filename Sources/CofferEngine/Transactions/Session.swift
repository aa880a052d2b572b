internal import CofferRecords
package import Synchronization

/// The keys and latest generation of an open store, shared by all its connections.
package final class Session: Sendable {
  struct Known {
    /// The keys, or `nil` once the store is closed, so the keys don't outlive the last transaction.
    var keys: SessionKeys?
    var header: StoreHeader
    /// The keys of a commit in progress. Other threads may find them in the file before `keys` changes.
    var next: SessionKeys?
    var generation: UInt64
    /// The release that the store was opened as, or `nil` without a publisher.
    var proved: ProvedRelease?
  }

  private let known: Mutex<Known>
  /// The text cache, or `nil` if it's disabled.
  let texts: TextCache?
  package let feed = ChangeFeed()
  let values: CodableValues
  private let closing = Atomic<Bool>(false)
  /// The number of times that the store was suspended or resumed. It's odd while the store is suspended.
  private let pauseCount = Atomic<UInt64>(0)
  /// The number of documents that readers had to add to indexes in memory since the last update in the file.
  package let outdatedIndexDocuments = Atomic<Int>(0)
  /// What this process's commits have added since the indexes in the file were last looked at.
  package let indexDebt = IndexDebt()
  let chunkSweep = Atomic<ChunkSweep>(.notDue)
  /// Whether a commit of this process left chunks over.
  let leavesChunks = Atomic<Bool>(false)
  private let checkedGeneration = Atomic<UInt64>(0)
  private let isCheckingMigrations = Atomic<Bool>(false)

  private let options: OpenOptions
  /// The absolute path from the caller.
  package let path: String
  /// The locks shared with other open stores of the same file.
  package let locks: ProcessLocks
  private let companions = Mutex<[ObjectIdentifier: any SessionCompanion]>([:])

  init(keys: SessionKeys, generation: UInt64, options: OpenOptions, path: String, locks: ProcessLocks) {
    (self.path, self.locks) = (path, locks)
    let cacheBytes = options.textCacheBytes
    values = CodableValues(coding: options.values)
    self.options = options
    texts = cacheBytes > 0 ? TextCache(capacity: cacheBytes) : nil
    known = Mutex(Known(keys: keys, header: keys.header, next: nil, generation: generation))
  }

  /// Whether each transaction requires that this program knows the store's migrations. A store can have unknown
  /// migrations while it's emptied.
  var checksMigrations: Bool {
    get { isCheckingMigrations.load(ordering: .relaxed) }
    set { isCheckingMigrations.store(newValue, ordering: .relaxed) }
  }

  /// The generation in which all migrations of the store are known, or 0.
  var checkedMigrations: UInt64 {
    get { checkedGeneration.load(ordering: .relaxed) }
    set { checkedGeneration.store(newValue, ordering: .relaxed) }
  }

  /// - Throws: `closed` once the store is closed.
  package var keys: SessionKeys {
    get throws(StoreError) {
      guard let keys = known.withLock({ $0.keys }) else { throw StoreError.storeClosed }
      return keys
    }
  }

  /// The release that the store was opened as, or `nil` without a publisher. Transactions that begin later open only its
  /// rows.
  var proved: ProvedRelease? {
    get { known.withLock { $0.proved } }
    set { known.withLock { $0.proved = newValue } }
  }

  /// The header of the latest verified keys, which remains available after the store is closed.
  package var header: StoreHeader {
    known.withLock { $0.header }
  }

  /// The current keys, header and generation. A transaction reads them before it begins, so the file can be newer but
  /// not older, even if other threads commit in between.
  var snapshot: Known {
    known.withLock { $0 }
  }

  /// Records the generation that a transaction read or wrote.
  func note(generation: UInt64) {
    known.withLock { $0.generation = max($0.generation, generation) }
  }

  /// Records that a commit changed attachments.
  func noteAttachmentChange(leavingChunks leavesChunks: Bool) {
    if leavesChunks {
      self.leavesChunks.store(true, ordering: .relaxed)
      chunkSweep.store(.due, ordering: .relaxed)
    } else {
      _ = chunkSweep.compareExchange(expected: .notDue, desired: .due, ordering: .relaxed)
    }
  }

  /// Records the keys that the next commit writes to the file, or `nil` if the commit failed.
  func announce(_ next: SessionKeys?) {
    known.withLock { $0.next = next }
  }

  /// Replaces the keys after this process changed the header or slots.
  func replaceKeys(_ keys: SessionKeys) {
    known.withLock {
      $0.replace(keys)
      $0.next = nil
    }
  }

  /// Replaces the keys after another process changed the header or slots, unless another thread already replaced `old`.
  func replaceKeys(_ old: SessionKeys, with keys: SessionKeys) {
    known.withLock { if $0.keys === old { $0.replace(keys) } }
  }

  /// Whether the store is closing or closed, so read transactions must stop returning data.
  package var isClosing: Bool { closing.load(ordering: .acquiring) }

  func beginClosing() {
    closing.store(true, ordering: .releasing)
  }

  /// The number of times that the store was suspended or resumed.
  var pauses: UInt64 { pauseCount.load(ordering: .acquiring) }

  /// Whether the store is suspended, so all transactions must end.
  package var isSuspended: Bool { !pauses.isMultiple(of: 2) }

  /// The mark of work that begins now, for ``isPaused(since:)``.
  var pauseMark: UInt64 { pauses & ~1 }

  /// Returns whether the store is suspended, or was since work began.
  func isPaused(since mark: UInt64) -> Bool { pauses != mark }

  /// Suspends the store, or resumes it. Call this method under the lock of ``ConnectionPool/pausing``.
  func setSuspended(_ suspended: Bool) {
    if isSuspended != suspended { pauseCount.add(1, ordering: .acquiringAndReleasing) }
  }

  /// - Throws: `closed` or `suspended` if the store doesn't take new work.
  package func requireRunning() throws(StoreError) {
    guard !isClosing else { throw .storeClosed }
    guard !isSuspended else { throw .storeSuspended }
  }

  /// Returns `closed` or `suspended` for work that closing or suspending the store interrupted, and any other error
  /// unchanged.
  ///
  /// - Parameter mark: ``pauseMark`` when the work began.
  func errorOfStopped(_ error: StoreError, since mark: UInt64) -> StoreError {
    guard error.code == .cancelled else { return error }
    if isClosing { return .storeClosed }
    return isPaused(since: mark) ? .storeSuspended : error
  }

  /// Releases the keys. They're wiped when the last transaction that uses them ends.
  func releaseKeys() {
    known.withLock { $0.releaseKeys() }
  }
}

extension Session.Known {
  fileprivate mutating func releaseKeys() {
    keys = nil
    next = nil
  }

  fileprivate mutating func replace(_ keys: SessionKeys) {
    // A transaction that ends after closing must not restore the keys.
    guard self.keys != nil else { return }
    self.keys = keys
    header = keys.header
  }
}

extension Session {
  /// Returns the state that another target keeps on this store.
  package func companion<Companion: SessionCompanion>(_ type: Companion.Type) -> Companion {
    companions.withLock { $0.companion(type, options, locks) }
  }

  func closeCompanions() {
    for companion in companions.withLock({ Array($0.values) }) { companion.close() }
  }

  /// Wipes cached texts and releases decrypted pages.
  func releaseMemory() {
    texts?.empty()
    for companion in companions.withLock({ Array($0.values) }) { companion.releaseMemory() }
  }

  // MARK: Local commits

  /// Prepares for a commit, so its rows aren't mistaken for another process's commit.
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
