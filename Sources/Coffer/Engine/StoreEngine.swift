internal import CofferRecords
internal import CofferSQLite
internal import CofferSealing
internal import Synchronization

/// An open store: its connections, its keys and its log. ``DocumentStore`` is its public face.
final class StoreEngine: Sendable {
  let isReadOnly: Bool
  let options: OpenOptions
  let holder: Mutex<KeyHolder>
  /// Held by the thread that asks for a key again.
  let unlocking = Mutex<Void>(())
  let session: Session
  let connections: ConnectionPool
  let log: StoreLog
  /// The path by which the store was opened, absolute, with its links, and the file that was there.
  private let opened: (path: String, place: FilePlace)

  /// - Parameters:
  ///   - path: as the caller gave it.
  ///   - verb: the log's word for how the store was opened.
  init(
    _ file: StoreFile, at path: String, unlocked: Unlocking.Unlocked, keys: SessionKeys, key: StoreKey,
    options: OpenOptions, verb: String, original: OriginalFile? = nil
  ) throws(StoreError) {
    self.options = options
    opened = (FilePlace.absolute(path), original?.place ?? file.place)
    holder = Mutex(KeyHolder(key: key, slot: unlocked.slot))
    // Unknown features that only readers may ignore, or a file that can't be written, allow reading only.
    isReadOnly =
      options.isReadOnly || original != nil || keys.header.readOnlyCompatible != 0
      || file.database.connection.isReadOnly
    session = Session(keys: keys, generation: 0, options: options)
    log = StoreLog(logger: options.logger)
    connections = try ConnectionPool(file, session: session, options: options, original: original)
    // The state proves header and generation before anything else is trusted.
    let generation = try reading { transaction throws(StoreError) in
      if let pin = options.expectedPin {
        try StorePin(pin).check(
          transaction.keys.session, transaction.state, acceptsUnfinished: options.acceptsUnfinishedRekey)
      }
      return transaction.state.generation
    }
    log.info("\(verb) store \(Hexadecimal.text(session.header.storeID)) at generation \(generation)")
  }

  /// Opens the store at `path`, with the checks in the order of FORMAT, "Opening".
  convenience init(at path: String, key: StoreKey, options: OpenOptions) throws(StoreError) {
    let original = options.leavesFileUnchanged ? try OriginalFile(at: path) : nil
    let file = try StoreFile(
      at: original?.path ?? path, wait: options.wait, cacheBytes: options.pageCacheBytes,
      mode: original?.mode ?? .readWrite)
    let (header, slots) = try file.readConsistently()
    if let pin = options.expectedPin { try StorePin(pin).check(header) }
    let unlocking = Unlocking(
      header: header, slots: slots, named: options.slot.map { UInt32(clamping: $0) },
      allowsTestKeys: options.allowsTestKeys)
    try unlocking.checkBounds()
    let unlocked = try unlocking.unlock(with: key)
    try Cancellation.checkCurrent()
    let keys = try SessionKeys(root: unlocked.root, header: header, slots: slots)
    try self.init(
      file, at: path, unlocked: unlocked, keys: keys, key: key, options: options, verb: "opened", original: original)
  }

  /// Absolute and without symbolic links.
  var path: String { connections.place.path }

  /// Whether another file is now at the path by which the store was opened.
  var isSuperseded: Bool { opened.place.isSuperseded(at: opened.path) }

  // MARK: Transactions

  /// One write transaction; rolled back unless `body` commits it.
  ///
  /// - Parameter wait: the longest time to wait for a lock; nil for the store's own.
  func writing<R>(
    _ cancellation: Cancellation? = nil, wait: Duration? = nil, _ body: (StoreTransaction) throws(StoreError) -> R
  ) throws(StoreError) -> R {
    // Another process may have switched on a feature that writers must know.
    guard !isReadOnly, session.header.readOnlyCompatible == 0 else {
      throw .notWritable(path, isChosen: options.isReadOnly)
    }
    return try followingKeyChanges { () throws(StoreError) in
      try connections.withWriter(cancellation, wait: wait) { connection throws(StoreError) in
        let transaction = try StoreTransaction(connection, .immediate, logger: log)
        defer { transaction.rollback() }
        return try body(transaction)
      }
    }
  }

