internal import CofferRecords
internal import CofferSQLite

package typealias StoreTransaction = _StoreTransaction

/// A transaction on a connection. Apps use ``ReadTransaction`` and ``WriteTransaction`` instead.
///
/// Public only because ``StoreReading`` requires it.
public final class _StoreTransaction {
  package let connection: StoreConnection
  /// The state at the beginning of the transaction.
  package let start: StoreState
  private let startLimits: RowLimits
  /// The root key's number at the beginning of the transaction.
  private let startRoot: UInt64
  /// The row writer, or `nil` in a read transaction.
  private let rowWriter: RecordWriter?
  private(set) var isOpen = true
  /// Whether the commit also writes the header and slots.
  var isChangingKeys = false
  /// Whether the store has indexes after this transaction, or `nil` if that doesn't change.
  package var hasIndexesAfter: Bool?
  /// Whether the store has releases after this transaction, or `nil` if that doesn't change.
  var hasReleasesAfter: Bool?
  /// Whether this transaction has compared the number of rows with the state's count.
  var isCounted = false
  /// Whether this transaction is inserting documents from a source, which any thread may be reading.
  package var isInsertingFromSource = false
  /// Whether another thread seals rows with the next IDs and collection numbers (``RowInsertion``).
  var isInsertingRows = false
  /// The documents without attachments that this transaction has seen.
  var unattached = IDRanges()
  /// The attachments of the document whose attachments were last counted, if all of them could be opened.
  var lastCounted: (document: DocumentID, attachments: [Attachment])?
  /// What the last read of a part of an attachment has proved, in a release.
  package var lastProof: AttachmentChunks.Proof?
  /// The notes of this transaction's reads for an observation, if it reads for one.
  package var notes: ReadNotes?
  /// The last document that this transaction added at the bottom of a collection.
  var bottom: CollectionOrder.Bottom?
  /// The highest parent ID in the store at this transaction's first query, or `nil` before the query.
  var highestParent: Int64?
  /// The highest parent ID that this transaction wrote or was about to write.
  var highestWrittenParent: Int64 = 0
  package let logger: StoreLog
  /// Whether this transaction must end before its work is done.
  package let stop: TransactionStop
  /// The text cache, or `nil` in a write transaction, which reads from the file.
  private let texts: TextCache?
  /// The transaction's cache pass, set by its first text lookup.
  private var pass: TextCache.Pass?

