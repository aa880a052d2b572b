internal import CofferRecords
internal import CofferSQLite

/// A read transaction with its connection. Destroying the value ends the transaction.
package struct ReadLease: ~Copyable {
  package let transaction: StoreTransaction
  private let lock: ProcessLocks.ReadLock
  private let lease: ReadConnection

  init(
    _ engine: StoreEngine, _ cancellation: Cancellation?, wait: Duration?, turn: FairTurn?
  ) throws(StoreError) {
    let lease = try engine.connections.reader(cancellation, wait: wait, turn: turn)
    let transaction = try StoreTransaction(lease.connection, .deferred, logger: engine.log)
    try engine.checkReopening(transaction)
    try engine.checkMigrations(transaction)
    self.transaction = transaction
    lock = ProcessLocks.ReadLock(engine.connections.locks)
    self.lease = lease
  }

  deinit { transaction.rollback() }
}

/// A write transaction with its connection. Destroying the value rolls the transaction back unless it's committed.
package struct WriteLease: ~Copyable {
  package let transaction: StoreTransaction
  // Destroyed before the lease, which lets the next writer continue.
  private let lock: ProcessLocks.WriteLock
  private let lease: WriteConnection

  init(
    _ engine: StoreEngine, _ cancellation: Cancellation?, wait: Duration?, turn: FairTurn?
  ) throws(StoreError) {
    let lease = try engine.connections.writer(cancellation, wait: wait, turn: turn)
    let transaction = try StoreTransaction(lease.connection, .immediate, logger: engine.log)
    try engine.noteBeginning(of: transaction)
    try engine.checkReopening(transaction)
    try engine.checkMigrations(transaction)
    self.transaction = transaction
    lock = ProcessLocks.WriteLock(engine.connections.locks)
    self.lease = lease
  }

  /// Ends the transaction and copies a long log into the file.
  package func finish() {
    transaction.rollback()
    lease.checkpointIfLong()
  }

  deinit { transaction.rollback() }
}

extension StoreEngine {
  /// Waits for a free reader without a thread, and runs work with it on a separate thread.
  package func withReaderTurn<T: Sendable>(_ work: @escaping @Sendable (FairTurn) throws -> T) async throws -> T {
    try session.requireRunning()
    return try await offCooperativePool(
      withTurnOf: connections.readerTurns, owner: session, work)
  }

  /// Waits for this process's turn to write without a thread, and runs work with it on a separate thread.
  package func withWriterTurn<T: Sendable>(_ work: @escaping @Sendable (FairTurn) throws -> T) async throws -> T {
    try session.requireRunning()
    return try await offCooperativePool(
      withTurnOf: connections.locks.writers, owner: session, work)
  }

  /// The thread for calls that write, which tasks wait for without a thread.
  package var writingCalls: FairSemaphore { connections.locks.writingCalls }

  /// Ends a write transaction that has just begun if the store was closed or suspended during its wait for the lock.
  fileprivate func noteBeginning(of transaction: StoreTransaction) throws(StoreError) {
    do throws(StoreError) {
      try connections.writerDidBegin()
    } catch {
      transaction.rollback()
      throw error
    }
  }

  /// The maximum number of consecutive root key changes that a transaction follows.
  private static let maximumKeyChanges = 8

  /// - Parameters:
  ///   - wait: The maximum time to wait for a reader or lock, or `nil` for the store's waiting time.
  ///   - turn: A turn of a reader that the caller has waited for.
  package func beginReading(
    _ cancellation: Cancellation? = nil, wait: Duration? = nil, turn: FairTurn? = nil
  ) throws(StoreError) -> ReadLease {
    let mark = session.pauseMark
    do throws(StoreError) {
      return try followingKeyChanges { () throws(StoreError) in
        try ReadLease(self, cancellation, wait: wait, turn: turn)
      }
    } catch {
      throw session.errorOfStopped(error, since: mark)
    }
  }

  /// - Parameters:
  ///   - wait: The maximum time to wait for a turn or lock, or `nil` for the store's waiting time.
  ///   - turn: A turn of a writer that the caller has waited for.
  package func beginWriting(
    _ cancellation: Cancellation? = nil, wait: Duration? = nil, turn: FairTurn? = nil
  ) throws(StoreError) -> WriteLease {
    // Another process may have enabled a feature that writers must support.
    guard !isReadOnly, session.header.readOnlyCompatible == 0 else {
      throw .notWritable(path, isChosen: isReadOnlyByChoice)
    }
    let mark = session.pauseMark
    do throws(StoreError) {
      return try followingKeyChanges { () throws(StoreError) in
        try WriteLease(self, cancellation, wait: wait, turn: turn)
      }
    } catch {
      throw session.errorOfStopped(error, since: mark)
    }
  }

  /// Begins a transaction. If it finds a different root key, unlocks the store and tries again.
  func followingKeyChanges<R: ~Copyable>(_ begin: () throws(StoreError) -> R) throws(StoreError) -> R {
    for _ in 0..<Self.maximumKeyChanges {
      // Don't retain the keys, because closing waits for the transaction and its keys must then be released.
      let known = ObjectIdentifier(try session.keys)
      do throws(StoreError) {
        return try begin()
      } catch {
        guard error.code == .keyChanged else { throw error }
        try unlockAfterKeyChange(after: known)
      }
    }
    return try begin()
  }
}
