internal import CofferSQLite
internal import CofferSealing

// Rows in and out, the set hash and the count along with them. A new document is a plain INSERT and a change an UPDATE
// of one row: never an UPSERT, which after a replayed state would overwrite a live document.

extension StoreTransaction {
  /// Inserts what the connection's batch holds, and counts it.
  func insertSealed() throws(StoreError) {
    defer { connection.batch.removeAll() }
    try changing { () throws(StoreError) in
      let statements = try RowStatements(insertingInto: database)
      for row in connection.batch.rows {
        try storing { () throws(SQLiteError) in try statements.run(row, of: connection.batch) }
        state.set.add(row.element)
        state.count += 1
        changes.insert(row)
        state.nextID = max(state.nextID, UInt64(row.fields.id) + 1)
        rowsWritten += 1
      }
    }
  }

  /// Puts the one row of the connection's batch in the place of a row whose element was `old`.
  ///
  /// - Parameters:
  ///   - before: the row as it was.
  ///   - kind: what that means to whoever listens.
  func replaceSealed(
    _ old: SetHash, _ parts: RowStatements.Parts, before: RowFields, as kind: ChangeLog.Kind = .updated
  ) throws(StoreError) {
    defer { connection.batch.removeAll() }
    try changing { () throws(StoreError) in
      let row = connection.batch.rows[0]
      let statements = try RowStatements(database, changing: parts)
      try storing { () throws(SQLiteError) in try statements.run(row, of: connection.batch) }
      guard database.lastRowsAffected == 1 else {
        throw .damagedDocument(row.fields.id, "its text is missing")
      }
      state.set.subtract(old)
      state.set.add(row.element)
      changes.replace(old, with: row, before: before, as: kind)
      rowsWritten += 1
    }
  }

  /// Takes a row out; it must be the one that was written, or the set hash would no longer tell.
  ///
  /// - Parameter collection: where an index says that it stands; the row itself must say so too.
  func delete(_ id: DocumentID, in collection: UInt32? = nil) throws(StoreError) {
    try willWrite()
    let (element, before) = try withRow(id, body: false) { row, _ throws(StoreError) in
      _ = try connection.opener.openHead(row)
      try row.fields.require(collection)
      return (try connection.opener.element(of: row), row.fields)
    }
    try changing { () throws(StoreError) in
      try storing { () throws(SQLiteError) in
        _ = try database.execute(SQL.deleteRecord, id.rawValue)
        _ = try database.execute(SQL.deleteBody, id.rawValue)
      }
      guard state.count > 0 else { throw .damagedStore("its count is lower than its rows") }
      state.set.subtract(element)
      state.count -= 1
      changes.delete(before, element)
      rowsWritten += 1
    }
  }

  /// Whether a document goes on its way; an empty text may be skipped or refused.
  func takes(_ document: Document, _ mode: EmptyTextMode, as id: DocumentID? = nil) throws(StoreError) -> Bool {
    try requireOpen()
    guard document.text.utf8.isEmpty else { return true }
    switch mode {
    case .store: return true
    case .skip: return false
    case .fail:
      throw StoreError(.emptyText, "the text is empty", hint: "store it as it is, or skip it", documentID: id)
    }
  }

  /// Whether a row of that number is there, be it sound or not.
  func isTaken(_ id: DocumentID) throws(StoreError) -> Bool {
    let statement = try storing { () throws(SQLiteError) in
      let statement = try database.statement(SQL.record)
      try statement.bind(id.rawValue, at: 1)
      return statement
    }
    defer { statement.reset() }
    return try storing { () throws(SQLiteError) in try statement.step() }
  }

  /// A parent is another document of the same collection, and none of the document's own descendants.
  ///
  /// - Parameter isNew: nothing can name the document as its parent yet.
  func requireParent(_ parent: DocumentID?, of id: Int64, isNew: Bool, in collection: UInt32) throws(StoreError) {
    guard let parent else { return }
    guard let fields = try fieldsIfThere(of: parent), fields.collection == collection, parent.rawValue != id else {
      throw StoreError(
        .invalidArgument, "the parent \(parent) is no other document of the same collection",
        documentID: DocumentID(id))
    }
    guard !isNew else { return }
    // What others wrote may go round already: each ancestor is looked at once.
    var seen: Set<Int64> = [parent.rawValue]
    var next = fields.parent
    while let ancestor = next, seen.insert(ancestor).inserted {
      guard ancestor != id else {
        throw StoreError(
          .invalidArgument, "document \(parent) belongs to document \(id), so it can't be its parent",
          documentID: DocumentID(id))
      }
      next = try fieldsIfThere(of: DocumentID(ancestor))?.parent
    }
  }

  private func fieldsIfThere(of id: DocumentID) throws(StoreError) -> RowFields? {
    do throws(StoreError) {
      return try withRow(id, body: false) { row, _ throws(StoreError) in row.fields }
    } catch {
      guard error.code == .noSuchDocument else { throw error }
      return nil
    }
  }
}
