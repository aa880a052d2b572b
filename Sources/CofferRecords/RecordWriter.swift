package import CofferDocuments
internal import CofferSQLite
package import CofferSealing

/// Writes one transaction's records, bodies and collections. Only this class inserts, changes or deletes their rows.
///
/// Every written or deleted row also updates the state (set hash, count and next ID) and the change log. A new document
/// is an INSERT and a change is an UPDATE of one row. An UPSERT could overwrite a live document after a replayed state.
package final class RecordWriter {
  package let database: StoreDatabase
  package private(set) var keys: RowKeys
  /// The state that the commit seals.
  package var state: StoreState
  /// The generation that this transaction writes.
  package let revision: UInt64
  package private(set) var changes: ChangeLog
  package private(set) var hasWritten = false
  /// A number that increases with every row change and every undo, so callers can detect writes.
  package private(set) var rowsWritten = 0
  /// The error of an incomplete change, after which the transaction can only be rolled back.
  package private(set) var failure: StoreError?

  let collections: CollectionTable
  /// The reader for rows that this writer changes. Callers use other readers.
  private(set) var reader: RecordReader
  /// The reader for rows to delete during an unfinished rekey.
  private var deletions: RecordReader?
  private(set) var sealer: RecordSealer
  /// The row of a single change. Bulk operations use other batches.
  let batch = SealedBatch()
  private var insertion: RecordStatement?
  private var updates: [Int: RecordStatement] = [:]
  private var bodies: BodyStatements?
  private let nonceSource: NonceSource
  private let checkCancellation: () throws(StoreError) -> Void

  /// Creates a writer for one transaction.
  ///
  /// - Parameters:
  ///   - nonceSource: The source from the transaction's initial state.
  ///   - hasListeners: Whether the change log lists many documents, for this process's subscribers.
  ///   - checkCancellation: Called before every change. Throwing from it ends the change.
  package init(
    _ database: StoreDatabase, _ keys: RowKeys, _ collections: CollectionTable, state: StoreState,
    nonceSource: NonceSource, hasListeners: Bool, checkCancellation: @escaping () throws(StoreError) -> Void
  ) {
    self.checkCancellation = checkCancellation
    self.database = database
    self.keys = keys
    self.collections = collections
    self.state = state
    self.nonceSource = nonceSource
    revision = state.generation + 1
    changes = ChangeLog(hasListeners: hasListeners)
    reader = RecordReader(database, keys)
    sealer = RecordSealer(keys)
  }

  /// Releases all statements at the end of the transaction.
  package func end() {
    reader.end()
    deletions = nil
    insertion = nil
    updates = [:]
    bodies = nil
  }

  /// The bounds that the state sets for rows, without copying the state.
  package var limits: RowLimits {
    RowLimits(nextID: state.nextID, generation: state.generation, target: state.target, cursor: state.cursor)
  }

  // MARK: The transaction

  /// Prepares for a change. Call this method before the first change.
  ///
  /// - Throws: `cancelled`, or `noNumberLeft` for a store at its last generation.
  package func willWrite() throws(StoreError) {
    try checkCancellation()
    if !hasWritten {
      guard revision <= UInt64(StoreFormat.maximumCounter) else {
        throw StoreError(
          .noNumberLeft, "the store has reached its last generation, so it can't be written to any more",
          hint: "export it into a new store")
      }
      keys.beginRun(nonceSource)
    }
    hasWritten = true
    // Rows written after this call have this generation, and rereading them must accept it.
    state.generation = revision
  }

  /// Uses other keys for the following changes.
  package func use(_ keys: RowKeys) {
    reader.reset()
    self.keys = keys
    reader = RecordReader(database, keys)
    deletions = nil
    sealer = RecordSealer(keys)
    if hasWritten { keys.beginRun(nonceSource) }
  }

  /// Runs a change with several statements. If it fails, the caller may catch the error, but the transaction can't be
  /// committed anymore.
  package func changing(_ change: () throws(StoreError) -> Void) throws(StoreError) {
    do throws(StoreError) {
      try change()
    } catch {
      failure = failure ?? error
      throw error
    }
  }

  /// Prevents a commit after work on many rows ended early.
  package func fail(_ error: any Error) {
    failure = failure ?? error as? StoreError ?? StoreError(.cancelled, "the work broke off (\(type(of: error)))")
  }

  /// A point that a savepoint can return to.
  package struct Mark {
    fileprivate let state: StoreState
    fileprivate let changes: ChangeLog
    fileprivate let failure: StoreError?
    fileprivate let hasWritten: Bool
  }

  package var mark: Mark { Mark(state: state, changes: changes, failure: failure, hasWritten: hasWritten) }

  /// Restores the writer after SQLite has undone all changes since `mark`.
  package func restore(_ mark: Mark) {
    state = mark.state
    changes = mark.changes
    failure = mark.failure
    hasWritten = mark.hasWritten
    rowsWritten += 1
    collections.forget()
  }

  // MARK: Rows

  /// Inserts a batch's rows, which another thread sealed and summed.
  ///
  /// - Parameter refused: Called for a rejected row (``insert(_:of:)``). If it throws, the work ends, and the
  ///   transaction can only be rolled back.
  package func insert(_ batch: SealedBatch, refused: (SealedBatch.Row, StoreError) throws -> Void) throws {
    guard let change = batch.setChange else { preconditionFailure("internal error: a batch was not summed") }
    for record in batch.newCollections { try insertCollection(record) }
    state.set.add(change)
    for row in batch.rows {
      do throws(StoreError) {
        try insertRow(row, of: batch)
      } catch {
        try sum { summer, set throws(SealingError) in try summer.subtract(row.element, from: &set) }
        try refused(row, error)
      }
    }
  }

  /// Inserts a sealed row. A rejected row leaves the transaction unchanged.
  ///
  /// - Throws: `alreadyExists` for an ID that's taken, or `duplicateKey`.
  func insert(_ row: SealedBatch.Row, of batch: SealedBatch) throws(StoreError) {
    try insertRow(row, of: batch)
    try sum { summer, set throws(SealingError) in try summer.add(row.element, to: &set) }
  }

  /// Inserts a row without updating the set hash.
  private func insertRow(_ row: SealedBatch.Row, of batch: SealedBatch) throws(StoreError) {
    try requireRoom(for: row.fields)
    // The table's index prevents duplicate keys under the active epoch, but older epochs have different blind indexes.
    for index in row.olderBlindIndexes {
      guard let other = try reader.holder(ofBlindIndex: index, in: row.fields.collection, within: limits) else {
        continue
      }
      throw row.duplicateKey(other)
    }
    do throws(StoreError) {
      if insertion == nil { insertion = try RecordStatement(database, setting: nil) }
      do throws(SQLiteError) {
        try insertion!.run(row, of: batch)
      } catch {
        throw try conflict(error, row, batch)
      }
    } catch {
      if error.code != .alreadyExists, error.code != .duplicateKey { failure = failure ?? error }
      throw error
    }
    if !row.isBodyInRecord {
      try changing { () throws(StoreError) in try bodyStatements().insert(row, of: batch) }
    }
    state.count += 1
    state.nextID = max(state.nextID, UInt64(row.fields.id) + 1)
    changes.insert(row.fields)
    rowsWritten += 1
  }

  /// Rejects IDs below old epochs' ceilings, where an owner of old keys could replace the row with an older row.
  private func requireRoom(for fields: RowFields) throws(StoreError) {
    guard UInt64(fields.id) >= keys.session.keyring.highestCeiling else {
      throw StoreError(
        .rekeyUnfinished, "document \(fields.id) can't be inserted below the ids of a rekey that is unfinished",
        hint: "finish it with \(.resumeRekey)", documentID: DocumentID(fields.id))
    }
    guard state.count < StoreFormat.maximumCount else {
      throw StoreError(.noNumberLeft, "a store has at most 2^40 documents")
    }
  }

  private func sum(_ change: (SetSummer, inout SetHash) throws(SealingError) -> Void) throws(StoreError) {
    do throws(SealingError) {
      try change(keys.summer, &state.set)
    } catch {
      let error = StoreError(error)
      failure = failure ?? error
      throw error
    }
  }

  /// Returns the reason for a rejected row, which is a taken ID or key, or a state that's older than the rows.
  private func conflict(_ error: SQLiteError, _ row: SealedBatch.Row, _ batch: SealedBatch) throws(StoreError)
    -> StoreError
  {
    guard case .constraint(let constraint) = error.code else { return StoreError(error) }
    switch constraint {
    case .rowID, .primaryKey:
      guard row.fields.id < state.nextID else { return StoreError(error) }
      let id = DocumentID(row.fields.id)
      return StoreError(.alreadyExists, "\(row.place)there is a document \(id) already", documentID: id)
    case .unique:
      guard let index = row.blindIndex.map({ Array(batch.bytes($0)) }),
        let other = try reader.holder(ofBlindIndex: index, in: row.fields.collection, within: limits)
      else { return StoreError(error) }
      return row.duplicateKey(other)
    default:
      return StoreError(error)
    }
  }

  /// A row before a change.
  package struct Former {
    /// The plaintext columns.
    package let fields: RowFields
    package let element: SetElement
    package let isBodyInRecord: Bool

    package init(_ fields: RowFields, _ element: SetElement, isBodyInRecord: Bool) {
      self.fields = fields
      self.element = element
      self.isBodyInRecord = isBodyInRecord
    }
  }

  /// Replaces rows with rows that another thread sealed and summed.
  ///
  /// - Parameter columns: Returns the columns that differ.
  package func replace(
    _ former: [Former], with batch: SealedBatch, changing columns: (SealedBatch.Row) -> RecordColumns,
    as kind: ChangeLog.Kind
  ) throws(StoreError) {
    guard let change = batch.setChange else { preconditionFailure("internal error: a batch was not summed") }
    state.set.add(change)
    for (former, row) in zip(former, batch.rows) {
      try replaceRow(former, with: row, of: batch, changing: columns(row), as: kind)
    }
  }

  /// Replaces the row with the same ID with a sealed row.
  func replace(
    _ former: Former, with row: SealedBatch.Row, of batch: SealedBatch, changing columns: RecordColumns,
    as kind: ChangeLog.Kind
  ) throws(StoreError) {
    try replaceRow(former, with: row, of: batch, changing: columns, as: kind)
    try sum { summer, set throws(SealingError) in
      try summer.subtract(former.element, from: &set)
      try summer.add(row.element, to: &set)
    }
  }

  /// Replaces a row without updating the set hash.
  private func replaceRow(
    _ former: Former, with row: SealedBatch.Row, of batch: SealedBatch, changing columns: RecordColumns,
    as kind: ChangeLog.Kind
  ) throws(StoreError) {
    var columns = columns
    let hasNewBody = !row.body.isEmpty
    if hasNewBody, former.isBodyInRecord || row.isBodyInRecord { columns.insert(.body) }
    try changing { () throws(StoreError) in
      let statement = try update(columns)
      try translatingErrors { () throws(SQLiteError) in try statement.run(row, of: batch) }
      guard database.connection.lastRowsAffected == 1 else {
        throw .damagedDocument(row.fields.id, "its row is gone")
      }
      if hasNewBody { try replaceBody(former, with: row, of: batch) }
      changes.replace(former.fields, with: row.fields, as: kind)
      rowsWritten += 1
    }
  }

  /// Inserts, replaces or deletes the row of a body that's stored outside its record.
  private func replaceBody(_ former: Former, with row: SealedBatch.Row, of batch: SealedBatch) throws(StoreError) {
    switch (former.isBodyInRecord, row.isBodyInRecord) {
    case (true, true): break
    case (true, false): try bodyStatements().insert(row, of: batch)
    case (false, true): try bodyStatements().delete(row.fields.id)
    case (false, false):
      guard try bodyStatements().replace(row, of: batch, database) else {
        throw .damagedDocument(row.fields.id, "its text is missing")
      }
    }
  }

  /// Deletes a document. Verifies its row first, because otherwise the set hash wouldn't reveal a change.
  ///
  /// Also deletes a row that a rekey skipped, so the rekey can end. If an attacker with old keys added the row, it
  /// isn't an element of the set, and the set hash still reveals that.
  ///
  /// - Parameter collection: The document's collection according to an index, which must match the row.
  package func delete(_ id: DocumentID, in collection: UInt32? = nil) throws(StoreError) {
    try willWrite()
    let isRekeyed = state.target == 0
    if !isRekeyed, deletions == nil { deletions = RecordReader(database, keys, checksBounds: false) }
    let reader = isRekeyed ? reader : deletions!
    defer { reader.reset() }
    let row = try reader.row(id, withBody: false, within: limits)
    _ = try reader.opener.openHead(row, acceptsNewer: true)
    try row.fields.require(collection)
    let element = try reader.opener.element(of: row)
    // SQLite moves the row's bytes when rows are deleted.
    reader.reset()
    try changing { () throws(StoreError) in
      try database.execute(SQL.deleteRecord, id.rawValue)
      try bodyStatements().delete(id.rawValue)
      guard state.count > 0 else { throw .damagedStore("its count is lower than its rows") }
      try sum { summer, set throws(SealingError) in try summer.subtract(element, from: &set) }
      state.count -= 1
      changes.delete(row.fields)
      rowsWritten += 1
    }
  }

  // MARK: Statements

  private func update(_ columns: RecordColumns) throws(StoreError) -> RecordStatement {
    if let statement = updates[columns.rawValue] { return statement }
    let compiled = try RecordStatement(database, setting: columns)
    updates[columns.rawValue] = compiled
    return compiled
  }

  private func bodyStatements() throws(StoreError) -> BodyStatements {
    if let bodies { return bodies }
    let compiled = try BodyStatements(database)
    bodies = compiled
    return compiled
  }

  // MARK: Ids

  /// Marks all IDs up to this ID as used.
  package func reserveIDs(through id: UInt64) throws(StoreError) {
    guard id >= state.nextID else { return }
    try willWrite()
    state.nextID = id + 1
  }

  /// Sets the next ID to the lowest ID above all rows, so higher deleted IDs can be reused. In an editable copy, IDs
  /// restart above the original's IDs.
  ///
  /// - Throws: `rekeyUnfinished` while old keys are alive.
  package func restartIDs() throws(StoreError) {
    try requireNoClosedEpoch()
    try willWrite()
    changes.restartIDs()
    state.nextID = max(try database.integer(SQL.highestID).map { UInt64($0) + 1 } ?? 1, state.firstOwnID)
  }

  private func requireNoClosedEpoch() throws(StoreError) {
    guard keys.session.keyring.highestCeiling == 0 else {
      throw StoreError(
        .rekeyUnfinished, "ids can't restart while a rekey is unfinished", hint: "finish it with \(.resumeRekey)")
    }
  }

  /// Deletes all rows of documents and collections, even damaged rows, and restarts IDs.
  ///
  /// - Throws: `rekeyUnfinished` while old keys are alive.
  package func deleteEverything() throws(StoreError) {
    try requireNoClosedEpoch()
    try willWrite()
    try changing { () throws(StoreError) in
      for sql in SQL.deleteEverything { try database.execute(sql) }
    }
    collections.forget()
    changes.deleteEverything()
    rowsWritten += 1
    state.set = SetHash()
    state.count = 0
    state.nextID = state.firstOwnID
  }

  // MARK: Collections

  package func insertCollection(_ record: CollectionRecord) throws(StoreError) {
    try willWrite()
    let row = try record.seal(keys)
    try changing { () throws(StoreError) in
      try database.execute(SQL.insertCollection, Int64(row.id), Int64(row.epoch), Int64(row.revision), row.sealed)
      try count(nil, row)
    }
  }

  /// Seals a collection with a new name, new settings, or under another epoch.
  package func replaceCollection(with new: CollectionRecord) throws(StoreError) {
    try willWrite()
    let before = try collections.row(new.id, within: limits)
    let row = try new.seal(keys)
    try changing { () throws(StoreError) in
      try database.execute(SQL.updateCollection, Int64(row.epoch), Int64(row.revision), row.sealed, Int64(row.id))
      try count(before, row)
    }
  }

  /// Deletes a collection with all its documents.
  package func deleteCollection(_ record: CollectionRecord) throws(StoreError) {
    try willWrite()
    let before = try collections.row(record.id, within: limits)
    try changing { () throws(StoreError) in
      try deleteDocuments(in: record)
      try database.execute(SQL.deleteCollection, Int64(record.id))
      try count(before, nil)
    }
  }

  private func count(_ old: CollectionRow?, _ new: CollectionRow?) throws(StoreError) {
    let before = if let old { try old.element(keys) } else { SetElement?.none }
    let after = if let new { try new.element(keys) } else { SetElement?.none }
    try sum { summer, set throws(SealingError) in
      if let before { try summer.subtract(before, from: &set) }
      if let after { try summer.add(after, to: &set) }
    }
    // If the revision is unchanged, the row was only re-encrypted under another epoch.
    if let row = new ?? old, old?.revision != new?.revision { changes.changeCollection(row.id) }
    collections.forget()
  }

  /// The number of IDs that an iteration with row changes reads at a time.
  package static let idPage: Int64 = 1024

  /// Deletes all documents of a collection in batches. If a document is damaged, only a rollback is possible.
  package func deleteDocuments(in record: CollectionRecord) throws(StoreError) {
    try willWrite()
    try changing { () throws(StoreError) in
      while case let ids = try ids(SQL.someIDsInCollection, Int64(record.id), Self.idPage), !ids.isEmpty {
        for id in ids { try delete(id, in: record.id) }
      }
    }
  }

  /// Returns the IDs in a statement's only column.
  package func ids(_ sql: String, _ parameters: Int64...) throws(StoreError) -> [DocumentID] {
    var ids: [DocumentID] = []
    try database.forEachRow(sql, parameters) { row in
      ids.append(DocumentID(row.int64(at: 0)))
      return true
    }
    return ids
  }
}

extension SealedBatch.Row {
  /// The prefix `record N: ` if the row comes from an input.
  fileprivate var place: String { record > 0 ? "record \(record): " : "" }

  fileprivate func duplicateKey(_ other: DocumentID) -> StoreError {
    StoreError(.duplicateKey, "\(place)document \(other) has that key already", documentID: other)
  }
}
