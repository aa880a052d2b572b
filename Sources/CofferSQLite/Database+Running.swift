internal import CCofferSQLite

extension Database {
  /// Runs a statement to completion. Without parameters, runs all statements of the text in order.
  ///
  /// Outside a transaction, the statements before a failed statement remain committed. Rows are discarded.
  ///
  /// - Returns: The number of rows affected by all statements, and the last inserted rowid.
  /// - Throws: ``SQLiteError``: `sqlLogic` for SQL that can't be prepared, `constraint`, `busy`, `readOnly`, `full`, or
  ///   `misuse` if the number of parameters doesn't match or a text with several statements has parameters.
  @discardableResult
  public func execute(
    _ sql: String, _ parameters: (any SQLiteValueConvertible)?...
  ) throws(SQLiteError) -> Execution {
    try execute(sql, parameters: parameters)
  }

  /// Runs a statement to completion, with its parameters in an array.
  ///
  /// - Returns: The number of rows affected, and the last inserted rowid.
  /// - Throws: The same errors as `execute(_:_:)`.
  @discardableResult
  public func execute(
    _ sql: String, parameters: [(any SQLiteValueConvertible)?]
  ) throws(SQLiteError) -> Execution {
    if parameters.isEmpty, !connection.cache.knows(sql), try connection.holdsSeveralStatements(sql) {
      return try executeAll(sql)
    }
    let statement = try statement(sql)
    try statement.bind(all: parameters)
    return try connection.observingChanges { () throws(SQLiteError) in try statement.run() }.execution
  }

  /// Runs one statement to completion, with its parameters by name (`:name`, `@name` or `$name`). The sign is optional.
  ///
  /// - Returns: The number of rows affected, and the last inserted rowid.
  /// - Throws: The same errors as `execute(_:_:)`, and `misuse` unless each parameter has a value and each value has a
  ///   parameter.
  @discardableResult
  public func execute(
    _ sql: String, named parameters: [String: (any SQLiteValueConvertible)?]
  ) throws(SQLiteError) -> Execution {
    let statement = try statement(sql)
    try statement.bind(named: parameters)
    return try connection.observingChanges { () throws(SQLiteError) in try statement.run() }.execution
  }

  private func executeAll(_ sql: String) throws(SQLiteError) -> Execution {
    var rowsAffected = 0
    var insertedID: Int64?
    let connection = connection
    try connection.runAll(sql) { (statement) throws(SQLiteError) in
      let done = try connection.observingChanges { () throws(SQLiteError) in try statement.run() }.execution
      rowsAffected += done.rowsAffected
      insertedID = done.insertedID ?? insertedID
    }
    return Execution(rowsAffected: rowsAffected, insertedID: insertedID)
  }

  /// Runs one statement and returns all its rows. Step through a ``Statement`` for results larger than memory.
  ///
  /// - Returns: The rows, which are empty if the statement doesn't return rows.
  /// - Throws: ``SQLiteError``: `sqlLogic` for SQL that can't be prepared, `busy`, `corrupt`, `invalidText` if a text
  ///   isn't valid Unicode, or `misuse` if the number of parameters doesn't match or the text contains several
  ///   statements.
  public func query(
    _ sql: String, _ parameters: (any SQLiteValueConvertible)?...
  ) throws(SQLiteError) -> QueryResult {
    try query(sql, parameters: parameters)
  }

  /// Runs one statement and returns all its rows, with its parameters in an array.
  ///
  /// - Throws: The same errors as `query(_:_:)`.
  public func query(
    _ sql: String, parameters: [(any SQLiteValueConvertible)?]
  ) throws(SQLiteError) -> QueryResult {
    let statement = try statement(sql)
    try statement.bind(all: parameters)
    return try rows(of: statement)
  }

