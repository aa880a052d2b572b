internal import CofferRecords
internal import CofferSealing

extension DocumentEditor {
  /// Attaches a content. The document is unchanged after an error.
  ///
  /// - Parameters:
  ///   - name: The name, or `nil` to use the attached file's name.
  ///   - mediaType: The media type, or `nil` to use the type for the name's extension.
  ///   - date: The date, or `nil` to use the attached file's date, or else the current date.
  /// - Throws: Errors of reading the content, `noSuchDocument`, `alreadyExists` if an attachment of the document has the
  ///   name, `invalidArgument`, `tooLarge`, `noNumberLeft`.
  package func attach(
    _ content: AttachmentContent, to id: DocumentID, name: String?, mediaType: String?, date: Timestamp?,
    _ progress: ProgressHandler?
  ) throws(StoreError) -> Attachment {
    guard let name = name ?? content.fileName else {
      throw StoreError(.invalidArgument, "bytes and streams need a name to be attached", documentID: id)
    }
    try requireFree(name, in: id)
    return try add(content, to: id, name: name, mediaType: mediaType ?? MediaType.ofFile(named: name), date, progress)
  }

  /// Replaces an attachment with a new content.
  ///
  /// - Parameters:
  ///   - mediaType: The media type, or `nil` for the former one.
  ///   - date: As in ``attach(_:to:name:mediaType:date:_:)``.
  /// - Throws: Errors of reading the content, `noSuchAttachment`, `invalidArgument`, `tooLarge`, `noNumberLeft`.
  package func replace(
    _ id: Attachment.ID, with content: AttachmentContent, mediaType: String?, date: Timestamp?,
    _ progress: ProgressHandler?
  ) throws(StoreError) -> Attachment {
    let former = try transaction.attachmentRecord(id)
    let new = try add(
      content, to: DocumentID(former.document), name: former.name, mediaType: mediaType ?? former.mediaType, date,
      progress)
    try detach(id)
    return new
  }

  func add(
    _ content: AttachmentContent, to id: DocumentID, name: String, mediaType: String, _ date: Timestamp?,
    _ progress: ProgressHandler?
  ) throws(StoreError) -> Attachment {
    try AttachmentBuilder.check(name: name, mediaType: mediaType)
    if let date, !date.isStorable { throw .refusedDate }
    func build() throws -> Attachment {
      let writer = try transaction.writer
      try writer.willWrite()
      let builder = try AttachmentBuilder(
        transaction, id,
        AttachmentBuilder.Description(
          uid: try writer.keys.newUID(), born: writer.dot, nameDot: writer.dot, name: name, mediaType: mediaType,
          date: (date ?? .now()).millisecondsSince1970))
      do {
        let fileDate = try content.forEachPart(progress) { part throws(StoreError) in
          try transaction.requireOpen()
          try builder.append(part)
        }
        if date == nil, let fileDate { builder.date = fileDate }
        return try builder.finish()
      } catch {
        builder.abandon()
        throw error
      }
    }
    // The store's first attachment also makes the tables, which a failure has to undo.
    return try expectingStoreErrors {
      try transaction.nextAttachment == nil ? transaction.savepoint(build) : build()
    }
  }

  /// - Throws: `alreadyExists` if an attachment of the document has the name, and errors of reading the attachments.
  private func requireFree(_ name: String, in document: DocumentID) throws(StoreError) {
    try transaction.forEachAttachmentRecord(of: document) { other throws(StoreError) in
      if other.name.isIdentical(to: name) { throw .attachmentNameTaken(by: other) }
    }
  }

  /// Gives an attachment another name.
  package func rename(_ id: Attachment.ID, to name: String) throws(StoreError) {
    let row = try transaction.attachmentRow(id)
    var record = try transaction.attachmentRecord(id)
    try AttachmentBuilder.check(name: name, mediaType: record.mediaType)
    guard !name.isIdentical(to: record.name) else { return }
    try requireFree(name, in: DocumentID(record.document))
    let writer = try transaction.writer
    try writer.willWrite()
    (record.name, record.nameDot, record.revision) = (name, writer.dot, writer.revision)
    try writer.replaceAttachment(
      try row.element(transaction.keys), with: record, of: try fields(of: record.document))
  }

  /// Removes an attachment and its content from its document.
  package func detach(_ id: Attachment.ID) throws(StoreError) {
    let row = try transaction.attachmentRow(id)
    try transaction.writer.deleteAttachment(row, of: try fields(of: row.document))
  }

  private func fields(of document: Int64) throws(StoreError) -> RowFields {
    guard let fields = try transaction.unverifiedFields(of: DocumentID(document)) else {
      throw .noSuchDocument(DocumentID(document))
    }
    return fields
  }
}

extension StoreError {
  fileprivate static func attachmentNameTaken(by other: AttachmentRecord) -> StoreError {
    StoreError(
      .alreadyExists, "attachment \(other.number) of document \(other.document) has this name",
      hint: "replace it, or give another name", documentID: DocumentID(other.document))
  }
}
