internal import CofferRecords
internal import CofferSealing

/// Writes the content of a new attachment in a transaction, chunk by chunk, and then its row.
package final class AttachmentBuilder {
  /// What the row says besides the content.
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
  }

  private let writer: RecordWriter
  private let isPadded: Bool
  private let fields: RowFields
  private var description: Description
  private let number: Int64
  private let key: Secret
  private let cipher: ChunkCipher
  private let hasher: TextHasher
  /// The chunk that isn't written yet, because it may be the last.
  private var pending: [UInt8] = []
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
    (key, hasher) = try translatingErrors { () throws(SealingError) in
      let hasher = try TextHasher()
      try hasher.begin()
      return (try Secret.random(byteCount: XAESKey.byteCount), hasher)
    }
    cipher = try ChunkCipher(number, key, transaction.keys)
    pending.reserveCapacity(ChunkLayout.standardSize)
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
    try translatingErrors { () throws(SealingError) in try hasher.update(bytes) }
    byteCount += bytes.count
    var rest = bytes[...]
    while !rest.isEmpty {
      if pending.count == ChunkLayout.standardSize { try writePending(isLast: false) }
      let part = rest.prefix(ChunkLayout.standardSize - pending.count)
      pending.append(contentsOf: part)
      rest = rest.dropFirst(part.count)
    }
  }

  private func writePending(isLast: Bool) throws(StoreError) {
    let sealed = try pending.withBytes { bytes throws(StoreError) in
      try cipher.seal(bytes, index, isLast: isLast)
    }
    try writer.insertChunk(sealed, index, of: number)
    pending.removeAll(keepingCapacity: true)
    index += 1
  }

  /// Writes the last chunk and the row.
  package func finish() throws(StoreError) -> Attachment {
    let digest = try translatingErrors { () throws(SealingError) in try hasher.finish() }
    guard let chunks = ChunkLayout(byteCount: byteCount, isPadded: isPadded) else {
      throw .attachmentTooLarge
    }
    var written = index * ChunkLayout.standardSize
    while written < chunks.paddedCount || index == 0 {
      let count = chunks.length(of: index)
      pending += [UInt8](repeating: 0, count: count - pending.count)
      try writePending(isLast: chunks.isLast(index))
      written += count
    }
    return try writeRow(chunks, digest)
  }

  private func writeRow(_ chunks: ChunkLayout, _ digest: TextDigest) throws(StoreError) -> Attachment {
    var record = AttachmentRecord(
      number: number, revision: writer.revision, document: fields.id, uid: description.uid, born: description.born,
      nameDot: description.nameDot, date: description.date, name: description.name, mediaType: description.mediaType,
      digest: digest, chunks: chunks, keyEpoch: writer.keys.active.epoch, key: key)
    record.extensionBytes = description.extensionBytes
    try writer.insertAttachment(record, of: fields)
    return Attachment(record)
  }

  /// Writes the row of an attachment whose content is elsewhere, without chunks.
  package func finish(withoutContentOf byteCount: Int, digest: TextDigest) throws(StoreError) -> Attachment {
    guard let chunks = ChunkLayout(byteCount: byteCount, isPadded: isPadded) else { throw .attachmentTooLarge }
    return try writeRow(chunks, digest)
  }

  /// Deletes the chunks after a failure, so that the document is as before.
  package func abandon() {
    do throws(StoreError) {
      try writer.deleteChunks(of: number)
    } catch {
      writer.fail(error)
    }
  }
}
