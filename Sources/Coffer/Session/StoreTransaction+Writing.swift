internal import CofferSQLite
internal import CofferSealing

// Rows in and out, the set hash and the count along with them. A new document is a plain INSERT and a change an UPDATE
// of one row: never an UPSERT, which after a replayed state would overwrite a live document.

extension StoreTransaction {
  /// The statements that put rows into the file, kept for the length of a batch.
  struct RowStatements {
    let record: Statement
    let body: Statement

    init(_ database: Database, inserting: Bool) throws(StoreError) {
      record = try storing { () throws(SQLiteError) in
        try database.statement(inserting ? SQL.insertRecord : SQL.updateRecord)
      }
      body = try storing { () throws(SQLiteError) in
        try database.statement(inserting ? SQL.insertBody : SQL.updateBody)
      }
    }

    /// Binds and runs both; `body` only where the row was sealed with one.
    func run(_ row: SealedBatch.Row, of batch: SealedBatch) throws(SQLiteError) {
      let fields = row.fields
      try record.bind(fields.id, at: 1)
      try record.bind(Int64(fields.collection), at: 2)
      try record.bind(Int64(fields.epoch), at: 3)
      try record.bind(Int64(fields.revision), at: 4)
      try record.bind(fields.position, at: 5)
      if let parent = fields.parent { try record.bind(parent, at: 6) } else { try record.bindNull(at: 6) }
      try record.bind(Int64(fields.flags), at: 7)
      if let lookup = row.lookup {
        try record.bindBlob(batch.bytes(lookup), at: 8)
      } else {
        try record.bindNull(at: 8)
      }
      if let title = row.title {
        try record.bindText(batch.bytes(title), at: 9)
      } else {
        try record.bindNull(at: 9)
      }
      try record.bindBlob(batch.bytes(row.head), at: 10)
      try record.bindBlob(batch.bytes(row.bodyTag), at: 11)
      try record.run()
      guard !row.body.isEmpty else { return }
      try body.bind(fields.id, at: 1)
      try body.bindBlob(batch.bytes(row.body), at: 2)
      try body.run()
    }
  }

  /// Inserts what the connection's batch holds, and counts it.
  func insertSealed() throws(StoreError) {
    defer { connection.batch.removeAll() }
    try changing { () throws(StoreError) in
      let statements = try RowStatements(database, inserting: true)
      for row in connection.batch.rows {
        try storing { () throws(SQLiteError) in try statements.run(row, of: connection.batch) }
        state.set.add(row.element)
        state.count += 1
      }
    }
  }

  /// Puts the one row of the connection's batch in the place of a row whose element was `old`.
  func replaceSealed(_ old: SetHash) throws(StoreError) {
    defer { connection.batch.removeAll() }
    try changing { () throws(StoreError) in
      let row = connection.batch.rows[0]
      let statements = try RowStatements(database, inserting: false)
      try storing { () throws(SQLiteError) in try statements.run(row, of: connection.batch) }
      guard database.lastRowsAffected == 1 else {
        throw .damagedDocument(row.fields.id, "its text is missing")
      }
      state.set.subtract(old)
      state.set.add(row.element)
    }
  }

  /// Takes a row out; it must be the one that was written, or the set hash would no longer tell.
  ///
  /// - Parameter collection: where an index says that it stands; the row itself must say so too.
  func delete(_ id: DocumentID, in collection: UInt32? = nil) throws(StoreError) {
    try willWrite()
    let element = try withRow(id, body: false) { row, _ throws(StoreError) in
      _ = try connection.opener.openHead(row)
      try row.fields.require(collection)
      return try connection.opener.element(of: row)
    }
    try changing { () throws(StoreError) in
      try storing { () throws(SQLiteError) in
        _ = try database.execute(SQL.deleteRecord, id.rawValue)
        _ = try database.execute(SQL.deleteBody, id.rawValue)
      }
      guard state.count > 0 else { throw .damagedStore("its count is lower than its rows") }
      state.set.subtract(element)
      state.count -= 1
    }
  }

