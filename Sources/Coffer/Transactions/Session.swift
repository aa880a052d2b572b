internal import CofferRecords
internal import Synchronization

/// What all connections of one open store share: the keys, and the latest generation that was seen.
final class Session: Sendable {
  struct Known {
    /// Nil once the store is closed, so that nothing keeps them longer than the last transaction.
    var keys: SessionKeys?
    var header: StoreHeader
    /// Of a key change that is being committed: other threads may find it in the file before it is noted here.
    var next: SessionKeys?
    var generation: UInt64
  }

  private let known: Mutex<Known>
  /// nil where it is turned off.
  let texts: TextCache?
  let feed = ChangeFeed()

  init(keys: SessionKeys, generation: UInt64, cacheBytes: Int) {
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

  /// What the keys were last proved with; known for ever.
  var header: StoreHeader {
    known.withLock { $0.header }
  }

  /// What was known at one moment. A transaction asks before it begins: what it finds may then be newer, but not older,
  /// even where other threads commit before it has read.
  var snapshot: Known {
    known.withLock { $0 }
  }

  /// Notes the generation a transaction found or made.
  func note(generation: UInt64) {
    known.withLock { $0.generation = max($0.generation, generation) }
  }

  /// Says which keys the commit that follows will put into the file, or that it failed.
  func announce(_ next: SessionKeys?) {
    known.withLock { $0.next = next }
  }

  /// After a change of header or slots by this process.
  func replaceKeys(_ keys: SessionKeys) {
    known.withLock {
      $0.replace(keys)
      $0.next = nil
    }
  }

  /// After a change of header or slots by another process; a thread that has followed further goes before.
  func replaceKeys(_ old: SessionKeys, with keys: SessionKeys) {
    known.withLock { if $0.keys === old { $0.replace(keys) } }
  }

  /// Lets go of the keys: they are wiped with the last transaction that uses them.
  func forgetKeys() {
    known.withLock { $0.forgetKeys() }
  }

  /// For the child of a fork, in which a lock may never be given back.
  func forgetKeysUnlessLocked() {
    _ = known.withLockIfAvailable { $0.forgetKeys() }
  }
}

extension Session.Known {
  fileprivate mutating func forgetKeys() {
    keys = nil
    next = nil
  }

  fileprivate mutating func replace(_ keys: SessionKeys) {
    // A transaction that outlives the store's closing gives it no keys again.
    guard self.keys != nil else { return }
    self.keys = keys
    header = keys.header
  }
}

extension Session {
  // MARK: Commits of this process

  /// Until the commit that follows has ended, nobody takes its rows for another process's.
  func willCommit(_ generation: UInt64) {
    texts?.willCommit()
    feed.willCommit(generation)
  }

  func commitFailed() {
    texts?.commitFailed()
    feed.commitFailed()
  }

  func didCommit(_ commit: StoreTransaction.Announcement) {
    texts?.didCommit(commit.before, commit.after, changed: commit.changes?.staleTexts)
    feed.didCommit(commit.after.generation, commit.changes?.documents, names: commit.names)
  }
}
