internal import CofferEngine
public import CofferFoundation
internal import CofferRecords
internal import CofferSQLite

extension DocumentStore {
  /// The size of each of VACUUM's two caches. VACUUM reads and writes pages in order. A larger cache isn't faster.
  private static let compactionCache = 4 << 20

  /// Rewrites the store at `url` without free pages. Doesn't need a key, and doesn't decrypt data.
  ///
  /// Other processes can't use the store during this call. Compacting needs the store's size in SQLite's folder for
  /// temporary files (`SQLITE_TMPDIR`, or `/var/tmp`) and the same size in the store's folder. The temporary data is
  /// encrypted like the store. Compacting uses less than 20 MB of memory, regardless of the store's size. In WAL mode,
  /// the log is first copied to the file and truncated. An interruption leaves the store unchanged. Afterward, only
  /// indexes contain deleted data, in encrypted form, until they're updated. They contain deleted words until their
  /// tables are rebuilt.
  ///
  /// - Parameters:
  ///   - url: The store's file.
  ///   - wait: The maximum time to wait for another process's lock, or `nil` to wait indefinitely.
  /// - Returns: The file's size in bytes before, including the copied log, and after.
  /// - Throws: `locked` if another process keeps its lock for longer than `wait`, or if a new reader keeps the
  ///   rewritten pages in the log, which the message mentions. `diskFull`, `readOnly`, and errors of opening the store.
  @discardableResult
  public static func compact(
    at url: URL, wait: Duration? = .seconds(10)
  ) throws(StoreError) -> (before: Int64, after: Int64) {
    let file = try StoreFile(at: url.path, wait: wait, cacheBytes: StoreFile.readerCache)
    guard !file.database.connection.isReadOnly else {
      throw .notWritable(url.path)
    }
    try FileLocation(of: url.path).requireSingleName()
    let lock = file.isWriteAhead ? try WriteAheadLock.of(file.path) : nil
    defer { lock?.release() }
    let locks = ProcessLocks.of(file.path)
    if !file.isWriteAhead { locks.attach(to: file.database.connection, isRegistered: false) }
    return try locks.asWriter { () throws(StoreError) in
      try lock?.lock(wait: wait, countsThisProcess: false, .current)
      defer { lock?.unlock() }
      let watch = Cancellation.Watch(file.database.connection)
      defer { watch.end() }
      try Cancellation.checkCurrent()
      let size = try compact(file, lock)
      // Close before releasing the lock, because the last connection to close checkpoints.
      try translatingErrors(file.database.connection.close)
      return size
    }
  }

  /// Rewrites this store without free pages, like ``compact(at:wait:)``. Waits for locks as long as the store's options
  /// specify. First deletes the remains of interrupted deletions of large attachments, which requires the key.
  ///
  /// - Returns: The file's size in bytes before and after.
  /// - Throws: The same errors, `setMismatch` if attachment rows are missing, and `misuse` inside `read` or `write`.
  @discardableResult
  public func compact() throws(StoreError) -> (before: Int64, after: Int64) {
    guard !isReadOnly else { throw .notWritable(engine.path, isChosen: engine.options.isReadOnly) }
    try engine.connections.requireNoRead("compact")
    try engine.deleteAllLeftoverChunks()
    let size = try engine.connections.namingStops { () throws(StoreError) in
      let lease = try engine.connections.writer()
      return try Self.compact(lease.connection.file, engine.connections.writeAheadLock)
    }
    engine.log.info("compacted \(size.before) bytes to \(size.after)")
    return size
  }

  private static func compact(
    _ file: StoreFile, _ lock: WriteAheadLock?
  ) throws(StoreError) -> (before: Int64, after: Int64) {
    let database = file.database.connection
    if let lock, lock.isReplicated(database) {
      throw StoreError(
        .locked, "\(file.path): a replication program has the store open, and would lose commits",
        hint: "stop it, compact the store, and start it again")
    }
    // VACUUM computes expressions, and another process may have changed the schema since the file was opened.
    try Schema.check(file.database)
    let before = try translatingErrors(at: file.path) { () throws(SQLiteError) in
      if file.isWriteAhead { try database.checkpoint(.truncate) }
      let before = try database.fileSize()
      // In memory, the temporary data would be as large as the file.
      _ = try database.textPragma("temp_store = FILE")
      // VACUUM's copy has a cache of this connection's size.
      let cache = try database.cacheSize()
      try database.setCache(byteCount: compactionCache)
      defer { try? database.setCacheSize(cache) }
      let result: Result<Void, SQLiteError> = Result { () throws(SQLiteError) in
        try ProcessLocks.of(file.path).excludingReaders { () throws(SQLiteError) in
          try database.liftingRule { () throws(SQLiteError) in _ = try database.execute("VACUUM") }
        }
      }
      _ = try database.textPragma("temp_store = MEMORY")
      try result.get()
      return before
    }
    if file.isWriteAhead { try cutLog(of: file) }
    return (before, try translatingErrors(at: file.path) { () throws(SQLiteError) in try database.fileSize() })
  }

  /// Copies the rewritten pages from the log to the file, which still contains the old pages.
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
