internal import CCofferSQLite

/// A limit for a connection's cache of pages, which ends with its last reference.
///
/// For work that reads or writes many pages once. The cache keeps the memory that it has, or grows to the limit.
///
/// In a write transaction, changed pages beyond the limit go into the file. Without a log, that takes the lock that
/// keeps readers out, as the commit does. The limit doesn't wait for readers: as long as some have the file locked, the
/// pages stay in memory.
///
/// Within another limit of the connection, a limit changes nothing, so they can end in any order.
package final class CacheLimit {
  /// What a connection had before its first limit.
  struct Former {
    let size: Int64
    let wait: Duration?
    let holdsLockHere: (() -> Bool)?
    /// The number of limits.
    var count = 0
  }

  private let database: Database

  /// - Parameter byteCount: The memory that the cache may grow to.
  package init(_ database: Database, byteCount: Int) throws(SQLiteError) {
    if database.cacheLimits == nil {
      let former = Former(
        size: try database.cacheSize(), wait: database.busyTimeout, holdsLockHere: database.holdsLockHere)
      try database.setCache(byteCount: max(byteCount, database.usedCacheBytes()))
      (database.busyTimeout, database.holdsLockHere) = (.zero, nil)
      database.cacheLimits = former
    }
    database.cacheLimits?.count += 1
    self.database = database
  }

  deinit {
    database.cacheLimits?.count -= 1
    guard let former = database.cacheLimits, former.count == 0 else { return }
    database.cacheLimits = nil
    (database.busyTimeout, database.holdsLockHere) = (former.wait, former.holdsLockHere)
    try? database.setCacheSize(former.size)
  }
}

extension Database {
  /// Sets the most memory for pages, beside those that a transaction has changed. Pages beyond it are released.
  package func setCache(byteCount: Int) throws(SQLiteError) {
    try setCacheSize(-Int64(max(byteCount >> 10, 64)))
  }

  /// - Parameter size: The number of pages, or the negative number of KiB.
  package func setCacheSize(_ size: Int64) throws(SQLiteError) {
    // SQLite sets it when it compiles the pragma: a statement from the cache would do nothing.
    try connection.runAll("PRAGMA cache_size = \(size)") { statement throws(SQLiteError) in try statement.run() }
  }

  /// The size as in ``setCacheSize(_:)``, which SQLite also reads when it compiles the pragma.
  package func cacheSize() throws(SQLiteError) -> Int64 {
    var size: Int64 = 0
    try connection.runAll("PRAGMA cache_size") { statement throws(SQLiteError) in
      if try statement.step() { size = statement.int64(at: 0) }
    }
    return size
  }

  /// Sets whether all bytes of deleted rows are overwritten, or only those that cost no further writes.
  ///
  /// SQLite sets it when it compiles the pragma, so this works after an error has ended the transaction, too.
  package func setSecureDelete(_ isWhole: Bool) throws(SQLiteError) {
    try connection.runAll("PRAGMA secure_delete=\(isWhole ? "ON" : "FAST")") { statement throws(SQLiteError) in
      _ = try statement.step()
    }
  }

  /// The memory of the cache's pages.
  package func usedCacheBytes() throws(SQLiteError) -> Int {
    var (now, most): (Int32, Int32) = (0, 0)
    try connection.check(sqlite3_db_status(try connection.open(), SQLITE_DBSTATUS_CACHE_USED, &now, &most, 0))
    return Int(now)
  }
}
