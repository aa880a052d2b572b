internal import CofferRecords
internal import CofferSQLite

/// One transaction on one connection. Apps don't use it: they read and write through ``StoreReader`` and
/// ``StoreWriter``.
public final class StoreTransaction {
  let connection: StoreConnection
  /// The state that the transaction began with.
  let start: StoreState
  private let startLimits: RowLimits
  /// The number of the root key that the transaction began with.
  private let startRoot: UInt64
  /// Writes the rows; nil in a transaction that only reads.
  private let rowWriter: RecordWriter?
  private(set) var isOpen = true
  /// Whether the commit writes header and slots too.
  var isChangingKeys = false
  /// Whether the store has indexes after this transaction; nil if it leaves that as it is.
  var hasIndexesAfter: Bool?
  /// Number of rows moved to another position to make room.
  var renumbered = 0
  /// Whether a source is being read, on any thread, whose documents this transaction inserts.
  var isInsertingFromSource = false
  /// The document that this transaction added last at the bottom of a collection.
  var bottom: Bottom?
  /// The highest id that any document named as its parent when this transaction first asked; nil before.
  var highestParent: Int64?
  /// The highest id that this transaction itself wrote as a parent, or was about to.
  var highestOwnParent: Int64 = 0
  let logger: StoreLog
  /// The cache of texts; nil in a write transaction, which reads from the file.
  private let texts: TextCache?
  /// The transaction's pass to the cache, set by its first lookup of a text.
  private var pass: TextCache.Pass?

  /// Begins, and verifies the state (FORMAT, "Each transaction").
  init(_ connection: StoreConnection, _ kind: Database.TransactionKind, logger: StoreLog) throws(StoreError) {
    self.connection = connection
    self.logger = logger
    start = try Self.begin(connection, kind)
    startLimits = start.limits
    startRoot = connection.keys.session.root.generation
    guard kind != .deferred else {
      rowWriter = nil
      texts = connection.session.texts
      return
    }
    texts = nil
    rowWriter = RecordWriter(
      connection.database, connection.keys, connection.collections, state: start,
      nonceSource: connection.nonceSource,
      hasListeners: connection.session.feed.hasSubscribers || logger.tellsCommits,
      checkCancellation: { [unowned connection] () throws(StoreError) in try connection.cancellation?.check() })
    do throws(StoreError) {
      try checkHighestID()
    } catch {
      rollback()
      throw error
    }
  }

  private static func begin(_ connection: StoreConnection, _ kind: Database.TransactionKind) throws(StoreError)
    -> StoreState
  {
    var known = connection.session.snapshot
    while true {
      try connection.database.begin(kind)
      do throws(StoreError) {
        return try connection.proveState(since: known)
      } catch {
        connection.database.rollback()
        // Other threads of this process may have changed the keys more than once since: look again from there.
        let now = connection.session.snapshot
        guard error.code == .keyChanged, now.keys !== known.keys else { throw error }
        known = now
      }
    }
  }

  var keys: RowKeys { connection.keys }
  var database: StoreDatabase { connection.database }
  var values: CodableValues { connection.session.values }
  var isWriter: Bool { rowWriter != nil }
  var hasWritten: Bool { rowWriter?.hasWritten ?? false }
  /// The state, including all changes of this transaction.
  var state: StoreState { rowWriter?.state ?? start }
  /// The bounds that ``state`` sets for rows.
  var limits: RowLimits { rowWriter?.limits ?? startLimits }

  /// The writer of rows; the transaction must be open and may write.
  var writer: RecordWriter {
    get throws(StoreError) {
      try requireOpen()
      guard let rowWriter else { preconditionFailure("internal error: a reading transaction was asked to write") }
      return rowWriter
    }
  }

  /// Call before anything of the store is given out.
  ///
  /// - Throws: `misuse` after the end; `closed` in a reading transaction whose store is being closed, which waits for a
  ///   writing one; `cancelled`.
  func requireOpen() throws(StoreError) {
    guard isOpen else { throw StoreError(.misuse, "this transaction has ended: use the scope's own argument only") }
    guard rowWriter != nil || !connection.session.isClosing else { throw .storeClosed }
    try connection.cancellation?.check()
  }

  /// Runs `body`. If it throws, all its changes are undone and the rest of the transaction continues.
  func savepoint<T>(_ body: () throws -> T) throws -> T {
    let writer = try writer
    let mark = writer.mark
    do {
      return try database.connection.savepoint(body)
    } catch {
      writer.restore(mark)
      throw error
    }
  }

  /// Notes the store that this one is made from.
  func setOrigin(_ origin: StoreOrigin) throws(StoreError) {
    let writer = try writer
    try writer.willWrite()
    writer.state.origin = origin
  }

  /// The store as the origin of another one that is made from it.
  func origin(as kind: StoreOrigin.Kind) throws(StoreError) -> StoreOrigin {
    let keys = keys.session
    return try StoreOrigin(state, keys, mark: connection.mark(of: state), as: kind)
  }

