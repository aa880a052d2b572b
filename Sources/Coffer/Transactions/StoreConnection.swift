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
  /// The view that the last query used, for the next one: a connection in memory takes longer to make than many queries.
  ///
  /// Its type is in the folder SQLView, which this folder does not know.
  var idleView: AnyObject?
  /// The open indexes, by their numbers: closed when the root row is not the one seen last.
  ///
  /// Their type is in the folder Indexing, which this folder does not know.
  var openIndexes: [UInt32: AnyObject] = [:]
  /// The roots of indexes as last read, so that an unchanged row is opened only once.
  var lastRoots: [UInt32: (epoch: Int64, sealed: [UInt8], root: IndexRoot)] = [:]

  /// Closes an index, and the view that reads it.
  func closeIndex(_ part: UInt32) {
    openIndexes[part] = nil
    idleView = nil
  }

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
    let outer = cancellation.setAction { handle.stop() }
    defer {
      cancellation.setAction(outer)
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
  /// - Throws: `keyChanged` if the root key is another; `rolledBack`; `pinMismatch` for another root key of the same
  ///   number; `damaged`.
  func proveState(since known: Session.Known) throws(StoreError) -> StoreState {
    let statement = try database.statement(SQL.headerMark)
    defer { statement.reset() }
    let mark = try HeaderMark(statement)
    let current = session.snapshot
    // Another thread of this process may have changed the keys since, or may be changing them.
    let candidates = [known.keys, current.keys, known.next, current.next].compactMap { $0 }
    guard let held = candidates.first else { throw .storeClosed }
    guard mark.isAtLeast(held.header) else {
      throw StoreError(
        .rolledBack, "the store was put back to an older root key or to the middle of a rekey",
        hint: "an older copy of the file was restored: close the store, and compare it with its anchor")
    }
    guard let root = candidates.first(where: { $0.header.rootGeneration == mark.rootGeneration })?.root else {
      throw StoreError(
        .keyChanged, "another process changed the store's root key",
        hint: "close the store and open it again")
    }
    var found = candidates.first { mark.names($0.header) }
    if found == nil { found = try reloadKeys(after: held, root, mark) }
    if let found, found !== keys.session { try use(found) }
    let state = try open(mark.sealedState)
    guard mark.mac.elementsEqual(state.headerMAC) else {
      throw StoreError(
        .rolledBack, "header and state belong to different times: an older one was put back",
        hint: "restore the store from a backup, or salvage what can be read into a new store")
    }
    guard state.generation >= known.generation else {
      throw StoreError(
        .rolledBack,
        "the store was put back to an older state (generation \(state.generation) after \(known.generation))",
        hint: "an older copy of the file was restored: close the store, and compare it with its anchor")
    }
    session.note(generation: state.generation)
    return state
  }

  /// Reads header and slots again and verifies them with the root key in memory.
  private func reloadKeys(after known: SessionKeys, _ root: RootKey, _ mark: HeaderMark) throws(StoreError)
    -> SessionKeys
  {
    let pin = try StorePin(root, phase: mark.phase)
    guard mark.commitment.starts(with: pin.commitment) else {
      throw StoreError(
        .pinMismatch, "the store's root key is another one of the same number: the file is not this store's any more",
        hint: "another copy took its place: close the store, and compare it with its anchor")
    }
    let (header, slots) = try file.readHeader()
    let keys = try SessionKeys(root: root, header: header, slots: slots)
    session.replaceKeys(known, with: keys)
    return keys
  }

  /// Replaces the contexts by those of other keys.
  func use(_ session: SessionKeys) throws(StoreError) {
    keys = try RowKeys(session)
    idleReaders = []
    idleBatches = []
    openIndexes = [:]
    lastRoots = [:]
    idleView = nil
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

  private func open(_ sealed: UnsafeRawBufferPointer) throws(StoreError) -> StoreState {
    if let lastState, lastState.sealed.elementsAreEqual(to: sealed) { return lastState.state }
    let copy = Array(sealed)
    let state = try cipher.open(copy)
    lastState = (copy, state)
    return state
  }

  /// Verifies the state with keys that are not trusted yet.
  ///
  /// - Throws: `rolledBack`, `damaged`.
  func prove(_ new: SessionKeys, since known: Session.Known) throws(StoreError) {
    let statement = try database.statement(SQL.headerMark)
    defer { statement.reset() }
    let mark = try HeaderMark(statement)
    // The keys changed again meanwhile: the next user of the keys notices that.
    guard mark.names(new.header) else { return }
    let state = try StateCipher(new).open(Array(mark.sealedState))
    guard mark.mac.elementsEqual(state.headerMAC), state.generation >= known.generation else {
      throw StoreError(
        .rolledBack, "the store was put back to an older state, under another root key",
        hint: "an older copy of the file was restored: close the store, and compare it with its anchor")
    }
  }

  /// Seals and writes the state row.
  func write(_ state: StoreState) throws(StoreError) {
    let sealed = try cipher.seal(state)
    try database.execute(SQL.updateState, sealed)
    lastState = (sealed, state)
  }

  func mark(of state: StoreState) throws(StoreError) -> [UInt8] { try cipher.mark(of: state) }

  /// For the nonces of the transaction that found this state.
  var nonceSource: NonceSource { NonceSource(state: lastState?.sealed ?? []) }
}

/// The columns of header and state that every transaction looks at first, in SQLite's memory.
private struct HeaderMark {
  let rootGeneration: UInt64
  let phase: UInt64
  let commitment: UnsafeRawBufferPointer
  let mac: UnsafeRawBufferPointer
  let sealedState: UnsafeRawBufferPointer

  /// - Throws: `damaged`.
  init(_ statement: StoreStatement) throws(StoreError) {
    guard try statement.step() else { throw .damagedStore("it has no header or no state") }
    let columns = statement.columns()
    guard columns[..<2].allSatisfy({ $0.storageClass == .integer && $0.integer >= 1 }),
      columns[2...].allSatisfy({ $0.storageClass == .blob })
    else { throw .damagedStore("header or state hold values of another kind") }
    rootGeneration = UInt64(columns[0].integer)
    phase = UInt64(columns[1].integer)
    commitment = columns[2].bytes
    mac = columns[3].bytes
    sealedState = columns[4].bytes
  }

  func isAtLeast(_ header: StoreHeader) -> Bool {
    (rootGeneration, phase) >= (header.rootGeneration, header.phase)
  }

  func names(_ header: StoreHeader) -> Bool {
    rootGeneration == header.rootGeneration && phase == header.phase && mac.elementsEqual(header.mac)
  }
}

extension [UInt8] {
  fileprivate func elementsAreEqual(to other: UnsafeRawBufferPointer) -> Bool {
    withUnsafeBytes { ConstantTime.equal($0, other) }
  }
}
