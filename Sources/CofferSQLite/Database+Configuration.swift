internal import CCofferSQLite

extension Database {
  /// Options for opening a connection.
  public struct Configuration: Sendable {
    /// The maximum time to wait for another connection's lock before throwing `busy`, or `nil` to wait indefinitely.
    /// Zero disables waiting.
    public var busyTimeout: Duration?
    /// A Boolean value that indicates whether the connection is hardened for files from untrusted sources. Triggers,
    /// views and extensions are disabled, the schema isn't trusted, SQL can't damage the file, cell sizes are checked,
    /// and the file isn't mapped into memory.
    ///
    /// The journal, log and `-shm` files are also checked, because they're input. Each must be a regular file with one
    /// name, and belong to the database's owner, root or this process's user (or to any user who can write to the
    /// database). Other files are refused with `unsafeFile` and remain unchanged. The same applies if a journal names a
    /// super-journal, if a database with a rollback journal has a log, or if the database isn't a regular file. A
    /// transaction can't change several databases.
    public var isHardened: Bool
    /// A Boolean value that indicates whether foreign keys are enforced, which isn't SQLite's default.
    public var enforcesForeignKeys: Bool
    /// The maximum length of a text, blob or row in bytes, or `nil` for SQLite's own limit (about 1 GB).
    public var lengthLimit: Int?
    /// The maximum number of compiled statements in the cache, or 0 to disable the cache.
    public var statementCacheCapacity: Int
    /// The statements that the connection compiles, or `nil` for all.
    package var rule: StatementRule?

    /// Creates options. The defaults fit an app's own file. Set `isHardened` for files from untrusted sources.
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

  /// A Boolean connection setting.
  package enum Option: Sendable {
    /// Prevents SQL from damaging the file by writing to the schema or to shadow tables. SQLITE_DBCONFIG_DEFENSIVE
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
    /// Keeps the write-ahead log unchanged when the last connection closes. SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE
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

  /// Sets the maximum length of a text, blob or row in bytes, and returns the previous maximum. SQLITE_LIMIT_LENGTH
  package func setLimit(length: Int) throws(SQLiteError) -> Int { try connection.setLimit(length: length) }

  /// The maximum time to wait for another connection's lock, or `nil` to wait indefinitely.
  public var busyTimeout: Duration? {
    get { connection.waiter.timeout }
    set { connection.waiter.timeout = newValue }
  }

  /// A closure that returns whether this process itself holds the lock that a statement waits for. Such waits are
  /// unlimited, unless the closure is `nil`.
  package var holdsLockHere: (() -> Bool)? {
    get { connection.waiter.holdsLockHere }
    set { connection.waiter.holdsLockHere = newValue }
  }
}

extension Connection {
  func set(_ option: Database.Option, to isOn: Bool) throws(SQLiteError) {
    try check(coffer_sqlite_set_option(try open(), option.number, isOn ? 1 : 0))
  }

  func setLimit(length: Int) throws(SQLiteError) -> Int {
    Int(sqlite3_limit(try open(), SQLITE_LIMIT_LENGTH, Int32(clamping: length)))
  }

  func apply(_ configuration: Database.Configuration) throws(SQLiteError) {
    try set(.foreignKeys, to: configuration.enforcesForeignKeys)
    if let length = configuration.lengthLimit { _ = try setLimit(length: length) }
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
