internal import CCofferSQLite

extension Database {
  /// Options for opening a connection.
  public struct Configuration: Sendable {
    /// How long to wait for another connection's lock before throwing `busy`; nil waits for ever, zero not at all.
    public var busyTimeout: Duration?
    /// For files from strangers: triggers and views do nothing, the schema is not trusted, nothing written in SQL
    /// can damage the file, cells are checked, the file is not mapped into memory, no extension loads.
    ///
    /// Journal, log and `-shm` are input, too: each must be a regular file with one name, of the database's owner, root
    /// or this process's user (or of any user who may write the database). Those, a journal that names a super-journal
    /// and a log beside a database with a rollback journal are otherwise `unsafeFile`, and stay as they are; so is a
    /// database that is no regular file. A transaction changes one database only.
    public var isHardened: Bool
    /// Enforces foreign keys, which SQLite does not by default.
    public var enforcesForeignKeys: Bool
    /// The longest text, blob or row in bytes; nil leaves SQLite's own, about 1 GB.
    public var lengthLimit: Int?
    /// How many compiled statements rest in the cache; 0 for none.
    public var statementCacheCapacity: Int
    /// The statements that the connection compiles, or `nil` for all.
    package var rule: StatementRule?

    /// Options of a connection. The defaults fit an app's own file; for a file from strangers set `isHardened`.
    public init(
      busyTimeout: Duration? = .seconds(10), isHardened: Bool = false, enforcesForeignKeys: Bool = true,
      lengthLimit: Int? = nil, statementCacheCapacity: Int = 64
    ) {
      self.busyTimeout = busyTimeout
      self.isHardened = isHardened
      self.enforcesForeignKeys = enforcesForeignKeys
      self.lengthLimit = lengthLimit
      self.statementCacheCapacity = statementCacheCapacity
    }
  }

  /// A yes-or-no setting of the connection.
  package enum Option: Sendable {
    /// SQL can't damage the file: no writable schema, no writes to shadow tables. SQLITE_DBCONFIG_DEFENSIVE
    case defensive
    /// SQLITE_DBCONFIG_ENABLE_TRIGGER
    case triggers
    /// SQLITE_DBCONFIG_ENABLE_VIEW
    case views
    /// SQLITE_DBCONFIG_TRUSTED_SCHEMA
    case trustedSchema
    /// SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION
    case extensionLoading
    /// SQLITE_DBCONFIG_ENABLE_FKEY
    case foreignKeys
    /// The last connection to close leaves the write-ahead log as it is. SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE
    case noCheckpointOnClose

    fileprivate var number: Int32 {
      switch self {
      case .defensive: SQLITE_DBCONFIG_DEFENSIVE
      case .triggers: SQLITE_DBCONFIG_ENABLE_TRIGGER
      case .views: SQLITE_DBCONFIG_ENABLE_VIEW
      case .trustedSchema: SQLITE_DBCONFIG_TRUSTED_SCHEMA
      case .extensionLoading: SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION
      case .foreignKeys: SQLITE_DBCONFIG_ENABLE_FKEY
      case .noCheckpointOnClose: SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE
      }
    }
  }

  package func set(_ option: Option, to isOn: Bool) throws(SQLiteError) { try connection.set(option, to: isOn) }

  /// Sets the longest text, blob or row in bytes. SQLITE_LIMIT_LENGTH
  package func setLimit(length: Int) throws(SQLiteError) { try connection.setLimit(length: length) }

  /// How long to wait for another connection's lock; nil for ever.
  public var busyTimeout: Duration? {
    get { connection.waiter.timeout }
    set { connection.waiter.timeout = newValue }
  }

  /// Returns whether this process itself holds the lock that a statement waits for. Such waits have no limit, unless
  /// this is `nil`.
  package var holdsLockHere: (() -> Bool)? {
    get { connection.waiter.holdsLockHere }
    set { connection.waiter.holdsLockHere = newValue }
  }
}

extension Connection {
  func set(_ option: Database.Option, to isOn: Bool) throws(SQLiteError) {
    try check(coffer_sqlite_set_option(try open(), option.number, isOn ? 1 : 0))
  }

  func setLimit(length: Int) throws(SQLiteError) {
    sqlite3_limit(try open(), SQLITE_LIMIT_LENGTH, Int32(clamping: length))
  }

  func apply(_ configuration: Database.Configuration) throws(SQLiteError) {
    try set(.foreignKeys, to: configuration.enforcesForeignKeys)
    if let length = configuration.lengthLimit { try setLimit(length: length) }
    guard configuration.isHardened else { return }
    try set(.defensive, to: true)
    try set(.triggers, to: false)
    try set(.views, to: false)
    try set(.trustedSchema, to: false)
    try set(.extensionLoading, to: false)
    try statement("PRAGMA cell_size_check = ON").run()
    try statement("PRAGMA mmap_size = 0").run()
    if let rule = configuration.rule { try setRule(rule) }
  }
}
