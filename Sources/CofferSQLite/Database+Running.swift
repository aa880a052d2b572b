internal import CCofferSQLite

extension Database {
  /// Runs a statement to its end; without parameters, all statements of the text in order.
  ///
  /// Outside of a transaction, the statements before a failed one stay committed. Rows are passed over.
  ///
  /// - Returns: the rows affected by all statements, and the last inserted rowid.
  /// - Throws: ``SQLiteError``: `sqlLogic` for SQL that can't be prepared, `constraint`, `busy`, `readOnly`, `full`;
  ///   `misuse` for another number of parameters.
  @discardableResult
  public func execute(
    _ sql: String, _ parameters: (any SQLiteValueConvertible)?...
  ) throws(SQLiteError) -> Execution {
    try execute(sql, parameters: parameters)
  }

  /// Runs a statement to its end, with its parameters in an array.
  ///
  /// - Returns: the rows affected, and the last inserted rowid.
  /// - Throws: as `execute(_:_:)`.
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

  /// Runs one statement to its end, with its parameters by name: `:name`, `@name` or `$name`, whose sign may be left
  /// out.
  ///
  /// - Returns: the number of changed rows, and the id of the last inserted one.
  /// - Throws: as `execute(_:_:)`; `misuse` unless each parameter has a value, and each value a parameter.
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
  /// - Returns: the rows; none for a statement that gives none.
  /// - Throws: ``SQLiteError``: `sqlLogic` for SQL that can't be prepared, `busy`, `corrupt`; `invalidText` for a text
  ///   that is not valid Unicode; `misuse` for another number of parameters, or a text of several statements.
  public func query(
    _ sql: String, _ parameters: (any SQLiteValueConvertible)?...
  ) throws(SQLiteError) -> QueryResult {
    try query(sql, parameters: parameters)
  }

  /// Runs one statement and returns all its rows, with its parameters in an array.
  ///
  /// - Throws: as `query(_:_:)`.
  public func query(
    _ sql: String, parameters: [(any SQLiteValueConvertible)?]
  ) throws(SQLiteError) -> QueryResult {
    let statement = try statement(sql)
    try statement.bind(all: parameters)
    return try rows(of: statement)
  }

  /// Runs one statement and returns all its rows, with its parameters by name: `:name`, `@name` or `$name`, whose sign
  /// may be left out.
  ///
  /// - Throws: as `query(_:_:)`; `misuse` unless each parameter has a value, and each value a parameter.
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
  /// Steps to the end and returns all rows; for a statement that changes nothing.
  ///
  /// - Parameter nested: decodes members that are JSON in a text column; see ``NestedDecoding``.
  package func result(decoding nested: NestedDecoding? = nil) throws(SQLiteError) -> QueryResult {
    var columns: Columns?
    var rows: [SQLiteRow] = []
    while try step() {
      // Determined after the first step, which recompiles if the schema has changed.
      let shared = columns ?? Columns(self, nested)
      columns = shared
      rows.append(SQLiteRow(values: try values(), columns: shared))
    }
    reset()
    return QueryResult(columns: columns ?? Columns(self, nested), rows: rows, rowsAffected: 0, insertedID: nil)
  }

  /// The row at hand.
  ///
  /// - Parameter columns: those of an earlier row; nil makes them.
  package func row(_ columns: inout Columns?, decoding nested: NestedDecoding?) throws(SQLiteError) -> SQLiteRow {
    let shared = columns ?? Columns(self, nested)
    columns = shared
    return SQLiteRow(values: try values(), columns: shared)
  }
}

extension Connection {
  /// Runs statements and reports their changes.
  ///
  /// SQLite's own counts keep the last change after a statement that changes nothing. So rows are counted only if the
  /// total has changed, and the inserted id only if ``Insertions`` has seen one.
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

/// Detects a run of a statement that inserts a row with the same id as the last insertion before it.
///
/// SQLite's last inserted id does not change if nothing is inserted. For an unchanged id, the update hook, which
/// reports every insertion, those of triggers included, shows whether the run has inserted.
final class Insertions {
  private let lastBefore: Int64
  private var isRepeated = false

  init(lastBefore: Int64) { self.lastBefore = lastBefore }

  func note(_ id: Int64) {
    if id == lastBefore { isRepeated = true }
  }

  /// The id of the row inserted last, given SQLite's answer after the run.
  func insertedID(lastNow: Int64) -> Int64? { lastNow != lastBefore || isRepeated ? lastNow : nil }
}
