internal import CCofferSQLite
internal import CofferPlatform

/// The C connection and all that must live as long as it: owned by a `Database` and by its statements.
final class Connection {
  /// nil once closed.
  private(set) var handle: OpaquePointer?
  /// The file among those that this process has open; nil once closed.
  private var file: OpenDatabase?
  let interrupts = InterruptHandle()
  let waiter: BusyWaiter
  private var knownToBeUTF16: Bool?
  var cache: StatementCache
  /// Kept alive as long as SQLite may call it.
  var stopCondition: StopCondition?
  /// The rule for statements, which SQLite refers to.
  var statementGuard: StatementGuard?

  /// `begin` has opened a transaction that neither `commit` nor `rollback` has ended.
  var isTransactionOpen = false
  /// An error has rolled that transaction back. Until it is ended no statement runs, because it would commit outside of
  /// the transaction it was meant for.
  private(set) var isTransactionLost = false
  /// The compiled ROLLBACK statement. It's compiled before the first transaction begins, because rolling back must work
  /// even when memory is short.
  private var rollbackStatement: OpaquePointer?
  /// The disk has failed, at least once, to confirm a write through this connection.
  private(set) var hasFailedSync = false

  /// The statements handed out, each of which knows its place here. They aren't owned: they take themselves off the
  /// list when they end.
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
    // Closing in the child of a fork would remove the parent's log; and a Mutex there is not sure to know its thread.
    guard !ForkGuard.isInChild else { return }
    // Statements own the connection, so none is left but the cached.
    interrupts.detach()
    cache.removeAll()
    sqlite3_finalize(rollbackStatement)
    guard let handle else { return }
    sqlite3_close_v2(handle)
    ForkGuard.didClose()
  }

  /// Finalises every statement, also those still in use, and closes.
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

  /// The new statement's place in the list.
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

  /// The database stores texts in UTF-16, as foreign ones may; determined when a text is first read.
  var isUTF16: Bool {
    if let knownToBeUTF16 { return knownToBeUTF16 }
    guard let pragma = try? statement("PRAGMA encoding"), (try? pragma.step()) == true else { return false }
    let answer = pragma.withText(at: 0) { $0.starts(with: "UTF-16".utf8) }
    knownToBeUTF16 = answer
    return answer
  }

  // MARK: Transactions

  var isAutocommitting: Bool { handle.map { sqlite3_get_autocommit($0) != 0 } ?? true }

  /// After a failed statement: notes whether it took the open transaction with it.
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

  /// The error for a result code that was just returned.
  ///
  /// - Parameter isRunning: a statement was running, so that the message may contain a value.
  func error(_ result: Int32, sql: String? = nil, isRunning: Bool = false) -> SQLiteError {
    if result & 0xFF == SQLITE_BUSY, waiter.takeInterruption() {
      return SQLiteError(.interrupted, "interrupted while waiting for a lock", extendedCode: result, sql: sql)
    }
    if result == CheckingVFS.refusal, let file = UnsafeFile.take() { return SQLiteError(file, sql: sql) }
    var message = SQLiteError.plainMessage(result)
    // Only if it is this failure's: misuse, for one, leaves no message behind.
    if let handle, sqlite3_extended_errcode(handle) == result, let text = sqlite3_errmsg(handle) {
      let detail = String(cString: text)
      if !isRunning || SQLiteError.isMessageFreeOfValues(detail, result: result) { message = detail }
    }
    let error = SQLiteError(
      SQLiteError.Code(result: result), message, extendedCode: result, sql: sql, path: refusedFile(result))
    if error.isFailedSync { hasFailedSync = true }
    return error
  }

  /// The path of the file that the system refused to read or write.
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

  /// The open connection.
  func open() throws(SQLiteError) -> OpaquePointer {
    guard let handle else { throw SQLiteError(.misuse, "the database is closed") }
    return handle
  }
}
