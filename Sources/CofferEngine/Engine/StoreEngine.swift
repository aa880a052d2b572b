internal import CofferRecords
internal import CofferSQLite
internal import CofferSealing
package import Synchronization

/// An open store with its connections, keys and log. ``DocumentStore`` is its public interface.
package final class StoreEngine: Sendable {
  package let isReadOnly: Bool
  package let options: OpenOptions
  package let holder: Mutex<KeyHolder>
  /// Held by the thread that asks for a key.
  let unlocking = Mutex<Void>(())
  package let session: Session
  package let connections: ConnectionPool
  package let log: StoreLog
  /// ``Session/pauses`` when a transaction last passed the checks of opening.
  private let checkedPauses = Atomic<UInt64>(0)
  /// The absolute path used to open the store, with unresolved links, and the file found at that path.
  private let opened: (path: String, place: FileLocation)

  /// Replaces the key that unlocks the store after a change of keys, to forget a secret that the user was asked for.
  package func keepKey(_ key: StoreKey) {
    holder.withLock { $0 = KeyHolder(key: key, slot: $0.slot) }
  }

  /// Creates the engine for an opened file, and verifies its state. The log message begins with `verb`.
  /// - Parameter path: The path from the caller.
  package init(
    _ file: StoreFile, at path: String, unlocked: Unlocking.Unlocked, keys: SessionKeys, key: StoreKey,
    options: OpenOptions, verb: String, original: OriginalFile? = nil, folder: PrivateFolder? = nil
  ) throws(StoreError) {
    self.options = options
    opened = (FileLocation.absolute(path), original?.place ?? file.place)
    holder = Mutex(KeyHolder(key: key, slot: unlocked.slot))
    // Allow only reading if the file isn't writable, or has unknown features that only readers may ignore.
    isReadOnly =
      options.isReadOnlyByChoice || original != nil || keys.header.readOnlyCompatible != 0
      || file.database.connection.isReadOnly
    session = Session(
      keys: keys, generation: 0, options: options, path: opened.path, locks: ProcessLocks.of(file.path))
    log = StoreLog(logger: options.logger)
    connections = try ConnectionPool(file, session: session, options: options, original: original, folder: folder)
    // Verify the header and generation with the state before trusting any other data.
    let generation = try reading { transaction throws(StoreError) in
      try requireExpectedStore(transaction, pin: options.pin)
      if let publisher = options.publisher { session.proved = try proveRelease(transaction, by: publisher) }
      return transaction.state.generation
    }
    log.info("\(verb) store \(Hexadecimal.text(session.header.storeID)) at generation \(generation)")
  }

  /// Rejects a store with another pin, another replica, or newer parts.
  private func requireExpectedStore(_ transaction: StoreTransaction, pin: StorePin?) throws(StoreError) {
    try pin?.check(
      transaction.keys.session, transaction.state, acceptsUnfinished: options.acceptsUnfinishedRekey)
    _ = try transaction.replicas
    try requireNoNewerCollection(transaction)
  }

  /// Repeats the checks of opening in the first transaction after the store was resumed, because the file may have been
  /// exchanged in the meantime.
  func checkReopening(_ transaction: StoreTransaction) throws(StoreError) {
    let pauses = session.pauses
    guard checkedPauses.load(ordering: .relaxed) != pauses else { return }
    // The session followed every later root key, which other pins have.
    let pin = options.pin.flatMap { $0.rootGeneration < session.header.rootGeneration ? nil : $0 }
    do throws(StoreError) {
      try requireExpectedStore(transaction, pin: pin)
      try connections.original?.requireUnchanged()
    } catch {
      transaction.rollback()
      throw error
    }
    checkedPauses.store(pauses, ordering: .relaxed)
  }

  /// Rejects a store with a collection of a later version. Damaged collections are left to those who read them.
  private func requireNoNewerCollection(_ transaction: StoreTransaction) throws(StoreError) {
    do throws(StoreError) {
      _ = try transaction.collections()
    } catch {
      guard error.code == .damaged else { throw error }
    }
  }

  /// Opens the store at `path`, with the checks in the order of FORMAT, "Opening".
  package convenience init(at path: String, key: StoreKey, options: OpenOptions) throws(StoreError) {
    let original = options.leavesFileUnchanged ? try OriginalFile(at: path) : nil
    let (file, header, slots) = try OriginalFile.naming(original) { () throws(StoreError) in
      let file = try StoreFile(
        at: original?.path ?? path, wait: options.wait, cacheBytes: options.pageCacheBytes,
        mode: original?.mode ?? .readWrite)
      let (header, slots) = try file.readConsistently()
      return (file, header, slots)
    }
    try options.pin?.check(header)
    let unlocking = Unlocking(
      header: header, slots: slots, named: options.slot.map { UInt32(clamping: $0) },
      allowsTestKeys: options.allowsTestKeys)
    try unlocking.checkBounds()
    let unlocked = try unlocking.unlock(with: key)
    try Cancellation.checkCurrent()
    let keys = try file.keys(under: unlocked.root, header: header, slots: slots)
    try self.init(
      file, at: path, unlocked: unlocked, keys: keys, key: key, options: options, verb: "opened", original: original)
  }

  /// Whether the caller chose to read only.
  package var isReadOnlyByChoice: Bool { options.isReadOnlyByChoice }

  /// The absolute path, without symbolic links.
  package var path: String { connections.place.path }

  /// Whether a different file is now at the path used to open the store.
  package var isSuperseded: Bool { opened.place.isSuperseded(at: opened.path) }

  // MARK: Transactions

  /// Whether this thread is in a transaction of any store.
  package static var isInScope: Bool { ThreadScopes.count > 0 }

  /// Runs a write transaction, which is rolled back unless `body` commits it.
  ///
  /// - Parameter wait: The maximum time to wait for a lock, or `nil` for the store's waiting time.
  package func writing<R>(
    wait: Duration? = nil, _ body: (StoreTransaction) throws(StoreError) -> R
  ) throws(StoreError) -> R {
    let write = try beginWriting(wait: wait)
    let stop = write.transaction.stop
    let result = try stop.namingStoreErrors { () throws(StoreError) in try body(write.transaction) }
    write.finish()
    return result
  }

  /// Runs a read transaction.
  ///
  /// - Parameter wait: The maximum time to wait for a reader or lock, or `nil` for the store's waiting time.
  package func reading<R>(
    _ cancellation: Cancellation? = nil, wait: Duration? = nil, _ body: (StoreTransaction) throws(StoreError) -> R
  ) throws(StoreError) -> R {
    let read = try beginReading(cancellation, wait: wait)
    let stop = read.transaction.stop
    return try stop.namingStoreErrors { () throws(StoreError) in try body(read.transaction) }
  }

  /// Runs a write transaction, which is committed when `body` returns.
  package func write<T>(_ cancellation: Cancellation? = nil, _ body: (StoreTransaction) throws -> T) throws -> T {
    let result = try writeOnce(cancellation, body)
    deleteLeftoverChunks()
    return result
  }

  private func writeOnce<T>(_ cancellation: Cancellation?, _ body: (StoreTransaction) throws -> T) throws -> T {
    let write = try beginWriting(cancellation)
    let stop = write.transaction.stop
    let result = try stop.naming {
      let result = try body(write.transaction)
      try write.transaction.commit()
      return result
    }
    write.finish()
    return result
  }

  /// Runs a read transaction whose body may throw any error.
  package func read<T>(_ cancellation: Cancellation? = nil, _ body: (StoreTransaction) throws -> T) throws -> T {
    let read = try beginReading(cancellation)
    let stop = read.transaction.stop
    return try stop.naming { try body(read.transaction) }
  }

  // MARK: Keys

  /// Runs a transaction that changes only the slots.
  ///
  /// It rereads and verifies the header and slots, because the new header must not authenticate a restored slot or a
  /// swapped recipient (FORMAT, "Each transaction").
  package func changingSlots<R>(
    _ change: (inout [KeySlotRecord], RootKey) throws(StoreError) -> R, committed: (R) -> Void = { _ in }
  ) throws(StoreError) -> R {
    let result = try writing { transaction throws(StoreError) in
      let proved = try transaction.proveHeader()
      var slots = proved.slots
      let result = try change(&slots, proved.keys.root)
      var header = proved.keys.header
      header.mac = try header.authenticate(slots, under: proved.keys.headerMACKey)
      let keys = try SessionKeys(root: proved.keys.root, header: header, slots: slots)
      try transaction.commit(keys, slots)
      return result
    }
    committed(result)
    try emptyLog(after: "the slots were changed", waiting: {})
    return result
  }

  /// Removes the old pages from the write-ahead log and file after a key or slot change, and records that in the state.
  ///
  /// - Parameter work: The description of the change for errors.
  /// - Throws: `locked` if readers of other processes remain longer than the store's waiting time, or `cancelled`,
  ///   `closed` or `suspended` during the wait. The change is then committed, but the file can still contain its old pages.
  package func emptyLog(after work: String, waiting: () throws(StoreError) -> Void) throws(StoreError) {
    do throws(StoreError) {
      try emptyLog(waiting)
    } catch {
      let reason: String
      switch error.code {
      case .locked, .closed, .suspended: reason = error.message
      // If a handler stops a rekey, its error already says so.
      case .cancelled where error.advice == nil: reason = "the wait for readers was cancelled"
      default: throw error
      }
      throw StoreError(
        error.code, "\(work), but \(reason): the file can still have the old ones too",
        hint: "close the readers and go on with \(.resumeRekey)")
    }
  }

  private func emptyLog(_ waiting: () throws(StoreError) -> Void) throws(StoreError) {
    let unwiped = try reading { transaction throws(StoreError) in transaction.state.unwiped }
    guard unwiped != 0 else { return }
    try connections.withEmptyLog(waiting: waiting) { _ in () }
    try writing { transaction throws(StoreError) in
      // Another process may have changed the keys since.
      guard transaction.state.unwiped == unwiped else { return }
      let writer = try transaction.writer
      try writer.willWrite()
      writer.state.unwiped = 0
      try transaction.commit()
    }
  }

  /// Replaces a damaged header, slots and spare copy with this session's verified contents.
  ///
  /// The state must open under the session's root key, refer to the session's header, and not be older than the latest
  /// state in the session.
  package func repairHeader() throws(StoreError) {
    guard !isReadOnly else { throw .notWritable(path, isChosen: isReadOnlyByChoice) }
    try connections.namingStops { () throws(StoreError) in try replaceHeader() }
  }

  private func replaceHeader() throws(StoreError) {
    let lease = try connections.writer()
    let connection = lease.connection
    try connection.database.begin(.immediate)
    defer { connection.database.rollback() }
    let known = session.snapshot
    guard let keys = known.keys else { throw .storeClosed }
    let rows = try connection.database.rows(SQL.state, ofAtMost: StoreFormat.headerValueLimit)
    guard rows.count == 1, case .blob(let sealed) = rows[0][0] else {
      throw .damagedStore("its state is gone, so its header can't be repaired")
    }
    let state = try StateCipher(keys).open(sealed)
    guard state.headerMAC == keys.header.mac, state.generation >= known.generation else {
      throw StoreError(
        .rolledBack, "the state names another header than this session's: nothing was repaired",
        hint: "close the store, and compare it with its anchor")
    }
    try keys.header.replace(connection.database, slots: keys.slots)
    try connection.database.commit()
  }

  /// Verifies that the cipher returns the published values before it seals data.
  package static func requireWorkingCipher() throws(StoreError) {
    guard XAESKey.selfTestPassed else {
      throw StoreError(
        .systemFailure, "the self-test of XAES-256-GCM failed: this \(CryptographicLibrary.name) can't be trusted")
    }
  }
}
