extension Database {
  /// The moment at which a transaction takes its lock.
  public enum TransactionKind: Sendable, Hashable {
    /// Reading, at its first statement; writing, at its first change. For reading: all it reads is of one moment.
    case deferred
    /// The write lock, at once. For every transaction that will write.
    case immediate
    /// As `immediate`, and in the rollback journal readers are kept out too.
    case exclusive

    fileprivate var statement: String {
      switch self {
      case .deferred: "BEGIN DEFERRED"
      case .immediate: "BEGIN IMMEDIATE"
      case .exclusive: "BEGIN EXCLUSIVE"
      }
    }
  }

  /// Runs the body in a transaction, committed when it returns, rolled back when it throws or the commit fails. Inside
  /// a transaction, the body runs in a savepoint of that one, and `kind` has no effect.
  ///
  /// An error of SQLite may roll the whole transaction back at once (a full disk, an interrupt, a conflict clause
  /// ROLLBACK). If the body catches it and continues, every further call throws `rolledBack`, and so does the
  /// transaction itself.
  ///
  /// - Returns: the result of the body.
  /// - Throws: errors of the body; `busy` if the lock is not free within the busy timeout, `full`, `ioError`,
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
      // The caller needs the first error, not that of the rollback.
      try? rollback()
      throw error
    }
  }

  /// Runs the body in a savepoint: if it throws, only its changes are rolled back. Outside a transaction, begins a
  /// deferred one.
  ///
  /// - Returns: the result of the body.
  /// - Throws: errors of the body; `rolledBack` if the whole transaction is gone.
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
      // The savepoint is gone if the transaction is.
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

  /// Opens a transaction, to be ended by `commit()` or `rollback()` on every path.
  package func begin(_ kind: TransactionKind) throws(SQLiteError) {
    guard !connection.isTransactionLost else { throw Statement.transactionLost(nil) }
    guard !isInTransaction else { throw SQLiteError(.misuse, "a transaction is open already") }
    try connection.prepareRollback()
    try statement(kind.statement).run()
    connection.isTransactionOpen = true
  }

  /// Commits. After an error, `isInTransaction` is true if the transaction is still open, to be committed again
  /// (`busy`) or rolled back; if an earlier error has rolled it back, this throws `rolledBack`.
  package func commit() throws(SQLiteError) {
    guard isInTransaction else {
      let wasOpen = connection.isTransactionOpen
      connection.forgetTransaction()
      throw wasOpen ? Statement.transactionLost(nil) : SQLiteError(.misuse, "no transaction is open")
    }
    defer { if !isInTransaction { connection.forgetTransaction() } }
    try statement("COMMIT").run()
  }

  /// Ends the transaction and undoes it, as far as an error hasn't done so already.
  package func rollback() throws(SQLiteError) {
    connection.forgetTransaction()
    guard isInTransaction else { return }
    try connection.runRollback()
  }
}
