internal import CofferSQLite
internal import CofferSealing

/// One transaction on one connection; what scopes work on. Apps see it only through ``Reader`` and ``Writer``.
public final class StoreTransaction {
  let connection: StoreConnection
  /// The state at the beginning, then with what this transaction did.
  var state: StoreState
  /// The generation this transaction writes, if it writes.
  let revision: UInt64
  let isWriter: Bool
  private(set) var hasWritten = false
  private(set) var isOpen = true
  /// Rows put in, changed and taken out one by one, so that a caller's closure in between is noticed.
  var rowsWritten = 0
  /// Rows that were given another position to make room.
  var renumbered = 0
  /// Why this transaction can only be rolled back: a change that was left half made.
  private var failure: StoreError?
  let logger: StoreLog
  /// What this transaction did, if it writes.
  var changes: ChangeLog
  /// The rows that this transaction began with.
  private let start: TextCache.Version
  /// What lets a reading transaction use the cache of texts.
  private let pass: TextCache.Pass

  /// Begins and proves the state (FORMAT, "Each transaction").
  init(_ connection: StoreConnection, _ kind: Database.TransactionKind, logger: StoreLog) throws(StoreError) {
    self.connection = connection
    self.logger = logger
    isWriter = kind != .deferred
    state = try Self.begin(connection, kind)
    revision = state.generation + 1
    changes = ChangeLog(state, isHeard: isWriter && (connection.session.feed.isHeard || logger.tellsCommits))
    start = TextCache.Version(state)
    pass = isWriter ? .none : connection.session.texts?.pass(for: state) ?? .none
    if isWriter {
      do throws(StoreError) {
        try checkHighestID()
      } catch {
        rollback()
        throw error
      }
    }
  }

  private static func begin(_ connection: StoreConnection, _ kind: Database.TransactionKind) throws(StoreError)
    -> StoreState
  {
    var known = connection.session.snapshot
    while true {
      try storing { () throws(SQLiteError) in try connection.database.begin(kind) }
      do throws(StoreError) {
        return try connection.proveState(since: known)
      } catch {
        try? connection.database.rollback()
        // Threads of ours may have changed the keys more than once since: look again from there.
        let now = connection.session.snapshot
        guard error.code == .keyChanged, now.keys !== known.keys else { throw error }
        known = now
      }
    }
  }

  var keys: RowKeys { connection.keys }
  var database: Database { connection.database }

  /// Must be called before the first change of every write.
  func willWrite() throws(StoreError) {
    try requireOpen()
    if !hasWritten { keys.beginRun() }
    hasWritten = true
    // Rows written from here on are of this generation, and are read again as such.
    state.generation = revision
  }

  func requireOpen() throws(StoreError) {
    guard isOpen else { throw StoreError(.misuse, "this transaction has ended: use the scope's own argument only") }
    try connection.cancellation?.check()
  }

  /// A change of several statements: when it fails, a caller may catch the error, but the rest can't be committed.
  func changing(_ change: () throws(StoreError) -> Void) throws(StoreError) {
    do throws(StoreError) {
      try change()
    } catch {
      failure = failure ?? error
      throw error
    }
  }

  /// After a work of many rows that broke off: only a rollback is left.
  func fail(_ error: any Error) {
    failure = failure ?? error as? StoreError ?? StoreError(.cancelled, "the work broke off (\(type(of: error)))")
  }

  /// What a savepoint goes back to.
  struct Mark {
    let state: StoreState
    fileprivate let changes: ChangeLog
    fileprivate let failure: StoreError?
    fileprivate let hasWritten: Bool
  }

  var mark: Mark { Mark(state: state, changes: changes, failure: failure, hasWritten: hasWritten) }

  /// What was left half made within a savepoint is undone with it; what was before it is not.
  func restore(_ mark: Mark) {
    state = mark.state
    changes = mark.changes
    failure = mark.failure
    hasWritten = mark.hasWritten
    connection.forgetCollections()
  }

