internal import CCofferSQLite

extension Database {
  /// Copies a snapshot of the entire database to a new file.
  ///
  /// The method copies `pagesPerStep` pages at a time, and passes the remaining and total page counts to `progress`
  /// after each step. If `progress` returns `false`, the copy ends. Other connections wait or continue as in a copy to
  /// another database.
  ///
  /// - Throws: `fileExists` if the path exists, `interrupted` if `progress` returned `false`, `misuse` if a transaction
  ///   of this connection has written, or a disk error. A failed copy doesn't leave a file.
  public func backup(
    to path: String, pagesPerStep: Int = 1024,
    progress: ((_ remaining: Int, _ total: Int) -> Bool)? = nil
  ) throws(SQLiteError) {
    let target = try Database(path, mode: .createNew)
    do throws(SQLiteError) {
      try backup(to: target, pagesPerStep: pagesPerStep, progress: progress)
      try target.close()
    } catch {
      try? target.close()
      DatabaseFile.remove(path)
      throw error
    }
  }

  /// Copies a snapshot of the entire database over another database.
  ///
  /// The method reads in a single transaction, so writers continue with a write-ahead log, and wait with a rollback
  /// journal. It copies `pagesPerStep` pages at a time, and passes the remaining and total page counts to `progress`
  /// after each step.
  ///
  /// - Throws: `interrupted` if `progress` returned `false`, `misuse` if a transaction of this connection has written,
  ///   or a disk error. The other database is then unchanged.
  public func backup(
    to target: Database, pagesPerStep: Int = 1024,
    progress: ((_ remaining: Int, _ total: Int) -> Bool)? = nil
  ) throws(SQLiteError) {
    let source = try connection.open()
    guard sqlite3_txn_state(source, "main") != SQLITE_TXN_WRITE else {
      throw SQLiteError(.misuse, "a backup can't be made of what isn't committed")
    }
    // A read transaction prevents other connections' commits from restarting the copy.
    let isOwnTransaction = !isInTransaction
    if isOwnTransaction { try begin(.deferred) }
    defer { if isOwnTransaction { try? rollback() } }
    try statement("SELECT count(*) FROM sqlite_schema").run()
    try copy(to: target, pagesPerStep: Int32(clamping: max(1, pagesPerStep)), progress: progress)
  }

  private func copy(
    to target: Database, pagesPerStep: Int32, progress: ((Int, Int) -> Bool)?
  ) throws(SQLiteError) {
    let targetHandle = try target.connection.open()
    guard let backup = sqlite3_backup_init(targetHandle, "main", try connection.open(), "main") else {
      throw target.connection.error(sqlite3_extended_errcode(targetHandle))
    }
    let interrupts = connection.interrupts.count
    var result = SQLITE_OK
    var isStopped = false
    while result == SQLITE_OK && !isStopped {
      result = sqlite3_backup_step(backup, pagesPerStep)
      guard result == SQLITE_OK else { break }
      let goesOn = progress?(Int(sqlite3_backup_remaining(backup)), Int(sqlite3_backup_pagecount(backup))) ?? true
      isStopped = !goesOn || connection.interrupts.count != interrupts
    }
    let end = sqlite3_backup_finish(backup)
    guard !isStopped else { throw SQLiteError(.interrupted, "the backup was stopped", extendedCode: SQLITE_INTERRUPT) }
    guard result == SQLITE_DONE else { throw target.connection.error(end == SQLITE_OK ? result : end) }
  }
}
