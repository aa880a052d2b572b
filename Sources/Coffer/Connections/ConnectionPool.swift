internal import CofferRecords
internal import CofferSQLite
internal import CofferSealing
internal import Dispatch
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

  struct Idle {
    // Only the thread that took a connection out of here uses it.
    nonisolated(unsafe) var readers: [StoreConnection] = []
    var isClosed = false
    /// Threads inside `read`, each with its depth.
    var reading: [UInt: Int] = [:]
    /// Connections in use for reading: their waits for a lock end when the store is closed.
    var interrupts: [ObjectIdentifier: InterruptHandle] = [:]
    /// Signalled when the last thread leaves `read` of a closed store.
    var closer: DispatchSemaphore?
  }

  struct Writing {
    // Used only by the thread that holds the lock.
    nonisolated(unsafe) var connection: StoreConnection?
  }

  let place: FilePlace
  let wait: Duration?
  private let readerCache: Int
  let session: Session
  let writeAheadLock: WriteAheadLock?
  let isWriteAhead: Bool
  let idle: Mutex<Idle>
  let writing: Mutex<Writing>
  /// Held by the thread that closes.
  let closing = Mutex<Void>(())
  /// Shared with other open stores of the same file.
  let locks: ProcessLocks
  /// How the file is read, if nothing may change it; nil for an ordinary store.
  let original: OriginalFile?
  /// Whether ``ProcessLocks/openStores`` counts this store.
  let isCounted = Atomic<Bool>(true)
  /// The thread inside `write` of this store; 0 if none.
  let writer = Atomic<UInt>(0)
  /// Locks and connections belong to this process alone.
  private let process = getpid()
  /// Whether the disk has failed to confirm a write. It may confirm the next write without having kept this one, so
  /// nothing more is written until the store is opened again.
  private let hasFailedSync = Atomic<Bool>(false)

  init(
    _ file: StoreFile, session: Session, options: OpenOptions, original: OriginalFile? = nil
  ) throws(StoreError) {
    self.original = original
    place = file.place
    wait = options.wait
    readerCache = options.pageCacheBytes
    self.session = session
    isWriteAhead = file.isWriteAhead
    writeAheadLock = file.isWriteAhead ? try WriteAheadLock.of(file.path) : nil
    locks = ProcessLocks.of(file.path)
    var first = Idle()
    try Self.configure(file)
    first.readers = [try StoreConnection(file, session: session)]
    idle = Mutex(first)
    writing = Mutex(Writing())
    locks.openStores.add(1, ordering: .acquiringAndReleasing)
  }

  deinit {
    try? close()
  }

  // MARK: Reading

  /// Runs `body` on a connection for reading.
  ///
  /// - Throws: `misuse` inside a `write` of this thread in the rollback journal mode: once its pages no longer fit the
  ///   cache, a reader would wait for it. `closed`.
  func withReader<R>(
    _ cancellation: Cancellation? = nil, _ body: (StoreConnection) throws(StoreError) -> R
  ) throws(StoreError) -> R {
    try requireOwnProcess()
    let thread = currentThread()
    guard isWriteAhead || locks.writer.load(ordering: .acquiring) != thread else {
      throw StoreError(
        .misuse, "read inside of write would wait for itself in the rollback journal",
        hint: "read with what write was given, which sees its changes too")
    }
    try idle.withLock { idle throws(StoreError) in
      guard !idle.isClosed else { throw StoreError.storeClosed }
      idle.reading[thread, default: 0] += 1
    }
    if !isWriteAhead { locks.beginReading(thread) }
    // When this runs, the connection is gone or back in the pool: a thread that closes waits for it.
    defer {
      if !isWriteAhead { locks.endReading(thread) }
      idle.withLock { $0.endReading(thread) }
    }
    return try withConnection(cancellation ?? .current, body)
  }

  private func withConnection<R>(
    _ cancellation: Cancellation?, _ body: (StoreConnection) throws(StoreError) -> R
  ) throws(StoreError) -> R {
    let connection = try takeReader()
    let interrupts = connection.database.connection.interruptHandle
    let back = Taken(connection: connection)
    defer {
      // A reader undoes the journal of a killed writer.
      if connection.database.connection.hasFailedSync { hasFailedSync.store(true, ordering: .relaxed) }
      idle.withLock { idle in
        idle.interrupts[ObjectIdentifier(interrupts)] = nil
        if !idle.isClosed && idle.readers.count < Self.keptReaders, let connection = back.connection,
          !connection.database.isInTransaction
        {
          idle.readers.append(connection)
        }
      }
    }
    do throws(StoreError) {
      return try connection.cancellable(cancellation) { () throws(StoreError) in try body(connection) }
    } catch {
      // A wait for a lock that closing the store has ended.
      throw error.code == .cancelled && session.isClosing ? .storeClosed : error
    }
  }

  private func takeReader() throws(StoreError) -> StoreConnection {
    let idle = self.idle.withLock { idle in
      let connection = idle.readers.popLast()
      if let connection { idle.note(connection.database.connection.interruptHandle) }
      return Taken(connection: connection)
    }
    if let connection = idle.connection { return connection }
    var noted: InterruptHandle?
    do throws(StoreError) {
      let new = Taken(
        connection: try newConnection(cacheBytes: readerCache) { interrupts throws(StoreError) in
          try self.idle.withLock { idle throws(StoreError) in
            guard !idle.isClosed else { throw StoreError.storeClosed }
            idle.note(interrupts)
          }
          noted = interrupts
        })
      // A store that was closed meanwhile gives no connection out.
      guard !(self.idle.withLock { $0.isClosed }), let connection = new.connection else { throw StoreError.storeClosed }
      return connection
    } catch {
      if let noted { self.idle.withLock { $0.interrupts[ObjectIdentifier(noted)] = nil } }
      throw error.code == .cancelled && session.isClosing ? .storeClosed : error
    }
  }

  // MARK: Writing

  /// Runs `body` on the connection for writing, one thread at a time, in the order of their calls.
  ///
  /// - Parameter shorter: the longest time to wait for a lock, in place of the store's.
  /// - Throws: `misuse` inside another `write` of this thread, or inside a `read` that would keep it from committing,
  ///   those of other open stores of the same file included; `locked` if other writers hold the lock for too long;
  ///   `closed`.
  func withWriter<R>(
    _ cancellation: Cancellation? = nil, wait shorter: Duration? = nil,
    _ body: (StoreConnection) throws(StoreError) -> R
  ) throws(StoreError) -> R {
    try requireOwnProcess()
    let wait = shorter ?? self.wait
    let thread = currentThread()
    let cancellation = cancellation ?? .current
    guard locks.writer.load(ordering: .acquiring) != thread else {
      throw ProcessLocks.writeInsideOfWrite(isOther: writer.load(ordering: .acquiring) != thread)
    }
    guard !(idle.withLock { $0.isClosed }) else { throw StoreError.storeClosed }
    guard isWriteAhead || !locks.isReading(thread) else {
      throw StoreError(
        .misuse, "a write inside of a read would wait for that read without end, in the rollback journal",
        hint: "end the read first, or create the store with the journal writeAheadLog")
    }
    try locks.writers.lock(wait: wait, owner: ObjectIdentifier(self), cancellation)
    defer { locks.writers.unlock() }
    let result: Result<Sent<R>, StoreError> = writing.withLock { writing in
      locks.writer.store(thread, ordering: .releasing)
      writer.store(thread, ordering: .releasing)
      defer {
        writer.store(0, ordering: .releasing)
        locks.writer.store(0, ordering: .releasing)
      }
      return Result { () throws(StoreError) in
        // Another thread may have closed the store while this one waited for the lock.
        guard !(idle.withLock { $0.isClosed }) else { throw StoreError.storeClosed }
        guard !hasFailedSync.load(ordering: .relaxed) else { throw Self.notConfirmed }
        let connection = try connection(of: &writing)
        let database = connection.database.connection
        if shorter != nil { database.busyTimeout = wait }
        defer {
          if shorter != nil { database.busyTimeout = self.wait }
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

  /// Whether this thread could write now, outside of `read` and `write`, without waiting for another thread.
  var mayWriteAtOnce: Bool {
    let thread = currentThread()
    return locks.writer.load(ordering: .acquiring) == 0
      && (isWriteAhead ? idle.withLock { $0.reading[thread] == nil } : !locks.isReading(thread))
  }

  /// - Throws: `misuse` inside a `write` of this thread, whose rows no other connection sees.
  func requireOutsideOfWrite() throws(StoreError) {
    guard locks.writer.load(ordering: .acquiring) != currentThread() else {
      throw StoreError(
        .misuse, "this call reads the file, which lacks the changes of the write that it is in",
        hint: "call it after the write")
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
  private func newConnection(
    cacheBytes: Int, willRead: (InterruptHandle) throws(StoreError) -> Void = { _ throws(StoreError) in }
  ) throws(StoreError) -> StoreConnection {
    let file = try StoreFile(
      at: place.path, wait: wait, cacheBytes: cacheBytes, mode: original?.mode ?? .readWrite, willRead: willRead)
    try place.requireSameFile()
    try Self.configure(file)
    return try StoreConnection(file, session: session)
  }

  /// In WAL mode only ``WriteAheadLock`` checkpoints.
  private static func configure(_ file: StoreFile) throws(StoreError) {
    guard file.isWriteAhead else { return }
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
        throw StoreError(
          .locked, "a reader keeps old pages in the write-ahead log", hint: "close the readers, and stop replication")
      }
      try waiting()
      usleep(10_000)
    }
  }

  /// - Returns: false if another connection is in the way, or a replication program, which would lose what it has not read.
  private func cutLog(_ connection: StoreConnection) throws(StoreError) -> Bool {
    guard let writeAheadLock else { return true }
    let database = connection.database.connection
    guard !writeAheadLock.isReplicated(database) else { return false }
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

  /// - Throws: `misuse` inside a `read` of this thread.
  func requireNoRead(_ work: String) throws(StoreError) {
    let thread = currentThread()
    let isReading = idle.withLock { $0.reading[thread] != nil }
    guard !isReading else { throw StoreError(.misuse, "\(work) inside of a read would wait for that read without end") }
  }

  /// - Throws: `misuse` in the child of a fork: its connections are copies whose locks belong to the parent.
  func requireOwnProcess() throws(StoreError) {
    guard getpid() == process else {
      throw StoreError(
        .misuse, "the store was opened by the parent of this process",
        hint: "fork before a store is opened, or exec: a child can't use what its parent opened")
    }
  }

  private static var notConfirmed: StoreError {
    StoreError(
      .ioFailure, "the disk did not confirm an earlier write: nothing more is written",
      hint: "check the disk, then close the store and open it again")
  }

  func currentThread() -> UInt {
    UInt(pthread_self())
  }

  /// A connection on its way out of or into the lock, with one owner.
  private struct Taken: @unchecked Sendable {
    // The holder of this value is the connection's only user.
    let connection: StoreConnection?
  }

  /// A value that leaves a lock with its only owner.
  struct Sent<Value>: @unchecked Sendable {
    // As above.
    let value: Value
  }
}

extension ConnectionPool.Idle {
  fileprivate mutating func note(_ handle: InterruptHandle) {
    interrupts[ObjectIdentifier(handle)] = handle
  }

  fileprivate mutating func endReading(_ thread: UInt) {
    reading[thread, default: 1] -= 1
    if reading[thread] == 0 { reading[thread] = nil }
    if reading.isEmpty { closer?.signal() }
  }
}
