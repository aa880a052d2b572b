internal import CofferDocuments
package import CofferEngine
package import CofferRecords
internal import CofferSealing
internal import CofferText

/// Reads a changeset's payload, and writes its rows into a scratch store that a merge reads (Sync-Format, "Payload").
package final class ChangesetReader {
  private let source: any ChangesetBytes
  package private(set) var origin: ChangesetOrigin
  /// The entry that was read last and isn't used yet.
  private var next: (entry: ChangesetEntry, count: Int)

  /// Reads the origin, which says whether the changeset can be taken.
  ///
  /// - Throws: `damaged`.
  package init(_ source: any ChangesetBytes) throws(StoreError) {
    self.source = source
    let first = try Self.entry(source)
    guard first.entry == .origin, first.count <= Self.maximumEntry,
      let origin = try source.read(first.count).withBytes({ ChangesetOrigin($0) })
    else { throw Self.damage }
    self.origin = origin
    next = try Self.entry(source)
  }

  /// Gives a replica's commits after a counter another name than the sender does.
  package func rename(_ identity: UniqueID, after counter: UInt64, as name: UniqueID) throws(StoreError) {
    try origin.rename(identity, after: counter, as: name)
  }

  private static let maximumEntry = 8 << 20
  private static let maximumDocument = StoreFormat.maximumText + StoreFormat.maximumHead + 1024
  static let damage = StoreError(.damaged, "a changeset is damaged: its payload is invalid")

  private static func entry(_ source: any ChangesetBytes) throws(StoreError) -> (entry: ChangesetEntry, count: Int) {
    let bytes = try source.read(5)
    return try bytes.withBytes { bytes throws(StoreError) in
      var reader = ByteReader(bytes)
      guard let kind: UInt8 = reader.integer(), let entry = ChangesetEntry(rawValue: kind),
        let count: UInt32 = reader.integer()
      else { throw damage }
      return (entry, Int(count))
    }
  }

  /// Returns the bytes of the next entry, and steps to the entry after it.
  private func take(limit: Int = maximumEntry) throws(StoreError) -> [UInt8] {
    guard next.count <= limit else { throw Self.damage }
    let bytes = try source.read(next.count)
    next = try Self.entry(source)
    return bytes
  }

  /// Writes all rows into an empty store.
  ///
  /// - Throws: `damaged`.
  package func write(into transaction: StoreTransaction) throws {
    let writer = try transaction.writer
    var collections: [UInt32: CollectionRecord] = [:]
    while next.entry == .collection {
      let record = try collection(try take(), revision: writer.revision)
      guard collections.updateValue(record, forKey: record.id) == nil else { throw Self.damage }
      try writer.insertCollection(record)
    }
    while next.entry == .deletion {
      let record = try deletion(try take())
      try writer.insertDeletion(
        uid: record.uid, dots: record.dots, stamp: record.stamp, extensionBytes: record.extensionBytes)
    }
    while next.entry == .document {
      try insertDocuments(into: transaction, collections)
      while next.entry == .attachment { try insertAttachment(into: transaction) }
    }
    guard next.entry == .end, next.count == 0 else { throw Self.damage }
  }

  private func collection(_ bytes: [UInt8], revision: UInt64) throws(StoreError) -> CollectionRecord {
    var isNewer = false
    let record: CollectionRecord? = bytes.withBytes { bytes in
      var reader = ByteReader(bytes)
      guard let id: UInt32 = reader.integer(), id >= 1, Int64(id) <= StoreFormat.maximumNumber,
        let data = reader.bytes(reader.remaining)
      else { return nil }
      return CollectionRecord(data, id: id, revision: revision, isNewer: &isNewer)
    }
    guard var record else { throw Self.damage }
    guard !isNewer else { throw .newerStore }
    record.dots = record.dots.mapped(origin.renamed)
    return record
  }

  private func deletion(_ bytes: [UInt8]) throws(StoreError) -> DeletionRecord {
    var part: ExtensionPart?
    var isNewer = false
    let record = bytes.withBytes { bytes in
      let record = DeletionRecord(bytes, number: 1, revision: 1, &part)
      isNewer = part?.isNewer ?? false
      return record
    }
    guard let record else { throw Self.damage }
    guard !isNewer else { throw .newerStore }
    return record.mapped(origin.renamed)
  }

  // MARK: Documents

  /// Inserts the documents up to the next attachment.
  private func insertDocuments(
    into transaction: StoreTransaction, _ collections: [UInt32: CollectionRecord]
  ) throws {
    let keys = try RowKeys(transaction.keys.session)
    keys.beginRun(transaction.connection.nonceSource)
    let sealer = RecordSealer(keys)
    let writer = try transaction.writer
    let revision = writer.revision
    try RowInsertion(transaction).run(
      readBy: { _ in () },
      sealedBy: { batch, _ in
        while self.next.entry == .document, !RowCopier.isFull(batch) {
          try self.seal(try self.take(limit: Self.maximumDocument), collections, sealer, revision, into: batch)
        }
        try batch.sum(keys.summer)
        return !batch.rows.isEmpty
      },
      inserted: { _ in })
  }

  private func seal(
    _ bytes: [UInt8], _ collections: [UInt32: CollectionRecord], _ sealer: RecordSealer, _ revision: UInt64,
    into batch: SealedBatch
  ) throws(StoreError) {
    try bytes.withBytes { bytes throws(StoreError) in
      var reader = ByteReader(bytes)
      guard let id: Int64 = reader.integer(), StoreFormat.documentIDs.contains(id),
        let number: UInt32 = reader.integer(), let collection = collections[number], let json: UInt8 = reader.integer(),
        json <= 1, let length: UInt8 = reader.integer(), let place = reader.bytes(Int(length)),
        let position = DocumentPosition(Array(place)), let headCount: UInt32 = reader.integer(),
        let data = reader.bytes(Int(headCount)), let head = HeadData(data), let text = reader.bytes(reader.remaining),
        text.count == head.textCount, UTF8Validity.isValid(text)
      else { throw Self.damage }
      let keys = sealer.keys
      // Whichever document holds a key, it's found when the changeset is merged.
      var fields = RowFields(
        id: id, collection: number, epoch: keys.active.epoch, revision: revision, parent: nil,
        flags: StoreFormat.RowFlags(isJSON: json == 1, isKeyHeldElsewhere: head.key != nil).rawValue)
      fields.parent = nil
      let index = try head.key.map { key throws(StoreError) in
        try keys.blindIndex(of: DocumentKey(bytes: key), in: collection, under: keys.active)
      }
      var history = DocumentHistory(head)
      if origin.hasRenames { history.dots = DocumentDots(checked: head.dots).mapped(origin.renamed).bytes }
      let content = RecordSealer.Content(
        position: position, title: head.title, key: head.key, blindIndex: index, attributes: head.attributes,
        created: head.created, modified: head.modified, history: history, textDigest: head.textDigest,
        extensionBytes: Array(head.extensionPart.bytes))
      try sealer.seal(fields, content, text: text, into: batch)
    }
  }

  // MARK: Attachments

  private func insertAttachment(into transaction: StoreTransaction) throws(StoreError) {
    guard var attachment = try take().withBytes({ ChangesetAttachment($0) }) else { throw Self.damage }
    attachment.description.born = origin.renamed(attachment.description.born)
    attachment.description.nameDot = origin.renamed(attachment.description.nameDot)
    let builder = try AttachmentBuilder(transaction, DocumentID(attachment.document), attachment.description)
    guard attachment.carriesContent else {
      origin.absentContents.insert(attachment.description.uid)
      _ = try builder.finish(withoutContentOf: attachment.byteCount, digest: attachment.digest)
      return
    }
    while next.entry == .content {
      try take().withBytes { bytes throws(StoreError) in try builder.append(bytes) }
    }
    let written = try builder.finish()
    guard written.sha256 == attachment.digest.bytes, written.byteCount == attachment.byteCount else {
      throw Self.damage
    }
  }
}
