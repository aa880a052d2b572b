/// An error of SQLite or of this layer.
///
/// Two errors are equal if their codes are. No error holds a bound value or the content of a row; `message` may name
/// tables and columns, and repeats the text of a trigger's RAISE.
public struct SQLiteError: Error, Sendable, Equatable {
  /// The kind of error, by what the caller can do about it.
  public enum Code: Sendable, Hashable {
    /// Another connection holds a lock, and the busy timeout has passed. SQLITE_BUSY, SQLITE_PROTOCOL
    case busy
    /// A read transaction wants to write, but others have committed since it began: end it and begin again.
    /// SQLITE_BUSY_SNAPSHOT
    case staleSnapshot
    /// Another statement of this connection is still reading. SQLITE_LOCKED
    case locked
    /// The file or the connection can't be written to. SQLITE_READONLY
    case readOnly
    /// The file can't be opened. SQLITE_CANTOPEN
    case cantOpen
    /// There is no file at the path, and the mode makes none.
    case noSuchFile
    /// There is a file at the path already, and the mode wants a new one.
    case fileExists
    /// The path is a directory's.
    case isDirectory
    /// A hardened connection refused the database's file, or a journal or log beside it, because opening it could harm
    /// other files or the database; the message names it. SQLITE_CANTOPEN_DIRTYWAL
    case unsafeFile
    /// The file is no SQLite database. SQLITE_NOTADB
    case notADatabase
    /// The file is damaged. SQLITE_CORRUPT
    case corrupt
    /// No space is left on the disk, or the database has reached its largest size. SQLITE_FULL
    case full
    /// A constraint of the schema is not met. SQLITE_CONSTRAINT
    case constraint(Constraint)
    /// The program called `interrupt()`. SQLITE_INTERRUPT
    case interrupted
    /// Reading or writing the file failed. SQLITE_IOERR
    case ioError
    /// The schema kept changing while the statement was prepared. SQLITE_SCHEMA
    case schema
    /// A value or statement is longer than the limit. SQLITE_TOOBIG
    case tooBig
    /// The statement can't be prepared or run: syntax, an unknown name, a function's complaint. SQLITE_ERROR
    case sqlLogic
    /// A call that makes no sense here; the message says why. SQLITE_MISUSE, SQLITE_RANGE
    case misuse
    /// No memory is left. SQLITE_NOMEM
    case noMemory
    /// A statement this connection doesn't allow. SQLITE_AUTH, SQLITE_PERM
    case notAllowed
    /// The transaction is gone: an error, or a rollback elsewhere on this connection, has undone all of it.
    /// SQLITE_ABORT_ROLLBACK
    case rolledBack
    /// A text in the database is not valid UTF-8, or UTF-16 where the database keeps that.
    case invalidText
    /// A column is missing, or its value is of another type than the caller asked for.
    case notDecodable
    /// The linked SQLite is too old, or was compiled without what this layer needs.
    case unusableLibrary
    /// Any other error; see `extendedCode`.
    case other
  }

  /// The kind of a constraint that is not met: the names are SQLite's, and `other` is any that it may add.
  public enum Constraint: Sendable, Hashable {
    case unique, primaryKey, rowID, notNull, check, foreignKey, trigger, dataType, other
  }

  /// The kind of error, which decides whether two errors are equal.
  public let code: Code
  /// SQLite's extended result code; 0 where the error is this layer's own.
  public let extendedCode: Int32
  /// The error in SQLite's words.
  public let message: String
  /// The next step for the user, if this layer knows one.
  public let hint: String?
  /// The statement as it was written, its parameters unfilled.
  public let sql: String?
  /// The database's file, where the system refused to read or write one.
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
