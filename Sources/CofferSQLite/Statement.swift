internal import CCofferSQLite

/// A compiled statement. Bind its parameters, step through its rows, reset it, and bind again.
///
/// Parameters count from 1 and columns from 0, as in SQLite. When its last reference is released, the statement is
/// reset to release its lock, and returned to the cache. The statement keeps its connection open. After
/// `Database.close()`, its calls throw misuse and its columns are NULL. Like the database, it's used by one thread at a
/// time.
public final class Statement {
  /// The statement's text.
  public let sql: String

  let connection: Connection
  /// The compiled statement, or `nil` after the database was closed. The SQLite functions used here treat `nil` as
  /// misuse or NULL.
  private(set) var pointer: OpaquePointer?
  private let slot: StatementCache.Slot?
  /// The statement's index in the connection's list.
  var place = 0
  /// The memory for `columns()`, allocated by the first call.
  private var storedColumns = UnsafeMutableBufferPointer<StoredColumn>(start: nil, count: 0)

  init(connection: Connection, pointer: OpaquePointer, sql: String, slot: StatementCache.Slot?) {
    self.connection = connection
    self.pointer = pointer
    self.sql = sql
    self.slot = slot
    place = connection.register(self)
  }

  deinit {
    storedColumns.deallocate()
    guard let pointer else { return }
    connection.unregister(at: place)
    StatementCache.giveBack(pointer, to: slot)
  }

  /// Returns memory for all columns. The values are trivial, so `deinit` only deallocates the memory.
  func columnMemory() -> UnsafeMutableBufferPointer<StoredColumn> {
    if storedColumns.isEmpty { storedColumns = .allocate(capacity: columnCount) }
    return storedColumns
  }

  /// Finalizes the statement when the connection closes.
  func finalize() {
    sqlite3_finalize(pointer)
    pointer = nil
  }

  // MARK: Running

  /// Advances to the next row. Resets the statement if it fails.
  ///
  /// - Returns: `false` after the last row.
  /// - Throws: ``SQLiteError`` for a failed statement, such as `busy`, `constraint`, `corrupt`, `full` or
  ///   `interrupted`. `rolledBack` if an earlier error has rolled the transaction back.
  @discardableResult
  public func step() throws(SQLiteError) -> Bool {
    guard !connection.isTransactionLost else { throw Self.transactionLost(sql) }
    switch sqlite3_step(pointer) {
    case SQLITE_ROW: return true
    case SQLITE_DONE: return false
    case let result: throw failure(result)
    }
  }

  /// Runs the statement to the end, skipping any rows, and resets it. The bindings remain.
  ///
  /// - Throws: The errors of ``step()``.
  public func run() throws(SQLiteError) {
    while try step() {}
    sqlite3_reset(pointer)
  }

  /// Returns whether SQLite has recompiled the statement since the last call, because the schema has changed.
  package func takeRecompilation() -> Bool { sqlite3_stmt_status(pointer, SQLITE_STMTSTATUS_REPREPARE, 1) > 0 }

  /// Ends the run and releases the statement's lock. The statement is ready for another run with the same bindings.
  public func reset() { sqlite3_reset(pointer) }

  /// Sets every parameter to NULL.
  public func clearBindings() { sqlite3_clear_bindings(pointer) }

  private func failure(_ result: Int32) -> SQLiteError {
    let error = connection.error(result, sql: sql, isRunning: true)
    sqlite3_reset(pointer)
    connection.noteFailure()
    return error
  }

  static func transactionLost(_ sql: String?) -> SQLiteError {
    SQLiteError(.rolledBack, "an earlier error has rolled the transaction back", sql: sql)
  }

  // MARK: Properties

  /// A Boolean value that indicates whether the statement leaves the file unchanged. Functions that the statement calls
  /// can still change the file.
  public var isReadOnly: Bool { sqlite3_stmt_readonly(pointer) != 0 }

  /// The number of parameters, or the highest parameter number if some parameters are numbered.
  var parameterCount: Int { Int(sqlite3_bind_parameter_count(pointer)) }

  /// Returns the number of the parameter `:name`, `@name` or `$name`, or `nil` if it doesn't exist. The sign is
  /// optional.
  func parameterIndex(named name: String) -> Int? {
    let candidates = name.first.map { ":@$".contains($0) } == true ? [name] : [":", "@", "$"].map { $0 + name }
    return candidates.lazy.map { Int(sqlite3_bind_parameter_index(self.pointer, $0)) }.first { $0 > 0 }
  }

  /// The number of columns in a row, or 0 if the statement doesn't return rows.
  public var columnCount: Int { Int(sqlite3_column_count(pointer)) }

  /// Returns the column's name, or an empty string if the column doesn't exist. Columns count from 0.
  func columnName(_ column: Int) -> String {
    sqlite3_column_name(pointer, Int32(truncatingIfNeeded: column)).map { String(cString: $0) } ?? ""
  }

  /// All column names, in order.
  public var columnNames: [String] { (0..<columnCount).map(columnName) }

  /// Returns the column's type in the table declaration, or `nil` for an expression. Columns count from 0.
  package func declaredType(_ column: Int) -> String? {
    sqlite3_column_decltype(pointer, Int32(truncatingIfNeeded: column)).map { String(cString: $0) }
  }
}
