internal import CCofferSQLite

/// A limit for a connection's cache of pages, which ends with its last reference.
///
/// For work that reads or writes many pages once. The cache keeps the memory that it has, or grows to the limit.
///
/// In a write transaction, changed pages beyond the limit go into the file. Without a log, that takes the lock that
/// keeps readers out, as the commit does. The limit doesn't wait for readers: as long as some have the file locked, the
/// pages stay in memory.
package final class CacheLimit {
  private let database: Database
  private let former: Int64
  private let wait: Duration?
  private let holdsLockHere: (() -> Bool)?

  /// - Parameter byteCount: The memory that the cache may grow to.
  package init(_ database: Database, byteCount: Int) throws(SQLiteError) {
    self.database = database
    former = try database.cacheSize()
    (wait, holdsLockHere) = (database.busyTimeout, database.holdsLockHere)
    try database.setCache(byteCount: max(byteCount, database.usedCacheBytes()))
    (database.busyTimeout, database.holdsLockHere) = (.zero, nil)
  }

  deinit {
    (database.busyTimeout, database.holdsLockHere) = (wait, holdsLockHere)
    try? database.setCacheSize(former)
  }
}

extension Database {
  /// Sets the most memory for pages, beside those that a transaction has changed. Pages beyond it are released.
  package func setCache(byteCount: Int) throws(SQLiteError) {
    try setCacheSize(-Int64(max(byteCount >> 10, 64)))
  }

  /// - Parameter size: The number of pages, or the negative number of KiB.
  fileprivate func setCacheSize(_ size: Int64) throws(SQLiteError) {
    // SQLite sets it when it compiles the pragma: a statement from the cache would do nothing.
    try connection.runAll("PRAGMA cache_size = \(size)") { statement throws(SQLiteError) in try statement.run() }
  }

  /// The size as in ``setCacheSize(_:)``, which SQLite also reads when it compiles the pragma.
  fileprivate func cacheSize() throws(SQLiteError) -> Int64 {
    var size: Int64 = 0
    try connection.runAll("PRAGMA cache_size") { statement throws(SQLiteError) in
      if try statement.step() { size = statement.int64(at: 0) }
    }
    return size
  }

  /// The memory of the cache's pages.
  package func usedCacheBytes() throws(SQLiteError) -> Int {
    var (now, most): (Int32, Int32) = (0, 0)
    try connection.check(sqlite3_db_status(try connection.open(), SQLITE_DBSTATUS_CACHE_USED, &now, &most, 0))
    return Int(now)
  }
}
