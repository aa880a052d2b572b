internal import CofferEngine
internal import CofferRecords
internal import CofferSQLite
internal import CofferSealing

/// A copier that reencrypts documents for another store, keeping IDs and dates.
///
/// Use a copier on the thread that fills batches. Another thread inserts them.
final class RowCopier {
  /// The relation of a new store to the old store.
  enum Lineage {
    /// An unrelated store, whose documents and collections get new identities.
    case new
    /// Documents and collections keep their identities and dots, so both stores can be merged.
    ///
    /// - Parameter replicas: The numbers of the other store's replicas, or `nil` if they're unchanged.
    case kept(JointReplicas?)
  }

  /// The batch limits, which bound memory use and keep the inserting thread busy.
  private static let batchBytes = 256 << 10
  private static let batchRows = 512

  private let keys: RowKeys
  private let sealer: RecordSealer
  private let revision: UInt64
  /// The commit that makes the new store's rows.
  let dot: Dot
  private let lineage: Lineage
  /// The key that computes the same new identity for each old identity.
  private let identities: HMACKey
  private(set) var collections: [UInt32: CollectionRecord] = [:]

  /// - Parameter transaction: The new store's transaction, which provides keys, a generation and a dot.
  init(into transaction: StoreTransaction, _ lineage: Lineage) throws(StoreError) {
    self.lineage = lineage
    keys = try RowKeys(transaction.keys.session)
    keys.beginRun(transaction.connection.nonceSource)
    sealer = RecordSealer(keys)
    revision = try transaction.writer.revision
    dot = try transaction.writer.upcomingDot()
    identities = try translatingErrors { () throws(SealingError) in try HMACKey(.random(byteCount: 32)) }
  }

  static func isFull(_ batch: SealedBatch) -> Bool {
    batch.byteCount >= batchBytes || batch.rows.count >= batchRows
  }

  /// Adds a collection, keeping its number.
  ///
  /// - Returns: The record to insert before the collection's first row.
  func add(_ collection: CollectionRecord) throws(StoreError) -> CollectionRecord {
    var copy: CollectionRecord
    switch lineage {
    case .new:
      // Salvaged collections can have one name.
      var uid = try keys.collectionUID(named: collection.name)
      var count: UInt32 = 0
      while collections.values.contains(where: { $0.uid == uid }) {
        count += 1
        uid = try keys.collectionUID(named: collection.name, count)
      }
      copy = CollectionRecord(
        id: collection.id, revision: revision, name: collection.name, settings: collection.settings,
        uid: uid, dots: CollectionDots(dot))
      copy.extensionBytes = collection.extensionBytes
    case .kept(let replicas):
      copy = collection
      copy.revision = revision
      if let replicas { copy.dots = try replicas.translate(copy.dots) }
    }
    collections[copy.id] = copy
    return copy
  }

  /// Returns a deletion's dots for the new store.
  func copy(_ deletion: DeletionRecord) throws(StoreError) -> (dots: [Dot], stamp: Dot) {
    guard case .kept(let replicas?) = lineage else { return (deletion.dots, deletion.stamp) }
    var dots: [Dot] = []
    for dot in deletion.dots { dots.append(try replicas.translate(dot)) }
    return (dots.sorted(), try replicas.translate(deletion.stamp))
  }

  /// Encrypts one document, whose collection must already be added.
  ///
  /// - Parameters:
  ///   - history: The document's identity, parent and dots in the new store.
  ///   - position: The document's position in the new store, or `nil` to keep the old position.
  func copy(
    _ row: RecordRow, _ head: HeadData, text: UnsafeRawBufferPointer, _ history: DocumentHistory,
    at position: DocumentPosition?, into batch: SealedBatch
  ) throws(StoreError) {
    guard let collection = collections[row.fields.collection] else {
      throw .damagedDocument(row.fields.id, "its collection is gone")
    }
    var fields = row.fields
    fields.epoch = keys.active.epoch
    fields.revision = revision
    if history.parent == nil { fields.parent = nil }
    var index: [UInt8]?
    if let key = head.key {
      index = try keys.blindIndex(of: DocumentKey(bytes: key), in: collection, under: keys.active)
    }
    var content = RecordSealer.Content(row, head, blindIndex: index)
    content.history = history
    if let position { content.position = position }
    try sealer.seal(fields, content, text: text, into: batch)
  }

  /// Returns a document's identity, parent and dots in the new store.
  func history(of head: HeadData) throws(StoreError) -> DocumentHistory {
    var history = DocumentHistory(head)
    switch lineage {
    case .new:
      history.uid = try identity(of: head.uid)
      history.parent = try head.parent.map(identity)
      history.dots = DocumentDots.bytes(ofNew: dot)
    case .kept(let replicas):
      if let replicas { history.dots = try replicas.translate(history.decodedDots).bytes }
    }
    return history
  }

  /// Returns an attachment's identity and dots in the new store.
  func names(of attachment: AttachmentRecord) throws(StoreError) -> AttachmentCopier.Names {
    switch lineage {
    case .new: return (try identity(of: attachment.uid), dot, dot)
    case .kept(nil): return (attachment.uid, attachment.born, attachment.nameDot)
    case .kept(let replicas?):
      return (
        attachment.uid, try replicas.translate(attachment.born), try replicas.translate(attachment.nameDot)
      )
    }
  }

  /// Returns an unused identity.
  func newUID() throws(StoreError) -> UniqueID { try keys.newUID() }

  private func identity(of uid: UniqueID) throws(StoreError) -> UniqueID {
    try translatingErrors { () throws(SealingError) in
      let mac = try identities.authenticate(uid.bytes)
      return mac.withUnsafeBytes { bytes in
        var reader = ByteReader(bytes)
        return reader.uniqueID()!
      }
    }
  }

  /// Completes a batch. Call it once, on the thread that filled the batch.
  func finish(_ batch: SealedBatch) throws(StoreError) {
    try batch.sum(keys.summer)
  }
}
