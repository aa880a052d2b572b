internal import CofferRecords
internal import CofferSQLite
internal import CofferSealing

/// Seals documents opened in one store into the rows of a new one: same ids, positions, dates and identities, other
/// keys.
///
/// Belongs to the thread that fills batches; another thread inserts them.
final class RowCopier {
  /// A batch is full at either of these limits, so that memory stays the same and the inserting thread has work.
  private static let batchBytes = 256 << 10
  private static let batchRows = 512

  private let keys: RowKeys
  private let sealer: RecordSealer
  private let revision: UInt64
  private let keepsStamps: Bool
  private(set) var collections: [UInt32: CollectionRecord] = [:]

  /// - Parameters:
  ///   - transaction: a transaction of the new store; only its keys and its generation are used here.
  ///   - keepsStamps: whether documents and collections keep the generations of their changes, as in an editable copy;
  ///     otherwise they have those of a new document.
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

  /// Takes over a collection and its number.
  ///
  /// - Returns: the record to insert before the first row of the collection.
  func add(_ collection: CollectionRecord) -> CollectionRecord {
    var copy = collection
    copy.epoch = keys.active.epoch
    copy.revision = revision
    if !keepsStamps { (copy.born, copy.edited) = (revision, revision) }
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
    var index: [UInt8]?
    if let key = head.key {
      index = try keys.blindIndex(of: ExternalKey(bytes: key), in: collection, under: keys.active)
    }
    var content = RecordSealer.Content(head, blindIndex: index)
    if !keepsStamps { content.stamps = DocumentStamps(born: revision, uid: head.stamps.uid) }
    try sealer.seal(fields, content, text: text, into: batch)
  }

  /// Call once for each batch, on the thread that sealed it.
  func finish(_ batch: SealedBatch) throws(StoreError) {
    try batch.sum(keys.summer)
  }
}