  /// Runs one statement and returns all its rows, with its parameters by name (`:name`, `@name` or `$name`). The sign
  /// is optional.
  ///
  /// - Throws: The same errors as `query(_:_:)`, and `misuse` unless each parameter has a value and each value has a
  ///   parameter.
  public func query(
    _ sql: String, named parameters: [String: (any SQLiteValueConvertible)?]
  ) throws(SQLiteError) -> QueryResult {
    let statement = try statement(sql)
    try statement.bind(named: parameters)
    return try rows(of: statement)
  }

  private func rows(of statement: Statement) throws(SQLiteError) -> QueryResult {
    let (result, execution) = try connection.observingChanges { () throws(SQLiteError) in try statement.result() }
    return QueryResult(
      columns: result.columns, rows: result.rows, rowsAffected: execution.rowsAffected,
      insertedID: execution.insertedID)
  }
}

extension Statement {
  /// Steps to the end and returns all rows. The result doesn't count changes.
  ///
  /// - Parameter nested: The decoding for members stored as JSON in a text column. See ``NestedDecoding``.
  package func result(decoding nested: NestedDecoding? = nil) throws(SQLiteError) -> QueryResult {
    var columns: Columns?
    var rows: [SQLiteRow] = []
    while try step() {
      // Determine the columns after the first step, because the step recompiles the statement if the schema has
      // changed.
      let shared = columns ?? Columns(self, nested)
      columns = shared
      rows.append(SQLiteRow(values: try values(), columns: shared))
    }
    reset()
    return QueryResult(columns: columns ?? Columns(self, nested), rows: rows, rowsAffected: 0, insertedID: nil)
  }

  /// Returns the current row.
  ///
  /// - Parameter columns: An earlier row's columns. If `nil`, this method sets it.
  package func row(_ columns: inout Columns?, decoding nested: NestedDecoding?) throws(SQLiteError) -> SQLiteRow {
    let shared = columns ?? Columns(self, nested)
    columns = shared
    return SQLiteRow(values: try values(), columns: shared)
  }
}

extension Connection {
  /// Runs statements and reports their changes.
  ///
  /// After a statement without changes, SQLite's own counts still describe an earlier change. Therefore, rows are
  /// counted only if the total has changed, and the inserted ID is reported only if ``Insertions`` detected an
  /// insertion.
  func observingChanges<R>(
    _ run: () throws(SQLiteError) -> R
  ) throws(SQLiteError) -> (result: R, execution: Execution) {
    let handle = try open()
    let insertions = Insertions(lastBefore: sqlite3_last_insert_rowid(handle))
    let before = sqlite3_total_changes64(handle)
    sqlite3_update_hook(
      handle,
      { context, operation, _, _, id in
        guard operation == SQLITE_INSERT else { return }
        Unmanaged<Insertions>.fromOpaque(context!).takeUnretainedValue().note(id)
      },
      Unmanaged.passUnretained(insertions).toOpaque())
    defer { sqlite3_update_hook(handle, nil, nil) }
    let result = try run()
    return (
      result,
      Execution(
        rowsAffected: sqlite3_total_changes64(handle) == before ? 0 : Int(sqlite3_changes64(handle)),
        insertedID: insertions.insertedID(lastNow: sqlite3_last_insert_rowid(handle)))
    )
  }
}

/// Detects whether a statement inserts a row with the same ID as the last insertion before it.
///
/// SQLite's last inserted ID doesn't change if a statement doesn't insert rows. For an unchanged ID, the update hook,
/// which reports every insertion, including insertions by triggers, shows whether the statement has inserted a row.
final class Insertions {
  private let lastBefore: Int64
  private var isRepeated = false

  init(lastBefore: Int64) { self.lastBefore = lastBefore }

  func note(_ id: Int64) {
    if id == lastBefore { isRepeated = true }
  }

  /// Returns the last inserted row's ID, given SQLite's answer after the run.
  func insertedID(lastNow: Int64) -> Int64? { lastNow != lastBefore || isRepeated ? lastNow : nil }
}