  // MARK: The end

  /// Seals the state once and commits; a transaction that wrote nothing leaves the file unchanged.
  func commit() throws(StoreError) {
    var announced: Announcement?
    do throws(StoreError) {
      if let failure = rowWriter?.failure { throw failure }
      try connection.cancellation?.check()
      if !isChangingKeys, try changesFeatures() { return try commitChangingFeatures() }
      rowWriter?.end()
      if let rowWriter, rowWriter.hasWritten {
        rowWriter.state.generation = rowWriter.revision
        try checkHighestID()
        try note(rowWriter.changes, in: &rowWriter.state.ring)
        try connection.write(rowWriter.state)
        announced = try announce(rowWriter)
      }
      do throws(StoreError) {
        try database.commit()
      } catch {
        if announced != nil { connection.session.commitFailed() }
        throw error
      }
    } catch {
      rollback()
      throw error
    }
    isOpen = false
    connection.session.note(generation: state.generation)
    if let announced {
      connection.session.didCommit(announced)
      if let rowWriter { logger.committed(state.generation, rowWriter.changes.changes) }
    }
  }

  /// Adds this transaction to the ring. A new root key empties it: the marks before it are of another key.
  private func note(_ changes: ChangeLog, in ring: inout ChangeRing) throws(StoreError) {
    guard keys.session.root.generation == startRoot else { return ring.empty(after: start.generation + 1) }
    let mark = try connection.mark(of: start)
    mark.withUnsafeBytes { ring.append(start.generation + 1, markBefore: $0, changes.ringChanges) }
  }

  /// A commit, as announced to the rest of the process.
  struct Announcement {
    let before: TextCache.Version
    let after: TextCache.Version
    /// nil if there are too many.
    let staleTexts: [DocumentID]?
    /// For subscribers, if there are any.
    let report: ChangeFeed.LocalCommit?
  }

  private func announce(_ writer: RecordWriter) throws(StoreError) -> Announcement {
    let report = try report(writer)
    connection.session.willCommit(writer.revision)
    return Announcement(
      before: TextCache.Version(start), after: TextCache.Version(writer.state),
      staleTexts: writer.changes.staleTexts, report: report)
  }

  private func report(_ writer: RecordWriter) throws(StoreError) -> ChangeFeed.LocalCommit? {
    guard let reported = connection.session.feed.reported else { return nil }
    var others: (since: UInt64, changes: ChangesSince)?
    if reported.generation != start.generation, let changes = try changesInRing(since: reported) {
      others = (reported.generation, changes)
    }
    let changes = writer.changes
    let namesStay = changes.collections.isEmpty && others?.changes.collections?.isEmpty ?? true
    return ChangeFeed.LocalCommit(
      start: start.generation, state: writer.state, changes: changes.changes, others: others,
      collections: changes.collections, names: namesStay ? nil : try followedCollections())
  }

  func rollback() {
    guard isOpen else { return }
    isOpen = false
    rowWriter?.end()
    if hasWritten { connection.collections.forget() }
    database.rollback()
  }

  /// A replayed state would give out ids a second time: no row may have an id at or above the next one.
  private func checkHighestID() throws(StoreError) {
    if let id = try database.integer(SQL.highestID), id < 1 || UInt64(id) >= state.nextID {
      throw .damagedStore("its state is older than its rows")
    }
  }

  // MARK: Rows

  /// Runs `work` with a reader for its exclusive use, and gives the reader back.
  func reading<R>(_ work: (RecordReader) throws(StoreError) -> R) throws(StoreError) -> R {
    try requireOpen()
    let reader = connection.takeReader()
    defer { connection.giveBack(reader) }
    return try work(reader)
  }

  /// The row of a list that began within the limits `start`.
  ///
  /// - Throws: `misuse` for a row that this transaction wrote beyond the place that its own list had reached.
  func row(_ statement: StoreStatement, within start: RowLimits) throws(StoreError) -> RecordRow {
    do throws(StoreError) {
      return try RecordRow(statement.columns(), within: start)
    } catch {
      guard hasWritten, (try? RecordRow(statement.columns(), within: limits)) != nil else { throw error }
      throw .writtenWhileListed(statement.int64(at: 0))
    }
  }

  // MARK: Texts in memory

  /// The cached document if it is current in this transaction; else the size of the largest text worth keeping.
  @inline(__always)
  func cached(_ id: DocumentID) throws(StoreError) -> TextCache.Answer {
    guard let texts else { return .missing(room: 0) }
    try requireOpen()
    if let pass { return texts.document(id, pass) }
    let (answer, pass) = texts.firstDocument(id, of: start)
    self.pass = pass
    return answer
  }

  func keep(_ opened: OpenedDocument) {
    guard let pass, let texts else { return }
    texts.keep(CachedDocument(header: opened.header, text: opened.utf8), pass)
  }
}
