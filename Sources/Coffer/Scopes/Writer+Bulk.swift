internal import CofferSQLite
internal import CofferSealing

extension Writer {
  /// Adds every document of a source, in its order, within this transaction.
  ///
  /// The source is read and sealed on another thread while this one writes; memory stays the same whatever the
  /// source's size, a single huge text excepted.
  ///
  /// - Parameter collection: where to; nil takes each document's own collection, `documents` where it names none.
  ///   Collections are made where they are missing.
  /// - Throws: what the source throws; `alreadyExists` for a kept number that is taken, `duplicateKey`, `tooLarge`,
  ///   each naming the source's record. The transaction must then be rolled back, as it is when the error leaves
  ///   `write`.
  @discardableResult
  public func insert(
    contentsOf source: some DraftSource, into collection: DocumentCollection?, options: BulkOptions = BulkOptions()
  ) throws -> BulkReport {
    if options.onConflict != .fail { return try merge(contentsOf: source, into: collection, options: options) }
    let transaction = transaction
    var source = source
    try transaction.willWrite()
    if let collection { _ = try openOrCreate(collection, titleRule: options.titleRule ?? .asGiven) }
    let stage = try SealingStage(transaction, into: collection, options: options)
    var report = BulkReport()
    let statements = try StoreTransaction.RowStatements(insertingInto: transaction.database)
    do {
      try Pipeline.run(
        produce: { try stage.fill($0, from: &source) },
        consume: { batch in
          for record in batch.newCollections { try transaction.insertCollection(record) }
          try insert(batch, statements)
          report.created += batch.rows.count
          for row in batch.rows {
            let id = DocumentID(row.fields.id)
            report.firstID = report.firstID ?? id
            report.lastID = id
            options.onInsert?(id)
          }
          try options.progress?(report.created)
        })
    } catch {
      transaction.fail(error)
      throw error
    }
    report.collections = stage.counts
    report.parentsDropped = stage.parentsDropped
    return report
  }

  private func insert(_ batch: SealedBatch, _ statements: StoreTransaction.RowStatements) throws(StoreError) {
    for row in batch.rows {
      // The index keeps keys apart under the active epoch; under older ones only a look can.
      for lookup in row.olderLookups {
        guard let other = try transaction.holder(ofLookup: lookup, in: row.fields.collection) else { continue }
        throw Self.duplicateKey(row, other)
      }
      try insert(row, of: batch, statements)
    }
  }

  /// Inserts one sealed row, and counts it. A refused one leaves the transaction as it was.
  func insert(_ row: SealedBatch.Row, of batch: SealedBatch, _ statements: StoreTransaction.RowStatements)
    throws(StoreError)
  {
    do throws(SQLiteError) {
      try statements.run(row, of: batch)
    } catch {
      throw try conflict(error, row, batch)
    }
    transaction.state.set.add(row.element)
    transaction.state.count += 1
    transaction.changes.insert(row)
    transaction.state.nextID = max(transaction.state.nextID, UInt64(row.fields.id) + 1)
  }

  /// What a refused row means: a number or key that is taken, or a state older than the rows.
  private func conflict(_ error: SQLiteError, _ row: SealedBatch.Row, _ batch: SealedBatch) throws(StoreError)
    -> StoreError
  {
    guard case .constraint(let constraint) = error.code else { return StoreError(error) }
    let id = DocumentID(row.fields.id)
    switch constraint {
    case .rowID, .primaryKey:
      guard row.fields.id < transaction.state.nextID else { return StoreError(error) }
      return StoreError(
        .alreadyExists, "record \(row.record): there is a document \(id) already", documentID: id)
    case .unique:
      let lookup = row.lookup.map { Array(batch.bytes($0)) }
      guard let lookup, let other = try transaction.holder(ofLookup: lookup, in: row.fields.collection) else {
        return StoreError(error)
      }
      return Self.duplicateKey(row, other)
    default:
      return StoreError(error)
    }
  }

  private static func duplicateKey(_ row: SealedBatch.Row, _ other: DocumentID) -> StoreError {
    StoreError(.duplicateKey, "record \(row.record): document \(other) has that key already", documentID: other)
  }
}
