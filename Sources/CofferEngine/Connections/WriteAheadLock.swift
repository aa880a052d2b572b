internal import CofferPlatform
internal import CofferRecords
package import CofferSQLite
internal import Synchronization

/// The lock for all our writers and checkpoints in WAL mode. SQLite's automatic checkpoints are off.
///
/// - SQLite 3.7.0 to 3.51.2 can lose commits when one connection commits while another checkpoints (the WAL-reset
///   bug). This lock prevents that for our connections.
/// - A replication program such as Litestream reads the log, and loses unread commits when another process restarts
///   the log. While such a program has the file open, we leave checkpoints to it.
///
/// The lock is advisory, on one byte of the store's own file. The whole process uses one descriptor per file. It is
/// closed after the last connection to the file, because closing it earlier would drop SQLite's locks (``OpenFiles``).
package final class WriteAheadLock: Sendable {
  /// The maximum log length in bytes before the log is copied into the file.
  private static let maximumLogLength: Int64 = 4 << 20

  private struct Entry {
    let lock: WriteAheadLock
    var users: Int
  }

  private static let all = Mutex<[FileIdentity: Entry]>([:])

  private let descriptor: Int32
  private let process = OwnProcess.number
  private let isHeld = Atomic<Bool>(false)
  /// The log length that triggers the next copy.
  private let threshold = Atomic<Int64>(maximumLogLength)

  private init(descriptor: Int32) {
    self.descriptor = descriptor
  }

  /// Returns the lock for the file at `path`. Call ``release()`` once for each call of this method, after closing the
  /// connections that needed the lock.
  package static func of(_ path: String) throws(StoreError) -> WriteAheadLock {
    try all.withLock { all throws(StoreError) in
      var status = stat()
      if stat(path, &status) == 0, let known = all[FileIdentity(status)]?.lock {
        all[FileIdentity(status)]?.users += 1
        return known
      }
      // The lock needs a descriptor for writing. Those who may not write don't take it.
      var descriptor = open(path, O_RDWR | O_CLOEXEC)
      if descriptor < 0 { descriptor = open(path, O_RDONLY | O_CLOEXEC) }
      guard descriptor >= 0, fstat(descriptor, &status) == 0 else {
        throw StoreError(.ioFailure, "\(path): \(String(cString: strerror(errno)))")
      }
      let lock = WriteAheadLock(descriptor: descriptor)
      all[FileIdentity(status)] = Entry(lock: lock, users: 1)
      return lock
    }
  }

  /// Closes the descriptor after its last user, unless a connection still has the file open.
  package func release() {
    Self.all.withLock { all in
      if let file = all.first(where: { $0.value.lock === self })?.key { all[file]?.users -= 1 }
    }
    Self.closeUnused()
  }

  /// Closes the descriptors without users that connections kept open before.
  static func closeUnused() {
    all.withLock { all in
      all = all.filter { $0.value.users > 0 || !OpenFiles.closeIfLast($0.value.lock.descriptor) }
    }
  }

  /// - Parameters:
  ///   - countsThisProcess: Whether the time counts in which this process has the lock, for example to close another
  ///     open store of the file.
  ///   - check: Called before each attempt. If it throws, the wait ends.
  package func lock(
    wait: Duration?, countsThisProcess: Bool = true, _ cancellation: Cancellation? = nil,
    check: () throws(StoreError) -> Void = {}
  ) throws(StoreError) {
    let clock = ContinuousClock()
    var end = wait.map { clock.now + $0 }
    var pause: UInt32 = 200
    while true {
      try cancellation?.check()
      try check()
      let start = clock.now
      var isCounted = countsThisProcess
      if isHeld.compareExchange(expected: false, desired: true, ordering: .acquiringAndReleasing).exchanged {
        if RangeLock.take(RangeLock.writers, of: descriptor) { return }
        let reason = errno
        isCounted = true
        isHeld.store(false, ordering: .releasing)
        guard reason == EAGAIN || reason == EACCES || reason == EINTR else {
          throw StoreError(.ioFailure, "the store can't be locked: \(String(cString: strerror(reason)))")
        }
      }
      if isCounted, let end, clock.now >= end {
        throw StoreError(.locked, "the store is locked by another writer", hint: "try again, or wait longer")
      }
      usleep(pause)
      pause = min(2 * pause, 20_000)
      if !isCounted { end = end.map { $0 + (clock.now - start) } }
    }
  }

  package func unlock() {
    // The child of a fork shares its parent's lock.
    guard OwnProcess.number == process else { return }
    RangeLock.release(RangeLock.writers, of: descriptor)
    isHeld.store(false, ordering: .releasing)
  }

  /// Copies a long log into the file and restarts the log. Call this after a commit, while holding the lock.
  ///
  /// Never waits. A reader or replication program postpones the copy until the log has grown by another `maximumLogLength`
  /// bytes.
  func checkpointIfLong(_ database: Database, path: String) {
    var status = stat()
    guard stat(path + "-wal", &status) == 0, Int64(status.st_size) >= threshold.load(ordering: .relaxed) else { return }
    let isDone = !isReplicated(database) && checkpoint(database)
    threshold.store(isDone ? Self.maximumLogLength : Int64(status.st_size) + Self.maximumLogLength, ordering: .relaxed)
  }

  /// Copies the log into the file and truncates it, unless a reader blocks that. Call this while holding the lock.
  private func checkpoint(_ database: Database) -> Bool {
    let wait = database.busyTimeout
    database.busyTimeout = .zero
    defer { database.busyTimeout = wait }
    guard let log = try? database.checkpoint(.passive), log.frames == log.copied else { return false }
    return (try? database.checkpoint(.truncate)) != nil
  }

  /// Returns whether a replication program seems to have the file open, because the file contains Litestream's tables
  /// and another process holds an SQLite lock, as every connection in WAL mode does.
  package func isReplicated(_ database: Database) -> Bool {
    guard isOpenInAnotherProcess else { return false }
    let tables = "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name>='_litestream_' AND name<'_litestream`')"
    return (try? database.firstValue(tables)) != .integer(0)
  }

  /// Whether another process has the file open.
  package var isOpenInAnotherProcess: Bool {
    RangeLock.isTakenElsewhere(RangeLock.sqlite, of: descriptor)
  }
}
