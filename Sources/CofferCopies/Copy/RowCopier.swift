internal import CofferEngine
internal import CofferRecords
internal import CofferSQLite
internal import CofferSealing

/// A copier that reencrypts documents for another store, keeping IDs, positions, dates and identities.
///
/// Use a copier on the thread that fills batches. Another thread inserts them.
final class RowCopier {
  /// The batch limits, which bound memory use and keep the inserting thread busy.
  private static let batchBytes = 256 << 10
  private static let batchRows = 512

  private let keys: RowKeys
  private let sealer: RecordSealer
  private let revision: UInt64
  private let keepsStamps: Bool
  private(set) var collections: [UInt32: CollectionRecord] = [:]

  /// - Parameters:
  ///   - transaction: The new store's transaction, which provides keys and a generation.
  ///   - keepsStamps: Whether documents and collections keep their change generations, as in an editable copy.
  ///     Otherwise, they're stamped like new documents.
  init(into transaction: StoreTransaction, keepingStamps keepsStamps: Bool = false) throws(StoreError) {
    self.keepsStamps = keepsStamps
    keys = try RowKeys(transaction.keys.session)
    keys.beginRun(transaction.connection.nonceSource)
    sealer = RecordSealer(keys)
    revision = try transaction.writer.revision
  }

  static func isFull(_ batch: SealedBatch) -> Bool {
    batch.byteCount >= batchBytes || batch.rows.count >= batchRows
  }

  /// Adds a collection, keeping its number.
  ///
  /// - Returns: The record to insert before the collection's first row.
  func add(_ collection: CollectionRecord) -> CollectionRecord {
    var copy = collection
    copy.epoch = keys.active.epoch
    copy.revision = revision
    if !keepsStamps { (copy.born, copy.edited) = (revision, revision) }
    collections[copy.id] = copy
    return copy
  }

  /// Encrypts one document, whose collection must already be added.
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
    var index: [UInt8]?
    if let key = head.key {
      index = try keys.blindIndex(of: DocumentKey(bytes: key), in: collection, under: keys.active)
    }
    var content = RecordSealer.Content(row, head, blindIndex: index)
    if !keepsStamps { content.stamps = DocumentStamps(born: revision, uid: head.stamps.uid) }
    try sealer.seal(fields, content, text: text, into: batch)
  }

  /// Completes a batch. Call it once, on the thread that filled the batch.
  func finish(_ batch: SealedBatch) throws(StoreError) {
    try batch.sum(keys.summer)
  }
}
