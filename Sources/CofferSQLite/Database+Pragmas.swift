internal import CCofferSQLite

extension Database {
  /// The result of a PRAGMA as an integer; nil without a result. The text after the word PRAGMA is not bound: it must be a
  /// constant of this program.
  package func integerPragma(_ pragma: String) throws(SQLiteError) -> Int64? {
    try firstValue("PRAGMA \(pragma)")?.integer
  }

  /// The result of a PRAGMA as text, under the same conditions as `integerPragma(_:)`.
  package func textPragma(_ pragma: String) throws(SQLiteError) -> String? {
    try firstValue("PRAGMA \(pragma)")?.text
  }

  /// Sets the journal mode, `DELETE`, `MEMORY` or `WAL`.
  ///
  /// - Throws: `notAllowed` if the database keeps another mode, for example because its file system has no memory that
  ///   processes share, as a log needs.
  package func setJournalMode(_ mode: String) throws(SQLiteError) {
    guard try textPragma("journal_mode = \(mode)") == mode.lowercased() else {
      throw SQLiteError(.notAllowed, "SQLite can't use the journal mode \(mode) for this database")
    }
  }

  /// The first value of the first row, nil if there is no row.
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
    /// Copies everything; waits for writers, and for readers of older states.
    case full
    /// As `full`, and then waits until no connection reads the log, so that the next writer restarts it.
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

  /// Copies the write-ahead log into the database. Returns the numbers of frames in the log and of frames copied, or nil
  /// without such a log. Throws `busy` if readers or writers prevent its end; frames copied so far stay copied.
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
