internal import CofferEngine
internal import CofferRecords
internal import CofferSQLite
internal import CofferSealing

/// A salvage of a damaged store's attachments, which copies attachments with a sound row and all chunks.
///
/// Rows and chunks are read through the trees first, and then from any page. Use it on one thread at a time, after the
/// documents were copied.
final class AttachmentSalvage {
  private let walk: SalvageWalk
  private let keys: RowKeys
  /// The statement for a chunk, or `nil` if the store lacks the table or its schema is lost.
  private let chunkRows: Statement?
  /// The attachments with a sound row in the tree.
  private var numbers = NumberRanges()
  /// The attachments whose row in the tree isn't sound.
  private var unreadable: Set<Int64> = []
  /// The documents created for lost documents' attachments.
  private var replacements: Set<Int64> = []
  private(set) var saved = 0
  private(set) var left: [Verdict.DamagedAttachment] = []
  private(set) var problems: [String] = []

  init(_ walk: SalvageWalk) {
    self.walk = walk
    keys = walk.opener.keys
    chunkRows = try? walk.source.database.statement(SQL.chunk).base
  }

  private var database: StoreDatabase { walk.source.database }

  // MARK: Rows

  /// Finds the rows in the tree, and adds them to the sum. A store without attachments doesn't have the table.
  func sumRows() throws(StoreError) {
    guard let rows = try? NumberWalk(database, SQL.attachmentNumbersFrom) else { return }
    while let number = try rows.next() {
      if let row = try self.row(number), (try? AttachmentRecord(row, keys)) != nil {
        numbers.append(number)
        try add(row)
      } else {
        unreadable.insert(number)
      }
    }
    for hole in rows.holes {
      problems.append("attachments from number \(hole.lowerBound) on can't be read: SQLite finds pages in disorder")
    }
  }

  private func add(_ row: AttachmentRow) throws(StoreError) {
    try walk.addAttachment(try row.element(keys))
  }

  private func row(_ number: Int64) throws(StoreError) -> AttachmentRow? {
    let found = try database.reading { () throws(SQLiteError) in
      try database.connection.query(SQL.attachment, number).rows.first
    }
    guard let columns = found ?? nil else { return nil }
    return try? AttachmentRow(columns, within: SalvageWalk.limits, below: StoreFormat.maximumNextAttachment)
  }

  // MARK: Copying

  /// Copies the attachments to the new store, which has the documents.
  ///
  /// - Parameter goOn: Called after each attachment. If it throws, the copy ends.
  func copy(to target: StoreTransaction, with copier: RowCopier, _ goOn: () throws -> Void) throws {
    for number in numbers.all {
      guard let row = try self.row(number) else {
        reportLost(number)
        continue
      }
      try save(row, to: target, copier)
      try goOn()
    }
    if walk.search != nil || !unreadable.isEmpty {
      let strays = try walk.searchedPages()
      for number in unreadable.union(strays?.attachmentNumbers ?? []).sorted() where !numbers.contains(number) {
        let isFound = try strays?.withAttachments(number, within: SalvageWalk.limits) { row throws(StoreError) in
          guard (try? AttachmentRecord(row, keys)) != nil else { return false }
          try add(row)
          try save(row, to: target, copier)
          return true
        }
        if isFound != true, unreadable.contains(number) {
          walk.isSummed = false
          reportLost(number)
        }
        try goOn()
      }
    }
    let count = walk.attachmentCount
    if let expected = walk.source.state?.attachmentCount, expected > count + UInt64(unreadable.count) {
      problems.append("\(expected - count) of \(expected) attachments are lost: their rows can't be found")
    }
    if !replacements.isEmpty {
      let documents = replacements.count == 1 ? "document" : "documents"
      problems.append(
        "\(replacements.count) empty \(documents) in collection '\(collectionName)' hold the attachments of lost documents"
      )
    }
  }

  private func reportLost(_ number: Int64) {
    problems.append("attachment \(number) is lost: its row can't be read")
  }

  /// Copies an attachment, or lists it if a part of its content is missing or damaged.
  private func save(_ row: AttachmentRow, to target: StoreTransaction, _ copier: RowCopier) throws(StoreError) {
    let record = try AttachmentRecord(row, keys)
    var isLost = false
    do {
      // Undo the chunks copied before a damaged chunk.
      try target.savepoint {
        let isFirst = try !target.hasRow(DocumentID(record.document))
        isLost = isFirst || replacements.contains(record.document)
        let document = isFirst ? try replacement(for: record, in: target) : DocumentID(record.document)
        var names = try walk.histories.names(of: record, copier)
        if isLost {
          // Another copy can have the attachment in its document.
          let writer = try target.writer
          try writer.willWrite()
          names = (try writer.keys.newUID(), writer.dot, writer.dot)
        }
        var description = AttachmentBuilder.Description(record)
        (description.uid, description.born, description.nameDot) = (names.uid, names.born, names.nameDot)
        let builder = try AttachmentBuilder(target, document, description)
        let chunks = try AttachmentChunks(record, keys)
        try chunks.forEachChunk(readBy: { index, memory throws(StoreError) in
          try read(index, of: chunks, into: memory)
        }) { part throws(StoreError) in try builder.append(part) }
        _ = try builder.finish()
      }
      saved += 1
      if isLost { replacements.insert(record.document) }
    } catch let error as StoreError where [.damaged, .tooLarge, .noNumberLeft].contains(error.code) {
      left.append(
        Verdict.DamagedAttachment(
          id: Attachment.ID(rawValue: record.number), document: DocumentID(record.document), reason: error.message))
    } catch let error as StoreError {
      throw error
    } catch {
      preconditionFailure("internal error: a savepoint threw \(type(of: error))")
    }
  }

  /// Reads a chunk through the tree, or from any page.
  private func read(_ index: Int, of chunks: AttachmentChunks, into memory: UnsafeMutableRawBufferPointer)
    throws(StoreError)
  {
    let number = AttachmentChunks.row(of: index, in: chunks.record.number)
    if let sealed = try chunk(number), (try? sealed.withBytes { try chunks.open($0, index, into: memory) }) != nil {
      return
    }
    let isFound = try walk.searchedPages()?.withBodies(number) { bytes throws(StoreError) in
      (try? chunks.open(bytes, index, into: memory)) != nil
    }
    guard isFound == true else {
      throw .damagedAttachment(chunks.record.number, "chunk \(index) is missing or damaged")
    }
  }

  /// Returns a chunk that the tree leads to.
  private func chunk(_ number: Int64) throws(StoreError) -> [UInt8]? {
    guard let chunkRows else { return nil }
    defer { chunkRows.reset() }
    let found = try database.reading { () throws(SQLiteError) -> [UInt8]? in
      try chunkRows.bind(number, at: 1)
      guard try chunkRows.step(), chunkRows.storageClass(at: 0) == .blob else { return nil }
      return Array(chunkRows.blobPointer(at: 0))
    }
    return found ?? nil
  }

  // MARK: Lost documents

  private lazy var collectionName = walk.unusedName("lost documents")

  /// Adds an empty document to replace a lost document.
  private func replacement(for record: AttachmentRecord, in target: StoreTransaction) throws(StoreError) -> DocumentID {
    let collection = try target.collectionEditor.openOrCreate(DocumentCollection(collectionName), titleRule: .asGiven)
    return try target.editor.add(
      Document(text: ""), in: collection, id: DocumentID(record.document), titleRule: nil
    ) { () throws(StoreError) in try target.order.position(for: .bottom, in: collection.id) }
  }
}
