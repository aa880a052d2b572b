internal import CofferRecords
public import CofferSQLite

/// The rows of a query, one at a time. Valid during the call that they are handed to.
public struct QueryRows: ~Copyable {
  public let columnNames: [String]
  /// The type of each column of the view; nil for an expression.
  public let declaredTypes: [String?]
  private let statement: Statement
  private let table: DocumentTable

  fileprivate init(_ statement: Statement, _ table: DocumentTable) {
    self.statement = statement
    self.table = table
    columnNames = statement.columnNames
    declaredTypes = (0..<statement.columnCount).map(statement.declaredType)
  }

  /// The values of the next row, nil when there is none.
  ///
  /// - Throws: `queryFailed`, `damaged`, `cancelled` when the time is up.
  public mutating func next() throws(StoreError) -> [Value]? {
    do throws(SQLiteError) {
      return try statement.step() ? try statement.values() : nil
    } catch {
      throw StoreError(ofQuery: error, table, isRunning: true)
    }
  }
}

extension ReadScope where Self: ~Copyable {
  /// Runs one SELECT over the decrypted view
  /// `documents(collection, id, position, title, text, key, created, modified)`, and gives all its rows.
  ///
  /// Rows come by the collections' numbers, each collection in order; dates as text (ISO 8601, UTC), a key that is no
  /// text as a blob. All of SQLite's functions are there, those for JSON included. By `id` one row is read, by
  /// `collection` only that collection; a text is opened only where the query looks at it.
  ///
  /// The view lives in a connection in memory that ends with this call; nothing opened reaches a file, sorting
  /// included. All rows of the result stand in memory here, and whatever the SQL itself has to collect: ORDER BY,
  /// GROUP BY, DISTINCT. ``withQuery(_:parameters:timeLimit:_:)`` takes the former one row at a time.
  ///
  /// In a task it ends when that is cancelled.
  ///
  /// ```swift
  /// let cheap = try store.read {
  ///   try $0.query("SELECT title, text ->> '$.price' FROM documents WHERE text ->> '$.price' < ?", 10)
  /// }
  /// ```
  ///
  /// - Throws: `invalidArgument` for SQL that can't be compiled, does anything but read, or has another number of
  ///   parameters; `queryFailed`; `damaged` with the id.
  public func query(_ sql: String, _ parameters: (any SQLiteValueConvertible)?...) throws(StoreError) -> QueryResult {
    try query(sql, parameters: parameters)
  }

  /// As ``query(_:_:)``, with the parameters in an array.
  ///
  /// - Parameter timeLimit: ends the query with `cancelled` after about so long; nil never does.
  public func query(
    _ sql: String, parameters: [(any SQLiteValueConvertible)?], timeLimit: Duration? = nil
  ) throws(StoreError) -> QueryResult {
    try transaction.query(sql, parameters, within: timeLimit)
  }

  /// As ``query(_:_:)``, one row at a time.
  ///
  /// Memory is that of a row, its texts included, and of what the SQL itself has to collect before it can give one
  /// (ORDER BY, GROUP BY, DISTINCT); without those it is the same whatever the number of rows.
  public func withQuery<R>(
    _ sql: String, parameters: [(any SQLiteValueConvertible)?] = [], timeLimit: Duration? = nil,
    _ body: (inout QueryRows) throws -> R
  ) throws -> R {
    try transaction.withQuery(sql, parameters, within: timeLimit, body)
  }
}

extension StoreTransaction {
  func query(
    _ sql: String, _ parameters: [(any SQLiteValueConvertible)?], within limit: Duration?
  ) throws(StoreError) -> QueryResult {
    let (database, table) = try viewConnection(within: limit)
    defer { try? database.close() }
    do throws(SQLiteError) {
      _ = try compiled(sql, parameters, on: database)
    } catch {
      throw StoreError(ofQuery: error, table, isRunning: false)
    }
    do throws(SQLiteError) {
      return try database.query(sql, parameters: parameters)
    } catch {
      throw StoreError(ofQuery: error, table, isRunning: true)
    }
  }

  func withQuery<R>(
    _ sql: String, _ parameters: [(any SQLiteValueConvertible)?], within limit: Duration?,
    _ body: (inout QueryRows) throws -> R
  ) throws -> R {
    let (database, table) = try viewConnection(within: limit)
    defer { try? database.close() }
    let statement: Statement
    do throws(SQLiteError) {
      statement = try compiled(sql, parameters, on: database)
    } catch {
      throw StoreError(ofQuery: error, table, isRunning: false)
    }
    var rows = QueryRows(statement, table)
    return try body(&rows)
  }

  /// A connection to nothing but the view of this transaction.
  private func viewConnection(within limit: Duration?) throws(StoreError) -> (Database, DocumentTable) {
    try requireOpen()
    let table = DocumentTable(self)
    do throws(SQLiteError) {
      let database = try Database(
        ":memory:", mode: .create,
        configuration: .init(
          isHardened: true, lengthLimit: Int(StoreFormat.maximumValue), statementCacheCapacity: 4))
      try database.keepTemporariesInMemory()
      try database.add(table, named: DocumentTable.name)
      try database.setStopCondition(stopCondition(within: limit))
      try database.allowReadingOnly()
      return (database, table)
    } catch {
      throw StoreError(error)
    }
  }

  /// When a query is to end: SQL may go on for ever without looking at a row.
  private func stopCondition(within limit: Duration?) -> (@Sendable () -> Bool)? {
    let cancellation = connection.cancellation
    let end = limit.map { ContinuousClock.now + $0 }
    guard cancellation != nil || end != nil else { return nil }
    return {
      if let cancellation, cancellation.isCancelled { return true }
      return end.map { ContinuousClock.now >= $0 } ?? false
    }
  }

  private func compiled(
    _ sql: String, _ parameters: [(any SQLiteValueConvertible)?], on database: Database
  ) throws(SQLiteError) -> Statement {
    let statement = try database.statement(sql)
    guard statement.isReadOnly, statement.columnCount > 0 else {
      throw SQLiteError(.notAllowed, "not a SELECT")
    }
    try statement.bind(all: parameters)
    return statement
  }
}

extension StoreError {
  /// What kept a query of somebody's from being run; names what stands in the SQL, never a value.
  fileprivate init(ofQuery error: SQLiteError, _ table: DocumentTable, isRunning: Bool) {
    if let failure = table.failure {
      self = failure
      return
    }
    switch error.code {
    case .interrupted: self.init(.cancelled, "the query was ended before it was done")
    case .noMemory: self.init(.systemFailure, "no memory left for the query")
    case .tooBig: self.init(.tooLarge, "a value of the query is longer than SQLite takes")
    case .notAllowed:
      self.init(
        .invalidArgument, "a query may only read: one SELECT over \(DocumentTable.name)",
        hint: "no ATTACH, no PRAGMA, no change")
    case _ where isRunning: self.init(.queryFailed, "the query failed: \(error.message)")
    default: self.init(.invalidArgument, "the query can't be run: \(error.message)")
    }
  }
}
