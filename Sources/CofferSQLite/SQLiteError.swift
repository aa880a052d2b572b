/// An error from SQLite or from this layer.
///
/// Two errors are equal if their codes are equal. Errors never contain bound values or row contents. However, `message`
/// can contain table and column names, and repeats the text that a trigger raises with RAISE.
public struct SQLiteError: Error, Sendable, Equatable {
  /// The kind of error, based on how the caller can respond.
  public enum Code: Sendable, Hashable {
    /// Another connection holds a lock, and the busy timeout has passed. SQLITE_BUSY, SQLITE_PROTOCOL
    case busy
    /// A read transaction tried to write, but another connection has committed since the transaction began. End the
    /// transaction, and begin another. SQLITE_BUSY_SNAPSHOT
    case staleSnapshot
    /// Another statement of this connection is still reading. SQLITE_LOCKED
    case locked
    /// The file or the connection can't be written to. SQLITE_READONLY
    case readOnly
    /// The file can't be opened. SQLITE_CANTOPEN
    case cantOpen
    /// The file doesn't exist, and the mode doesn't create it.
    case noSuchFile
    /// The file already exists, but the mode requires a new file.
    case fileExists
    /// The path belongs to a directory.
    case isDirectory
    /// A hardened connection refused the database's file, journal or log, because opening it could harm other files or
    /// the database. The message names the file. SQLITE_CANTOPEN_DIRTYWAL
    case unsafeFile
    /// The file isn't a SQLite database. SQLITE_NOTADB
    case notADatabase
    /// The file is damaged. SQLITE_CORRUPT
    case corrupt
    /// The disk is full, or the database has reached its maximum size. SQLITE_FULL
    case full
    /// A schema constraint isn't met. SQLITE_CONSTRAINT
    case constraint(Constraint)
    /// The program called `interrupt()`. SQLITE_INTERRUPT
    case interrupted
    /// Reading or writing the file failed. SQLITE_IOERR
    case ioError
    /// The schema kept changing while the statement was prepared. SQLITE_SCHEMA
    case schema
    /// A value or statement is longer than the limit. SQLITE_TOOBIG
    case tooBig
    /// The statement can't be prepared or run, because of a syntax error, an unknown name or an error from a function.
    /// SQLITE_ERROR
    case sqlLogic
    /// The call isn't valid here. The message gives the reason. SQLITE_MISUSE, SQLITE_RANGE
    case misuse
    /// The system is out of memory. SQLITE_NOMEM
    case noMemory
    /// The connection doesn't allow the statement. SQLITE_AUTH, SQLITE_PERM
    case notAllowed
    /// The transaction was completely rolled back by an error, or by a rollback elsewhere on this connection.
    /// SQLITE_ABORT_ROLLBACK
    case rolledBack
    /// A text in the database isn't valid UTF-8, or UTF-16 if the database uses it.
    case invalidText
    /// A column is missing, or its value doesn't have the requested type.
    case notDecodable
    /// The linked SQLite is too old, or was compiled without features that this layer needs.
    case unusableLibrary
    /// Any other error. See `extendedCode`.
    case other
  }

  /// The kind of an unmet constraint. The names are SQLite's, and `other` stands for any other kind, including kinds
  /// that SQLite may add.
  public enum Constraint: Sendable, Hashable {
    case unique, primaryKey, rowID, notNull, check, foreignKey, trigger, dataType, other
  }

  /// The kind of error, which decides whether two errors are equal.
  public let code: Code
  /// SQLite's extended result code, or 0 for an error from this layer.
  public let extendedCode: Int32
  /// The error in SQLite's words.
  public let message: String
  /// The next step for the user, or `nil` if this layer can't suggest a step.
  public let hint: String?
  /// The statement's SQL text, without parameter values.
  public let sql: String?
  /// The path of the database's file, if the system refused to read or write a file.
  public let path: String?

  package init(
    _ code: Code, _ message: String, hint: String? = nil, extendedCode: Int32 = 0, sql: String? = nil,
    path: String? = nil
  ) {
    self.code = code
    self.message = message
    self.hint = hint
    self.extendedCode = extendedCode
    self.sql = sql
    self.path = path
  }

  public static func == (left: SQLiteError, right: SQLiteError) -> Bool { left.code == right.code }
}

extension SQLiteError: CustomStringConvertible {
  public var description: String {
    let text = hint.map { "\(message) (\($0))" } ?? message
    return extendedCode == 0 ? "SQLite: \(text)" : "SQLite: \(text) (code \(extendedCode))"
  }
}
