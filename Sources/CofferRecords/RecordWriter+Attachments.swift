internal import CofferSQLite
package import CofferSealing

// Attachments, whose rows are elements of the set hash, and whose chunks the rows' keys seal (FORMAT, "Attachments").

extension RecordWriter {
  /// Creates the tables of attachments if the store doesn't have them yet. The commit sets the bit in the header.
  package func makeAttachmentTables() throws(StoreError) {
    guard !keys.session.header.hasAttachments, !hasNewAttachmentTables else { return }
    try willWrite()
    try changing { () throws(StoreError) in
      for (_, sql) in Schema.attachmentObjects { try database.execute(sql) }
    }
    hasNewAttachmentTables = true
  }

  /// Takes the number of a new attachment. It's never given again, even if nothing is inserted.
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

  /// Replaces a chunk with one that is sealed with another key.
  package func replaceChunk(_ sealed: [UInt8], _ index: Int, of attachment: Int64) throws(StoreError) {
    try willWrite()
    try changing { () throws(StoreError) in
      try database.execute(SQL.updateChunk, sealed, AttachmentChunks.row(of: index, in: attachment))
      guard database.connection.lastRowsAffected == 1 else {
        throw .damagedAttachment(attachment, "chunk \(index) is missing")
      }
    }
  }

  /// Inserts the row of an attachment, whose chunks are there.
  ///
  /// - Parameter fields: The columns of its document.
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

  /// Replaces the row of an attachment with a changed record, or an unchanged one under a new epoch.
  ///
  /// - Parameters:
  ///   - before: The element of the row that it replaces.
  ///   - fields: The columns of its document, or `nil` if nothing about the document changes.
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

  /// Deletes an attachment with its chunks, and records its deletion, unless this transaction attached it.
  ///
  /// - Parameters:
  ///   - fields: The columns of its document.
  ///   - notesDeletion: Whether the deletion is this transaction's own.
  package func deleteAttachment(
    _ row: AttachmentRow, of fields: RowFields, notingDeletion notesDeletion: Bool = true
  ) throws(StoreError) {
    try willWrite()
    let record = try AttachmentRecord(row, keys)
    try remove(row)
    if notesDeletion, record.born != dot { try noteDeletion(of: record.uid) }
    noteChange { $0.detach(row.number, from: fields) }
  }

  /// Deletes the attachments of a document that is deleted, which leave no deletions of their own.
  func deleteAttachments(of document: Int64) throws(StoreError) {
    for row in try attachmentRows(of: document) { try remove(row) }
  }

  /// Returns the rows of a document's attachments by their numbers.
  package func attachmentRows(of document: Int64) throws(StoreError) -> [AttachmentRow] {
    try AttachmentRow.all(
      of: document, in: database, within: limits, next: state.nextAttachment(in: keys.session.header))
  }

  private func remove(_ row: AttachmentRow) throws(StoreError) {
    // Opened first, because the set hash wouldn't reveal a changed column.
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

  /// The number of chunks that a transaction deletes, because SQLite reads all their pages under the write lock.
  package static let maximumDeletedChunks: Int64 = 1024

  /// Deletes chunks of an attachment that has no row, whose key therefore is gone. If the transaction has deleted as many
  /// as it may, the others are left over for later transactions (``leavesChunks``).
  package func deleteChunks(of attachment: Int64) throws(StoreError) {
    // Looking for the chunks of many attachments would fill the cache with a page for each.
    guard deletedChunks < Self.maximumDeletedChunks else {
      leavesChunks = true
      return
    }
    let numbers = AttachmentChunks.rows(of: attachment)
    var next = try database.integer(SQL.firstChunkFrom, numbers.lowerBound)
    guard let chunk = next, numbers.contains(chunk) else { return }
    let limit = try database.limitCacheForChunks()
    defer { withExtendedLifetime(limit) {} }
    try database.execute(SQL.deletesFast)
    do throws(StoreError) {
      while let chunk = next, numbers.contains(chunk), deletedChunks < Self.maximumDeletedChunks {
        let last = min(chunk + Self.maximumDeletedChunks - deletedChunks - 1, numbers.upperBound)
        try database.execute(SQL.deleteChunks, chunk, last)
        deletedChunks += Int64(database.connection.lastRowsAffected)
        next = last < numbers.upperBound ? try database.integer(SQL.firstChunkFrom, last + 1) : nil
      }
    } catch {
      try database.execute(SQL.deletesSecurely)
      throw error
    }
    try database.execute(SQL.deletesSecurely)
    if let next, numbers.contains(next) { leavesChunks = true }
  }
}

extension AttachmentRow {
  /// Returns the rows of a document's attachments by their numbers, which aren't opened yet.
  ///
  /// - Parameter next: The state's next attachment, or `nil` in a store without tables of attachments.
  /// - Throws: `damaged` for a row that the index gives out of its place.
  package static func all(
    of document: Int64, in database: StoreDatabase, within limits: RowLimits, next: UInt64?
  ) throws(StoreError) -> [AttachmentRow] {
    guard let next else { return [] }
    var rows: [AttachmentRow] = []
    for columns in try database.rows(SQL.attachmentsOf, document) {
      let row = try AttachmentRow(columns, within: limits, below: next)
      guard row.document == document, rows.last.map({ $0.number < row.number }) ?? true else {
        throw .damagedAttachment(row.number, "the index gives it out of its place")
      }
      rows.append(row)
    }
    return rows
  }

  /// Returns the row of an attachment, or `nil` if it isn't there.
  ///
  /// - Parameter next: The state's next attachment, or `nil` in a store without tables of attachments.
  package static func find(
    _ number: Int64, in database: StoreDatabase, within limits: RowLimits, next: UInt64?
  ) throws(StoreError) -> AttachmentRow? {
    guard let next else { return nil }
    return try database.rows(SQL.attachment, number).first.map { columns throws(StoreError) in
      try AttachmentRow(columns, within: limits, below: next)
    }
  }
}
