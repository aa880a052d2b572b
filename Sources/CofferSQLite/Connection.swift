internal import CCofferSQLite
internal import CofferPlatform

/// A C connection with everything that must live as long as it does. It's owned by a `Database` and its statements.
final class Connection {
  /// The C connection, or `nil` after closing.
  private(set) var handle: OpaquePointer?
  /// The file in the list of this process's open files, or `nil` after closing.
  private var file: OpenDatabase?
  let interrupts = InterruptHandle()
  let waiter: BusyWaiter
  private var knownToBeUTF16: Bool?
  var cache: StatementCache
  /// The stop condition, kept alive as long as SQLite may call it.
  var stopCondition: StopCondition?
  /// The rule for statements, which SQLite refers to.
  var statementGuard: StatementGuard?

  /// Whether `begin` has opened a transaction that hasn't been committed or rolled back yet.
  var isTransactionOpen = false
  /// Whether an error has rolled back the transaction. Until the transaction ends, statements can't run, because they
  /// would commit outside of their transaction.
  private(set) var isTransactionLost = false
  /// The compiled ROLLBACK statement. It's compiled before the first transaction begins, because rolling back must work
  /// even when memory is short.
  private var rollbackStatement: OpaquePointer?
  /// Whether the disk has ever failed to confirm a write through this connection.
  private(set) var hasFailedSync = false

  /// The statements in use, each of which knows its position here. They aren't owned, because they remove themselves
  /// from the list when they end.
  private var statements: [Unmanaged<Statement>] = []

  init(handle: OpaquePointer, configuration: Database.Configuration) {
    self.handle = handle
    waiter = BusyWaiter(timeout: configuration.busyTimeout, interrupts: interrupts)
    cache = StatementCache(capacity: configuration.statementCacheCapacity)
    file = sqlite3_db_filename(handle, "main").map { OpenDatabase(String(cString: $0)) }
    sqlite3_extended_result_codes(handle, 1)
    interrupts.attach(handle)
    waiter.attach(to: handle)
  }

  deinit {
    // Don't close in the child of a fork, because closing would remove the parent's log, and a Mutex may not recognize
    // its thread there.
    guard !ForkGuard.isInChild else { return }
    // Statements own the connection, so only cached statements remain.
    interrupts.detach()
    cache.removeAll()
    sqlite3_finalize(rollbackStatement)
    guard let handle else { return }
    sqlite3_close_v2(handle)
    ForkGuard.didClose()
  }

  /// Finalizes all statements, including statements in use, and closes the connection.
  func close() throws(SQLiteError) {
    guard let handle, !ForkGuard.isInChild else { return }
    cache.removeAll()
    sqlite3_finalize(rollbackStatement)
    rollbackStatement = nil
    for statement in statements { statement.takeUnretainedValue().finalize() }
    statements = []
    interrupts.detach()
    let result = sqlite3_close(handle)
    guard result == SQLITE_OK else {
      interrupts.attach(handle)
      throw error(result)
    }
    self.handle = nil
    file = nil
    ForkGuard.didClose()
    isTransactionOpen = false
    isTransactionLost = false
  }

  // MARK: Statements in use

  /// Adds a statement to the list, and returns its position.
  func register(_ statement: Statement) -> Int {
    statements.append(.passUnretained(statement))
    return statements.count - 1
  }

  func unregister(at place: Int) {
    let last = statements.removeLast()
    guard place < statements.count else { return }
    statements[place] = last
    last.takeUnretainedValue().place = place
  }

  /// Whether the database stores texts in UTF-16, as databases from other programs may. The first read of a text
  /// determines this.
  var isUTF16: Bool {
    if let knownToBeUTF16 { return knownToBeUTF16 }
    guard let pragma = try? statement("PRAGMA encoding"), (try? pragma.step()) == true else { return false }
    let answer = pragma.withText(at: 0) { $0.starts(with: "UTF-16".utf8) }
    knownToBeUTF16 = answer
    return answer
  }

  // MARK: Transactions

  var isAutocommitting: Bool { handle.map { sqlite3_get_autocommit($0) != 0 } ?? true }

  /// Notes whether a failed statement has rolled back the open transaction.
  func noteFailure() {
    if isTransactionOpen && isAutocommitting { isTransactionLost = true }
  }

  /// Compiles the ROLLBACK statement, unless it's already compiled.
  func prepareRollback() throws(SQLiteError) {
    guard rollbackStatement == nil else { return }
    try check(
      sqlite3_prepare_v3(try open(), "ROLLBACK", -1, UInt32(SQLITE_PREPARE_PERSISTENT), &rollbackStatement, nil))
  }

  /// Rolls back the open transaction.
  func runRollback() throws(SQLiteError) {
    try prepareRollback()
    sqlite3_step(rollbackStatement)
    try check(sqlite3_reset(rollbackStatement))
  }

  func forgetTransaction() {
    isTransactionOpen = false
    isTransactionLost = false
  }

  // MARK: Errors

  /// Returns the error for the last result code.
  ///
  /// - Parameter isRunning: Whether a statement was running, so the message may contain a value.
  func error(_ result: Int32, sql: String? = nil, isRunning: Bool = false) -> SQLiteError {
    if result & 0xFF == SQLITE_BUSY, waiter.takeInterruption() {
      return SQLiteError(.interrupted, "interrupted while waiting for a lock", extendedCode: result, sql: sql)
    }
    if result == CheckingVFS.refusal, let file = UnsafeFile.take() { return SQLiteError(file, sql: sql) }
    var message = SQLiteError.plainMessage(result)
    // Use the message only if it belongs to this failure. For example, misuse doesn't set a message.
    if let handle, sqlite3_extended_errcode(handle) == result, let text = sqlite3_errmsg(handle) {
      let detail = String(cString: text)
      if !isRunning || SQLiteError.isMessageFreeOfValues(detail, result: result) { message = detail }
    }
    let error = SQLiteError(
      SQLiteError.Code(result: result), message, extendedCode: result, sql: sql, path: refusedFile(result))
    if error.isFailedSync { hasFailedSync = true }
    return error
  }

  /// Returns the path of the file that the system refused to read or write.
  private func refusedFile(_ result: Int32) -> String? {
    guard [SQLITE_FULL, SQLITE_IOERR, SQLITE_READONLY, SQLITE_CANTOPEN].contains(result & 0xFF), let handle,
      let name = sqlite3_db_filename(handle, "main")
    else { return nil }
    let path = String(cString: name)
    return path.isEmpty ? nil : path
  }

  func check(_ result: Int32) throws(SQLiteError) {
    guard result == SQLITE_OK else { throw error(result) }
  }

  /// Returns the open connection.
  func open() throws(SQLiteError) -> OpaquePointer {
    guard let handle else { throw SQLiteError(.misuse, "the database is closed") }
    return handle
  }
}
