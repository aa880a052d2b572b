internal import CofferRecords
internal import CofferSQLite
internal import CofferSealing
internal import Synchronization

#if canImport(Glibc)
  internal import Glibc
#endif

/// The connections of one open store: one for writing, and one for each thread that reads at the same time.
final class ConnectionPool: Sendable {
  /// Sizes of page caches: most readers only pass over pages, the writer collects those of a bulk transaction.
  static let readerCache = 8 << 20
  static let writerCache = 64 << 20
  /// The most idle readers kept open.
  private static let keptReaders = 4

  private struct Idle {
    // Only the thread that took a connection out of here uses it.
    nonisolated(unsafe) var readers: [StoreConnection] = []
    var isClosed = false
    /// Threads inside `read`, each with its depth.
    var reading: [UInt: Int] = [:]
  }

  private struct Writing {
    // Used only by the thread that holds the lock.
    nonisolated(unsafe) var connection: StoreConnection?
  }

  let place: FilePlace
  private let wait: Duration?
  private let readerCache: Int
  private let session: Session
  private let writeAheadLock: WriteAheadLock?
  let isWriteAhead: Bool
  private let idle: Mutex<Idle>
  private let writing: Mutex<Writing>
  /// Writer queue.
  private let writers = FairLock()
  /// The thread inside `write`; 0 if none.
  private let writer = Atomic<UInt>(0)
  /// Locks and connections belong to this process alone.
  private let process = getpid()
  /// Whether the disk has failed to confirm a write. It may confirm the next write without having kept this one, so
  /// nothing more is written until the store is opened again.
  private let hasFailedSync = Atomic<Bool>(false)

  init(_ file: StoreFile, session: Session, options: OpenOptions) throws(StoreError) {
    place = file.place
    wait = options.wait
    readerCache = options.pageCacheBytes
    self.session = session
    isWriteAhead = file.isWriteAhead
    writeAheadLock = file.isWriteAhead ? try WriteAheadLock.of(file.path) : nil
    var first = Idle()
    try Self.configure(file)
    first.readers = [try StoreConnection(file, session: session)]
    idle = Mutex(first)
    writing = Mutex(Writing())
  }

  deinit {
    try? close()
  }

  /// Runs `body` on a connection for reading.
  ///
  /// - Throws: `misuse` inside a `write` of this thread in the rollback journal mode: once its pages no longer fit the
  ///   cache, a reader would wait for it.
  func withReader<R>(
    _ cancellation: Cancellation? = nil, _ body: (StoreConnection) throws(StoreError) -> R
  ) throws(StoreError) -> R {
    try requireOwnProcess()
    let thread = currentThread()
    guard isWriteAhead || writer.load(ordering: .acquiring) != thread else {
      throw StoreError(
        .misuse, "read inside of write would wait for itself in the rollback journal",
        hint: "read with what write was given, which sees its changes too")
    }
    let found = try idle.withLock { idle throws(StoreError) in
      guard !idle.isClosed else { throw StoreError.storeClosed }
      idle.reading[thread, default: 0] += 1
      return Taken(connection: idle.readers.popLast())
    }
    defer {
      idle.withLock { idle in
        idle.reading[thread, default: 1] -= 1
        if idle.reading[thread] == 0 { idle.reading[thread] = nil }
      }
    }
    let connection: StoreConnection
    if let taken = found.connection {
      connection = taken
    } else {
      connection = try newConnection(cacheBytes: readerCache)
    }
    let back = Taken(connection: connection)
    defer {
      // A reader undoes the journal of a killed writer.
      if connection.database.connection.hasFailedSync { hasFailedSync.store(true, ordering: .relaxed) }
      idle.withLock { idle in
        if !idle.isClosed && idle.readers.count < Self.keptReaders, let connection = back.connection,
          !connection.database.isInTransaction
        {
          idle.readers.append(connection)
        }
      }
    }
    return try connection.cancellable(cancellation) { () throws(StoreError) in try body(connection) }
  }

