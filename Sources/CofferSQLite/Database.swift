internal import CCofferSQLite
internal import CofferPlatform

/// A connection to one SQLite database.
///
/// One thread at a time may use it, with all its statements; only an ``InterruptHandle`` may be used from elsewhere.
/// Any number of connections, in any number of processes, can be open on one file.
public final class Database {
  /// The way in which the file is opened, and whether a missing one is made.
  public enum Mode: Sendable, Hashable {
    /// Only to read; the file must exist.
    case readOnly
    /// Reads a file that no process writes: takes no lock and ignores a journal or log beside it, so that nothing is
    /// ever created or changed, not even for a database with a write-ahead log.
    case immutable
    /// Reads and writes an existing file. A file without write permission is opened read-only: see `isReadOnly`.
    case readWrite
    /// As `readWrite`, and makes the file if there is none.
    case create
    /// Makes the file; throws `fileExists` if there is one, even an empty one.
    case createNew
  }

  /// The path at which the file was opened.
  public let path: String
  let connection: Connection
  /// The connection's limits of its cache, if there are any.
  var cacheLimits: CacheLimit.Former?

  /// Opens a database, or with the path `:memory:` a new one that lives in memory alone.
  ///
  /// The file is first read by the first statement, which throws `notADatabase` for another kind of file.
  ///
  /// - Throws: `noSuchFile`, `fileExists`, `isDirectory`, `cantOpen`, `unsafeFile`; `misuse` in the child of a fork
  ///   whose parent had databases open: fork before that, or exec. A file made here and not opened is removed.
  public init(
    _ path: String, mode: Mode = .readWrite, configuration: Configuration = Configuration()
  ) throws(SQLiteError) {
    self.path = path
    let file = try DatabaseFile(path: path, mode: mode)
    do throws(SQLiteError) {
      connection = try Self.connect(file, mode: mode, configuration: configuration)
    } catch {
      file.removeIfMade()
      throw error
    }
  }

  private static func connect(
    _ file: DatabaseFile, mode: Mode, configuration: Configuration
  ) throws(SQLiteError) -> Connection {
    let access =
      switch mode {
      case .readOnly: SQLITE_OPEN_READONLY
      case .immutable: SQLITE_OPEN_READONLY | SQLITE_OPEN_URI
      case .readWrite, .createNew: SQLITE_OPEN_READWRITE
      case .create: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
      }
    let vfs: String? = configuration.isHardened ? try CheckingVFS.registeredName() : nil
    return try connect(file.name, access, vfs: vfs, configuration: configuration)
  }

  init(path: String, connection: Connection) {
    self.path = path
    self.connection = connection
  }

  static func connect(
    _ name: String, _ access: Int32, vfs: String?, configuration: Configuration
  ) throws(SQLiteError) -> Connection {
    if let fault = libraryFault {
      throw SQLiteError(.unusableLibrary, fault, hint: "link another SQLite: RELEASING lists what it needs")
    }
    try ForkGuard.willOpen()
    var handle: OpaquePointer?
    // NOMUTEX: one thread at a time is the rule of this class, so SQLite needn't lock on each call.
    let result = OpenFiles.opening { sqlite3_open_v2(name, &handle, access | SQLITE_OPEN_NOMUTEX, vfs) }
    guard let handle else {
      ForkGuard.didClose()
      throw SQLiteError(.noMemory, "no memory to open a database", extendedCode: result)
    }
    guard result == SQLITE_OK else {
      defer {
        sqlite3_close_v2(handle)
        ForkGuard.didClose()
      }
      let extendedCode = sqlite3_extended_errcode(handle)
      if extendedCode == CheckingVFS.refusal, let file = UnsafeFile.take() { throw SQLiteError(file) }
      let reason = extendedCode & 0xFF == SQLITE_CANTOPEN ? DatabaseFile.refusal(of: name) : nil
      let message =
        reason ?? sqlite3_errmsg(handle).map { String(cString: $0) } ?? SQLiteError.plainMessage(result)
      throw SQLiteError(SQLiteError.Code(result: extendedCode), message, extendedCode: extendedCode)
    }
    let connection = Connection(handle: handle, configuration: configuration)
    try connection.apply(configuration)
    return connection
  }

  /// Ends all statements, rolls an open transaction back and closes the file. Once closed, it stays closed.
  ///
  /// Without it, the file is closed when the database and its statements are gone. A second call does nothing.
  ///
  /// - Throws: ``SQLiteError`` of closing the file.
  public func close() throws(SQLiteError) { try connection.close() }

  // MARK: State

  /// Whether the file can only be read, because of the mode or its permissions.
  public var isReadOnly: Bool { connection.handle.map { sqlite3_db_readonly($0, "main") == 1 } ?? true }

  /// Whether a transaction is open; an error may have rolled it back.
  public var isInTransaction: Bool { !connection.isAutocommitting }

  /// The disk has failed, at least once, to confirm a write through this connection.
  ///
  /// The system may have dropped the data, and yet confirm the next sync.
  package var hasFailedSync: Bool { connection.hasFailedSync }

  /// Ends the work that runs on this connection; see ``InterruptHandle``.
  public func interrupt() { connection.interrupts.interrupt() }

  /// A handle that other threads may use to interrupt this connection.
  public var interruptHandle: InterruptHandle { connection.interrupts }

  /// The rowid of the row last inserted by this connection; 0 before the first.
  public var lastInsertedID: Int64 { connection.handle.map { sqlite3_last_insert_rowid($0) } ?? 0 }

  /// The rows that the last INSERT, UPDATE or DELETE changed.
  package var lastRowsAffected: Int { connection.handle.map { Int(sqlite3_changes64($0)) } ?? 0 }

  /// The rows changed by this connection since it was opened, those by triggers and foreign keys included.
  public var totalRowsAffected: Int { connection.handle.map { Int(sqlite3_total_changes64($0)) } ?? 0 }

  // MARK: Statements

  /// A statement to run more than once, or to read row by row.
  ///
  /// Taken from the cache if it has one of the same text, without bindings. Keep it for a tight loop: taking it costs a
  /// lookup and an allocation.
  ///
  /// - Throws: `sqlLogic` for SQL that can't be prepared; `misuse` unless the text holds exactly one statement.
  public func statement(_ sql: String) throws(SQLiteError) -> Statement { try connection.statement(sql) }

  /// Ends the compiled statements that rest in the cache.
  package func emptyStatementCache() { connection.cache.removeAll() }
}
