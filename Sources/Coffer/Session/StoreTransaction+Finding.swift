internal import CofferSQLite
internal import CofferSealing

extension StoreTransaction {
  /// Finds a key under every live epoch; the head decides whether it is really that key.
  func id(forKey key: ExternalKey, in collection: CollectionRecord) throws(StoreError) -> DocumentID? {
    try requireOpen()
    let folded = try collection.folded(key)
    for context in keys.epochs {
      let lookup = try keys.lookup(ofFolded: folded, in: collection.id, under: context)
      let found = try record(withLookup: lookup, in: collection.id) { row, head throws(StoreError) in
        guard row.fields.collection == collection.id, try collection.folds(head.key, to: folded) else {
          throw .damagedDocument(row.fields.id, "the index of keys names it for another key")
        }
        return DocumentID(row.fields.id)
      }
      if let found { return found }
    }
    return nil
  }

  /// The document that a look-up leads to, its head proved.
  func holder(ofLookup lookup: [UInt8], in collection: UInt32) throws(StoreError) -> DocumentID? {
    try record(withLookup: lookup, in: collection) { row, _ throws(StoreError) in DocumentID(row.fields.id) }
  }

  private func record(
    withLookup lookup: [UInt8], in collection: UInt32,
    _ use: (RecordRow, HeadData) throws(StoreError) -> DocumentID
  ) throws(StoreError) -> DocumentID? {
    let statement = try connection.take(.recordByLookup)
    defer { connection.giveBack(statement, as: .recordByLookup) }
    return try lookup.withBytes { lookup throws(StoreError) in
      let isThere = try storing { () throws(SQLiteError) in
        try statement.bind(Int64(collection), at: 1)
        // In place: bound anew before every run.
        try statement.bindBlob(lookup, at: 2)
        return try statement.step()
      }
      guard isThere else { return nil }
      let row = try RecordRow(statement, within: state.limits)
      return try use(row, try connection.opener.openHead(row))
    }
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