  /// The next number; none is ever given twice.
  func takeID(_ wanted: DocumentID?) throws(StoreError) -> Int64 {
    let id = wanted?.rawValue ?? Int64(state.nextID)
    guard id >= 1, id < Int64.max else {
      throw StoreError(.invalidArgument, "a document's number is 1 or more", documentID: wanted)
    }
    state.nextID = max(state.nextID, UInt64(id) + 1)
    return id
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

  func requireParent(_ parent: DocumentID?, of id: Int64, in collection: UInt32) throws(StoreError) {
    guard let parent else { return }
    let found: UInt32?
    do throws(StoreError) {
      found = try withRow(parent, body: false) { row, _ throws(StoreError) in row.fields.collection }
    } catch {
      guard error.code == .noSuchDocument else { throw error }
      found = nil
    }
    guard found == collection, parent.rawValue != id else {
      throw StoreError(
        .invalidArgument, "the parent \(parent) is no other document of the same collection",
        documentID: DocumentID(id))
    }
  }

  // MARK: Collections

  func createCollection(_ name: String, titleRule: TitleRule, foldsKeys: Bool) throws(StoreError) -> CollectionRecord {
    try willWrite()
    try checkCollectionName(name)
    let highest = try collections().map(\.id).max() ?? 0
    guard highest < UInt32(Int32.max) else { throw StoreError(.tooLarge, "no more collections can be made") }
    let record = CollectionRecord(
      id: highest + 1, epoch: keys.active.epoch, revision: revision, name: name, titleRule: titleRule,
      foldsKeys: foldsKeys)
    try insertCollection(record)
    return record
  }

  func insertCollection(_ record: CollectionRecord) throws(StoreError) {
    let sealed = try record.seal(keys)
    try changing { () throws(StoreError) in
      try storing { () throws(SQLiteError) in
        _ = try database.execute(
          SQL.insertCollection, Int64(record.id), Int64(record.epoch), Int64(record.revision), sealed)
      }
      state.set.add(try element(of: record.id, record.epoch, record.revision, sealed))
    }
    connection.forgetCollections()
  }

  /// Seals a collection anew, with another name or under another epoch.
  func replaceCollection(_ old: CollectionRecord, with new: CollectionRecord) throws(StoreError) {
    try willWrite()
    let before = try element(of: old)
    let sealed = try new.seal(keys)
    try changing { () throws(StoreError) in
      try storing { () throws(SQLiteError) in
        _ = try database.execute(
          SQL.updateCollection, Int64(new.epoch), Int64(new.revision), sealed, Int64(new.id))
      }
      state.set.subtract(before)
      state.set.add(try element(of: new.id, new.epoch, new.revision, sealed))
    }
    connection.forgetCollections()
  }

  func deleteCollection(_ record: CollectionRecord) throws(StoreError) {
    try willWrite()
    let before = try element(of: record)
    let ids = try database.stored { database throws(SQLiteError) in
      try database.query(SQL.idsInCollection, Int64(record.id)).rows
    }
    try changing { () throws(StoreError) in
      for row in ids {
        guard case .integer(let id) = row[0] else { continue }
        try delete(DocumentID(id), in: record.id)
      }
      try storing { () throws(SQLiteError) in _ = try database.execute(SQL.deleteCollection, Int64(record.id)) }
      state.set.subtract(before)
    }
    connection.forgetCollections()
  }

  func checkCollectionName(_ name: String) throws(StoreError) {
    guard (1...StoreFormat.maximumCollectionName).contains(name.utf8.count) else {
      throw StoreError(
        .invalidArgument, "a collection's name has 1 to \(StoreFormat.maximumCollectionName) bytes")
    }
    guard try collection(named: name) == nil else {
      throw StoreError(.alreadyExists, "there is a collection of that name already")
    }
  }

  private func element(of record: CollectionRecord) throws(StoreError) -> SetHash {
    guard let row = try connection.readCollectionRows(state).first(where: { $0.id == record.id }) else {
      throw StoreError(.noSuchCollection, "collection #\(record.id) is gone")
    }
    return try element(of: row.id, row.epoch, row.revision, row.sealed)
  }

  private func element(of id: UInt32, _ epoch: UInt32, _ revision: UInt64, _ sealed: [UInt8]) throws(StoreError)
    -> SetHash
  {
    try sealing { () throws(SealingError) in
      try CollectionRecord.element(
        id: id, epoch: epoch, revision: revision, sealed: sealed, keys: keys)
    }
  }
}
