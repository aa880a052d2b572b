internal import CCofferSQLite
internal import CofferPlatform

/// A connection to a SQLite database.
///
/// Use a database and its statements on one thread at a time. Only an ``InterruptHandle`` can be used on other threads.
/// Any number of connections and processes can open the same file.
public final class Database {
  /// The way to open the file, including whether to create a missing file.
  public enum Mode: Sendable, Hashable {
    /// Opens an existing file for reading.
    case readOnly
    /// Reads a file that isn't being written by any process. Doesn't lock the file, and ignores an adjacent journal or
    /// log, so it never creates or changes files, even for a database with a write-ahead log.
    case immutable
    /// Reads and writes an existing file. A file without write permission is opened for reading. See `isReadOnly`.
    case readWrite
    /// Like `readWrite`, but creates a missing file.
    case create
    /// Creates the file. Throws `fileExists` if the file exists, even if it's empty.
    case createNew
  }

  /// The path that was used to open the file.
  public let path: String
  let connection: Connection
  /// The connection's settings before its cache limits, if it has any.
  var cacheLimits: CacheLimit.Former?

  /// Opens a database, or creates a database in memory if the path is `:memory:`.
  ///
  /// The first statement reads the file, and throws `notADatabase` for other kinds of files.
  ///
  /// - Throws: `noSuchFile`, `fileExists`, `isDirectory`, `cantOpen` or `unsafeFile`. `misuse` in the child of a fork
  ///   whose parent had open databases, so fork earlier or call exec. If opening fails, a newly created file is
  ///   removed.
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
    // Use NOMUTEX, because this class is used by one thread at a time, so SQLite doesn't need to lock on each call.
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

  /// Ends all statements, rolls back an open transaction and closes the file. A closed database can't be reopened.
  ///
  /// Without this call, the file is closed when the database and its statements are released. A second call has no
  /// effect.
  ///
  /// - Throws: ``SQLiteError`` if closing the file fails.
  public func close() throws(SQLiteError) { try connection.close() }

  // MARK: State

  /// A Boolean value that indicates whether the file can only be read, because of the mode or its permissions.
  public var isReadOnly: Bool { connection.handle.map { sqlite3_db_readonly($0, "main") == 1 } ?? true }

  /// A Boolean value that indicates whether a transaction is open. An error may have rolled it back.
  public var isInTransaction: Bool { !connection.isAutocommitting }

  /// Whether the disk has ever failed to confirm a write through this connection.
  ///
  /// The system may have dropped the data, and still confirm the next sync.
  package var hasFailedSync: Bool { connection.hasFailedSync }

  /// Ends this connection's current work. See ``InterruptHandle``.
  public func interrupt() { connection.interrupts.interrupt() }

  /// A handle for interrupting this connection from other threads.
  public var interruptHandle: InterruptHandle { connection.interrupts }

  /// The rowid of this connection's last inserted row, or 0 before the first insertion.
  public var lastInsertedID: Int64 { connection.handle.map { sqlite3_last_insert_rowid($0) } ?? 0 }

  /// The number of rows that the last INSERT, UPDATE or DELETE changed.
  package var lastRowsAffected: Int { connection.handle.map { Int(sqlite3_changes64($0)) } ?? 0 }

  /// The number of rows changed by this connection since it was opened, including changes by triggers and foreign keys.
  public var totalRowsAffected: Int { connection.handle.map { Int(sqlite3_total_changes64($0)) } ?? 0 }

  // MARK: Statements

  /// Returns a statement to run repeatedly, or to read row by row.
  ///
  /// If the cache contains a statement with the same text, the method returns it without bindings. In a tight loop,
  /// keep the statement, because each call costs a lookup and an allocation.
  ///
  /// - Throws: `sqlLogic` for SQL that can't be prepared, or `misuse` unless the text contains exactly one statement.
  public func statement(_ sql: String) throws(SQLiteError) -> Statement { try connection.statement(sql) }

  /// Finalizes the cache's idle statements.
  package func emptyStatementCache() { connection.cache.removeAll() }
}
