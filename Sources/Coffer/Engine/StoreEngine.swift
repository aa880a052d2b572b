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

  /// - Parameter verb: the log's word for how the store was opened.
  init(
    _ file: StoreFile, unlocked: Unlocking.Unlocked, keys: SessionKeys, key: StoreKey, options: OpenOptions,
    verb: String
  ) throws(StoreError) {
    self.options = options
    holder = Mutex(KeyHolder(key: key, slot: unlocked.slot))
    // Unknown features that only readers may ignore, or a file that can't be written, allow reading only.
    isReadOnly =
      options.isReadOnly || keys.header.readOnlyCompatible != 0 || file.database.connection.isReadOnly
    session = Session(keys: keys, generation: 0, cacheBytes: options.textCacheBytes)
    log = StoreLog(logger: options.logger)
    connections = try ConnectionPool(file, session: session, options: options)
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
    let file = try StoreFile(at: path, wait: options.wait, cacheBytes: ConnectionPool.readerCache)
    let (header, slots) = try file.readConsistently()
    if let pin = options.expectedPin { try StorePin(pin).check(header) }
    let unlocking = Unlocking(
      header: header, slots: slots, named: options.slot.map { UInt32(clamping: $0) },
      allowsTestKeys: options.allowsTestKeys)
    try unlocking.checkBounds()
    let unlocked = try unlocking.unlock(with: key)
    let keys = try SessionKeys(root: unlocked.root, header: header, slots: slots)
    try self.init(file, unlocked: unlocked, keys: keys, key: key, options: options, verb: "opened")
  }

  /// Absolute and without symbolic links.
  var path: String { connections.place.path }

  // MARK: Transactions

  /// One write transaction; rolled back unless `body` commits it.
  func writing<R>(
    _ cancellation: Cancellation? = nil, _ body: (StoreTransaction) throws(StoreError) -> R
  ) throws(StoreError) -> R {
    guard !isReadOnly else { throw StoreError(.readOnly, "the store was opened to be read only") }
    return try followingKeyChanges { () throws(StoreError) in
      try connections.withWriter(cancellation) { connection throws(StoreError) in
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
    try writing { transaction throws(StoreError) in
      let proved = try transaction.proveHeader()
      var slots = proved.slots
      let result = try change(&slots, proved.keys.root)
      var header = proved.keys.header
      header.mac = try header.authenticate(slots, under: proved.keys.headerMACKey)
      let keys = try SessionKeys(root: proved.keys.root, header: header, slots: slots)
      try transaction.commit(keys, slots)
      return result
    }
  }

  /// Refuses a cipher that does not give the published values: it must seal nothing.
  static func requireSoundCipher() throws(StoreError) {
    guard XAESKey.selfTestPassed else {
      throw StoreError(.systemFailure, "the self-test of XAES-256-GCM failed: this OpenSSL can't be trusted")
    }
  }
}
