internal import CCofferSQLite

extension SQLiteError.Code {
  /// Creates the code for an extended SQLite result code.
  init(result: Int32) {
    switch result {
    case SQLITE_BUSY | (2 << 8): self = .staleSnapshot  // SQLITE_BUSY_SNAPSHOT
    case SQLITE_ABORT | (2 << 8): self = .rolledBack  // SQLITE_ABORT_ROLLBACK
    case SQLITE_CANTOPEN | (2 << 8): self = .isDirectory  // SQLITE_CANTOPEN_ISDIR
    case CheckingVFS.refusal: self = .unsafeFile
    case SQLITE_IOERR | (12 << 8): self = .noMemory  // SQLITE_IOERR_NOMEM
    // With SQLITE_IOERR_SHMSIZE, the write-ahead log's index doesn't fit on the disk.
    case SQLITE_IOERR | (19 << 8): self = .full
    default: self.init(primaryResult: result & 0xFF, result)
    }
  }

  private init(primaryResult: Int32, _ result: Int32) {
    switch primaryResult {
    case SQLITE_ERROR: self = .sqlLogic
    // With SQLITE_PROTOCOL, another process was stopped during the few instructions that publish a commit in the log's
    // index.
    case SQLITE_BUSY, SQLITE_PROTOCOL: self = .busy
    case SQLITE_LOCKED: self = .locked
    case SQLITE_READONLY: self = .readOnly
    case SQLITE_CANTOPEN: self = .cantOpen
    case SQLITE_NOTADB: self = .notADatabase
    case SQLITE_CORRUPT: self = .corrupt
    case SQLITE_FULL: self = .full
    case SQLITE_CONSTRAINT, SQLITE_MISMATCH: self = .constraint(SQLiteError.Constraint(result: result))
    case SQLITE_INTERRUPT: self = .interrupted
    case SQLITE_IOERR: self = .ioError
    case SQLITE_SCHEMA: self = .schema
    case SQLITE_TOOBIG: self = .tooBig
    case SQLITE_MISUSE, SQLITE_RANGE: self = .misuse
    case SQLITE_NOMEM: self = .noMemory
    case SQLITE_AUTH, SQLITE_PERM: self = .notAllowed
    default: self = .other
    }
  }
}

extension SQLiteError.Constraint {
  init(result: Int32) {
    guard result != SQLITE_MISMATCH else {
      self = .dataType
      return
    }
    switch result >> 8 {  // the second byte of SQLITE_CONSTRAINT_…
    case 1: self = .check
    case 3: self = .foreignKey
    case 5: self = .notNull
    case 6: self = .primaryKey
    case 7: self = .trigger
    case 8: self = .unique
    case 10: self = .rowID
    case 12: self = .dataType
    default: self = .other
    }
  }
}

extension SQLiteError {
  /// Returns SQLite's own message for a result code, which doesn't contain names.
  static func plainMessage(_ result: Int32) -> String {
    sqlite3_errstr(result).map { String(cString: $0) } ?? "error \(result)"
  }

  /// Creates the error for a page that an integrity check couldn't read, or returns `nil` if the finding is damage.
  init?(finding: String) {
    guard let code = finding.firstRange(of: "error code")?.upperBound,
      let result = Int32(finding[code...].dropFirst().prefix { $0.isNumber }),
      ![SQLITE_OK, SQLITE_CORRUPT, SQLITE_NOTADB].contains(result & 0xFF)
    else { return nil }
    self.init(Code(result: result), Self.plainMessage(result), extendedCode: result)
  }

  /// Whether the disk failed to confirm a write to a file, or a file's removal.
  package var isFailedSync: Bool {
    extendedCode == SQLITE_IOERR | (4 << 8)  // SQLITE_IOERR_FSYNC
      || extendedCode == SQLITE_IOERR | (5 << 8)  // SQLITE_IOERR_DIR_FSYNC
  }

  /// Returns whether a running statement's message is known to contain only names.
  ///
  /// Functions and virtual tables also report SQLITE_ERROR, and quote the values passed to them (a JSON path, a
  /// full-text query), so only known messages are passed on.
  static func isMessageFreeOfValues(_ message: String, result: Int32) -> Bool {
    guard result & 0xFF == SQLITE_ERROR else { return true }
    return harmlessBeginnings.contains { message.hasPrefix($0) }
  }

  private static let harmlessBeginnings = [
    "cannot ", "no such table: ", "no such index: ", "no such savepoint: ", "integer overflow", "malformed JSON",
    "too many levels of trigger recursion", "table ", "duplicate column name: ", "there is already ",
  ]
}
