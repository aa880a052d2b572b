internal import CofferRecords
internal import CofferSQLite

// Reading attachments.

extension StoreTransaction {
  /// The state's next attachment, or `nil` in a store without tables of attachments.
  var nextAttachment: UInt64? { state.nextAttachment(in: keys.session.header) }

  /// Returns a document's attachments in the order in which they were attached, without opening their contents.
  ///
  /// - Throws: `noSuchDocument`, `damaged`, or `otherFormat` for an attachment of a later version.
  package func attachments(of id: DocumentID) throws(StoreError) -> [Attachment] {
    try requireOpen()
    if let lastCounted, lastCounted.document == id, !hasWritten {
      notes?.note(id)
      return lastCounted.attachments
    }
    var attachments: [Attachment] = []
    try forEachAttachmentRecord(of: id) { attachments.append(Attachment($0)) }
    return attachments
  }

  /// Calls a closure with each of a document's attachments in the order in which they were attached. One key is in
  /// memory at a time, because locked memory is scarce.
  ///
  /// - Throws: Like ``attachments(of:)``.
  package func forEachAttachmentRecord(
    of id: DocumentID, _ body: (AttachmentRecord) throws(StoreError) -> Void
  ) throws(StoreError) {
    notes?.note(id)
    let rows = try attachmentRows(of: id.rawValue)
    for row in rows { try body(try attachmentRecord(row)) }
    if rows.isEmpty, try !exists(id) { throw .noSuchDocument(id) }
  }

  /// Returns a header with its attachment count and attachment bytes.
  ///
  /// A damaged attachment is counted without its bytes, because the document itself isn't damaged.
  package func counted(_ header: DocumentHeader) throws(StoreError) -> DocumentHeader {
    guard try mayHaveAttachments(header.id.rawValue) else { return header }
    var header = header
    var attachments: [Attachment]? = []
    var order = AttachmentOrder()
    try database.forEachRow(SQL.attachmentsOf, [header.id.rawValue]) { columns throws(StoreError) in
      try order.step(to: columns)
      header.attachmentCount += 1
      do throws(StoreError) {
        let row = try AttachmentRow(try columns.values(), within: limits, below: state.nextAttachment)
        let record = try AttachmentRecord(row, keys)
        header.attachmentByteCount += record.chunks.byteCount
        if record.isNewer { attachments = nil }
        attachments?.append(Attachment(record))
      } catch {
        guard error.code == .damaged else { throw error }
        attachments = nil
      }
      return true
    }
    guard header.attachmentCount > 0 else { return header }
    // A caller who lists the attachments next doesn't open them again.
    if let attachments, !hasWritten { lastCounted = (header.id, attachments) }
    return header
  }

  /// Returns `false` if the index doesn't contain an attachment of a document.
  ///
  /// Caches the range of IDs without attachments, because most documents of a list don't have any. A transaction that
  /// has written doesn't use the cache.
  private func mayHaveAttachments(_ document: Int64) throws(StoreError) -> Bool {
    guard hasAttachments else { return false }
    guard !hasWritten else { return true }
    if unattached.contains(document) { return false }
    let below = try database.integer(SQL.attachedAtOrBelow, document) ?? .min
    let above = try below < document ? database.integer(SQL.attachedAtOrAbove, document) ?? .max : document
    guard below < document, document < above else { return true }
    unattached.insert(below + 1...above - 1)
    return false
  }

  func counted(_ opened: OpenedDocument) throws(StoreError) -> OpenedDocument {
    guard try mayHaveAttachments(opened.header.id.rawValue) else { return opened }
    return self.opened(try counted(opened.header), opened.utf8)
  }

  /// Returns the rows of a document's attachments, which aren't opened yet.
  package func attachmentRows(of document: Int64) throws(StoreError) -> [AttachmentRow] {
    try requireOpen()
    return try AttachmentRow.all(of: document, in: database, within: limits, next: nextAttachment)
  }

  /// Calls a closure with each attachment's row, sorted by number. The closure can change the row.
  package func forEachAttachmentRow(_ body: (AttachmentRow) throws(StoreError) -> Void) throws(StoreError) {
    var walk = AttachmentWalk(database, within: limits, next: nextAttachment)
    try walk.forEach { row throws(StoreError) in
      try requireOpen()
      try body(row)
    }
  }

  /// - Throws: `noSuchAttachment`, `damaged`, `otherFormat`.
  package func attachmentRecord(_ id: Attachment.ID) throws(StoreError) -> AttachmentRecord {
    let row = try attachmentRow(id)
    notes?.note(DocumentID(row.document))
    return try attachmentRecord(row)
  }

  /// - Throws: `damaged`, `otherFormat`.
  package func attachmentRecord(_ row: AttachmentRow) throws(StoreError) -> AttachmentRecord {
    try AttachmentRecord(row, keys).requireKnown()
  }

  package func attachmentRow(_ id: Attachment.ID) throws(StoreError) -> AttachmentRow {
    try requireOpen()
    guard
      let row = try AttachmentRow.find(id.rawValue, in: database, within: limits, next: nextAttachment)
    else {
      throw StoreError(.noSuchAttachment, "there is no attachment \(id)", hint: "\(.listAttachments) lists them")
    }
    return row
  }

  /// - Throws: `noSuchAttachment`, `damaged`, `otherFormat`.
  package func attachment(_ id: Attachment.ID) throws(StoreError) -> Attachment {
    Attachment(try attachmentRecord(id))
  }

  /// Returns an empty array for a content, or a part of one.
  ///
  /// A hostile row can name a length of 2^40, so the array doesn't get more memory than the file has bytes.
  package func memory(for byteCount: Int) throws(StoreError) -> [UInt8] {
    let most = try translatingErrors { () throws(SQLiteError) in try database.connection.fileSize() }
    var memory: [UInt8] = []
    memory.reserveCapacity(min(byteCount, Int(clamping: most)))
    return memory
  }

  /// Returns the chunks of an attachment, for reading its content in this transaction.
  package func chunks(of id: Attachment.ID) throws(StoreError) -> AttachmentChunks {
    try AttachmentChunks(try attachmentRecord(id), keys)
  }

  /// Reads a range of an attachment's content. In a release, the first of several ranges costs reading the
  /// whole content.
  ///
  /// - Parameter memory: Memory of the range's length.
  package func read(
    _ range: Range<Int>, of chunks: AttachmentChunks, into memory: UnsafeMutableRawBufferPointer
  ) throws(StoreError) {
    try requireOpen()
    if let lastProof { chunks.proof = lastProof }
    try chunks.read(range, from: database, into: memory) { () throws(StoreError) in try requireOpen() }
    lastProof = chunks.proof ?? lastProof
  }
}

extension AttachmentRecord {
  /// - Throws: `otherFormat` if a later version wrote the attachment in a form that this version can't read.
  fileprivate func requireKnown() throws(StoreError) -> AttachmentRecord {
    guard !isNewer else {
      throw StoreError(
        .otherFormat, "attachment \(number) was written by a later version of this program, which this one can't read",
        hint: "update this program", documentID: DocumentID(document))
    }
    return self
  }
}
