extension Database {
  /// The time at which a transaction takes its lock.
  public enum TransactionKind: Sendable, Hashable {
    /// Takes the read lock with the first statement, and the write lock with the first change. Use this for
    /// reading, because all reads see the same snapshot.
    case deferred
    /// Takes the write lock immediately. Use this for any transaction that writes.
    case immediate
    /// Like `immediate`. With a rollback journal, it also excludes readers.
    case exclusive

    fileprivate var statement: String {
      switch self {
      case .deferred: "BEGIN DEFERRED"
      case .immediate: "BEGIN IMMEDIATE"
      case .exclusive: "BEGIN EXCLUSIVE"
      }
    }
  }

  /// Runs the body in a transaction, and commits it when the body returns. Rolls back if the body throws or the commit
  /// fails. Inside a transaction, the body runs in a savepoint instead, and `kind` has no effect.
  ///
  /// A SQLite error can roll back the entire transaction immediately (a full disk, an interrupt, or a conflict clause
  /// ROLLBACK). If the body catches the error and continues, all further calls throw `rolledBack`, including the
  /// transaction itself.
  ///
  /// - Returns: The body's result.
  /// - Throws: The body's errors, `busy` if the lock isn't available within the busy timeout, `full`, `ioError` or
  ///   `rolledBack`.
  @discardableResult
  public func transaction<T>(_ kind: TransactionKind = .immediate, _ body: () throws -> T) throws -> T {
    if isInTransaction { return try savepoint(body) }
    try begin(kind)
    do {
      let result = try body()
      try commit()
      return result
    } catch {
      // The caller needs the first error rather than the rollback's error.
      try? rollback()
      throw error
    }
  }

  /// Runs the body in a savepoint. If the body throws, only its changes are rolled back. Outside a transaction, begins
  /// a deferred transaction.
  ///
  /// - Returns: The body's result.
  /// - Throws: The body's errors, or `rolledBack` if the entire transaction was rolled back.
  @discardableResult
  public func savepoint<T>(_ body: () throws -> T) throws -> T {
    guard isInTransaction else { return try transaction(.deferred, body) }
    try statement("SAVEPOINT coffer_savepoint").run()
    do {
      let result = try body()
      guard isInTransaction else { throw Statement.transactionLost(nil) }
      try statement("RELEASE coffer_savepoint").run()
      return result
    } catch {
      // If the transaction was rolled back, the savepoint doesn't exist anymore.
      if isInTransaction { undoSavepoint() }
      throw error
    }
  }

  /// Rolls back the innermost savepoint. If that fails, for example because memory is short, rolls back the whole
  /// transaction instead, because the savepoint's changes must not be committed.
  private func undoSavepoint() {
    do throws(SQLiteError) {
      try statement("ROLLBACK TO coffer_savepoint").run()
      try statement("RELEASE coffer_savepoint").run()
    } catch {
      try? connection.runRollback()
      connection.noteFailure()
    }
  }

  /// Opens a transaction, which all paths must end with `commit()` or `rollback()`.
  package func begin(_ kind: TransactionKind) throws(SQLiteError) {
    guard !connection.isTransactionLost else { throw Statement.transactionLost(nil) }
    guard !isInTransaction else { throw SQLiteError(.misuse, "a transaction is open already") }
    try connection.prepareRollback()
    try statement(kind.statement).run()
    connection.isTransactionOpen = true
  }

  /// Commits the transaction. After an error, `isInTransaction` is `true` if the transaction is still open. You can
  /// then retry the commit (`busy`) or roll back. If an earlier error has rolled back the transaction, this method
  /// throws `rolledBack`.
  package func commit() throws(SQLiteError) {
    guard isInTransaction else {
      let wasOpen = connection.isTransactionOpen
      connection.forgetTransaction()
      throw wasOpen ? Statement.transactionLost(nil) : SQLiteError(.misuse, "no transaction is open")
    }
    defer { if !isInTransaction { connection.forgetTransaction() } }
    try statement("COMMIT").run()
  }

  /// Rolls back the transaction, unless an error has already rolled it back.
  package func rollback() throws(SQLiteError) {
    connection.forgetTransaction()
    guard isInTransaction else { return }
    try connection.runRollback()
  }
}
