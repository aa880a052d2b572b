internal import CofferRecords
public import CofferSQLite

/// The rows of a query, one at a time. Valid only during the call of the closure that receives it.
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
  /// - Throws: `queryFailed`, `damaged`, `cancelled` after the time limit, `closed`.
  public mutating func next() throws(StoreError) -> [SQLiteValue]? {
    guard !table.isClosed else { throw .storeClosed }
    do throws(SQLiteError) {
      return try statement.step() ? try statement.values() : nil
    } catch {
      throw StoreError(ofQuery: error, table, isRunning: true)
    }
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

  /// A connection in memory that has only the view of this transaction.
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

  /// Ends a query that was cancelled or is over its limit, even if its SQL reads no row, and one of a closed store.
  private func stopCondition(within limit: Duration?) -> (@Sendable () -> Bool)? {
    let cancellation = connection.cancellation
    let end = limit.map { ContinuousClock.now + $0 }
    let session = isWriter ? nil : connection.session
    guard cancellation != nil || end != nil || session != nil else { return nil }
    return {
      if session?.isClosing == true { return true }
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
  /// An error of an app's query. The message may quote the SQL, never a value.
  fileprivate init(ofQuery error: SQLiteError, _ table: DocumentTable, isRunning: Bool) {
    if let failure = table.failure {
      self = failure
      return
    }
    switch error.code {
    case .interrupted where table.isClosed: self = .storeClosed
    case .interrupted: self.init(.cancelled, "the query was ended before it was done")
    case .noMemory: self.init(.systemFailure, "no memory left for the query")
    case .tooBig: self.init(.tooLarge, "a value of the query is longer than SQLite takes")
    case .notAllowed:
      self.init(
        .invalidArgument, "a query may only read: one SELECT over \(DocumentTable.name)",
        hint: "no ATTACH, no PRAGMA, no change")
    case _ where isRunning:
      let place = table.latest.map { " at document \($0)" } ?? ""
      let isJSON = error.message.hasPrefix("malformed JSON")
      self.init(
        .queryFailed, "the query failed\(place): \(error.message)",
        hint: isJSON ? "leave out texts that are no JSON: WHERE json_valid(text)" : nil, documentID: table.latest)
    default: self.init(.invalidArgument, "the query can't be run: \(error.message)")
    }
  }
}
