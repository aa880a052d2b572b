internal import CofferEngine
internal import CofferRecords
internal import CofferSealing

/// Copies attachments to documents of another store, under new numbers and keys, chunk by chunk.
struct AttachmentCopier {
  /// What an attachment is called in the other store.
  typealias Names = (uid: UniqueID, born: Dot, nameDot: Dot)

  private let source: StoreTransaction
  private let target: StoreTransaction
  private let advance: () throws(StoreError) -> Void

  /// - Parameter advance: Called for each part of a content. Throwing from it ends the copy.
  init(
    from source: StoreTransaction, to target: StoreTransaction,
    advance: @escaping () throws(StoreError) -> Void = { () throws(StoreError) in }
  ) {
    (self.source, self.target, self.advance) = (source, target, advance)
  }

  /// Copies an attachment, whose content is compared with its digest.
  ///
  /// - Parameters:
  ///   - document: The document in the other store.
  ///   - names: The identity and the dots in the other store.
  func copy(_ record: AttachmentRecord, to document: DocumentID, as names: Names) throws(StoreError) {
    var description = AttachmentBuilder.Description(record)
    (description.uid, description.born, description.nameDot) = (names.uid, names.born, names.nameDot)
    let builder = try AttachmentBuilder(target, document, description)
    try forEachPart(of: record) { part throws(StoreError) in try builder.append(part) }
    _ = try builder.finish()
  }

  /// Reads the content of an attachment, and compares it with its digest.
  func prove(_ record: AttachmentRecord) throws(StoreError) {
    try forEachPart(of: record) { _ throws(StoreError) in }
  }

  private func forEachPart(
    of record: AttachmentRecord, _ body: (UnsafeRawBufferPointer) throws(StoreError) -> Void
  ) throws(StoreError) {
    try AttachmentChunks(record, source.keys).forEachChunk(from: source.database) { part throws(StoreError) in
      try source.requireOpen()
      try advance()
      try body(part)
    }
  }
}

extension AttachmentRecord {
  /// The parts of an attachment that are equal in every store: its name, media type, date and content.
  var description: [UInt8] {
    var builder = ByteBuilder(reserving: 64 + name.utf8.count + mediaType.utf8.count)
    builder.append(counted: name)
    builder.append(counted: mediaType)
    builder.append(date)
    builder.append(bytes: digest.bytes)
    return builder.bytes
  }
}

extension StoreError {
  /// Returns the error for an attachment with a different content or document in another store.
  static func otherContent(_ number: Int64) -> StoreError {
    .damagedAttachment(number, "the other store has another attachment with its identity")
  }
}
