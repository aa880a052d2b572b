internal import CCofferSQLite

/// A compiled statement: bind its parameters, step through its rows, reset it, bind again.
///
/// Parameters count from 1 and columns from 0, as in SQLite. When its last reference is released, the statement is
/// reset, so that it holds no lock, and returned to the cache. It keeps its connection open; after `Database.close()`
/// its calls throw misuse and its columns are NULL. Like the database it is used by one thread at a time.
public final class Statement {
  /// The text of the statement.
  public let sql: String

  let connection: Connection
  /// nil after the database was closed. Every function of SQLite used here takes that as misuse or NULL.
  private(set) var pointer: OpaquePointer?
  private let slot: StatementCache.Slot?
  /// Its place in the connection's list.
  var place = 0
  /// For `columns()`, made at its first call.
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

  /// As many as the statement has columns; trivial values, so that memory is all that is to be freed.
  func columnMemory() -> UnsafeMutableBufferPointer<StoredColumn> {
    if storedColumns.isEmpty { storedColumns = .allocate(capacity: columnCount) }
    return storedColumns
  }

  /// For the connection, when it closes.
  func finalize() {
    sqlite3_finalize(pointer)
    pointer = nil
  }

  // MARK: Running

  /// Goes to the next row. A statement that has failed is reset.
  ///
  /// - Returns: false when there is no row left.
  /// - Throws: ``SQLiteError`` of running the statement: `busy`, `constraint`, `corrupt`, `full`, `interrupted` and
  ///   others.
  @discardableResult
  public func step() throws(SQLiteError) -> Bool {
    guard !connection.isTransactionLost else { throw Self.transactionLost(sql) }
    switch sqlite3_step(pointer) {
    case SQLITE_ROW: return true
    case SQLITE_DONE: return false
    case let result: throw failure(result)
    }
  }

  /// Steps to the end, past any rows, and resets. The bindings stay.
  ///
  /// - Throws: as ``step()``.
  public func run() throws(SQLiteError) {
    while try step() {}
    sqlite3_reset(pointer)
  }

  /// Returns whether SQLite has compiled the statement again since the last call, because the schema has changed.
  package func takeRecompilation() -> Bool { sqlite3_stmt_status(pointer, SQLITE_STMTSTATUS_REPREPARE, 1) > 0 }

  /// Ends the run, and with it the lock that the statement holds. The statement is ready to run again; the bindings
  /// stay.
  public func reset() { sqlite3_reset(pointer) }

  /// Makes every parameter NULL.
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

  /// Whether the statement leaves the file unchanged. A function that it calls may still change it.
  public var isReadOnly: Bool { sqlite3_stmt_readonly(pointer) != 0 }

  /// The number of parameters; the highest number, if some are numbered.
  public var parameterCount: Int { Int(sqlite3_bind_parameter_count(pointer)) }

  /// The number of a parameter `:name`, `@name` or `$name`, with its sign or without; nil if there is none.
  public func parameterIndex(named name: String) -> Int? {
    let candidates = name.first.map { ":@$".contains($0) } == true ? [name] : [":", "@", "$"].map { $0 + name }
    return candidates.lazy.map { Int(sqlite3_bind_parameter_index(self.pointer, $0)) }.first { $0 > 0 }
  }

  /// The number of columns of a row; 0 for a statement without rows.
  public var columnCount: Int { Int(sqlite3_column_count(pointer)) }

  /// The name of a column, counted from 0; empty for a column that the statement does not have.
  public func columnName(_ column: Int) -> String {
    sqlite3_column_name(pointer, Int32(truncatingIfNeeded: column)).map { String(cString: $0) } ?? ""
  }

  /// The names of all columns, in their order.
  public var columnNames: [String] { (0..<columnCount).map(columnName) }

  /// The type with which the table declares the column, counted from 0; nil for an expression.
  public func declaredType(_ column: Int) -> String? {
    sqlite3_column_decltype(pointer, Int32(truncatingIfNeeded: column)).map { String(cString: $0) }
  }
}
