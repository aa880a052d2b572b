internal import CofferRecords
internal import CofferSealing

/// One connection to the store's file, with key contexts for one thread: a transaction runs on it.
final class StoreConnection {
  let database: StoreDatabase
  let session: Session
  let file: StoreFile
  let collections: CollectionTable
  private(set) var keys: RowKeys
  private var idleReaders: [RecordReader] = []
  private var idleBatches: [RowBatch<OpenedRows>] = []
  private var cipher: StateCipher
  /// The state row as last read or written, so that an unchanged row is opened only once.
  private var lastState: (sealed: [UInt8], state: StoreState)?

  init(_ file: StoreFile, session: Session) throws(StoreError) {
    self.file = file
    self.session = session
    database = file.database
    keys = try RowKeys(session.keys)
    collections = CollectionTable(database, keys)
    cipher = try StateCipher(keys.session)
  }

  // MARK: Cancelling

  /// Cancels the work that runs on this connection now.
  private(set) var cancellation: Cancellation?

  /// Runs work that throws `cancelled` soon after it was cancelled, even while it waits for a lock or between rows.
  func cancellable<R>(_ cancellation: Cancellation?, _ body: () throws(StoreError) -> R) throws(StoreError) -> R {
    guard let cancellation else { return try body() }
    let handle = database.connection.interruptHandle
    self.cancellation = cancellation
    cancellation.setAction { handle.stop() }
    defer {
      cancellation.setAction(nil)
      handle.resume()
      self.cancellation = nil
    }
    try cancellation.check()
    return try body()
  }

  // MARK: Before the first row of every transaction

  /// Verifies that header and state are those of this session, or of a key change that it can follow.
  ///
  /// - Parameter known: the session as it was before the transaction began.
  /// - Throws: `keyChanged` if the root key is another; `rolledBack`; `damaged`.
  func proveState(since known: Session.Known) throws(StoreError) -> StoreState {
    let (commitment, mac, sealed) = try readMark()
    let current = session.snapshot
    // Another thread of this process may have changed the keys since, or may be changing them.
    let candidates = [known.keys, current.keys, known.next, current.next].compactMap { $0 }
    guard let root = candidates.first(where: { $0.header.commitment == commitment }) else {
      throw StoreError(
        .keyChanged, "another process changed the store's root key",
        hint: "close the store and open it again")
    }
    var found = candidates.first { $0.header.commitment == commitment && $0.header.mac == mac }
    if found == nil { found = try reloadKeys(after: root) }
    if let found, found !== keys.session { try use(found) }
    let state = try open(sealed)
    guard state.headerMAC == mac else {
      throw StoreError(
        .rolledBack, "header and state belong to different times: an older one was put back",
        hint: "restore the store from a backup, or salvage what can be read into a new store")
    }
    guard state.generation >= known.generation else {
      throw StoreError(
        .rolledBack,
        "the store was put back to an older state (generation \(state.generation) after \(known.generation))",
        hint: "somebody restored an older file: close the store, and compare it with its anchor")
    }
    session.note(generation: state.generation)
    return state
  }

  private func readMark() throws(StoreError) -> (commitment: [UInt8], mac: [UInt8], state: [UInt8]) {
    let statement = try database.statement(SQL.headerMark)
    defer { statement.reset() }
    guard try statement.step() else { throw .damagedStore("it has no header or no state") }
    let columns = statement.columns()
    guard columns.allSatisfy({ $0.storageClass == .blob }) else {
      throw .damagedStore("header or state hold something else than bytes")
    }
    return (Array(columns[0].bytes), Array(columns[1].bytes), Array(columns[2].bytes))
  }

  /// Reads header and slots again and verifies them with the root key in memory.
  private func reloadKeys(after known: SessionKeys) throws(StoreError) -> SessionKeys {
    let (header, slots) = try file.readHeader()
    let keys = try SessionKeys(root: known.root, header: header, slots: slots)
    session.replaceKeys(known, with: keys)
    return keys
  }

  /// Replaces the contexts by those of other keys.
  func use(_ session: SessionKeys) throws(StoreError) {
    keys = try RowKeys(session)
    idleReaders = []
    idleBatches = []
    cipher = try StateCipher(session)
    lastState = nil
    collections.use(keys)
  }

  // MARK: Readers and batches, used again

  /// A reader for exclusive use until it is given back: callers read while they use rows that another reader opened.
  func takeReader() -> RecordReader {
    idleReaders.popLast() ?? RecordReader(database, keys)
  }

  func giveBack(_ reader: RecordReader) {
    reader.reset()
    if reader.keys === keys { idleReaders.append(reader) }
  }

  /// A batch for opening rows on another thread; the caller gives it back.
  func takeBatch() throws(StoreError) -> RowBatch<OpenedRows> {
    if let batch = idleBatches.popLast() { return batch }
    return RowBatch(try OpenedRows(keys.session))
  }

  func giveBack(_ batch: RowBatch<OpenedRows>) {
    batch.clear()
    batch.work.prepare(nil)
    if batch.work.belongs(to: keys.session) { idleBatches.append(batch) }
  }

  // MARK: State

  private func open(_ sealed: [UInt8]) throws(StoreError) -> StoreState {
    if let lastState, lastState.sealed == sealed { return lastState.state }
    let state = try cipher.open(sealed)
    lastState = (sealed, state)
    return state
  }

  /// Verifies the state with keys that are not trusted yet.
  ///
  /// - Throws: `rolledBack`, `damaged`.
  func prove(_ new: SessionKeys, since known: Session.Known) throws(StoreError) {
    let (commitment, mac, sealed) = try readMark()
    // The keys changed again meanwhile: the next user of the keys notices that.
    guard commitment == new.header.commitment, mac == new.header.mac else { return }
    let state = try StateCipher(new).open(sealed)
    guard state.headerMAC == mac, state.generation >= known.generation else {
      throw StoreError(
        .rolledBack, "the store was put back to an older state, under another root key",
        hint: "somebody restored an older file: close the store, and compare it with its anchor")
    }
  }

  /// Seals and writes the state row.
  func write(_ state: StoreState) throws(StoreError) {
    let sealed = try cipher.seal(state, nonces: keys.nonces)
    try database.execute(SQL.updateState, sealed)
    lastState = (sealed, state)
  }
}