  /// One read transaction.
  func reading<R>(
    _ cancellation: Cancellation? = nil, _ body: (StoreTransaction) throws(StoreError) -> R
  ) throws(StoreError) -> R {
    try followingKeyChanges { () throws(StoreError) in
      try connections.withReader(cancellation) { connection throws(StoreError) in
        let transaction = try StoreTransaction(connection, .deferred, logger: log)
        defer { transaction.rollback() }
        return try body(transaction)
      }
    }
  }

  /// A write transaction that is committed when `body` returns.
  func write<T>(_ cancellation: Cancellation? = nil, _ body: (StoreTransaction) throws -> T) throws -> T {
    let result: Result<T, any Error> = try writing(cancellation) { transaction throws(StoreError) in
      let result = Result { try body(transaction) }
      if case .success = result { try transaction.commit() }
      return result
    }
    return try result.get()
  }

  /// A read transaction whose body may throw any error.
  func read<T>(_ cancellation: Cancellation? = nil, _ body: (StoreTransaction) throws -> T) throws -> T {
    let result: Result<T, any Error> = try reading(cancellation) { transaction throws(StoreError) in
      Result { try body(transaction) }
    }
    return try result.get()
  }

  // MARK: Keys

  /// One transaction that changes only the slots.
  ///
  /// It builds only on header and slot rows that it reads and verifies itself: a slot put back, or a recipient swapped,
  /// in an open session must not be sealed into the new header (FORMAT, "Each transaction").
  func changingSlots<R>(_ change: (inout [KeySlotRecord], RootKey) throws(StoreError) -> R) throws(StoreError) -> R {
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
    try emptyLog(after: "the slots were changed", waiting: {})
    return result
  }

  /// Empties the write-ahead log of the pages before a change of keys or slots, and notes that in the state.
  ///
  /// - Parameter work: in words, for the error.
  /// - Throws: `locked` if readers stay longer than the store's waiting time: the change is committed, but the file still
  ///   has its old pages.
  func emptyLog(after work: String, waiting: () throws(StoreError) -> Void) throws(StoreError) {
    let unwiped = try reading { transaction throws(StoreError) in transaction.state.unwiped }
    guard unwiped != 0 else { return }
    do throws(StoreError) {
      try connections.withEmptyLog(waiting: waiting) { _ in () }
    } catch {
      guard error.code == .locked else { throw error }
      throw StoreError(
        .locked, "\(work), but \(error.message): the file still has the old ones too",
        hint: "close the readers and go on with \(.resumeRekey)")
    }
    try writing { transaction throws(StoreError) in
      // Another process may have changed keys since.
      guard transaction.state.unwiped == unwiped else { return }
      let writer = try transaction.writer
      try writer.willWrite()
      writer.state.unwiped = 0
      try transaction.commit()
    }
  }

  /// Writes header, slots and their spare copy again, as this session verified them, over damaged ones.
  ///
  /// The state must open under the session's root key, name the session's header, and be no older than the latest state
  /// that the session has seen.
  func repairHeader() throws(StoreError) {
    guard !isReadOnly else { throw .notWritable(path, isChosen: options.isReadOnly) }
    try connections.withWriter(nil) { connection throws(StoreError) in
      try connection.database.begin(.immediate)
      defer { connection.database.rollback() }
      let known = session.snapshot
      guard let keys = known.keys else { throw .storeClosed }
      let rows = try connection.database.rows(SQL.state)
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
  }

  /// Refuses a cipher that does not give the published values: it must seal nothing.
  static func requireSoundCipher() throws(StoreError) {
    guard XAESKey.selfTestPassed else {
      throw StoreError(.systemFailure, "the self-test of XAES-256-GCM failed: this OpenSSL can't be trusted")
    }
  }
}
