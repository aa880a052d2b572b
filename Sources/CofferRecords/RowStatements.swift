internal import CofferSQLite

/// The two statements that write a row: the record and, if it was sealed too, its body.
package struct RowStatements {
  /// The columns that a statement writes, beside epoch, revision and seals.
  package enum Parts: Int {
    case insert
    case all
    /// No column that an index holds: collection, position, parent and blind index stay.
    case content
    /// The position alone; the row's epoch is the active one already.
    case position

    fileprivate var sql: String {
      switch self {
      case .insert: SQL.insertRecord
      case .all: SQL.updateRecord
      case .content: SQL.updateContent
      case .position: SQL.updatePosition
      }
    }
  }

  private let record: Statement
  private let body: Statement
  private let parts: Parts

  init(_ database: StoreDatabase, _ parts: Parts) throws(StoreError) {
    self.parts = parts
    record = try database.statement(parts.sql).base
    body = try database.statement(parts == .insert ? SQL.insertBody : SQL.updateBody).base
  }

  /// - Throws: SQLite's error; its constraint names the conflict of a new row.
  func runRecord(_ row: SealedBatch.Row, of batch: SealedBatch) throws(SQLiteError) {
    let fields = row.fields
    try record.bind(fields.id, at: 1)
    switch parts {
    case .insert, .all:
      try record.bind(Int64(fields.collection), at: 2)
      try record.bind(Int64(fields.epoch), at: 3)
      try record.bind(Int64(fields.revision), at: 4)
      try record.bind(fields.position, at: 5)
      if let parent = fields.parent { try record.bind(parent, at: 6) } else { try record.bindNull(at: 6) }
      try record.bind(Int64(fields.flags), at: 7)
      if let index = row.blindIndex {
        try record.bindBlob(batch.bytes(index), at: 8)
      } else {
        try record.bindNull(at: 8)
      }
      try bind(title: row.title, at: 9, of: batch)
      try record.bindBlob(batch.bytes(row.head), at: 10)
      try record.bindBlob(batch.bytes(row.bodyTag), at: 11)
    case .content:
      try record.bind(Int64(fields.epoch), at: 2)
      try record.bind(Int64(fields.revision), at: 3)
      try record.bind(Int64(fields.flags), at: 4)
      try bind(title: row.title, at: 5, of: batch)
      try record.bindBlob(batch.bytes(row.head), at: 6)
      try record.bindBlob(batch.bytes(row.bodyTag), at: 7)
    case .position:
      try record.bind(Int64(fields.revision), at: 2)
      try record.bind(fields.position, at: 3)
      try record.bindBlob(batch.bytes(row.head), at: 4)
    }
    try record.run()
  }

  func runBody(_ row: SealedBatch.Row, of batch: SealedBatch) throws(StoreError) {
    guard !row.body.isEmpty else { return }
    do throws(SQLiteError) {
      try body.bind(row.fields.id, at: 1)
      try body.bindBlob(batch.bytes(row.body), at: 2)
      try body.run()
    } catch {
      throw StoreError(error)
    }
  }

  private func bind(title: Range<Int>?, at index: Int, of batch: SealedBatch) throws(SQLiteError) {
    guard let title else { return try record.bindNull(at: index) }
    try record.bindText(batch.bytes(title), at: index)
  }
}