  /// Begins a transaction and verifies the state (FORMAT, "Each transaction").
  init(_ connection: StoreConnection, _ kind: Database.TransactionKind, logger: StoreLog) throws(StoreError) {
    self.connection = connection
    self.logger = logger
    let stop = TransactionStop(of: connection.session, isWriter: kind != .deferred)
    self.stop = stop
    start = try Self.begin(connection, kind)
    startLimits = start.limits
    startRoot = connection.keys.session.root.generation
    guard kind != .deferred else {
      rowWriter = nil
      texts = connection.session.texts
      return
    }
    texts = nil
    do throws(StoreError) {
      let start = start
      rowWriter = try RecordWriter(
        connection.database, connection.keys, connection.collections, connection.replicas, state: start,
        nonceSource: connection.nonceSource,
        hasListeners: connection.session.feed.hasSubscribers || logger.logsCommits,
        checkCancellation: { [unowned connection] () throws(StoreError) in
          try stop.check()
          try connection.cancellation?.check()
        },
        marks: { [unowned connection] replicas throws(StoreError) in
          replicas.ownMarks(of: start, mark: try connection.mark(of: start))
        })
      try checkHighestID()
    } catch {
      connection.database.rollback()
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
        return try connection.verifyState(since: known)
      } catch {
        connection.database.rollback()
        // Other threads may have changed the keys more than once, so retry from their latest keys.
        let now = connection.session.snapshot
        guard error.code == .keyChanged, now.keys !== known.keys else { throw error }
        known = now
      }
    }
  }

  package var keys: RowKeys { connection.keys }
  package var database: StoreDatabase { connection.database }
  /// The store's replicas, including this transaction's changes.
  package var replicas: Replicas {
    get throws(StoreError) {
      if let rowWriter { return rowWriter.replicas }
      return try connection.replicas.current()
    }
  }
  /// Whether a program without a key has copied the file over another since the last write with keys.
  package var isRestored: Bool {
    get throws(StoreError) { try connection.replicas.isRestored() }
  }
  package var values: CodableValues { connection.session.values }
  package var isWriter: Bool { rowWriter != nil }
  package var hasWritten: Bool { rowWriter?.hasWritten ?? false }
  /// The state, including this transaction's changes.
  package var state: StoreState { rowWriter?.state ?? start }
  /// The ID of the next new document, without copying the state.
  package var nextID: UInt64 { rowWriter?.nextID ?? start.nextID }
  /// Whether the store has attachments, without copying the state.
  var hasAttachments: Bool { (rowWriter?.state.attachmentCount ?? start.attachmentCount) > 0 }
  /// The limits that ``state`` sets for rows.
  package var limits: RowLimits { rowWriter?.limits ?? startLimits }

  /// The row writer. The transaction must be an open write transaction.
  package var writer: RecordWriter {
    get throws(StoreError) {
      try requireOpen()
      guard let rowWriter else { preconditionFailure("internal error: a reading transaction was asked to write") }
      return rowWriter
    }
  }

  /// Requires an open transaction. Call this before returning data from the store.
  ///
  /// - Throws: `misuse` after the end, `cancelled`, `suspended` if the store was suspended since the beginning, or
  ///   `closed` in a read transaction if the store is closing. Closing waits for write transactions instead.
  package func requireOpen() throws(StoreError) {
    guard isOpen else { throw StoreError(.misuse, "this transaction has ended: use the scope's own argument only") }
    try stop.check()
    try connection.cancellation?.check()
  }

  /// Requires that the next IDs and collection numbers aren't given to documents of a running insertion.
  func requireNoRowInsertion() throws(StoreError) {
    guard !isInsertingRows else {
      throw StoreError(
        .misuse, "documents and collections can't be added while a source's documents are inserted",
        hint: "add them before or after these documents")
    }
  }

  /// Runs `body`. If it throws, its changes are undone and the transaction continues.
  ///
  /// - Throws: Errors of `body`, or a `StoreError` if the transaction was canceled or rolled back.
  package func savepoint<T>(_ body: () throws -> T) throws -> T {
    let writer = try writer
    let (mark, hadIndexesAfter, hadReleasesAfter) = (writer.mark, hasIndexesAfter, hasReleasesAfter)
    do {
      return try database.connection.savepoint(body)
    } catch {
      writer.restore(mark)
      // The query may have seen the undone changes.
      highestParent = nil
      (hasIndexesAfter, hasReleasesAfter) = (hadIndexesAfter, hadReleasesAfter)
      if let error = error as? SQLiteError { throw StoreError(error) }
      throw error
    }
  }

  package func anchor() throws(StoreError) -> StoreAnchor {
    StoreAnchor(state, keys.session, mark: try connection.mark(of: state))
  }

  // MARK: Ending

  /// Seals the state and commits. A transaction without writes leaves the file unchanged.
  package func commit() throws(StoreError) {
    var announced: Announcement?
    var indexDebt = 0
    do throws(StoreError) {
      if let failure = rowWriter?.failure { throw failure }
      try stop.check()
      try connection.cancellation?.check()
      if !isChangingKeys, try changesFeatures() { return try commitChangingFeatures() }
      rowWriter?.end()
      if let rowWriter, rowWriter.hasWritten {
        rowWriter.state.generation = rowWriter.revision
        try checkHighestID()
        indexDebt = try note(rowWriter.changes, in: &rowWriter.state.ring)
        try connection.write(rowWriter.state)
        announced = try announce(rowWriter)
      }
      do throws(StoreError) {
        try Cancellation.storing(hasWritten ? connection.cancellation : nil) { () throws(StoreError) in
          try database.commit()
        }
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
    // This process only applies known migrations.
    if connection.session.checkedMigrations == start.generation {
      connection.session.checkedMigrations = state.generation
    }
    if let rowWriter, state.nextAttachment != start.nextAttachment || state.attachmentCount != start.attachmentCount {
      connection.session.noteAttachmentChange(leavingChunks: rowWriter.leavesChunks)
    }
    if let announced {
      connection.session.didCommit(announced)
      if let rowWriter { logger.committed(state.generation, rowWriter.changes.changes) }
      if hasIndexes { connection.session.indexDebt.add(indexDebt) }
    }
  }

  /// Adds this transaction to the ring. A new root key empties the ring, because its earlier marks use another key.
  ///
  /// - Returns: What the transaction adds to the store's ``IndexDebt``.
  private func note(_ changes: ChangeLog, in ring: inout ChangeRing) throws(StoreError) -> Int {
    guard keys.session.root.generation == startRoot else {
      ring.empty(after: start.generation + 1)
      return 0
    }
    let (mark, listed) = (try connection.mark(of: start), changes.ringChanges)
    let count = mark.withUnsafeBytes { ring.append(start.generation + 1, markBefore: $0, listed) }
    return IndexDebt.documents(of: listed, ringBytes: count)
  }

  /// A commit's announcement to the rest of the process.
  struct Announcement {
    let before: TextCache.Version
    let after: TextCache.Version
    /// The documents with changed texts, or `nil` if there are too many.
    let staleTexts: [DocumentID]?
    /// The report for subscribers, if there are any.
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
    guard !stop.isOfParent else { return }
    rowWriter?.end()
    if hasWritten { connection.collections.forget() }
    database.rollback()
  }

  /// Requires all row IDs to be below the state's bound, because a replayed state would reuse IDs.
  private func checkHighestID() throws(StoreError) {
    if let id = try database.integer(SQL.highestID), id < 1 || UInt64(id) >= state.bound {
      throw .damagedStore("its state is older than its rows")
    }
  }

  // MARK: Writing

  package var editor: DocumentEditor { DocumentEditor(self) }
  package var collectionEditor: CollectionEditor { CollectionEditor(self) }
  package var order: CollectionOrder { CollectionOrder(self) }

  // MARK: Rows

  /// Runs `work` with exclusive use of a reader.
  package func reading<R>(_ work: (RecordReader) throws(StoreError) -> R) throws(StoreError) -> R {
    try requireOpen()
    let reader = connection.takeReader()
    defer { connection.giveBack(reader) }
    return try work(reader)
  }

  /// Returns a row from a list that began with the limits `start`.
  ///
  /// The list may have changed the row.
  ///
  /// - Throws: `misuse` if this transaction added the row, or moved it ahead, since the list began.
  package func row(_ statement: StoreStatement, within start: RowLimits) throws(StoreError) -> RecordRow {
    do throws(StoreError) {
      return try RecordRow(statement.columns(), within: start)
    } catch {
      guard let rowWriter, hasWritten, let row = try? RecordRow(statement.columns(), within: limits) else {
        throw error
      }
      // This transaction wrote the row since the list began, so its log can't have a former place.
      guard UInt64(row.fields.id) < start.bound, !rowWriter.changes.isPlaced(row.fields.id) else {
        throw .writtenWhileListed(row.fields.id)
      }
      return row
    }
  }

  // MARK: Cached texts

  /// Returns the cached document if it's current in this transaction, or the size of the largest text worth caching.
  @inline(__always)
  func cached(_ id: DocumentID) throws(StoreError) -> TextCache.Answer {
    notes?.note(id)
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
