internal import CofferRecords

/// A batch of sealed rows that moves from the sealing thread to the inserting thread.
private final class InsertionBatch<Drafts> {
  let sealed = SealedBatch()
  /// Documents read on the caller's thread, or `nil` at the end.
  var drafts: Drafts?
  var isEnd = false
  var failure: (any Error)?
}

extension SealedBatch.Row {
  /// Returns the error to throw if the new store rejects this copied row. An intact store never contains a key twice,
  /// but a store can contain duplicates if a row was rolled back to an older version.
  package func refusal(_ error: StoreError) -> StoreError {
    guard error.code == .duplicateKey else { return error }
    let other = error.documentID.map { "document \($0)" } ?? "another document"
    return .damagedDocument(fields.id, "\(other) has its key")
  }
}

/// Inserts sealed rows in bulk.
package struct RowInsertion {
  package let transaction: StoreTransaction

  package init(_ transaction: StoreTransaction) {
    self.transaction = transaction
  }

  /// The maximum number of batches in progress. A higher number would only increase memory use.
  private static let sealedBatches = 3

  /// Inserts rows while another thread seals them. Memory use doesn't depend on their number.
  ///
  /// - Parameters:
  ///   - read: Reads the next documents for `seal` on this thread, or returns `nil` at the end. It can reuse the drafts
  ///     of a finished batch.
  ///   - seal: Fills an empty batch with sealed rows and with the collections to insert before them. Returns `false` at
  ///     the end. It runs on another thread, and other code must not use its data during the insertion.
  ///   - refused: Called for each row that conflicts with the store's rows. Throwing from it ends the insertion.
  ///   - inserted: Called after each batch. Throwing from it ends the insertion.
  /// - Throws: `misuse` within another insertion, before any change. Errors of the closures, after which the
  ///   transaction can only be rolled back.
  package func run<Drafts>(
    readBy read: (consuming Drafts?) throws -> Drafts?, sealedBy seal: @escaping (SealedBatch, Drafts) throws -> Bool,
    refused: (SealedBatch.Row, StoreError) throws -> Void = { _, error in throw error },
    inserted: (SealedBatch) throws -> Void
  ) throws {
    let writer = try transaction.writer
    try transaction.requireNoRowInsertion()
    try writer.willWrite()
    transaction.isInsertingFromSource = true
    transaction.isInsertingRows = true
    defer {
      transaction.isInsertingFromSource = false
      transaction.isInsertingRows = false
    }
    // The worker threads use `hasEnded`, one after another, and this thread uses `isOver`.
    var hasEnded = false
    var isOver = false
    let conveyor = Conveyor<InsertionBatch<Drafts>>(limit: Self.sealedBatches, workers: .oneInOrder) { batch in
      do {
        // Don't read a source after its end, because it may start over.
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
          try transaction.requireOpen()
          try writer.insert(batch.sealed, refused: refused)
          try inserted(batch.sealed)
        })
    } catch {
      writer.fail(error)
      throw error
    }
  }

  /// Verifies that the parents and children of the inserted rows are in the same collection. A missing parent is
  /// allowed, because it can be inserted later.
  package func requireFamilies(of batch: SealedBatch) throws(StoreError) {
    for row in batch.rows {
      let fields = row.fields
      do throws(StoreError) {
        try transaction.editor.requireNoParentInOtherCollection(
          fields.parent.map { DocumentID($0) }, of: fields.id, in: fields.collection)
        try transaction.editor.detachFormerChildren(of: fields.id, in: fields.collection)
      } catch {
        throw error.of(record: row.record)
      }
    }
  }
}
