internal import CofferPlatform
internal import CofferRecords
internal import CofferSQLite
internal import CofferSealing
internal import Dispatch
internal import Synchronization

/// The connections of an open store, with one for writing and one for each concurrent reader.
package final class ConnectionPool: Sendable {
  /// The maximum number of idle readers kept open.
  private static let maximumIdleReaders = 4

  struct Idle {
    // Only the thread that removed a connection from this array uses the connection.
    nonisolated(unsafe) var readers: [StoreConnection] = []
    /// The threads inside `read`.
    var reading: Set<UInt> = []
    /// The calls that keep files open outside their transactions.
    var calls: [ObjectIdentifier: Cancellation] = [:]
    /// The interrupt handles of active readers. Closing the store interrupts their waits for a lock.
    var interrupts: [ObjectIdentifier: InterruptHandle] = [:]
    /// The interrupt handle of the active writer, which only suspending the store interrupts.
    var writer: InterruptHandle?
    /// The interrupt handle of a writer that hasn't begun. Closing the store interrupts its waits for a lock.
    var waitingWriter: InterruptHandle?
    /// Signaled when the last thread leaves `read` of a closed store.
    var closer: DispatchSemaphore?
  }

  package let place: FileLocation
  let wait: Duration?
  private let readerCache: Int
  let session: Session
  let isWriteAhead: Bool
  let idle: Mutex<Idle>
  /// The turns of readers. A thread that already reads or writes takes its turn without waiting.
  package let readerTurns: FairSemaphore
  /// Held by the writing thread, and by the closing thread.
  let writing = DispatchSemaphore(value: 1)
  // Only used by the thread that holds `writing`.
  nonisolated(unsafe) var writingConnection: StoreConnection?
  /// Held by the closing thread.
  let closing = Mutex<Void>(())
  /// Held by a thread that suspends or resumes the store.
  let pausing = Mutex<Void>(())
  /// This store's share of its open file, or `nil` without connections, while the store is suspended or closed.
  let share: Mutex<FileShare?>
  /// The locks shared with other open stores of the same file.
  var locks: ProcessLocks { session.locks }
  /// The file to read if it must remain unchanged, or `nil` for an ordinary store.
  package let original: OriginalFile?
  /// The folder of a temporary store, which is removed when the store closes.
  let folder: PrivateFolder?
  /// The thread inside this store's `write`, or 0.
  let writingThread = Atomic<UInt>(0)
  /// The process that owns the locks and connections.
  private let process = OwnProcess.number
  /// Whether the disk failed to confirm a write. It may confirm a later write after losing this write, so writing stops
  /// until the store is reopened.
  private let hasFailedSync = Atomic<Bool>(false)

  init(
    _ file: StoreFile, session: Session, options: OpenOptions, original: OriginalFile? = nil,
    folder: PrivateFolder? = nil
  ) throws(StoreError) {
    try Self.configure(file, session.locks)
    var first = Idle()
    first.readers = [try StoreConnection(file, session: session)]
    readerTurns = FairSemaphore(count: max(1, options.maximumReaders))
    self.original = original
    self.folder = folder
    place = file.place
    wait = options.wait
    readerCache = options.pageCacheBytes
    self.session = session
    isWriteAhead = file.isWriteAhead
    share = Mutex(try FileShare(file))
    idle = Mutex(first)
  }

  /// The lock for writers in WAL mode. It's present while the store has a connection.
  package var writeAheadLock: WriteAheadLock? { share.withLock { $0?.writeAheadLock } }

  deinit {
    try? close()
  }

  // MARK: Reading

  /// Returns a connection for reading, after waiting for a free reader.
  ///
  /// - Parameters:
  ///   - wait: The maximum time to wait for a reader or lock, or `nil` for the store's waiting time, which doesn't
  ///     limit the wait for this process.
  ///   - turn: A turn that the caller has waited for.
  func reader(
    _ cancellation: Cancellation? = nil, wait: Duration? = nil, turn: FairTurn? = nil
  ) throws(StoreError) -> ReadConnection {
    try ReadConnection(self, cancellation, wait: wait, turn: turn)
  }

  /// Waits for a free reader, and registers this thread as a reader.
  ///
  /// - Throws: `closed`, `cancelled`, or `misuse` inside this thread's `read` or `write`. In rollback journal mode,
  ///   also inside this thread's `write` of another open store of the file.
  func beginReading(
    wait: Duration?, _ cancellation: Cancellation?, turn: FairTurn?
  ) throws(StoreError) -> (thread: UInt, number: UInt64?) {
    try requireOwnProcess()
    let thread = currentThread()
    guard writingThread.load(ordering: .acquiring) != thread else { throw Self.nested }
    guard isWriteAhead || locks.writer.load(ordering: .acquiring) != thread else {
      throw StoreError(
        .misuse, "a read inside of the write of another open store of the same file would wait for itself",
        hint: "read with what the outer write was given, or end it first")
    }
    try requireOutsideRead()
    if turn?.take() != true {
      if ThreadScopes.count > 0 {
        readerTurns.takeTurn()
      } else {
        try readerTurns.wait(wait, owner: session, cancellation)
      }
    }
    do throws(StoreError) {
      try idle.withLock { idle throws(StoreError) in
        try session.requireRunning()
        idle.reading.insert(thread)
      }
    } catch {
      readerTurns.signal()
      throw error
    }
    ThreadScopes.begin()
    guard isWriteAhead else {
      locks.beginReading(thread)
      return (thread, nil)
    }
    return (thread, locks.beginReadingLog())
  }

  func endReading(_ thread: UInt, _ number: UInt64?) {
    if let number { locks.endReadingLog(number) } else { locks.endReading(thread) }
    ThreadScopes.end()
    idle.withLock { $0.endReading(thread) }
    readerTurns.signal()
  }

  /// Returns a reader's connection to the pool, or closes it.
  func giveBack(_ connection: StoreConnection) {
    let database = connection.database.connection
    resetWait(of: database)
    // Readers also write, because they undo the journal of a killed writer.
    if database.hasFailedSync { hasFailedSync.store(true, ordering: .relaxed) }
    let back = Taken(connection: connection)
    idle.withLock { idle in
      idle.interrupts[ObjectIdentifier(database.interruptHandle)] = nil
      if !session.isClosing, !session.isSuspended, idle.readers.count < Self.maximumIdleReaders,
        let connection = back.connection, !connection.database.isInTransaction,
        !connection.database.connection.interruptHandle.isStopped
      {
        idle.readers.append(connection)
      }
    }
  }

  func takeReader(wait shorter: Duration?) throws(StoreError) -> StoreConnection {
    let idle = try self.idle.withLock { idle throws(StoreError) in
      // The store may have been closed since this thread was registered.
      try session.requireRunning()
      let connection = idle.readers.popLast()
      if let connection { idle.note(connection.database.connection.interruptHandle) }
      return Taken(connection: connection)
    }
    if let connection = idle.connection {
      setWait(shorter, of: connection.database.connection)
      return connection
    }
    var noted: InterruptHandle?
    let mark = session.pauseMark
    do throws(StoreError) {
      let new = Taken(
        connection: try newConnection(cacheBytes: readerCache, wait: shorter ?? wait) { interrupts throws(StoreError) in
          try self.idle.withLock { idle throws(StoreError) in
            try session.requireRunning()
            idle.note(interrupts)
          }
          noted = interrupts
        })
      // The store may have been closed in between.
      try session.requireRunning()
      guard let connection = new.connection else { preconditionFailure("internal error: a new reader is gone") }
      setWait(shorter, of: connection.database.connection)
      return connection
    } catch {
      if let noted { self.idle.withLock { $0.interrupts[ObjectIdentifier(noted)] = nil } }
      throw session.errorOfStopped(error, since: mark)
    }
  }

  // MARK: Writing

  /// Returns the connection for writing, after waiting for this thread's turn.
  ///
  /// - Parameters:
  ///   - wait: The maximum time to wait for a turn or lock, or `nil` for the store's waiting time, which doesn't limit
  ///     the wait for this process.
  ///   - turn: A turn that the caller has waited for.
  package func writer(
    _ cancellation: Cancellation? = nil, wait: Duration? = nil, turn: FairTurn? = nil
  ) throws(StoreError) -> WriteConnection {
    try WriteConnection(self, cancellation, wait: wait, turn: turn)
  }

  /// Waits for this thread's turn to write, and registers it as the writer.
  func beginWriting(wait: Duration?, _ cancellation: Cancellation?, turn: FairTurn?) throws(StoreError) {
    try requireOwnProcess()
    let thread = currentThread()
    guard writingThread.load(ordering: .acquiring) != thread else { throw Self.nested }
    guard locks.writer.load(ordering: .acquiring) != thread else { throw ProcessLocks.nestedWrite }
    try requireOutsideRead()
    guard isWriteAhead || !locks.isReading(thread) else {
      throw StoreError(
        .misuse,
        "a write inside of the read of another open store of the same file would wait for that read without end",
        hint: "end the read first, or create the store with the journal writeAheadLog")
    }
    if turn?.take() != true { try locks.writers.wait(wait, owner: session, cancellation) }
    writing.wait()
    ThreadScopes.begin()
    locks.writer.store(thread, ordering: .releasing)
    writingThread.store(thread, ordering: .releasing)
  }

  func endWriting() {
    idle.withLock { ($0.writer, $0.waitingWriter) = (nil, nil) }
    if session.isSuspended { writingConnection = nil }
    writingThread.store(0, ordering: .releasing)
    locks.writer.store(0, ordering: .releasing)
    ThreadScopes.end()
    writing.signal()
    locks.writers.signal()
  }

  /// Returns the connection for writing with the log locked. Call this method between `beginWriting` and `endWriting`.
  func lockedWriter(wait shorter: Duration?, _ cancellation: Cancellation?) throws(StoreError) -> StoreConnection {
    // Another thread may have closed or suspended the store during the wait for the lock.
    try session.requireRunning()
    guard !hasFailedSync.load(ordering: .relaxed) else { throw Self.notConfirmed }
    let wait = shorter ?? self.wait
    let connection: StoreConnection
    let isNew = writingConnection == nil
    if let writingConnection {
      connection = writingConnection
      try noteWriter(connection.database.connection.interruptHandle)
    } else {
      connection = try newConnection(
        cacheBytes: max(readerCache, StoreFile.writerCache), wait: wait, willRead: noteWriter)
      // The store may have been closed in between.
      try session.requireRunning()
      writingConnection = connection
    }
    do throws(StoreError) {
      try writeAheadLock?.lock(wait: wait, countsThisProcess: shorter != nil, cancellation) { () throws(StoreError) in
        try session.requireRunning()
      }
    } catch {
      // Closing a store without writes doesn't wait for another writer.
      if isNew { writingConnection = nil }
      throw error
    }
    do throws(StoreError) {
      setWait(shorter, of: connection.database.connection)
      try place.requireSingleName()
      try connection.beginWork(cancellation)
    } catch {
      unlockWriter(connection)
      throw error
    }
    return connection
  }

  func unlockWriter(_ connection: StoreConnection) {
    writeAheadLock?.unlock()
    let database = connection.database.connection
    resetWait(of: database)
    if database.hasFailedSync { hasFailedSync.store(true, ordering: .relaxed) }
    // A rollback may fail if memory runs out, but closing the connection doesn't.
    if connection.database.isInTransaction || session.isSuspended || database.interruptHandle.isStopped {
      writingConnection = nil
    }
  }

  private func noteWriter(_ handle: InterruptHandle) throws(StoreError) {
    try idle.withLock { idle throws(StoreError) in
      try session.requireRunning()
      (idle.writer, idle.waitingWriter) = (handle, handle)
    }
  }

  /// Notes that the writer's transaction has begun. From now on, closing the store waits for the transaction.
  ///
  /// - Throws: `closed` or `suspended` if that happened during the wait for the lock.
  func writerDidBegin() throws(StoreError) {
    try idle.withLock { idle throws(StoreError) in
      try session.requireRunning()
      idle.waitingWriter = nil
    }
  }

  /// Closes idle reader connections, with their caches and index pages.
  package func closeIdleReaders() {
    // The readers leave the lock with this thread as their single owner, and close when it forgets them.
    nonisolated(unsafe) let readers = idle.withLock { idle in
      nonisolated(unsafe) let readers = idle.readers
      idle.readers = []
      return readers
    }
    withExtendedLifetime(readers) {}
  }

  /// Whether this thread is outside `read` and `write`, and can write without waiting for another thread. It can't in a
  /// forked child.
  package var canWriteImmediately: Bool { isOutsideScope && locks.writer.load(ordering: .acquiring) == 0 }

  /// Whether this thread is outside `read` and `write`, so it can wait for a writer. It can't in a forked child.
  package var isOutsideScope: Bool {
    let thread = currentThread()
    return OwnProcess.number == process && locks.writer.load(ordering: .acquiring) != thread
      && (isWriteAhead ? idle.withLock { !$0.reading.contains(thread) } : !locks.isReading(thread))
  }

  /// Throws `closed`, or `misuse` inside this thread's `read` or `write`, also inside the `write` of another open store
  /// of the file, because other connections can't see its changes.
  package func requireOutsideScope() throws(StoreError) {
    guard locks.writer.load(ordering: .acquiring) != currentThread() else {
      throw StoreError(
        .misuse, "this call reads the file, which lacks the changes of the write that it is in",
        hint: "call it after the write")
    }
    try requireOutsideRead()
  }

  /// Throws `closed`, or `misuse` inside this thread's `read`.
  private func requireOutsideRead() throws(StoreError) {
    let thread = currentThread()
    try idle.withLock { idle throws(StoreError) in
      try session.requireRunning()
      guard !idle.reading.contains(thread) else { throw Self.nested }
    }
  }

  /// Opens a connection, or throws `noSuchFile` if a different file is now at the path. The first connection after a
  /// suspension takes the store's part in the file again.
  private func newConnection(
    cacheBytes: Int, wait: Duration?,
    willRead: (InterruptHandle) throws(StoreError) -> Void = { _ throws(StoreError) in }
  ) throws(StoreError) -> StoreConnection {
    let file = try StoreFile(
      at: place.path, wait: wait, cacheBytes: cacheBytes, mode: original?.mode ?? .readWrite, willRead: willRead)
    guard file.isWriteAhead == isWriteAhead else { throw FileLocation.replaced(place.path) }
    try share.withLock { share throws(StoreError) in
      var own = share
      if own == nil { own = try FileShare(file) }
      // Don't keep a part in another file, because it may be at the path only for a while.
      try place.requireSameFile()
      share = own
    }
    try Self.configure(file, locks)
    return try StoreConnection(file, session: session)
  }

  /// Disables automatic checkpoints in WAL mode, because ``WriteAheadLock`` does all checkpoints. In rollback journal
  /// mode, the time that a statement waits for a transaction of this process doesn't count.
  private static func configure(_ file: StoreFile, _ locks: ProcessLocks) throws(StoreError) {
    guard file.isWriteAhead else {
      locks.attach(to: file.database.connection, isRegistered: true)
      return
    }
    try translatingErrors { () throws(SQLiteError) in
      _ = try file.database.connection.integerPragma("wal_autocheckpoint = 0")
      try file.database.connection.set(.noCheckpointOnClose, to: true)
    }
  }

  /// Limits all of a connection's waits, also for this process, until ``resetWait(of:)``.
  private func setWait(_ shorter: Duration?, of database: Database) {
    if let shorter { (database.busyTimeout, database.holdsLockHere) = (shorter, nil) }
  }

  private func resetWait(of database: Database) {
    if database.busyTimeout != wait { database.busyTimeout = wait }
    if !isWriteAhead, database.holdsLockHere == nil { locks.attach(to: database, isRegistered: true) }
  }

  /// What keeps the log from being copied into the file and truncated.
  private enum LogObstacle {
    /// This process's reads with lower numbers.
    case reads(before: UInt64)
    /// A connection that isn't a store's of this process, or a replication program, and the time of waiting for it.
    case others(Duration = .zero)
  }

  /// Runs `body` on the connection for writing, after copying the whole log into the file and truncating it.
  ///
  /// Waits for readers that still use the log. Other writers continue during long reads. If further reads have begun by
  /// then, writers also wait, at most a few times as long as such a read takes, because a growing log stays in use.
  ///
  /// - Parameters:
  ///   - waiting: Called while readers block the copy.
  ///   - body: Returns `nil` to start over if another writer wrote to the log before `body` had the lock.
  /// - Throws: `locked` if readers of other processes remain longer than the store's waiting time, or errors from
  ///   `waiting`. Inside a read or write of another store, readers of this process count, too, because they may wait for
  ///   this thread.
  func withEmptyLog<R>(
    waiting: () throws(StoreError) -> Void, _ body: (StoreConnection) throws(StoreError) -> R?
  ) throws(StoreError) -> R {
    var left = wait
    // The time for which an attempt waits for readers.
    var limit = Duration.zero
    while true {
      var obstacle = LogObstacle.others()
      if let result = try namingStops({ () throws(StoreError) in try withCutLog(limit, &obstacle, body) }) {
        return result
      }
      if case .reads(let end) = obstacle, ThreadScopes.count == 0 {
        limit = max(.milliseconds(50), limit * 2)
        while locks.isReadingLog(before: end) {
          try session.requireRunning()
          try Cancellation.checkCurrent()
          try waiting()
          usleep(10_000)
        }
      } else {
        if let left, left <= .zero {
          throw StoreError(
            .locked, "a reader keeps old pages in the write-ahead log", hint: "close the readers, and stop replication")
        }
        if case .others(let time) = obstacle { left = left.map { $0 - time } }
        left = left.map { $0 - .milliseconds(10) }
        limit = .zero
        try waiting()
        usleep(10_000)
      }
    }
  }

  /// Tries to copy and truncate the log once. Returns `nil` to start over.
  private func withCutLog<R>(
    _ limit: Duration, _ obstacle: inout LogObstacle, _ body: (StoreConnection) throws(StoreError) -> R?
  ) throws(StoreError) -> R? {
    let lease = try writer()
    if let found = try cutLog(lease.connection, limit) {
      obstacle = found
      return nil
    }
    guard let result = try body(lease.connection) else { return nil }
    lease.checkpointIfLong()
    return result
  }

  /// Copies the log into the file and truncates it.
  ///
  /// - Parameter limit: The maximum time that each step waits for readers.
  /// - Returns: `nil`, or the obstacle.
  private func cutLog(_ connection: StoreConnection, _ limit: Duration) throws(StoreError) -> LogObstacle? {
    guard let writeAheadLock else { return nil }
    let database = connection.database.connection
    // A replication program would lose unread commits.
    guard !writeAheadLock.isReplicated(database) else { return .others() }
    defer { database.busyTimeout = wait }
    var obstacle = try checkpoint(database, .full, limit)
    // A read that begins while SQLite's few marks in the log are in use shares an older read's mark.
    if case .others? = obstacle { obstacle = try checkpoint(database, .full, limit) }
    if let obstacle { return obstacle }
    // Reads that begin now don't use the log.
    return try checkpoint(database, .truncate, limit)
  }

  private func checkpoint(
    _ database: Database, _ mode: Database.CheckpointMode, _ limit: Duration
  ) throws(StoreError) -> LogObstacle? {
    let next = locks.nextLogRead
    let start = ContinuousClock.now
    // The last of the earlier reads may end after SQLite's last try, so there's one without a wait.
    for limit in [limit, .zero] {
      database.busyTimeout = limit
      do throws(SQLiteError) {
        try database.checkpoint(mode)
        return nil
      } catch {
        guard error.code == .busy || error.code == .locked else { throw StoreError(error) }
      }
      if locks.isReadingLog(before: next) { return .reads(before: next) }
    }
    return .others(.now - start)
  }

  /// Whether the log is empty. Call this under the write lock.
  var isLogEmpty: Bool {
    var status = stat()
    return !isWriteAhead || stat(place.path + "-wal", &status) != 0 || status.st_size == 0
  }

  /// Requires this thread to be outside `read`, and throws `misuse` otherwise.
  package func requireNoRead(_ work: String) throws(StoreError) {
    let thread = currentThread()
    let isReading = idle.withLock { $0.reading.contains(thread) }
    guard !isReading else { throw StoreError(.misuse, "\(work) inside of a read would wait for that read without end") }
  }

  /// Runs work on a connection, and throws `suspended` or `closed` if suspending or closing the store interrupted it.
  package func namingStops<R>(_ work: () throws(StoreError) -> R) throws(StoreError) -> R {
    let mark = session.pauseMark
    do throws(StoreError) {
      return try work()
    } catch {
      throw session.errorOfStopped(error, since: mark)
    }
  }

  /// Throws `misuse` in a forked child, because the locks of its copied connections belong to the parent.
  func requireOwnProcess() throws(StoreError) {
    guard OwnProcess.number == process else { throw Self.openedByParent }
  }

  static var openedByParent: StoreError {
    StoreError(
      .misuse, "the store was opened by the parent of this process",
      hint: "fork before a store is opened, or exec: a child can't use what its parent opened")
  }

  /// The error of a call inside of a scope, which has one transaction.
  private static var nested: StoreError {
    StoreError(
      .misuse, "this call is inside of read or write of the same store",
      hint: "use what the scope was given, or make the call after the scope")
  }

  private static var notConfirmed: StoreError {
    StoreError(
      .ioFailure, "the disk did not confirm an earlier write: nothing more is written",
      hint: "check the disk, then close the store and open it again")
  }

  func currentThread() -> UInt {
    coffer_thread()
  }

  /// A connection that moves into or out of the lock, with a single owner.
  private struct Taken: @unchecked Sendable {
    // Sendable, because the holder of this value is the connection's only user.
    let connection: StoreConnection?
  }

}

extension ConnectionPool.Idle {
  fileprivate mutating func note(_ handle: InterruptHandle) {
    interrupts[ObjectIdentifier(handle)] = handle
  }

  fileprivate mutating func endReading(_ thread: UInt) {
    reading.remove(thread)
    if reading.isEmpty { closer?.signal() }
  }
}
