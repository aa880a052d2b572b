internal import CofferRecords
internal import CofferSQLite
public import FoundationEssentials

/// The size of a store's file before and after compacting.
public struct CompactReport: Sendable, Hashable {
  /// The file's size in bytes before. In WAL mode the log was copied into the file first.
  public let bytesBefore: Int64
  /// The file's size in bytes after.
  public let bytesAfter: Int64
}

extension DocumentStore {
  /// Rewrites the store at `url` without free pages; needs no key and opens nothing.
  ///
  /// No other process can use the store meanwhile. Compacting takes as much room again in SQLite's folder for temporary
  /// files (`SQLITE_TMPDIR`, else `/var/tmp`) and beside the store; the data there is sealed like the store. A log is
  /// first copied into the file and cut. An interruption leaves the store unchanged. No deleted data stays in the file.
  ///
  /// - Returns: the file's size before and afterwards.
  /// - Throws: `locked` if another process keeps its lock longer than `wait` (nil waits for ever), also if a reader
  ///   that started meanwhile keeps the new pages in the log, which the message says; `diskFull`, `readOnly`, and
  ///   errors of opening the store.
  @discardableResult
  public static func compact(at url: URL, wait: Duration? = .seconds(10)) throws(StoreError) -> CompactReport {
    let file = try StoreFile(at: url.path, wait: wait, cacheBytes: ConnectionPool.writerCache)
    guard !file.database.connection.isReadOnly else {
      throw .notWritable(url.path)
    }
    try FilePlace(of: url.path).requireOnlyName()
    let lock = file.isWriteAhead ? try WriteAheadLock.of(file.path) : nil
    return try ProcessLocks.of(file.path).asWriter(wait: wait) { () throws(StoreError) in
      try lock?.lock(wait: wait, .current)
      defer { lock?.unlock() }
      let watch = Cancellation.Watch(file.database.connection)
      defer { watch.end() }
      try Cancellation.checkCurrent()
      let report = try compact(file)
      // Before the lock is released: the last connection to close checkpoints.
      try file.database.run { database throws(SQLiteError) in try database.close() }
      return report
    }
  }

  /// Rewrites this store without free pages, as `compact(at:wait:)` does, and waits for locks as long as the store
  /// waits.
  ///
  /// - Returns: the file's size before and afterwards.
  /// - Throws: the same errors, and `misuse` inside `read` or `write`.
  @discardableResult
  public func compact() throws(StoreError) -> CompactReport {
    guard !isReadOnly else { throw .notWritable(engine.path, isChosen: engine.options.isReadOnly) }
    try engine.connections.requireNoRead("compact")
    let report = try engine.connections.withWriter { connection throws(StoreError) in try Self.compact(connection.file)
    }
    engine.log.info("compacted \(report.bytesBefore) bytes to \(report.bytesAfter)")
    return report
  }

  private static func compact(_ file: StoreFile) throws(StoreError) -> CompactReport {
    let database = file.database.connection
    if file.isWriteAhead, try WriteAheadLock.of(file.path).isReplicated(database) {
      throw StoreError(
        .locked, "\(file.path): a replication program has the store open, and would lose commits",
        hint: "stop it, compact the store, and start it again")
    }
    let before: Int64
    do throws(SQLiteError) {
      if file.isWriteAhead { try database.checkpoint(.truncate) }
      before = try database.fileSize()
      // In memory, the temporary data would be as large as the file.
      _ = try database.textPragma("temp_store = FILE")
      let result: Result<Void, SQLiteError> = Result { () throws(SQLiteError) in _ = try database.execute("VACUUM") }
      _ = try database.textPragma("temp_store = MEMORY")
      try result.get()
    } catch {
      throw StoreError(error, path: file.path)
    }
    if file.isWriteAhead { try cutLog(of: file) }
    do throws(SQLiteError) {
      return CompactReport(bytesBefore: before, bytesAfter: try database.fileSize())
    } catch {
      throw StoreError(error, path: file.path)
    }
  }

  /// Copies the rewritten pages from the log into the file, which holds the old pages until then.
  private static func cutLog(of file: StoreFile) throws(StoreError) {
    do throws(SQLiteError) {
      try file.database.connection.checkpoint(.truncate)
    } catch {
      guard error.code == .busy || error.code == .locked else { throw StoreError(error, path: file.path) }
      throw StoreError(
        .locked, "\(file.path): the compacted store is still in its log: a reader blocks the copy into the file",
        hint: "the file still has what was deleted: close the readers, and call \(.compact) once more")
    }
  }
}
