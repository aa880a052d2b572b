package import CofferDocuments
internal import CofferSQLite
package import CofferSealing

/// Writes one transaction's records, bodies and collections. Only this class inserts, changes or deletes their rows.
///
/// Every written or deleted row also updates the state (set hash, count and next ID) and the change log. A new document
/// is an INSERT and a change is an UPDATE of one row. An UPSERT could overwrite a live document after a replayed state.
package final class RecordWriter {
  package let database: StoreDatabase
  // Exclusive access isn't checked for properties that every row changes, because the writer is used by a single thread
  // at a time.
  @exclusivity(unchecked) package private(set) var keys: RowKeys
  /// The state that the commit seals.
  @exclusivity(unchecked) package var state: StoreState
  /// The generation of this transaction's changes.
  package let revision: UInt64
  /// The store's replicas. ``changeReplicas(_:)`` changes them.
  package private(set) var replicas: Replicas
  private let replicaTable: ReplicaTable
  /// The marks of the own replica's commits before this transaction, or `nil` before they're read.
  private var marksBefore: [Replica.Mark]?
  private let readMarks: (Replicas) throws(StoreError) -> [Replica.Mark]
  /// Whether the first write must take a new replica identity.
  private(set) var isRestored: Bool
  @exclusivity(unchecked) package private(set) var changes: ChangeLog
  @exclusivity(unchecked) package private(set) var hasWritten = false
  /// A number that increases with every row change and every undo, so callers can detect writes.
  @exclusivity(unchecked) package private(set) var rowsWritten = 0
  /// The error that left a change incomplete. The transaction can then only be rolled back.
  package private(set) var failure: StoreError?

  let collections: CollectionTable
  /// The reader for rows that this writer changes. Callers use other readers.
  private(set) var reader: RecordReader
  /// The reader for rows to delete during an unfinished rekey.
  private var deletions: RecordReader?
  /// The reader for parents and other documents of a family.
  private var parents: RecordReader?
  /// Whether several documents share a key, or `nil` before the first check.
  private var hasSharedKeys: Bool?
  /// Whether this transaction created the attachment tables. The commit then sets their bit.
  package internal(set) var hasNewAttachmentTables = false
  /// The number of chunks deleted in this transaction.
  var deletedChunks: Int64 = 0
  /// Whether this transaction deleted an attachment without deleting all of its chunks.
  package internal(set) var leavesChunks = false
  /// The documents at which a cycle was cut whose parents ``settleParents(placed:)`` sets again, with these parents.
  var cutParents: [Int64: (id: Int64, uid: UniqueID)] = [:]
  /// The highest ID of a deleted parent that ``settleParents(placed:)`` wrote.
  package internal(set) var highestSettledParent: Int64 = 0
  /// Whether the caller calls ``settleParents(placed:)`` after its last change, instead of after each change.
  package var settlesParentsLater = false
  private var lastParent: (id: Int64, uid: UniqueID)?
  /// The number for the next deletion, or `nil` before the first deletion.
  var nextDeletion: Int64?
  /// The numbers of the deletions by identity, or `nil` before the first search for one.
  var deletionNumbers: [UniqueID: Int64]?
  @exclusivity(unchecked) private(set) var sealer: RecordSealer
  /// The batch for a single changed row. Bulk operations use other batches.
  let batch = SealedBatch()
  @exclusivity(unchecked) private var insertion: RecordStatement?
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
  ///   - marks: Returns the marks of the own replica's commits before this transaction.
  package init(
    _ database: StoreDatabase, _ keys: RowKeys, _ collections: CollectionTable, _ replicas: ReplicaTable,
    state: StoreState, nonceSource: NonceSource, hasListeners: Bool,
    checkCancellation: @escaping () throws(StoreError) -> Void,
    marks: @escaping (Replicas) throws(StoreError) -> [Replica.Mark]
  ) throws(StoreError) {
    self.checkCancellation = checkCancellation
    self.database = database
    self.keys = keys
    self.collections = collections
    self.state = state
    self.nonceSource = nonceSource
    replicaTable = replicas
    self.replicas = try replicas.current()
    isRestored = try replicas.isRestored()
    readMarks = marks
    revision = state.generation + 1
    changes = ChangeLog(hasListeners: hasListeners)
    reader = RecordReader(database, keys)
    sealer = RecordSealer(keys)
  }

  /// Releases all statements at the end of the transaction.
  package func end() {
    reader.end()
    deletions = nil
    parents = nil
    insertion = nil
    updates = [:]
    bodies = nil
  }

  /// The bounds that the state sets for rows, without copying the state.
  package var limits: RowLimits {
    RowLimits(bound: state.bound, generation: state.generation, target: state.target, cursor: state.cursor)
  }

  // MARK: The transaction

  /// Prepares for a change. Call this method before the first change.
  ///
  /// - Throws: `cancelled`, or `noNumberLeft` if the store has reached its last generation.
  package func willWrite() throws(StoreError) {
    try checkCancellation()
    if !hasWritten {
      guard state.generation + state.lead < UInt64(StoreFormat.maximumGeneration) else {
        throw StoreError(
          .noNumberLeft, "the store has reached its last generation, so it can't be written to any more",
          hint: "export it into a new store")
      }
      keys.beginRun(nonceSource)
    }
    hasWritten = true
    if isRestored { try renewReplica() }
    // Rows written after this call have this generation, and rereading them must accept it.
    state.generation = revision
  }

  /// Switches to other keys for the following changes.
  package func use(_ keys: RowKeys) {
    reader.reset()
    self.keys = keys
    reader = RecordReader(database, keys)
    deletions = nil
    parents = nil
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
    fileprivate let replicas: Replicas
    fileprivate let changes: ChangeLog
    fileprivate let failure: StoreError?
    fileprivate let hasWritten: Bool
    fileprivate let hasNewAttachmentTables: Bool
    fileprivate let isRestored: Bool
    fileprivate let marksBefore: [Replica.Mark]?
  }

  package var mark: Mark {
    Mark(
      state: state, replicas: replicas, changes: changes, failure: failure, hasWritten: hasWritten,
      hasNewAttachmentTables: hasNewAttachmentTables, isRestored: isRestored, marksBefore: marksBefore)
  }

  /// Restores the writer after SQLite has undone all changes since `mark`.
  package func restore(_ mark: Mark) {
    state = mark.state
    takeReplicas(mark.replicas, digest: mark.state.replicasDigest)
    nextDeletion = nil
    deletionNumbers = nil
    lastParent = nil
    hasSharedKeys = nil
    changes = mark.changes
    failure = mark.failure
    hasWritten = mark.hasWritten
    hasNewAttachmentTables = mark.hasNewAttachmentTables
    isRestored = mark.isRestored
    marksBefore = mark.marksBefore
    rowsWritten += 1
    collections.forget()
  }

  func takeReplicas(_ new: Replicas, digest: TextDigest) {
    replicas = new
    replicaTable.replace(new, digest: digest)
  }

  /// Changes the replicas' row, and updates the own entry.
  package func changeReplicas(_ change: (inout Replicas) throws(StoreError) -> Void) throws(StoreError) {
    try willWrite()
    var new = replicas
    new.noteOwn(counter: dot.counter, marks: try marksOfEarlierCommits(), at: revision)
    try change(&new)
    try setReplicas(new)
  }

  /// Returns the marks of the own replica's commits before this transaction, which are computed with the old root key.
  @discardableResult
  package func marksOfEarlierCommits() throws(StoreError) -> [Replica.Mark] {
    let marks = if let marksBefore { marksBefore } else { try readMarks(replicas) }
    marksBefore = marks
    return marks
  }

  /// Adds a replica with a new identity, and makes it the own replica. New documents still get IDs from the same range.
  ///
  /// - Parameter given: The replicas that replace the store's replicas. They must begin with the store's replicas.
  package func renewReplica(of given: Replicas? = nil) throws(StoreError) {
    isRestored = false
    let identity = try keys.newUID()
    let range = replicas.ownReplica.range
    try changeReplicas { new throws(StoreError) in
      // The former replica's last commit is before this transaction.
      new[new.own].counter = revision - 1 + state.lead
      if let given { new = given }
      try new.takeIdentity(identity, range: range, counter: dot.counter, at: revision)
    }
    // The new replica hasn't made a commit yet.
    marksBefore = []
  }

  /// Assigns a key that a document no longer has to another document with the same key, if any. If that document is
  /// damaged, the transaction can only be rolled back.
  package func release(_ key: DocumentKey?, in collection: UInt32) throws(StoreError) {
    guard let key else { return }
    try changing { () throws(StoreError) in
      if hasSharedKeys == nil { hasSharedKeys = try database.integer(SQL.hasHeldElsewhere) != nil }
      guard hasSharedKeys == true else { return }
      try settle(key, in: collection)
    }
  }

  func noteSharedKey() { hasSharedKeys = true }

  /// Notes a change to a document's attachments, which leaves the document's row unchanged.
  func noteChange(_ note: (inout ChangeLog) -> Void) { note(&changes) }

  /// The reader for documents that this writer's current change doesn't concern. Reset it after use.
  var familyReader: RecordReader {
    let reader = if let parents { parents } else { RecordReader(database, keys) }
    parents = reader
    return reader
  }

  /// Returns a parent's identity, or `nil` if the parent doesn't exist.
  package func uid(ofParent id: Int64?) throws(StoreError) -> UniqueID? {
    guard let id else { return nil }
    if let lastParent, lastParent.id == id { return lastParent.uid }
    let reader = familyReader
    defer { reader.reset() }
    do throws(StoreError) {
      let row = try reader.row(DocumentID(id), withBody: false, within: limits)
      let uid = try reader.opener.openHead(row, acceptsNewer: true).uid
      lastParent = (id, uid)
      return uid
    } catch {
      guard error.code == .noSuchDocument else { throw error }
      return nil
    }
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
  /// - Throws: `alreadyExists` if the ID is taken, or `duplicateKey` if the key is taken.
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
    useID(UInt64(row.fields.id))
    changes.insert(row.fields)
    try noteListing(of: row.fields.collection)
    rowsWritten += 1
  }

  /// Reports a dropped collection as changed if an inserted or deleted document changes whether it's listed.
  private func noteListing(of collection: UInt32) throws(StoreError) {
    if try collections.changesListing(documentIn: collection, within: limits) { changes.changeCollection(collection) }
  }

  /// Rejects IDs below old epochs' ceilings, where an owner of old keys could replace the row with an older row.
  func requireRoom(for fields: RowFields) throws(StoreError) {
    guard UInt64(fields.id) >= keys.session.keyring.highestCeiling else {
      throw StoreError(
        .rekeyUnfinished, "document \(fields.id) can't be inserted below the ids of a rekey that is unfinished",
        hint: "finish it with \(.resumeRekey)", documentID: DocumentID(fields.id))
    }
    guard state.count < StoreFormat.maximumCount else {
      throw StoreError(.noNumberLeft, "a store has at most 2^40 documents")
    }
  }

  func sum(_ change: (SetSummer, inout SetHash) throws(SealingError) -> Void) throws(StoreError) {
    do throws(SealingError) {
      try change(keys.summer, &state.set)
    } catch {
      let error = StoreError(error)
      failure = failure ?? error
      throw error
    }
  }

  /// Updates the set hash for an inserted, replaced or deleted row, and counts the change.
  ///
  /// - Parameters:
  ///   - before: The former row's element, or `nil` if the row is inserted.
  ///   - after: The row's element, or `nil` if the row is deleted.
  func sum(replacing before: SetElement?, with after: SetElement?) throws(StoreError) {
    try sum { summer, set throws(SealingError) in
      if let before { try summer.subtract(before, from: &set) }
      if let after { try summer.add(after, to: &set) }
    }
    rowsWritten += 1
  }

  /// Returns the reason for a rejected row. The ID or key is taken, or the state is older than the rows.
  private func conflict(_ error: SQLiteError, _ row: SealedBatch.Row, _ batch: SealedBatch) throws(StoreError)
    -> StoreError
  {
    guard case .constraint(let constraint) = error.code else { return StoreError(error) }
    switch constraint {
    case .rowID, .primaryKey:
      // The next ID in the state is free unless the state is older than the rows.
      guard UInt64(row.fields.id) < state.bound, UInt64(row.fields.id) != nextID else { return StoreError(error) }
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
    if former.fields.flags != row.fields.flags { columns.insert(.flags) }
    if hasNewBody, former.isBodyInRecord || row.isBodyInRecord { columns.insert(.body) }
    try changing { () throws(StoreError) in
      let statement = try update(columns)
      try translatingErrors { () throws(SQLiteError) in try statement.run(row, of: batch) }
      guard database.connection.lastRowsAffected == 1 else {
        throw .damagedDocument(row.fields.id, "its row is gone")
      }
      if hasNewBody { try replaceBody(former, with: row, of: batch) }
      changes.replace(former.fields, with: row.fields, as: kind)
      if former.fields.collection != row.fields.collection {
        try noteListing(of: former.fields.collection)
        try noteListing(of: row.fields.collection)
      }
      rowsWritten += 1
    }
  }

  /// Inserts, replaces or deletes the row for a body that isn't stored in its record.
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

  /// Deletes a document and records its deletion. Verifies its row first, because otherwise the set hash wouldn't
  /// reveal a change.
  ///
  /// Also deletes a row that a rekey skipped, so the rekey can end. If an attacker with old keys added the row, it
  /// isn't an element of the set, and the set hash still reveals that.
  ///
  /// - Parameters:
  ///   - collection: The document's collection according to an index, which must match the row.
  ///   - notesDeletion: Whether to record the deletion as this transaction's own.
  package func delete(
    _ id: DocumentID, in collection: UInt32? = nil, notingDeletion notesDeletion: Bool = true
  ) throws(StoreError) {
    try willWrite()
    let isRekeyed = state.target == 0
    if !isRekeyed, deletions == nil { deletions = RecordReader(database, keys, checksBounds: false) }
    let reader = isRekeyed ? reader : deletions!
    defer { reader.reset() }
    let row = try reader.row(id, withBody: false, within: limits)
    // A document from a later version also has an identity, which this version can read.
    let head = try reader.opener.openHead(row, acceptsNewer: true)
    let uid = head.uid
    let key = row.fields.isKeyHeldElsewhere ? nil : head.key.map { DocumentKey(bytes: $0) }
    try row.fields.require(collection)
    let element = try reader.opener.element(of: row)
    // Reset the reader first, because SQLite moves the row's bytes when rows are deleted.
    let fields = row.fields
    reader.reset()
    try noteCutParent(above: fields)
    // A damaged attachment leaves the transaction unchanged.
    for row in try attachmentRows(of: id.rawValue) { _ = try AttachmentRecord(row, keys) }
    try changing { () throws(StoreError) in
      try database.execute(SQL.deleteRecord, id.rawValue)
      try bodyStatements().delete(id.rawValue)
      try deleteAttachments(of: id.rawValue)
      guard state.count > 0 else { throw .damagedStore("its count is lower than its rows") }
      try sum { summer, set throws(SealingError) in try summer.subtract(element, from: &set) }
      state.count -= 1
      if lastParent?.id == id.rawValue { lastParent = nil }
      if notesDeletion { try noteDeletion(of: uid) }
      changes.delete(fields)
      try noteListing(of: fields.collection)
      rowsWritten += 1
    }
    try release(key, in: fields.collection)
    if !settlesParentsLater { try settleParents() }
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

  /// Whether given IDs come from other replicas, so new IDs continue in the own range.
  package var keepsOwnRange = false

  /// The ID of the next new document. While old keys are alive, it's above all current and former IDs, because old keys
  /// can't have sealed a row there.
  package var nextID: UInt64 {
    keys.session.keyring.highestCeiling == 0 ? state.nextID : max(state.nextID, state.bound)
  }

  /// Records that a document has or had this ID. New documents then get higher IDs. An ID outside the own range counts
  /// only if it was chosen above all others, and not while old keys are alive, because the own range is used again
  /// afterward.
  private func useID(_ id: UInt64) {
    let own = replicas.ownReplica.ids
    if own.contains(id) || !keepsOwnRange && id >= state.bound && keys.session.keyring.highestCeiling == 0 {
      state.nextID = max(state.nextID, id + 1)
    }
    state.bound = max(state.bound, id + 1)
    if state.nextID >= own.upperBound { state.nextID = max(state.nextID, state.bound) }
  }

  /// Marks all IDs up to this ID as used.
  package func reserveIDs(through id: UInt64) throws(StoreError) {
    guard id >= state.bound || id >= state.nextID else { return }
    try willWrite()
    useID(id)
  }

  /// Sets the next ID to the lowest ID in the own range above its existing IDs.
  private func resumeOwnRange() throws(StoreError) {
    let own = replicas.ownReplica.ids
    let highest = try database.integer(SQL.highestIDBelow, Int64(own.upperBound)).map { UInt64($0) + 1 } ?? 1
    state.nextID = max(highest, own.lowerBound)
  }

  /// Sets the next ID to the lowest ID in the own range above all its rows, so higher deleted IDs can be reused.
  ///
  /// - Throws: `rekeyUnfinished` while old keys are alive.
  package func restartIDs() throws(StoreError) {
    try requireNoClosedEpoch()
    try willWrite()
    changes.restartIDs()
    try resumeOwnRange()
    state.bound = try database.integer(SQL.highestID).map { UInt64($0) + 1 } ?? 1
  }

  /// - Throws: `rekeyUnfinished` while old keys are alive.
  package func requireNoClosedEpoch() throws(StoreError) {
    guard keys.session.keyring.highestCeiling == 0 else {
      throw StoreError(
        .rekeyUnfinished, "ids can't restart while a rekey is unfinished", hint: "finish it with \(.resumeRekey)")
    }
  }

  /// Deletes all document, attachment, deletion and collection rows, even damaged rows, and restarts IDs.
  ///
  /// - Throws: `rekeyUnfinished` while old keys are alive.
  package func deleteEverything() throws(StoreError) {
    try requireNoClosedEpoch()
    try willWrite()
    try changing { () throws(StoreError) in
      for sql in SQL.deleteEverything { try database.execute(sql) }
      if keys.session.header.hasAttachments || hasNewAttachmentTables {
        for sql in SQL.deleteAllAttachments { try database.execute(sql) }
      }
    }
    collections.forget()
    deletionNumbers = nil
    changes.deleteEverything()
    rowsWritten += 1
    state.set = SetHash()
    state.count = 0
    state.deletionCount = 0
    state.attachmentCount = 0
    state.nextID = replicas.ownReplica.ids.lowerBound
    state.bound = 1
  }

  /// Records that an index of the current documents is written, so they're reported even if the transaction deletes
  /// them.
  package func noteIndex() { changes.writeIndex() }

  // MARK: Collections

  /// Inserts a new collection, or replaces its row if the collection was dropped and is recreated.
  package func insertCollection(_ record: CollectionRecord) throws(StoreError) {
    try willWrite()
    // This transaction may have created and dropped the collection, so its dots aren't conclusive.
    guard try database.rows(SQL.collection, Int64(record.id)).isEmpty else {
      return try replaceCollection(with: record)
    }
    let row = try record.seal(keys)
    try changing { () throws(StoreError) in
      try database.execute(SQL.insertCollection, Int64(row.id), Int64(row.revision), row.sealed)
      try count(nil, row)
      changes.changeCollection(row.id)
    }
  }

  /// Seals a changed collection, or an unchanged collection in a new epoch.
  ///
  /// - Parameter former: The keys that seal the stored row, or `nil` for the writer's keys.
  package func replaceCollection(with new: CollectionRecord, sealedBy former: RowKeys? = nil) throws(StoreError) {
    try willWrite()
    let before = try collections.row(new.id, within: limits)
    let row = try new.seal(keys)
    let element = try before.element(former ?? keys)
    try changing { () throws(StoreError) in
      try database.execute(SQL.updateCollection, Int64(row.revision), row.sealed, Int64(row.id))
      try count(element, row)
      if before.revision != row.revision { changes.changeCollection(row.id) }
    }
  }

  /// Deletes all documents in a collection, and marks the collection as dropped. Its row remains, because the
  /// collection may still exist in a copy.
  package func dropCollection(_ record: CollectionRecord) throws(StoreError) {
    try willWrite()
    try changing { () throws(StoreError) in
      try deleteDocuments(in: record)
      var dropped = record
      dropped.isDropped = true
      dropped.revision = revision
      dropped.dots.dropped = dot
      dropped.dots.stamp = dot
      try replaceCollection(with: dropped)
    }
  }

  private func count(_ before: SetElement?, _ new: CollectionRow) throws(StoreError) {
    let after = try new.element(keys)
    try sum { summer, set throws(SealingError) in
      if let before { try summer.subtract(before, from: &set) }
      try summer.add(after, to: &set)
    }
    collections.forget()
  }

  /// The number of IDs that an iteration with row changes reads at a time.
  package static let idPage: Int64 = 1024

  /// Returns the last of the IDs after `last` that were read together. The next IDs follow it.
  ///
  /// - Throws: `damaged` if a malicious file's rows would be read repeatedly.
  package static func end(ofPage ids: [DocumentID], after last: Int64) throws(StoreError) -> Int64 {
    guard let end = ids.last?.rawValue, end > last else { throw .damagedStore("its documents are not in their order") }
    return end
  }

  /// Deletes all documents in a collection in batches. If a document is damaged, the transaction can only be rolled
  /// back.
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
    .keyTaken(by: other, place: place)
  }
}
