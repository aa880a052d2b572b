internal import CofferSQLite

/// The columns that a change sets in addition to epoch, revision, head and body tag, which every change sets.
package struct RecordColumns: OptionSet {
  package let rawValue: Int

  package init(rawValue: Int) { self.rawValue = rawValue }

  package static let collection = RecordColumns(rawValue: 1)
  package static let position = RecordColumns(rawValue: 2)
  package static let parent = RecordColumns(rawValue: 4)
  package static let blindIndex = RecordColumns(rawValue: 8)
  package static let title = RecordColumns(rawValue: 16)
  package static let body = RecordColumns(rawValue: 32)
  package static let flags = RecordColumns(rawValue: 64)
  package static let all: RecordColumns = [.collection, .position, .parent, .blindIndex, .title, .body, .flags]

  /// The assignments in an UPDATE, such as `coll=?2`.
  var assignments: [String] {
    let names = ["coll=?2", "pos=?5", "parent=?6", "lookup=?8", "title=?9", "body=?12", "flags=?7"]
    return names.indices.filter { contains(RecordColumns(rawValue: 1 << $0)) }.map { names[$0] }
  }
}

/// A statement that writes one record.
struct RecordStatement {
  private let statement: Statement
  private let columns: RecordColumns
  private let isInsertion: Bool

  /// - Parameter columns: The columns that an UPDATE sets, or `nil` for an INSERT.
  init(_ database: StoreDatabase, setting columns: RecordColumns?) throws(StoreError) {
    self.columns = columns ?? .all
    isInsertion = columns == nil
    statement = try database.statement(columns.map(SQL.updateRecord) ?? SQL.insertRecord).base
  }

  /// Writes a row. The constraint in SQLite's error identifies a new row's conflict.
  func run(_ row: SealedBatch.Row, of batch: SealedBatch) throws(SQLiteError) {
    let fields = row.fields
    try statement.bind(fields.id, at: 1)
    if columns.contains(.collection) { try statement.bind(Int64(fields.collection), at: 2) }
    try statement.bind(Int64(fields.epoch), at: 3)
    try statement.bind(Int64(fields.revision), at: 4)
    if columns.contains(.position) { try statement.bindBlob(batch.bytes(row.position), at: 5) }
    if columns.contains(.parent) {
      if let parent = fields.parent { try statement.bind(parent, at: 6) } else { try statement.bindNull(at: 6) }
    }
    if columns.contains(.flags) { try statement.bind(Int64(fields.flags), at: 7) }
    if columns.contains(.blindIndex) { try bind(row.blindIndex, at: 8, of: batch) }
    if columns.contains(.title) {
      if let title = row.title {
        try statement.bindText(batch.bytes(title), at: 9)
      } else {
        try statement.bindNull(at: 9)
      }
    }
    try statement.bindBlob(batch.bytes(row.head), at: 10)
    try statement.bindBlob(batch.bytes(row.bodyTag), at: 11)
    if columns.contains(.body) { try bind(row.isBodyInRecord ? row.body : nil, at: 12, of: batch) }
    try statement.run()
  }

  private func bind(_ blob: Range<Int>?, at index: Int, of batch: SealedBatch) throws(SQLiteError) {
    guard let blob else { return try statement.bindNull(at: index) }
    try statement.bindBlob(batch.bytes(blob), at: index)
  }
}

/// The statements that write a body to a separate row.
struct BodyStatements {
  private let insertion: Statement
  private let update: Statement
  private let deletion: Statement

  init(_ database: StoreDatabase) throws(StoreError) {
    insertion = try database.statement(SQL.insertBody).base
    update = try database.statement(SQL.updateBody).base
    deletion = try database.statement(SQL.deleteBody).base
  }

  func insert(_ row: SealedBatch.Row, of batch: SealedBatch) throws(StoreError) {
    try run(insertion, row, batch)
  }

  /// Replaces a body, or returns `false` if it doesn't have a separate row.
  func replace(_ row: SealedBatch.Row, of batch: SealedBatch, _ database: StoreDatabase) throws(StoreError) -> Bool {
    try run(update, row, batch)
    return database.connection.lastRowsAffected == 1
  }

  func delete(_ id: Int64) throws(StoreError) {
    try translatingErrors { () throws(SQLiteError) in
      try deletion.bind(id, at: 1)
      try deletion.run()
    }
  }

  private func run(_ statement: Statement, _ row: SealedBatch.Row, _ batch: SealedBatch) throws(StoreError) {
    try translatingErrors { () throws(SQLiteError) in
      try statement.bind(row.fields.id, at: 1)
      try statement.bindBlob(batch.bytes(row.body), at: 2)
      try statement.run()
    }
  }
}
