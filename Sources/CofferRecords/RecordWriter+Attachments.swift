internal import CofferSQLite
package import CofferSealing

// Attachment rows are elements of the set hash, and the keys in the rows seal the chunks (FORMAT, "Attachments").

extension RecordWriter {
  /// Creates the attachment tables if the store doesn't have them yet. The commit sets the bit in the header.
  package func makeAttachmentTables() throws(StoreError) {
    guard !keys.session.header.hasAttachments, !hasNewAttachmentTables else { return }
    try willWrite()
    try changing { () throws(StoreError) in
      for (_, sql) in Schema.attachmentObjects { try database.execute(sql) }
    }
    hasNewAttachmentTables = true
  }

  /// Reserves the number for a new attachment. The number isn't reused, even if the caller doesn't insert the
  /// attachment.
  ///
  /// - Throws: `noNumberLeft`.
  package func takeAttachmentNumber() throws(StoreError) -> Int64 {
    try willWrite()
    guard state.nextAttachment < StoreFormat.maximumNextAttachment else {
      throw StoreError(
        .noNumberLeft, "no number is left for another attachment", hint: "export the store into a new one")
    }
    defer { state.nextAttachment += 1 }
    return Int64(state.nextAttachment)
  }

  /// Inserts a sealed chunk.
  package func insertChunk(_ sealed: [UInt8], _ index: Int, of attachment: Int64) throws(StoreError) {
    try willWrite()
    try changing { () throws(StoreError) in
      let statement = try database.statement(SQL.insertChunk, AttachmentChunks.row(of: index, in: attachment))
      defer { statement.reset() }
      try sealed.withBytes { sealed throws(StoreError) in
        try statement.bindBlob(sealed, at: 2)
        _ = try statement.step()
      }
    }
  }

  /// Replaces a chunk with a chunk sealed with another key.
  package func replaceChunk(_ sealed: [UInt8], _ index: Int, of attachment: Int64) throws(StoreError) {
    try willWrite()
    try changing { () throws(StoreError) in
      try database.execute(SQL.updateChunk, sealed, AttachmentChunks.row(of: index, in: attachment))
      guard database.connection.lastRowsAffected == 1 else {
        throw .damagedAttachment(attachment, "chunk \(index) is missing")
      }
    }
  }

  /// Inserts an attachment's row after its chunks are stored.
  ///
  /// - Parameter fields: The document's columns.
  package func insertAttachment(_ record: AttachmentRecord, of fields: RowFields) throws(StoreError) {
    try willWrite()
    let row = try record.seal(keys)
    try changing { () throws(StoreError) in
      try database.execute(SQL.insertAttachment, row.number, row.document, Int64(row.revision), row.sealed)
      state.attachmentCount += 1
      try sum(replacing: nil, with: row.element(keys))
      noteChange { $0.attach(row.number, to: fields) }
    }
  }

  /// Replaces an attachment's row with a changed record, or with an unchanged record in a new epoch.
  ///
  /// - Parameters:
  ///   - before: The replaced row's element.
  ///   - fields: The document's columns, or `nil` if the replacement doesn't change the document.
  package func replaceAttachment(
    _ before: SetElement, with new: AttachmentRecord, of fields: RowFields?
  ) throws(StoreError) {
    try willWrite()
    let row = try new.seal(keys)
    try changing { () throws(StoreError) in
      try database.execute(SQL.updateAttachment, Int64(row.revision), row.sealed, row.number)
      guard database.connection.lastRowsAffected == 1 else { throw .damagedAttachment(row.number, "its row is gone") }
      try sum(replacing: before, with: row.element(keys))
      if let fields { noteChange { $0.renameAttachment(row.number, of: fields) } }
    }
  }

  /// Deletes an attachment with its chunks, and records the deletion unless this transaction attached it.
  ///
  /// - Parameters:
  ///   - fields: The document's columns.
  ///   - notesDeletion: Whether the deletion originates in this transaction, so the writer must record it.
  package func deleteAttachment(
    _ row: AttachmentRow, of fields: RowFields, notingDeletion notesDeletion: Bool = true
  ) throws(StoreError) {
    try willWrite()
    let record = try AttachmentRecord(row, keys)
    try remove(row)
    if notesDeletion, record.born != dot { try noteDeletion(of: record.uid) }
    noteChange { $0.detach(row.number, from: fields) }
  }

