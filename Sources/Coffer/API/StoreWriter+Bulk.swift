extension StoreWriter {
  /// Adds every document of a source, in its order, within this transaction.
  ///
  /// The source is read and sealed on another thread while this one writes; memory stays the same whatever the
  /// source's size, a single huge text excepted.
  ///
  /// - Parameter collection: the target; nil takes each document's own collection, or `documents` if it names none.
  ///   Missing collections are created.
  /// - Throws: errors of the source; `alreadyExists` for a kept id that is taken, `duplicateKey`, `tooLarge`, each
  ///   naming the source's record. The transaction must then be rolled back, as it is when the error leaves `write`.
  @discardableResult
  public func insert(
    contentsOf source: some DraftSource, into collection: DocumentCollection?, options: BulkOptions = BulkOptions()
  ) throws -> BulkReport {
    if options.onConflict != .fail {
      return try transaction.merge(contentsOf: source, into: collection, options: options)
    }
    let transaction = transaction
    if let collection { _ = try transaction.openOrCreate(collection, titleRule: options.titleRule ?? .asGiven) }
    let stage = try SealingStage(transaction, into: collection, options: options)
    var report = BulkReport()
    var source = source
    try transaction.insert(
      sealedBy: { try stage.fill($0, from: &source) },
      inserted: { batch in
        report.created += batch.rows.count
        for row in batch.rows {
          let id = DocumentID(row.fields.id)
          report.firstID = report.firstID ?? id
          report.lastID = id
          options.onInsert?(id)
        }
        try options.progress?(report.created)
      })
    report.collections = stage.counts
    report.parentsDropped = stage.parentsDropped
    return report
  }
}
