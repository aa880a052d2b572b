internal import CCofferSQLite

/// A limit for a connection's page cache, which ends with its last reference.
///
/// Use a limit for work that reads or writes many pages once. The cache keeps up to 16 MiB of the memory that it has, or
/// grows to the limit. Without this bound, a transaction that has many limits would fill the cache between them.
///
/// In a write transaction, changed pages beyond the limit are written to the file. Without a log, this takes the lock
/// that excludes readers, like a commit. The limit doesn't wait for readers, so the pages remain in memory while
/// readers have the file locked.
///
/// A limit has no effect within another limit of the connection, so limits can end in any order.
package final class CacheLimit {
  /// A connection's settings before its first limit.
  struct Former {
    let size: Int64
    let wait: Duration?
    let holdsLockHere: (() -> Bool)?
    /// The number of limits.
    var count = 0
  }

  /// The memory that a cache keeps, even if it's above the limit.
  private static let keptByteCount = 16 << 20

  private let database: Database

  /// - Parameter byteCount: The maximum size to which the cache may grow.
  package init(_ database: Database, byteCount: Int) throws(SQLiteError) {
    if database.cacheLimits == nil {
      let former = Former(
        size: try database.cacheSize(), wait: database.busyTimeout, holdsLockHere: database.holdsLockHere)
      let used = try database.usedCacheBytes()
      // Only unchanged pages can be released.
      if used > Self.keptByteCount { database.flushCache() }
      try database.setCache(byteCount: max(byteCount, min(used, Self.keptByteCount)))
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
  /// Sets the maximum memory for pages, in addition to the pages that a transaction has changed. Releases pages beyond
  /// the limit.
  package func setCache(byteCount: Int) throws(SQLiteError) {
    try setCacheSize(-Int64(max(byteCount >> 10, 64)))
  }

  /// Writes changed pages to the file before the commit, without waiting for readers that have the file locked.
  fileprivate func flushCache() {
    let (wait, holds) = (busyTimeout, holdsLockHere)
    defer { (busyTimeout, holdsLockHere) = (wait, holds) }
    (busyTimeout, holdsLockHere) = (.zero, nil)
    if let handle = try? connection.open() { sqlite3_db_cacheflush(handle) }
  }

  /// - Parameter size: The number of pages, or the negative number of KiB.
  package func setCacheSize(_ size: Int64) throws(SQLiteError) {
    // SQLite sets the size when it compiles the pragma, so a cached statement would have no effect.
    try connection.runAll("PRAGMA cache_size = \(size)") { statement throws(SQLiteError) in try statement.run() }
  }

  /// Returns the size as in ``setCacheSize(_:)``, which SQLite also reads when it compiles the pragma.
  package func cacheSize() throws(SQLiteError) -> Int64 {
    var size: Int64 = 0
    try connection.runAll("PRAGMA cache_size") { statement throws(SQLiteError) in
      if try statement.step() { size = statement.int64(at: 0) }
    }
    return size
  }

  /// Sets whether to overwrite all bytes of deleted rows, or only those that don't require further writes.
  ///
  /// SQLite applies the setting when it compiles the pragma, so this also works after an error has ended the
  /// transaction.
  package func setSecureDelete(_ isWhole: Bool) throws(SQLiteError) {
    try connection.runAll("PRAGMA secure_delete=\(isWhole ? "ON" : "FAST")") { statement throws(SQLiteError) in
      _ = try statement.step()
    }
  }

  /// Returns the memory of the cache's pages.
  package func usedCacheBytes() throws(SQLiteError) -> Int {
    var (now, most): (Int32, Int32) = (0, 0)
    try connection.check(sqlite3_db_status(try connection.open(), SQLITE_DBSTATUS_CACHE_USED, &now, &most, 0))
    return Int(now)
  }
}
