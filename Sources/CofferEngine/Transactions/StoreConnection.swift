internal import CofferPlatform
internal import CofferRecords
internal import CofferSQLite
internal import CofferSealing

/// A connection to the store's file, with key contexts for one thread.
package final class StoreConnection {
  let database: StoreDatabase
  package let session: Session
  package let file: StoreFile
  package let collections: CollectionTable
  let replicas: ReplicaTable
  private(set) var keys: RowKeys
  private var idleReaders: [RecordReader] = []
  private var idleBatches: [RowBatch<OpenedRows>] = []
  private var companions: [ObjectIdentifier: any ConnectionCompanion] = [:]

  /// Returns another target's state on this connection.
  package func companion<Companion: ConnectionCompanion>(_ type: Companion.Type) -> Companion {
    companions.companion(type)
  }

  private var cipher: StateCipher
  /// The last state row read or written. Caching it avoids opening an unchanged row again.
  private var lastState: (sealed: [UInt8], state: StoreState)?
  /// The run of the last position that this connection assigned, which the next document can continue.
  var lastRun: PositionRun?
  /// The file version whose row count matched the state's count.
  var countedVersion: FileVersion?
  /// Whether the index of all documents was found to end.
  var hasCounted = false
  /// Whether the schema is still the checked schema. Another process can have changed it.
  private var isSchemaChecked = true

  init(_ file: StoreFile, session: Session) throws(StoreError) {
    self.file = file
    self.session = session
    database = file.database
    keys = try RowKeys(session.keys)
    replicas = ReplicaTable(database, keys.session.root)
    collections = CollectionTable(database, keys, replicas)
    cipher = try StateCipher(keys.session)
  }

  // MARK: Canceling

  // The property is internal, because the compiler checks each access to a package property at run time, and every
  // lookup of a cached text accesses it.
  private(set) var cancellation: Cancellation?
  /// The cancellation of the current work.
  package var currentCancellation: Cancellation? { cancellation }
  private var watch: Cancellation.Watch?

  /// Begins work that throws `cancelled` soon after it's canceled, even while waiting for a lock or between rows.
  func beginWork(_ cancellation: Cancellation?) throws(StoreError) {
    guard let cancellation else { return }
    self.cancellation = cancellation
    watch = Cancellation.Watch(database.connection, for: cancellation)
    do throws(StoreError) {
      try cancellation.check()
    } catch {
      endWork()
      throw error
    }
  }

  func endWork() {
    watch?.end()
    watch = nil
    cancellation = nil
  }

  // MARK: Verifying the state

  /// Verifies that the header and state belong to this session, or to a key change it can follow.
  ///
  /// - Parameter known: The session before the transaction began.
  /// - Throws: `keyChanged` if the root key changed, `pinMismatch` if a different root key has the same number,
  ///   `rolledBack`, or `damaged`.
  func verifyState(since known: Session.Known) throws(StoreError) -> StoreState {
    let statement = try database.statement(SQL.headerMark)
    defer { statement.reset() }
    let mark = try HeaderMark(statement)
    if statement.base.takeRecompilation() { isSchemaChecked = false }
    if !isSchemaChecked { try Schema.check(database) }
    isSchemaChecked = true
    let current = session.snapshot
    // Try all known keys, because another thread may have changed them or may be changing them.
    let candidates = [known.keys, current.keys, known.next, current.next].compactMap { $0 }
    guard let held = candidates.first else { throw .storeClosed }
    guard mark.isAtLeast(held.header) else {
      throw .putBack(to: "an older root key or to the middle of a rekey")
    }
    guard let root = candidates.first(where: { $0.header.rootGeneration == mark.rootGeneration })?.root else {
      throw StoreError(
        .keyChanged, "another process changed the store's root key",
        hint: "close the store and open it again")
    }
    var found = candidates.first { mark.names($0.header) }
    if found == nil { found = try reloadKeys(after: held, root, mark) }
    if let found, found !== keys.session || keys.proof !== known.proved?.rows { try use(found, known.proved?.rows) }
    let state = try open(mark.sealedState)
    guard mark.mac.elementsEqual(state.headerMAC) else {
      throw StoreError(
        .rolledBack, "header and state belong to different times: an older one was put back",
        hint: "restore the store from a backup, or bring what can be read into a new store with \(.salvage)")
    }
    guard state.generation >= known.generation else {
      throw .putBack(to: "an older state (generation \(state.generation) after \(known.generation))")
    }
    session.note(generation: state.generation)
    replicas.follow(state)
    return state
  }

  /// Rereads the header and slots, and verifies them with the root key in memory.
  private func reloadKeys(after known: SessionKeys, _ root: RootKey, _ mark: HeaderMark) throws(StoreError)
    -> SessionKeys
  {
    let pin = try StorePin(root, phase: mark.phase)
    guard mark.commitment.elementsEqual(pin.commitment) else {
      throw StoreError(
        .pinMismatch, "the store's root key is another one of the same number: the file is not this store's any more",
        hint: "another copy took its place: close the store, and compare it with its anchor")
    }
    let (header, slots) = try file.readHeader()
    let keys = try SessionKeys(root: root, header: header, slots: slots)
    session.replaceKeys(known, with: keys)
    return keys
  }

  /// Replaces the contexts with contexts for other keys.
  ///
  /// - Parameter proof: The only rows to open, or `nil` to open all rows.
  func use(_ session: SessionKeys, _ proof: RowProof? = nil) throws(StoreError) {
    keys = try RowKeys(session, proof: proof)
    idleReaders = []
    idleBatches = []
    companions.removeAll()
    cipher = try StateCipher(session)
    lastState = nil
    collections.use(keys)
    replicas.use(session.root)
  }

  // MARK: Reusing readers and batches

  /// Returns a reader for exclusive use, because callers read while they use rows that another reader opened.
  package func takeReader() -> RecordReader {
    idleReaders.popLast() ?? RecordReader(database, keys)
  }

  package func giveBack(_ reader: RecordReader) {
    reader.reset()
    if reader.keys === keys { idleReaders.append(reader) }
  }

  /// Returns a batch for opening rows on another thread. The caller must return it with `giveBack(_:)`.
  func takeBatch() throws(StoreError) -> RowBatch<OpenedRows> {
    if let batch = idleBatches.popLast() { return batch }
    return RowBatch(try OpenedRows(keys))
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

  /// Verifies the state with keys that aren't trusted yet.
  ///
  /// - Throws: `rolledBack`, `damaged`.
  func prove(_ new: SessionKeys, since known: Session.Known) throws(StoreError) {
    let statement = try database.statement(SQL.headerMark)
    defer { statement.reset() }
    let mark = try HeaderMark(statement)
    // Return if the keys have changed since then, because the next use of the keys detects the change.
    guard mark.names(new.header) else { return }
    let state = try StateCipher(new).open(Array(mark.sealedState))
    guard mark.mac.elementsEqual(state.headerMAC), state.generation >= known.generation else {
      throw .putBack(to: "an older state, under another root key")
    }
  }

  /// Seals and writes the state row.
  func write(_ state: StoreState) throws(StoreError) {
    let sealed = try cipher.seal(state)
    try database.execute(SQL.updateState, sealed)
    lastState = (sealed, state)
  }

  package func mark(of state: StoreState) throws(StoreError) -> [UInt8] { try cipher.mark(of: state) }

  /// A file version, which changes with every commit by any program.
  struct FileVersion: Equatable {
    let dataVersion: Int64?
    let sealedState: [UInt8]?
  }

  func fileVersion() throws(StoreError) -> FileVersion {
    FileVersion(dataVersion: try database.integer("PRAGMA data_version"), sealedState: lastState?.sealed)
  }

  /// The nonce source for the transaction that read the last state.
  package var nonceSource: NonceSource { NonceSource(state: lastState?.sealed ?? []) }
}

/// The header and state columns that every transaction checks first, in SQLite's memory.
private struct HeaderMark {
  let rootGeneration: UInt64
  let phase: UInt64
  let commitment: UnsafeRawBufferPointer
  let mac: UnsafeRawBufferPointer
  let sealedState: UnsafeRawBufferPointer

  /// Reads the columns, or throws `damaged`.
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
    // Anyone can read these bytes in the file, so the comparison's duration doesn't reveal secrets.
    withUnsafeBytes { $0.count == other.count && (isEmpty || memcmp($0.baseAddress!, other.baseAddress!, count) == 0) }
  }
}

extension StoreError {
  /// Returns the error for a file that's older than the session's last state.
  static func putBack(to state: String) -> StoreError {
    StoreError(
      .rolledBack, "the store was put back to \(state)",
      hint: "an older copy of the file was restored: close the store, and compare it with its anchor")
  }
}
