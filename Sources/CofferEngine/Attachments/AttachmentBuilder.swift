internal import CofferRecords
internal import CofferSQLite
internal import CofferSealing

/// Writes the content of a new attachment in a transaction, chunk by chunk, and then its row.
package final class AttachmentBuilder {
  /// The row's data except for the content.
  package struct Description: Sendable {
    package var uid: UniqueID
    package var born: Dot
    package var nameDot: Dot
    package var name: String
    package var mediaType: String
    package var date: Int64
    package var extensionBytes: [UInt8] = []

    package init(
      uid: UniqueID, born: Dot, nameDot: Dot, name: String, mediaType: String, date: Int64
    ) {
      self.uid = uid
      self.born = born
      self.nameDot = nameDot
      self.name = name
      self.mediaType = mediaType
      self.date = date
    }

    /// Creates the description of an existing attachment.
    package init(_ record: AttachmentRecord) {
      self.init(
        uid: record.uid, born: record.born, nameDot: record.nameDot, name: record.name, mediaType: record.mediaType,
        date: record.date)
      extensionBytes = record.extensionBytes
    }
  }

  private let writer: RecordWriter
  private let isPadded: Bool
  private let fields: RowFields
  private var description: Description
  private let number: Int64
  private let key: Secret
  private let cipher: ChunkCipher
  private let hasher: ContentHasher
  /// The chunk that isn't written yet, because it may be the last.
  private let pending = ScratchMemory(byteCount: ChunkLayout.standardSize)
  /// The number of bytes in that chunk.
  private var pendingCount = 0
  private var sealed: [UInt8] = []
  private var cacheLimit: CacheLimit?
  private var index = 0
  private var byteCount = 0

  /// - Throws: `noSuchDocument`, `noNumberLeft`.
  package init(_ transaction: StoreTransaction, _ id: DocumentID, _ description: Description) throws(StoreError) {
    guard let fields = try transaction.unverifiedFields(of: id) else { throw .noSuchDocument(id) }
    writer = try transaction.writer
    try writer.makeAttachmentTables()
    isPadded = transaction.keys.session.isPadded
    self.description = description
    self.fields = fields
    number = try writer.takeAttachmentNumber()
    key = try translatingErrors { () throws(SealingError) in try Secret.random(byteCount: XAESKey.byteCount) }
    cipher = try ChunkCipher(number, key, transaction.keys)
    hasher = try ContentHasher()
  }

  /// The date of the attached file.
  var date: Timestamp {
    get { Timestamp(millisecondsSince1970: description.date) }
    set { description.date = newValue.millisecondsSince1970 }
  }

  package static func check(name: String, mediaType: String) throws(StoreError) {
    guard !name.isEmpty else { throw StoreError(.invalidArgument, "the name of an attachment is empty") }
    let most = StoreFormat.attachmentNames.upperBound
    guard name.utf8.count <= most else {
      throw StoreError(.tooLarge, "the name of an attachment has at most \(most) bytes")
    }
    guard AttachmentRecord.isMediaType(mediaType) else {
      throw StoreError(
        .invalidArgument,
        "a media type is printable ASCII without spaces, of at most \(StoreFormat.mediaTypes.upperBound) bytes",
        hint: "leave it empty, or write it as in application/pdf")
    }
  }

  package func append(_ bytes: UnsafeRawBufferPointer) throws(StoreError) {
    guard byteCount + bytes.count <= ChunkLayout.maximumByteCount else {
      throw .attachmentTooLarge
    }
    byteCount += bytes.count
    var rest = bytes[...]
    while !rest.isEmpty {
      if pendingCount == ChunkLayout.standardSize {
        try writePending(byteCount: ChunkLayout.standardSize, isLast: false)
      }
      let chunk = pending.room(ChunkLayout.standardSize)
      let part = rest.prefix(chunk.count - pendingCount)
      UnsafeMutableRawBufferPointer(rebasing: chunk[pendingCount...])
        .copyMemory(from: UnsafeRawBufferPointer(rebasing: part))
      pendingCount += part.count
      rest = rest.dropFirst(part.count)
    }
  }

  /// Writes the next chunk.
  ///
  /// - Parameter byteCount: The number of bytes with the padding, which follows the pending bytes.
  private func writePending(byteCount: Int, isLast: Bool) throws(StoreError) {
    let chunk = pending.room(byteCount)
    UnsafeMutableRawBufferPointer(rebasing: chunk[pendingCount...]).initializeMemory(as: UInt8.self, repeating: 0)
    hasher.update(UnsafeRawBufferPointer(rebasing: chunk[..<pendingCount]))
    if sealed.count != byteCount + XAESKey.overhead {
      sealed = [UInt8](repeating: 0, count: byteCount + XAESKey.overhead)
    }
    try sealed.withMutableBytes { sealed throws(StoreError) in
      try cipher.seal(UnsafeRawBufferPointer(chunk), index, isLast: isLast, into: sealed)
    }
    // Before the first chunk of several, because the cache would otherwise grow with each attachment.
    if !isLast, cacheLimit == nil { cacheLimit = try writer.database.limitCacheForChunks() }
    try writer.insertChunk(sealed, index, of: number)
    pendingCount = 0
    index += 1
  }

  /// Writes the last chunk and the row.
  package func finish() throws(StoreError) -> Attachment {
    guard let chunks = ChunkLayout(byteCount: byteCount, isPadded: isPadded) else {
      throw .attachmentTooLarge
    }
    while index < chunks.count {
      try writePending(byteCount: chunks.length(of: index), isLast: chunks.isLast(index))
    }
    cacheLimit = nil
    var record = AttachmentRecord(
      number: number, revision: writer.revision, document: fields.id, uid: description.uid, born: description.born,
      nameDot: description.nameDot, date: description.date, name: description.name, mediaType: description.mediaType,
      digest: try hasher.finish(), chunks: chunks, keyEpoch: writer.keys.active.epoch, key: key)
    record.extensionBytes = description.extensionBytes
    try writer.insertAttachment(record, of: fields)
    return Attachment(record)
  }

  /// Deletes the chunks after a failure, so the document is unchanged.
  package func abandon() {
    cacheLimit = nil
    do throws(StoreError) {
      try writer.deleteChunks(of: number)
    } catch {
      writer.fail(error)
    }
  }
}
