internal import CofferRecords
internal import CofferSQLite

extension StoreFile {
  /// Runs `body` in one read transaction on a file that is not unlocked, on a separate connection.
  ///
  /// - Parameter wait: the longest time to wait for another process's lock; nil waits for ever.
  static func reading<R>(_ path: String, _ wait: Duration?, _ body: (StoreFile) throws(StoreError) -> R)
    throws(StoreError) -> R
  {
    let file = try StoreFile(at: path, wait: wait, cacheBytes: ConnectionPool.readerCache)
    let watch = Cancellation.Watch(file.database.connection)
    defer { watch.end() }
    try Cancellation.checkCurrent()
    try file.database.begin(.deferred)
    defer { file.database.rollback() }
    try file.checkSize()
    return try body(file)
  }
}
