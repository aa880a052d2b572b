internal import CofferRecords
internal import CofferSQLite

extension StoreFile {
  /// The page cache sizes in bytes. Most readers only pass over pages, but a writer collects a bulk transaction's pages.
  package static let readerCache = 8 << 20
  package static let writerCache = 64 << 20

  /// Runs `body` in a read transaction on a separate connection, without unlocking the file.
  ///
  /// - Parameter wait: The maximum time to wait for another process's lock, or `nil` to wait indefinitely.
  package static func reading<R>(_ path: String, _ wait: Duration?, _ body: (StoreFile) throws(StoreError) -> R)
    throws(StoreError) -> R
  {
    let file = try StoreFile(at: path, wait: wait, cacheBytes: readerCache)
    let watch = Cancellation.Watch(file.database.connection)
    defer { watch.end() }
    try Cancellation.checkCurrent()
    try file.database.begin(.deferred)
    defer { file.database.rollback() }
    try file.checkSize()
    return try body(file)
  }
}
