internal import CofferSQLite

extension StoreTransaction {
  /// The statements that put rows into the file, kept for the length of a batch.
  struct RowStatements {
    /// What of a row a change touches, its epoch, revision and seals aside.
    enum Parts {
      case all
      /// No column that an index holds: collection, position, parent and look-up stay.
      case content
      /// The position, and nothing else; the row's epoch is the active one already.
      case position
    }

    private let record: Statement
    private let body: Statement
    private let parts: Parts

    init(insertingInto database: Database) throws(StoreError) {
      try self.init(database, SQL.insertRecord, SQL.insertBody, .all)
    }

    init(_ database: Database, changing parts: Parts) throws(StoreError) {
      let record =
        switch parts {
        case .all: SQL.updateRecord
        case .content: SQL.updateContent
        case .position: SQL.updatePosition
        }
      try self.init(database, record, SQL.updateBody, parts)
    }

    private init(_ database: Database, _ record: String, _ body: String, _ parts: Parts) throws(StoreError) {
      self.parts = parts
      self.record = try storing { () throws(SQLiteError) in try database.statement(record) }
      self.body = try storing { () throws(SQLiteError) in try database.statement(body) }
    }

    /// Binds and runs both; `body` only where the row was sealed with one.
    func run(_ row: SealedBatch.Row, of batch: SealedBatch) throws(SQLiteError) {
      switch parts {
      case .all: try bindAll(row, of: batch)
      case .content: try bindContent(row, of: batch)
      case .position: try bindPosition(row, of: batch)
      }
      try record.run()
      guard !row.body.isEmpty else { return }
      try body.bind(row.fields.id, at: 1)
      try body.bindBlob(batch.bytes(row.body), at: 2)
      try body.run()
    }

    private func bindAll(_ row: SealedBatch.Row, of batch: SealedBatch) throws(SQLiteError) {
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
      try bind(title: row.title, at: 9, of: batch)
      try record.bindBlob(batch.bytes(row.head), at: 10)
      try record.bindBlob(batch.bytes(row.bodyTag), at: 11)
    }

    private func bindContent(_ row: SealedBatch.Row, of batch: SealedBatch) throws(SQLiteError) {
      try record.bind(row.fields.id, at: 1)
      try record.bind(Int64(row.fields.epoch), at: 2)
      try record.bind(Int64(row.fields.revision), at: 3)
      try record.bind(Int64(row.fields.flags), at: 4)
      try bind(title: row.title, at: 5, of: batch)
      try record.bindBlob(batch.bytes(row.head), at: 6)
      try record.bindBlob(batch.bytes(row.bodyTag), at: 7)
    }

    private func bindPosition(_ row: SealedBatch.Row, of batch: SealedBatch) throws(SQLiteError) {
      try record.bind(row.fields.id, at: 1)
      try record.bind(Int64(row.fields.revision), at: 2)
      try record.bind(row.fields.position, at: 3)
      try record.bindBlob(batch.bytes(row.head), at: 4)
    }

    private func bind(title: Range<Int>?, at index: Int, of batch: SealedBatch) throws(SQLiteError) {
      guard let title else { return try record.bindNull(at: index) }
      try record.bindText(batch.bytes(title), at: index)
    }
  }
}