  /// Seals the state once and commits; a transaction that wrote nothing leaves the file as it was.
  func commit() throws(StoreError) {
    let announced: Announcement?
    do throws(StoreError) {
      if let failure { throw failure }
      try connection.cancellation?.check()
      if hasWritten {
        state.generation = revision
        try checkHighestID()
        try connection.write(state)
      }
      announced = hasWritten ? try announce() : nil
      do throws(SQLiteError) {
        try database.commit()
      } catch {
        if hasWritten { connection.session.commitFailed() }
        throw StoreError(error)
      }
    } catch {
      rollback()
      throw error
    }
    isOpen = false
    connection.session.note(generation: state.generation)
    if let announced {
      connection.session.didCommit(announced)
      logger.committed(revision, announced.changes?.touched)
    }
  }

  /// What the rest of the process is told of a commit.
  struct Announcement {
    let before: TextCache.Version
    let after: TextCache.Version
    /// nil where something was written that was not noted.
    let changes: ChangeLog?
    /// The collections, where they changed and somebody listens.
    let names: [CollectionID: String]?
  }

  private func announce() throws(StoreError) -> Announcement {
    let isNoted = changes.set == state.set
    let names = changes.changesCollections && connection.session.feed.isHeard ? try collectionNames() : nil
    connection.session.willCommit(revision)
    return Announcement(
      before: start, after: TextCache.Version(state), changes: isNoted ? changes : nil, names: names)
  }

  func rollback() {
    guard isOpen else { return }
    isOpen = false
    if hasWritten { connection.forgetCollections() }
    try? database.rollback()
  }

  /// A replayed state would give ids a second time: no row may stand at or above the next id.
  private func checkHighestID() throws(StoreError) {
    let highest = try database.stored { database throws(SQLiteError) in try database.firstValue(SQL.highestID) }
    if case .integer(let id)? = highest, id < 1 || UInt64(id) >= state.nextID {
      throw .damagedStore("its state is older than its rows")
    }
  }

  // MARK: Texts at hand

  /// A document that was opened before, still as it is in this transaction.
  func cached(_ id: DocumentID) throws(StoreError) -> CachedDocument? {
    guard pass != .none else { return nil }
    try requireOpen()
    return connection.session.texts?.document(id, pass)
  }

  func keep(_ header: DocumentHeader, _ text: UnsafeRawBufferPointer) {
    connection.session.texts?.keep(CachedDocument(header: header, text: text), byteCount: text.count, pass)
  }

  // MARK: Rows

  /// Reads one row; the statement keeps its bytes until it is reset.
  func withRow<R>(_ id: DocumentID, body: Bool, _ use: (RecordRow, Statement) throws(StoreError) -> R)
    throws(StoreError) -> R
  {
    try requireOpen()
    let which = body ? StoreConnection.RowStatement.recordWithBody : .record
    let statement = try connection.take(which)
    defer { connection.giveBack(statement, as: which) }
    let isThere = try storing { () throws(SQLiteError) in
      try statement.bind(id.rawValue, at: 1)
      return try statement.step()
    }
    guard isThere else { throw .noSuchDocument(id) }
    return try use(try RecordRow(statement, within: state.limits), statement)
  }

  /// A row of a list that began within `start`.
  ///
  /// - Throws: `misuse` for a row that this transaction wrote behind the place where its own list stood.
  func row(_ statement: Statement, within start: RowLimits) throws(StoreError) -> RecordRow {
    do throws(StoreError) {
      return try RecordRow(statement, within: start)
    } catch {
      guard hasWritten, (try? RecordRow(statement, within: state.limits)) != nil else { throw error }
      throw .writtenWhileListed(statement.int64(at: 0))
    }
  }

  // MARK: Collections

  func collections() throws(StoreError) -> [CollectionRecord] {
    try requireOpen()
    return try connection.collections(state)
  }

  func collection(named name: String) throws(StoreError) -> CollectionRecord? {
    // Names are bytes: composed and decomposed forms are two names.
    try collections().first { $0.name.utf8.elementsEqual(name.utf8) }
  }

  func requireCollection(_ handle: DocumentCollection) throws(StoreError) -> CollectionRecord {
    guard let record = try collection(named: handle.name) else {
      throw StoreError(
        .noSuchCollection, "there is no collection of that name", hint: "collections lists those there are")
    }
    return record
  }
}
