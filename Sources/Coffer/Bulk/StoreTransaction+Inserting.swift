internal import CofferRecords

/// A batch of sealed rows on its way from the thread that seals them to the thread that inserts them.
private final class InsertionBatch<Drafts> {
  let sealed = SealedBatch()
  /// Documents read on the caller's thread; nil at the end.
  var drafts: Drafts?
  var isEnd = false
  var failure: (any Error)?
}

extension SealedBatch.Row {
  /// The error of a copied row that the new store refuses: a sound store never holds a key twice, but one with a row put
  /// back to an older version may.
  func refusal(_ error: StoreError) -> StoreError {
    guard error.code == .duplicateKey else { return error }
    let other = error.documentID.map { "document \($0)" } ?? "another document"
    return .damagedDocument(fields.id, "\(other) has its key")
  }
}

extension StoreTransaction {
  /// Batches under way; more would only take memory.
  private static let sealedBatches = 3

  /// Inserts rows that another thread seals meanwhile. Memory use doesn't depend on their number.
  ///
  /// - Parameters:
  ///   - read: reads the next documents on this thread, for `seal`, perhaps into the drafts of a batch that is done; nil
  ///     at the end.
  ///   - seal: fills an empty batch with sealed rows, and with the collections that must be inserted before them; false
  ///     at the end. It runs on another thread, and no other code may use its data meanwhile.
  ///   - refused: called for a row that conflicts with the store's rows; if it throws, the work ends.
  ///   - inserted: called after each batch; if it throws, the work ends.
  /// - Throws: errors of the closures; the transaction can then only be rolled back.
  func insert<Drafts>(
    readBy read: (consuming Drafts?) throws -> Drafts?, sealedBy seal: @escaping (SealedBatch, Drafts) throws -> Bool,
    refused: (SealedBatch.Row, StoreError) throws -> Void = { _, error in throw error },
    inserted: (SealedBatch) throws -> Void
  ) throws {
    let writer = try writer
    try writer.willWrite()
    isInsertingFromSource = true
    defer { isInsertingFromSource = false }
    // Only the working threads use the first variable, one after another; only this thread uses the second.
    var hasEnded = false
    var isOver = false
    let conveyor = Conveyor<InsertionBatch<Drafts>>(limit: Self.sealedBatches, workers: .oneInOrder) { batch in
      do {
        // A source that is read again after its end may start over.
        hasEnded = try hasEnded || batch.drafts.map { try !seal(batch.sealed, $0) } ?? true
      } catch {
        hasEnded = true
        batch.failure = error
      }
      batch.isEnd = hasEnded
    }
    do {
      try conveyor.run(
        make: { InsertionBatch() },
        fill: { batch in
          batch.sealed.removeAll()
          if !isOver { batch.drafts = try read(batch.drafts.take()) }
          isOver = isOver || batch.drafts == nil
          return isOver ? .end : .more
        },
        take: { batch in
          if let failure = batch.failure { throw failure }
          isOver = isOver || batch.isEnd
          guard !batch.isEnd else { return }
          try requireOpen()
          try writer.insert(batch.sealed, refused: refused)
          try inserted(batch.sealed)
        })
    } catch {
      writer.fail(error)
      throw error
    }
  }

  /// Requires that no parent and no child of rows that were inserted is in another collection. A parent may come later.
  func requireFamilies(of batch: SealedBatch) throws(StoreError) {
    for row in batch.rows {
      let fields = row.fields
      do throws(StoreError) {
        try requireNoParentElsewhere(fields.parent.map { DocumentID($0) }, of: fields.id, in: fields.collection)
        try requireNoChildrenElsewhere(of: fields.id, in: fields.collection)
      } catch {
        throw error.of(record: row.record)
      }
    }
  }
}