  /// Runs `body` on the connection for writing, one thread at a time, in the order of their calls.
  ///
  /// - Throws: `misuse` inside another `write` of this thread, or inside a `read` that would keep it from committing;
  ///   `locked` if other writers hold the lock for too long.
  func withWriter<R>(
    _ cancellation: Cancellation? = nil, _ body: (StoreConnection) throws(StoreError) -> R
  ) throws(StoreError) -> R {
    try requireOwnProcess()
    let thread = currentThread()
    guard writer.load(ordering: .acquiring) != thread else {
      throw StoreError(.misuse, "write inside of write would wait for itself", hint: "use savepoint")
    }
    let isReading = try idle.withLock { idle throws(StoreError) in
      guard !idle.isClosed else { throw StoreError.storeClosed }
      return idle.reading[thread] != nil
    }
    guard isWriteAhead || !isReading else {
      throw StoreError(
        .misuse, "write inside of read would wait for itself in the rollback journal",
        hint: "end the read first, or create the store with the journal writeAheadLog")
    }
    try writers.lock(wait: wait, cancellation)
    defer { writers.unlock() }
    let result: Result<Sent<R>, StoreError> = writing.withLock { writing in
      writer.store(thread, ordering: .releasing)
      defer { writer.store(0, ordering: .releasing) }
      return Result { () throws(StoreError) in
        // Another thread may have closed the store while this one waited for the lock.
        guard !(idle.withLock { $0.isClosed }) else { throw StoreError.storeClosed }
        guard !hasFailedSync.load(ordering: .relaxed) else { throw Self.notConfirmed }
        let connection = try connection(of: &writing)
        defer {
          if connection.database.connection.hasFailedSync { hasFailedSync.store(true, ordering: .relaxed) }
          // Without memory a rollback may fail; closing the connection does not.
          if connection.database.isInTransaction { writing.connection = nil }
        }
        try writeAheadLock?.lock(wait: wait, cancellation)
        defer { writeAheadLock?.unlock() }
        try place.requireOnlyName()
        let result = try connection.cancellable(cancellation) { () throws(StoreError) in try body(connection) }
        writeAheadLock?.checkpointIfLong(connection.database.connection, path: place.path)
        return Sent(value: result)
      }
    }
    return try result.get().value
  }

  /// - Throws: `misuse` inside a `write` of this thread, whose rows no other connection sees.
  func requireOutsideOfWrite() throws(StoreError) {
    guard writer.load(ordering: .acquiring) != currentThread() else {
      throw StoreError(.misuse, "what write is doing is not in the file yet", hint: "do this after it")
    }
    guard !(idle.withLock { $0.isClosed }) else { throw StoreError.storeClosed }
  }

  private func connection(of writing: inout Writing) throws(StoreError) -> StoreConnection {
    if let connection = writing.connection { return connection }
    let connection = try newConnection(cacheBytes: max(readerCache, Self.writerCache))
    writing.connection = connection
    return connection
  }

  /// - Throws: `noSuchFile` if another file is at the path now.
  private func newConnection(cacheBytes: Int) throws(StoreError) -> StoreConnection {
    let file = try StoreFile(at: place.path, wait: wait, cacheBytes: cacheBytes)
    try place.requireSameFile()
    try Self.configure(file)
    return try StoreConnection(file, session: session)
  }

  /// In WAL mode with a SQLite that has the WAL-reset bug, only this library checkpoints, under its lock.
  private static func configure(_ file: StoreFile) throws(StoreError) {
    guard file.isWriteAhead, WriteAheadLock.isNeeded else { return }
    try file.database.run { database throws(SQLiteError) in
      _ = try database.integerPragma("wal_autocheckpoint = 0")
      try database.set(.noCheckpointOnClose, to: true)
    }
  }

  /// Runs `body` on the connection for writing, after all of the log was copied into the file and cut.
  ///
  /// Waits for readers that still use the log, but lets others write meanwhile.
  ///
  /// - Parameters:
  ///   - waiting: called while readers are in the way.
  ///   - body: returns nil to start over if another writer wrote to the log before `body` had the lock.
  /// - Throws: `locked` if readers stay longer than the store's waiting time; errors of `waiting`.
  func withEmptyLog<R>(
    waiting: () throws(StoreError) -> Void, _ body: (StoreConnection) throws(StoreError) -> R?
  ) throws(StoreError) -> R {
    let end = wait.map { ContinuousClock.now + $0 }
    while true {
      let result: R? = try withWriter { connection throws(StoreError) in
        guard try cutLog(connection) else { return nil }
        return try body(connection)
      }
      if let result { return result }
      if let end, ContinuousClock.now >= end {
        throw StoreError(.locked, "a reader keeps old pages in the write-ahead log", hint: "close the readers")
      }
      try waiting()
      usleep(10_000)
    }
  }

