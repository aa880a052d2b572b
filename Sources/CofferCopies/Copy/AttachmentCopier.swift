internal import CofferEngine
internal import CofferRecords
internal import CofferSealing

/// Copies attachments to documents of another store, under new numbers and keys, chunk by chunk.
struct AttachmentCopier {
  private let source: StoreTransaction
  private let target: StoreTransaction
  private let naming: (AttachmentRecord) throws(StoreError) -> (uid: UniqueID, born: Dot, nameDot: Dot)

  /// - Parameter naming: Returns the identity and the dots that an attachment has in the other store.
  init(
    from source: StoreTransaction, to target: StoreTransaction,
    naming: @escaping (AttachmentRecord) throws(StoreError) -> (uid: UniqueID, born: Dot, nameDot: Dot)
  ) {
    (self.source, self.target, self.naming) = (source, target, naming)
  }

  /// Copies an attachment, whose content is compared with its digest.
  ///
  /// - Parameter document: The document in the other store.
  func copy(_ record: AttachmentRecord, to document: DocumentID) throws(StoreError) {
    let (uid, born, nameDot) = try naming(record)
    var description = AttachmentBuilder.Description(
      uid: uid, born: born, nameDot: nameDot, name: record.name, mediaType: record.mediaType, date: record.date)
    description.extensionBytes = record.extensionBytes
    let builder = try AttachmentBuilder(target, document, description)
    let chunks = try AttachmentChunks(record, source.keys)
    try chunks.forEachChunk(from: source.database) { part throws(StoreError) in
      try source.requireOpen()
      try builder.append(part)
    }
    _ = try builder.finish()
  }
}
