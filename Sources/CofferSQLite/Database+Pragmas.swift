internal import CCofferSQLite

extension Database {
  /// What a PRAGMA answers, as an integer; nil without an answer. The text after the word PRAGMA is not bound: it must
  /// come from this program.
  package func integerPragma(_ pragma: String) throws(SQLiteError) -> Int64? {
    try firstValue("PRAGMA \(pragma)")?.integer
  }

  /// What a PRAGMA answers, as text, on the same terms as `integerPragma(_:)`.
  package func textPragma(_ pragma: String) throws(SQLiteError) -> String? {
    try firstValue("PRAGMA \(pragma)")?.text
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

  /// How far a checkpoint goes, and for whom it waits.
  package enum CheckpointMode: Sendable {
    /// As far as possible without waiting.
    case passive
    /// Everything; waits for writers, and for readers of older states.
    case full
    /// As `full`, and then waits until nobody reads the log, so that the next writer starts it over.
    case restart
    /// As `restart`, and cuts the log to nothing.
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

  /// Copies the write-ahead log into the database; gives the frames in the log and how many of them are copied now,
  /// or nil without such a log. Throws `busy` if readers or writers don't let it end; what was copied stays copied.
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
