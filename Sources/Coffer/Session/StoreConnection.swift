internal import CofferSQLite
internal import CofferSealing

/// One connection to the store's file with the contexts of one thread: what a transaction runs on.
final class StoreConnection {
  let database: Database
  let session: Session
  let file: StoreFile
  private(set) var keys: RowKeys
  /// For rows that are done with before anything else is read.
  private(set) var opener: RecordOpener
  private var idleOpeners: [RecordOpener] = []
  private var idleBatches: [OpeningBatch] = []
  private var idleStatements = [[Statement]](repeating: [], count: RowStatement.allCases.count)
  var sealer: RecordSealer
  /// Holds the rows of a single write; bulk work brings its own.
  let batch = SealedBatch()
  private var stateKey: XAESKey
  /// The state row as last read or written, so that an unchanged one is opened once.
  private var lastState: (sealed: [UInt8], state: StoreState)?
  /// Names and settings, as of a generation.
  private var lastCollections: (generation: UInt64, collections: [CollectionRecord])?

  init(_ file: StoreFile, session: Session) throws(StoreError) {
    self.file = file
    self.session = session
    database = file.database
    keys = try RowKeys(session.keys)
    opener = RecordOpener(keys)
    sealer = RecordSealer(keys)
    stateKey = try Self.stateKey(keys.session)
  }

  private static func stateKey(_ keys: SessionKeys) throws(StoreError) -> XAESKey {
    try sealing { () throws(SealingError) in try XAESKey(keys.stateKey) }
  }

  // MARK: Cancelling

  /// What ends the work that runs on it now.
  private(set) var cancellation: Cancellation?

