internal import CofferSQLite
internal import CofferSealing

extension StoreTransaction {
  /// Finds a key under every live epoch; the head decides whether it is really that key.
  func id(forKey key: ExternalKey, in collection: CollectionRecord) throws(StoreError) -> DocumentID? {
    try requireOpen()
    let folded = try collection.folded(key)
    for context in keys.epochs {
      let lookup = try keys.lookup(of: key, in: collection, under: context)
      if let id = try record(withLookup: lookup, folded: folded, in: collection) { return id }
    }
    return nil
  }

  private func record(withLookup lookup: [UInt8], folded: [UInt8], in collection: CollectionRecord) throws(StoreError)
    -> DocumentID?
  {
    let statement = try storing { () throws(SQLiteError) in
      let statement = try database.statement(SQL.recordByLookup)
      try statement.bind(Int64(collection.id), at: 1)
      try statement.bind(lookup, at: 2)
      return try statement.step() ? statement : nil
    }
    guard let statement else { return nil }
    defer { statement.reset() }
    let row = try RecordRow(statement, within: state.limits)
    let head = try connection.opener.openHead(row)
    guard row.fields.collection == collection.id, let found = head.key,
      try collection.folded(ExternalKey(bytes: found)) == folded
    else { throw .damagedDocument(row.fields.id, "the index of keys names it for another key") }
    return DocumentID(row.fields.id)
  }

  /// The document that a look-up leads to, its head proved.
  func holder(ofLookup lookup: [UInt8], in collection: UInt32) throws(StoreError) -> DocumentID? {
    let statement = try storing { () throws(SQLiteError) in
      let statement = try database.statement(SQL.recordByLookup)
      try statement.bind(Int64(collection), at: 1)
      try statement.bind(lookup, at: 2)
      return try statement.step() ? statement : nil
    }
    guard let statement else { return nil }
    defer { statement.reset() }
    let row = try RecordRow(statement, within: state.limits)
    _ = try connection.opener.openHead(row)
    return DocumentID(row.fields.id)
  }

  func childrenStatement(of parent: DocumentID) throws(StoreError) -> Statement {
    try storing { () throws(SQLiteError) in
      let statement = try database.statement(SQL.children)
      try statement.bind(parent.rawValue, at: 1)
      return statement
    }
  }

  func count(in collection: CollectionRecord) throws(StoreError) -> Int {
    let value = try database.stored { database throws(SQLiteError) in
      try database.firstValue(SQL.countInCollection, Int64(collection.id))
    }
    guard case .integer(let count)? = value else { return 0 }
    return Int(count)
  }

  func documentCounts() throws(StoreError) -> [UInt32: Int] {
    try requireOpen()
    let rows = try database.stored { database throws(SQLiteError) in
      try database.query(SQL.documentsPerCollection).rows
    }
    var counts: [UInt32: Int] = [:]
    for row in rows {
      guard case .integer(let number) = row[0], let id = UInt32(exactly: number), case .integer(let count) = row[1]
      else { continue }
      counts[id] = Int(count)
    }
    return counts
  }
}