  /// - Returns: false if another connection is in the way.
  private func cutLog(_ connection: StoreConnection) throws(StoreError) -> Bool {
    guard isWriteAhead else { return true }
    let database = connection.database.connection
    database.busyTimeout = .zero
    defer { database.busyTimeout = wait }
    do throws(SQLiteError) {
      try database.checkpoint(.truncate)
      return true
    } catch {
      guard error.code == .busy || error.code == .locked else { throw StoreError(error) }
      return false
    }
  }

  /// Whether the log is empty; call under the write lock.
  var isLogEmpty: Bool {
    var status = stat()
    return !isWriteAhead || stat(place.path + "-wal", &status) != 0 || status.st_size == 0
  }

  /// - Throws: `misuse` inside a `read` or `write` of this thread, which would wait for itself.
  func close() throws(StoreError) {
    do throws(StoreError) {
      try requireOwnProcess()
    } catch {
      abandon()
      throw error
    }
    let thread = currentThread()
    let readers = try idle.withLock { idle throws(StoreError) in
      guard writer.load(ordering: .acquiring) != thread, idle.reading[thread] == nil else {
        throw StoreError(.misuse, "a store can't be closed inside of its own read or write")
      }
      defer {
        idle.isClosed = true
        idle.readers = []
      }
      return Sent(value: idle.readers)
    }
    session.feed.finish()
    session.texts?.close()
    let result: Result<Void, StoreError> = writing.withLock { writing in
      Result { () throws(StoreError) in
        let open = readers.value + [writing.connection].compactMap { $0 }
        // The last connection to close copies the log into the file and removes it, under our lock. If another process
        // still reads, the next one to close does that.
        // Even if the files fail to close, the keys are released.
        session.forgetKeys()
        writing.connection = nil
        let lock: Result<Void, StoreError> = Result { () throws(StoreError) in
          if !open.isEmpty { try writeAheadLock?.lock(wait: wait) }
        }
        let hasLock = if case .success = lock { true } else { false }
        defer { if !open.isEmpty, hasLock { writeAheadLock?.unlock() } }
        for connection in open { try close(connection, mayCheckpoint: hasLock) }
        try lock.get()
      }
    }
    try result.get()
  }

  private func close(_ connection: StoreConnection, mayCheckpoint: Bool) throws(StoreError) {
    try connection.database.run { database throws(SQLiteError) in
      if writeAheadLock != nil, mayCheckpoint { try database.set(.noCheckpointOnClose, to: false) }
      database.busyTimeout = .zero
      try database.close()
    }
  }

  /// - Throws: `misuse` inside a `read` of this thread.
  func requireNoRead(_ work: String) throws(StoreError) {
    let thread = currentThread()
    let isReading = idle.withLock { $0.reading[thread] != nil }
    guard !isReading else { throw StoreError(.misuse, "\(work) inside of read would wait for itself") }
  }

  /// - Throws: `misuse` in the child of a fork: its connections are copies whose locks belong to the parent.
  private func requireOwnProcess() throws(StoreError) {
    guard getpid() == process else {
      throw StoreError(
        .misuse, "the store was opened by the parent of this process",
        hint: "fork before a store is opened, or exec: a child can't use what its parent opened")
    }
  }

  /// In the child of a fork: abandons the connections without closing them; closing would remove the parent's log.
  private func abandon() {
    // A lock that another thread of the parent held stays locked here.
    session.forgetKeysUnlessLocked()
    _ = idle.withLockIfAvailable { idle in
      idle.isClosed = true
      for connection in idle.readers { _ = Unmanaged.passRetained(connection) }
    }
    _ = writing.withLockIfAvailable { writing in
      if let connection = writing.connection { _ = Unmanaged.passRetained(connection) }
    }
  }

  private static var notConfirmed: StoreError {
    StoreError(
      .ioFailure, "the disk did not confirm an earlier write: nothing more is written",
      hint: "look after the disk, then close the store and open it again")
  }

  private func currentThread() -> UInt {
    UInt(pthread_self())
  }

  /// A connection on its way out of or into the lock, with one owner.
  private struct Taken: @unchecked Sendable {
    // The holder of this value is the connection's only user.
    let connection: StoreConnection?
  }

  /// A value that leaves a lock with its only owner.
  private struct Sent<Value>: @unchecked Sendable {
    // As above.
    let value: Value
  }
}
