internal import CofferRecords

/// A batch of sealed rows on its way from the thread that seals them to the one that inserts them.
private final class InsertionBatch {
  let sealed = SealedBatch()
  var isEnd = false
  var failure: (any Error)?
}

extension StoreTransaction {
  /// Batches under way; more would only take memory.
  private static let sealedBatches = 3

  /// Inserts rows that another thread seals meanwhile. Memory stays the same whatever their number.
  ///
  /// - Parameters:
  ///   - seal: fills an empty batch with sealed rows, and with the collections that must be inserted before them; false
  ///     at the end. It runs on another thread, and nobody else may use what it uses.
  ///   - refused: called for a row that the store can't take beside those it has; throwing from it ends the work.
  ///   - inserted: called after each batch; throwing from it ends the work.
  /// - Throws: what the closures throw; only a rollback is left then.
  func insert(
    sealedBy seal: @escaping (SealedBatch) throws -> Bool,
    refused: (SealedBatch.Row, StoreError) throws -> Void = { _, error in throw error },
    inserted: (SealedBatch) throws -> Void
  ) throws {
    let writer = try writer
    writer.willWrite()
    // Only the working threads use the first, one after another; only this one the second.
    var hasEnded = false
    var isOver = false
    let conveyor = Conveyor<InsertionBatch>(limit: Self.sealedBatches, workers: .oneInOrder) { batch in
      do {
        // A source that is asked again behind its end may begin again.
        hasEnded = try hasEnded || !seal(batch.sealed)
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
          return isOver ? .end : .more
        },
        take: { batch in
          if let failure = batch.failure { throw failure }
          isOver = batch.isEnd
          guard !isOver else { return }
          try requireOpen()
          for record in batch.sealed.newCollections { try writer.insertCollection(record) }
          for row in batch.sealed.rows {
            do throws(StoreError) {
              try writer.insert(row, of: batch.sealed)
            } catch {
              try refused(row, error)
            }
          }
          try inserted(batch.sealed)
        })
    } catch {
      writer.fail(error)
      throw error
    }
  }
}
