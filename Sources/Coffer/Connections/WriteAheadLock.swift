internal import CofferRecords
internal import CofferSQLite
internal import Synchronization

#if canImport(Glibc)
  internal import Glibc
#endif

/// In WAL mode, one lock for all our writers and checkpoints. SQLite's automatic checkpoints are off.
///
/// - SQLite 3.7.0 to 3.51.2 can lose commits when one connection commits while another checkpoints (the WAL-reset bug).
///   With this lock, ours never do both at once.
/// - A replication program such as Litestream reads the log, and loses commits that it has not read when another process
///   starts the log over. While such a program has the file open, the checkpoints are left to it.
///
/// The lock is advisory, on a descriptor of the store's own file. One
/// descriptor per file serves the whole process and is never closed, since closing any descriptor of a file drops the
/// locks that SQLite holds on it in this process.
final class WriteAheadLock: Sendable {
  /// A log longer than this many bytes is copied into the file.
  private static let longLog: Int64 = 4 << 20

  private static let all = Mutex<[FileIdentity: WriteAheadLock]>([:])

  private let descriptor: Int32
  private let isHeld = Atomic<Bool>(false)
  /// The length of the log at which the next copy happens.
  private let threshold = Atomic<Int64>(longLog)

  private init(descriptor: Int32) {
    self.descriptor = descriptor
  }

  /// The lock of the file at `path`.
  static func of(_ path: String) throws(StoreError) -> WriteAheadLock {
    try all.withLock { all throws(StoreError) in
      var status = stat()
      if stat(path, &status) == 0, let known = all[FileIdentity(status)] { return known }
      let descriptor = open(path, O_RDONLY | O_CLOEXEC)
      guard descriptor >= 0, fstat(descriptor, &status) == 0 else {
        throw StoreError(.ioFailure, "\(path): \(String(cString: strerror(errno)))")
      }
      let lock = WriteAheadLock(descriptor: descriptor)
      all[FileIdentity(status)] = lock
      return lock
    }
  }

  func lock(wait: Duration?, _ cancellation: Cancellation? = nil) throws(StoreError) {
    let clock = ContinuousClock()
    let end = wait.map { clock.now + $0 }
    var pause: UInt32 = 200
    while true {
      try cancellation?.check()
      if isHeld.compareExchange(expected: false, desired: true, ordering: .acquiringAndReleasing).exchanged {
        if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { return }
        let reason = errno
        isHeld.store(false, ordering: .releasing)
        guard reason == EWOULDBLOCK || reason == EINTR else {
          throw StoreError(.ioFailure, "the store can't be locked: \(String(cString: strerror(reason)))")
        }
      }
      if let end, clock.now >= end {
        throw StoreError(.locked, "the store is locked by another writer", hint: "try again, or wait longer")
      }
      usleep(pause)
      pause = min(2 * pause, 20_000)
    }
  }

  func unlock() {
    flock(descriptor, LOCK_UN)
    isHeld.store(false, ordering: .releasing)
  }

  /// Copies a long log into the file and starts it over; call after a commit, while the lock is held.
  ///
  /// Never waits. A reader in the way postpones the copy until the log has grown by as much again; so does a replication
  /// program.
  func checkpointIfLong(_ database: Database, path: String) {
    var status = stat()
    guard stat(path + "-wal", &status) == 0, Int64(status.st_size) >= threshold.load(ordering: .relaxed) else { return }
    let isDone = !isReplicated(database) && checkpoint(database)
    threshold.store(isDone ? Self.longLog : Int64(status.st_size) + Self.longLog, ordering: .relaxed)
  }

  /// Copies the log into the file and cuts it, if no reader is in the way; call while the lock is held.
  private func checkpoint(_ database: Database) -> Bool {
    let wait = database.busyTimeout
    database.busyTimeout = .zero
    defer { database.busyTimeout = wait }
    guard let log = try? database.checkpoint(.passive), log.frames == log.copied else { return false }
    return (try? database.checkpoint(.truncate)) != nil
  }

  /// Whether a replication program has the file open, as far as that can be seen: its tables are in the file, and another
  /// process holds one of SQLite's locks, as each connection in WAL mode does.
  func isReplicated(_ database: Database) -> Bool {
    guard isOpenElsewhere else { return false }
    let tables = "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name GLOB '_litestream_*')"
    return (try? database.firstValue(tables)) != .integer(0)
  }

  /// Whether another process has the file open.
  var isOpenElsewhere: Bool {
    var lock = flock()
    lock.l_type = Int16(F_WRLCK)
    lock.l_whence = Int16(SEEK_SET)
    (lock.l_start, lock.l_len) = FileLease.lockBytes
    // Locks of this process are no obstacle to F_GETLK.
    return fcntl(descriptor, F_GETLK, &lock) == 0 && lock.l_type != Int16(F_UNLCK)
  }
}
