internal import CofferSQLite
internal import CofferSealing

/// Seals what was opened in one store into the rows of a new one: same numbers, positions and dates, other keys.
///
/// Belongs to the thread that fills batches, beside the one that inserts them.
final class RowCopier {
  /// A batch is full at either of these, so that memory stays the same and the inserting thread has work.
  private static let batchBytes = 256 << 10
  private static let batchRows = 512

  private let keys: RowKeys
  private let sealer: RecordSealer
  private let revision: UInt64
  private(set) var collections: [UInt32: CollectionRecord] = [:]

  /// - Parameter transaction: of the new store; only its keys and its generation are used here.
  init(into transaction: StoreTransaction) throws(StoreError) {
    keys = try RowKeys(transaction.keys.session)
    keys.beginRun()
    sealer = RecordSealer(keys)
    revision = transaction.revision
  }

  static func isFull(_ batch: SealedBatch) -> Bool {
    batch.byteCount >= batchBytes || batch.rows.count >= batchRows
  }

  /// Takes over a collection, under its number.
  ///
  /// - Returns: what must be inserted before the first row of it.
  func add(_ collection: CollectionRecord) -> CollectionRecord {
    var copy = collection
    copy.epoch = keys.active.epoch
    copy.revision = revision
    collections[copy.id] = copy
    return copy
  }

  /// Seals one document; its collection must have been added.
  func copy(
    _ row: RecordRow, _ head: HeadData, text: UnsafeRawBufferPointer, parent: Int64?, into batch: SealedBatch
  ) throws(StoreError) {
    guard let collection = collections[row.fields.collection] else {
      throw .damagedDocument(row.fields.id, "its collection is gone")
    }
    var fields = row.fields
    fields.epoch = keys.active.epoch
    fields.revision = revision
    fields.parent = parent
    var lookup: [UInt8]?
    if let key = head.key { lookup = try keys.lookup(of: ExternalKey(bytes: key), in: collection, under: keys.active) }
    try sealer.seal(
      fields,
      RecordSealer.Content(
        title: head.title, key: head.key, lookup: lookup, attributes: head.attributes, created: head.created,
        modified: head.modified),
      text: text, into: batch)
  }
}

extension Writer {
  /// Inserts what a copier seals on another thread, with the collections that come with it.
  ///
  /// - Parameters:
  ///   - refused: told of a row that the new store can't take beside those it has; throwing from it ends the work.
  ///   - progress: called after each batch with how many documents were written.
  func insert(
    filling fill: (SealedBatch) throws -> Bool, refused: (DocumentID, StoreError) throws -> Void,
    progress: (Int) throws -> Void
  ) throws {
    let transaction = transaction
    try transaction.willWrite()
    let statements = try StoreTransaction.RowStatements(insertingInto: transaction.database)
    var written = 0
    do {
      try Pipeline.run(
        produce: fill,
        consume: { batch in
          for record in batch.newCollections { try transaction.insertCollection(record) }
          for row in batch.rows {
            do throws(StoreError) {
              try insert(row, of: batch, statements)
              written += 1
            } catch {
              // A store never holds a key twice; one that was put back to an older row may.
              guard error.code == .duplicateKey else { throw error }
              let other = error.documentID.map { "document \($0)" } ?? "another document"
              try refused(DocumentID(row.fields.id), .damagedDocument(row.fields.id, "\(other) has its key"))
            }
          }
          try progress(written)
        })
    } catch {
      transaction.fail(error)
      throw error
    }
  }
}