  /// Runs work that ends with `cancelled` soon after it was cancelled: waiting for a lock or between rows too.
  func cancellable<R>(_ cancellation: Cancellation?, _ body: () throws(StoreError) -> R) throws(StoreError) -> R {
    guard let cancellation else { return try body() }
    let handle = database.interruptHandle
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

  /// Proves that header and state are those of this session, or of a key change it can follow.
  ///
  /// - Parameter known: the session as it was before the transaction began.
  /// - Throws: `keyChanged` when the root key is another; `rolledBack`; `damaged`.
  func proveState(since known: Session.Known) throws(StoreError) -> StoreState {
    let (commitment, mac, sealed) = try readMark()
    let current = session.snapshot
    // Another thread of ours may have changed the keys since, or be about to.
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

  func readMark() throws(StoreError) -> (commitment: [UInt8], mac: [UInt8], state: [UInt8]) {
    let statement = try storing { () throws(SQLiteError) in try database.statement(SQL.headerMark) }
    defer { statement.reset() }
    guard try storing({ () throws(SQLiteError) in try statement.step() }) else {
      throw .damagedStore("it has no header or no state")
    }
    guard (0..<3).allSatisfy({ statement.storageClass(at: $0) == .blob }) else {
      throw .damagedStore("header or state hold something else than bytes")
    }
    return (
      Array(statement.blobPointer(at: 0)), Array(statement.blobPointer(at: 1)), Array(statement.blobPointer(at: 2))
    )
  }

  /// Reads header and slots anew and proves them with the root key in memory.
  private func reloadKeys(after known: SessionKeys) throws(StoreError) -> SessionKeys {
    let (header, slots) = try file.readHeader()
    let keys = try SessionKeys(root: known.root, header: header, slots: slots)
    session.replaceKeys(known, with: keys)
    return keys
  }

  /// Makes the contexts of other keys.
  func use(_ session: SessionKeys) throws(StoreError) {
    keys = try RowKeys(session)
    opener = RecordOpener(keys)
    idleOpeners = []
    idleBatches = []
    sealer = RecordSealer(keys)
    stateKey = try Self.stateKey(session)
    lastState = nil
    lastCollections = nil
  }

  /// Reads one row.
  enum RowStatement: Int, CaseIterable {
    case record, recordWithBody, recordByLookup

    var sql: String {
      switch self {
      case .record: SQL.record
      case .recordWithBody: SQL.recordWithBody
      case .recordByLookup: SQL.recordByLookup
      }
    }
  }

  /// A statement to read a row with, compiled once; to be given back when its row is done with.
  func take(_ statement: RowStatement) throws(StoreError) -> Statement {
    if let idle = idleStatements[statement.rawValue].popLast() { return idle }
    return try storing { () throws(SQLiteError) in try database.statement(statement.sql) }
  }

  func giveBack(_ statement: Statement, as which: RowStatement) {
    statement.reset()
    idleStatements[which.rawValue].append(statement)
  }

  /// An opener whose memory nobody else uses while a caller looks at what it opened; to be given back.
  func takeOpener() -> RecordOpener {
    idleOpeners.popLast() ?? RecordOpener(keys)
  }

  func giveBack(_ opener: RecordOpener) {
    if opener.keys === keys { idleOpeners.append(opener) }
  }

  /// A batch to open rows with beside this thread; to be given back.
  func takeBatch() throws(StoreError) -> OpeningBatch {
    if let batch = idleBatches.popLast() { return batch }
    return try OpeningBatch(keys.session)
  }

  func giveBack(_ batch: OpeningBatch) {
    batch.clear()
    if batch.belongs(to: keys.session) { idleBatches.append(batch) }
  }

  // MARK: State

  private func open(_ sealed: [UInt8]) throws(StoreError) -> StoreState {
    if let lastState, lastState.sealed == sealed { return lastState.state }
    let state = try Self.open(sealed, with: stateKey, of: keys.session)
    lastState = (sealed, state)
    return state
  }

  private static func open(_ sealed: [UInt8], with key: XAESKey, of session: SessionKeys) throws(StoreError)
    -> StoreState
  {
    let bytes: [UInt8]
    do throws(SealingError) {
      bytes = try key.open(sealed, authenticating: session.stateBinding)
    } catch {
      throw .unopened(error, .damagedStore("its state can't be opened"))
    }
    guard let state = StoreState(bytes: bytes) else { throw .damagedStore("its state is not one that a writer makes") }
    return state
  }

  /// Proves the state with keys that are not believed yet.
  ///
  /// - Throws: `rolledBack`, `damaged`.
  func prove(_ new: SessionKeys, since known: Session.Known) throws(StoreError) {
    let (commitment, mac, sealed) = try readMark()
    // Changed again meanwhile: whoever uses the keys finds that out.
    guard commitment == new.header.commitment, mac == new.header.mac else { return }
    let state = try Self.open(sealed, with: Self.stateKey(new), of: new)
    guard state.headerMAC == mac, state.generation >= known.generation else {
      throw StoreError(
        .rolledBack, "the store was put back to an older state, under another root key",
        hint: "somebody restored an older file: close the store, and compare it with its anchor")
    }
  }

  /// Seals and writes the state row.
  func write(_ state: StoreState, inserting: Bool = false) throws(StoreError) {
    let sealed = try sealing { () throws(SealingError) in
      try stateKey.seal(state.bytes, authenticating: keys.session.stateBinding, nonces: keys.nonces)
    }
    try storing { () throws(SQLiteError) in
      _ = try database.execute(inserting ? SQL.insertState : SQL.updateState, sealed)
    }
    lastState = (sealed, state)
  }

  // MARK: Collections

  /// Every collection by number; opened once per generation.
  func collections(_ state: StoreState) throws(StoreError) -> [CollectionRecord] {
    if let lastCollections, lastCollections.generation == state.generation { return lastCollections.collections }
    var records: [CollectionRecord] = []
    for row in try readCollectionRows(state) {
      records.append(
        try CollectionRecord(
          id: row.id, epoch: row.epoch, revision: row.revision, sealed: row.sealed, keys: keys))
    }
    lastCollections = (state.generation, records)
    return records
  }

  /// After a write of this transaction: what was opened before may be old.
  func forgetCollections() {
    lastCollections = nil
  }

  struct CollectionRow {
    var id: UInt32
    var epoch: UInt32
    var revision: UInt64
    var sealed: [UInt8]

    /// The columns of ``SQL/collections``, checked.
    init(_ row: SQLiteRow, generation: UInt64) throws(StoreError) {
      let numbers = 1...StoreFormat.maximumNumber
      guard case .integer(let id) = row[0], numbers.contains(id), case .integer(let epoch) = row[1],
        numbers.contains(epoch), case .integer(let revision) = row[2], revision >= 0, UInt64(revision) <= generation,
        case .blob(let sealed) = row[3], sealed.count > XAESKey.overhead
      else { throw StoreError(.damaged, "a collection is damaged: its row is out of its bounds") }
      self.id = UInt32(id)
      self.epoch = UInt32(epoch)
      self.revision = UInt64(revision)
      self.sealed = sealed
    }
  }

  func readCollectionRows(_ state: StoreState) throws(StoreError) -> [CollectionRow] {
    let rows = try database.stored { database throws(SQLiteError) in try database.query(SQL.collections).rows }
    var records: [CollectionRow] = []
    for row in rows {
      let record = try CollectionRow(row, generation: state.generation)
      // A page whose cells were edited can give a row twice.
      guard record.id > records.last?.id ?? 0 else {
        throw StoreError(.damaged, "a collection is damaged: #\(record.id) is not in its place")
      }
      records.append(record)
    }
    return records
  }
}
