internal import CCofferSQLite

extension Database {
  /// Returns a PRAGMA's result as an integer, or `nil` without a result. The text after the word PRAGMA isn't bound, so
  /// it must be a constant of this program.
  package func integerPragma(_ pragma: String) throws(SQLiteError) -> Int64? {
    try firstValue("PRAGMA \(pragma)")?.integer
  }

  /// Returns a PRAGMA's result as text, with the same conditions as `integerPragma(_:)`.
  package func textPragma(_ pragma: String) throws(SQLiteError) -> String? {
    try firstValue("PRAGMA \(pragma)")?.text
  }

  /// Sets the journal mode, `DELETE`, `MEMORY` or `WAL`.
  ///
  /// - Throws: `notAllowed` if the database keeps its current mode, for example because its file system doesn't support
  ///   the shared memory that a log needs.
  package func setJournalMode(_ mode: String) throws(SQLiteError) {
    guard try textPragma("journal_mode = \(mode)") == mode.lowercased() else {
      throw SQLiteError(.notAllowed, "SQLite can't use the journal mode \(mode) for this database")
    }
  }

  /// Returns the first value of the first row, or `nil` if there aren't any rows.
  package func firstValue(
    _ sql: String, _ parameters: (any SQLiteValueConvertible)?...
  ) throws(SQLiteError) -> SQLiteValue? {
    let statement = try statement(sql)
    try statement.bind(all: parameters)
    guard try statement.step() else { return nil }
    return try statement.value(at: 0)
  }

  /// Returns the findings of an integrity check, or an empty array if the database is sound.
  ///
  /// SQLite also lists pages that it couldn't read, for example because memory was short. This function throws an error
  /// instead, because such a page isn't necessarily damaged.
  ///
  /// - Parameter pragma: The text after the word PRAGMA, which must be a constant of this program.
  package func integrityFindings(_ pragma: String) throws(SQLiteError) -> [String] {
    let findings = try query("PRAGMA \(pragma)").rows.compactMap { $0[0].text }.filter { $0 != "ok" }
    for finding in findings {
      if let failure = SQLiteError(finding: finding) { throw failure }
    }
    return findings
  }

  /// The extent of a checkpoint, and the connections it waits for.
  package enum CheckpointMode: Sendable {
    /// Copies as much as possible without waiting.
    case passive
    /// Copies everything. Waits for writers, and for readers of older states.
    case full
    /// Like `full`, then waits until connections have stopped reading the log, so the next writer restarts it.
    case restart
    /// Like `restart`, then truncates the log to zero bytes.
    case truncate

    fileprivate var number: Int32 {
      switch self {
      case .passive: SQLITE_CHECKPOINT_PASSIVE
      case .full: SQLITE_CHECKPOINT_FULL
      case .restart: SQLITE_CHECKPOINT_RESTART
      case .truncate: SQLITE_CHECKPOINT_TRUNCATE
      }
    }
  }

  /// Copies the write-ahead log to the database. Returns the numbers of frames in the log and of copied frames, or
  /// `nil` without a log. Throws `busy` if readers or writers prevent completion. Copied frames remain copied.
  @discardableResult
  package func checkpoint(
    _ mode: CheckpointMode
  ) throws(SQLiteError) -> (frames: Int, copied: Int)? {
    var frames: Int32 = -1
    var copied: Int32 = -1
    try connection.check(
      sqlite3_wal_checkpoint_v2(try connection.open(), "main", mode.number, &frames, &copied))
    return frames < 0 ? nil : (Int(frames), Int(copied))
  }
}