  /// Deletes a deleted document's attachments, without recording a deletion for each attachment.
  func deleteAttachments(of document: Int64) throws(StoreError) {
    for row in try attachmentRows(of: document) { try remove(row) }
  }

  /// Returns a document's attachment rows in ascending order of their numbers.
  package func attachmentRows(of document: Int64) throws(StoreError) -> [AttachmentRow] {
    try AttachmentRow.all(
      of: document, in: database, within: limits, next: state.nextAttachment(in: keys.session.header))
  }

  private func remove(_ row: AttachmentRow) throws(StoreError) {
    // Open the row first, because the set hash doesn't reveal a changed column.
    _ = try AttachmentRecord(row, keys)
    try changing { () throws(StoreError) in
      try database.execute(SQL.deleteAttachment, row.number)
      guard database.connection.lastRowsAffected == 1, state.attachmentCount > 0 else {
        throw .damagedStore("its count of attachments is lower than their rows")
      }
      state.attachmentCount -= 1
      try sum(replacing: row.element(keys), with: nil)
      try deleteChunks(of: row.number)
    }
  }

  /// The maximum number of chunks that a transaction deletes, because SQLite reads all their pages under the write
  /// lock.
  package static let maximumDeletedChunks: Int64 = 1024

  /// Deletes chunks whose attachment doesn't have a row. Without the row, their key no longer exists.
  ///
  /// Stops when the transaction has deleted ``maximumDeletedChunks`` chunks, and leaves the remaining chunks to later
  /// transactions (``leavesChunks``).
  package func deleteChunks(of attachment: Int64) throws(StoreError) {
    // Don't search for more chunks, because doing so for many attachments would fill the cache with a page for each.
    guard deletedChunks < Self.maximumDeletedChunks else {
      leavesChunks = true
      return
    }
    let numbers = AttachmentChunks.rows(of: attachment)
    var next = try database.integer(SQL.firstChunkFrom, numbers.lowerBound)
    guard let chunk = next, numbers.contains(chunk) else { return }
    let limit = try database.limitCacheForChunks()
    defer { withExtendedLifetime(limit) {} }
    // Chunks don't need secure deletion, because their key is in the row, which is securely deleted.
    try setSecureDelete(false)
    do throws(StoreError) {
      while let chunk = next, numbers.contains(chunk), deletedChunks < Self.maximumDeletedChunks {
        let last = min(chunk + Self.maximumDeletedChunks - deletedChunks - 1, numbers.upperBound)
        try database.execute(SQL.deleteChunks, chunk, last)
        deletedChunks += Int64(database.connection.lastRowsAffected)
        next = last < numbers.upperBound ? try database.integer(SQL.firstChunkFrom, last + 1) : nil
      }
    } catch {
      try? setSecureDelete(true)
      throw error
    }
    try setSecureDelete(true)
    if let next, numbers.contains(next) { leavesChunks = true }
  }

  private func setSecureDelete(_ isWhole: Bool) throws(StoreError) {
    try translatingErrors { () throws(SQLiteError) in try database.connection.setSecureDelete(isWhole) }
  }
}

extension AttachmentRow {
  /// Returns a document's attachment rows in ascending order of their numbers, without opening them.
  ///
  /// - Parameter next: The state's next attachment, or `nil` if the store doesn't have attachment tables.
  /// - Throws: `damaged` if the index returns another document's row, or rows in the wrong order.
  package static func all(
    of document: Int64, in database: StoreDatabase, within limits: RowLimits, next: UInt64?
  ) throws(StoreError) -> [AttachmentRow] {
    guard let next else { return [] }
    var rows: [AttachmentRow] = []
    var order = AttachmentOrder()
    try database.forEachRow(SQL.attachmentsOf, [document]) { columns throws(StoreError) in
      try order.step(to: columns)
      let row = try AttachmentRow(try columns.values(), within: limits, below: next)
      guard row.document == document else { throw AttachmentOrder.misplaced(row.number) }
      rows.append(row)
      return true
    }
    return rows
  }

  /// Returns an attachment's row, or `nil` if the row doesn't exist.
  ///
  /// - Parameter next: The state's next attachment, or `nil` if the store doesn't have attachment tables.
  package static func find(
    _ number: Int64, in database: StoreDatabase, within limits: RowLimits, next: UInt64?
  ) throws(StoreError) -> AttachmentRow? {
    guard let next else { return nil }
    return try database.rows(SQL.attachment, number).first.map { columns throws(StoreError) in
      try AttachmentRow(columns, within: limits, below: next)
    }
  }
}
