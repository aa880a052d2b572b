internal import CofferPlatform
internal import CofferRecords
package import CofferSQLite
internal import CofferSealing

/// An open file that has the store format. Its contents aren't trusted yet.
///
/// All of these checks run before a key is used (FORMAT, "Opening"). Commands without a key don't need other checks.
package struct StoreFile {
  package let path: String
  /// The file's location before SQLite opened it.
  let place: FileLocation
  package let database: StoreDatabase
  package let isWriteAhead: Bool

  /// The time that opening a file in WAL mode always waits for other processes that open or close it.
  private static let minimumOpeningWait = Duration.seconds(10)

  /// Opens the file without keys.
  ///
  /// In `readWrite` mode, the file is opened for writing if possible, so SQLite can roll back a killed writer's
  /// journal.
  ///
  /// - Parameter willRead: Called before the first read, which may wait for another process's lock, with the handle
  ///   that ends the wait.
  /// - Throws: `noSuchFile`, `notAStore`, `otherFormat`, `unsafeFile`, `readOnly`, `damaged`, `locked`, or an error of
  ///   `willRead`.
  package init(
    at path: String, wait: Duration?, cacheBytes: Int, mode: Database.Mode = .readWrite,
    willRead: (InterruptHandle) throws(StoreError) -> Void = { _ throws(StoreError) in }
  ) throws(StoreError) {
    self.path = path
    // Record the file before waiting, so a file restored during the wait is detected.
    place = try FileLocation(of: path)
    let connection = try Self.connect(to: path, wait: wait, mode: mode)
    try willRead(connection.interruptHandle)
    let watch = Cancellation.Watch(connection)
    defer { watch.end() }
    try place.requireSameFile()
    let hasLog = try Self.checkFirstPage(connection, path: path, isImmutable: mode == .immutable)
    // In WAL mode, other processes' locks only block readers while the first process opens the file, or the last
    // process closes it. That's short, so callers that don't wait for writers also wait for it.
    if hasLog { connection.busyTimeout = wait.map { max($0, Self.minimumOpeningWait) } }
    defer { connection.busyTimeout = wait }
    // Read the schema here, because most pragmas would make SQLite read it.
    try Self.readSchema(connection, path: path)
    do throws(SQLiteError) {
      try connection.setStorePragmas()
      _ = try connection.textPragma("cache_size = -\(max(0, cacheBytes) / 1024)")
      // An immutable file is read without a log.
      isWriteAhead = try connection.textPragma("journal_mode") == "wal" && mode != .immutable
    } catch {
      throw Self.opening(error, path: path, database: connection)
    }
    database = StoreDatabase(connection)
    try Schema.check(database)
  }

  private static func readSchema(_ database: Database, path: String) throws(StoreError) {
    do throws(SQLiteError) {
      try database.readSchema(within: .store(entries: Schema.entryLimit))
    } catch {
      guard error.code != .corrupt || error.extendedCode != 0 else { throw Schema.tooManyEntries }
      // The rest of the message quotes the file.
      guard !error.message.hasPrefix("malformed database schema") else { throw Schema.refused("SQLite can't read it") }
      throw opening(error, path: path, database: database)
    }
  }

  package static func connect(
    to path: String, wait: Duration?, mode: Database.Mode = .readWrite
  ) throws(StoreError) -> Database {
    var status = stat()
    // Reading from a pipe would wait for its writer.
    if stat(path, &status) == 0, status.st_mode & S_IFMT != S_IFREG {
      throw StoreError(.notAStore, "\(path): not a regular file, and so no store")
    }
    return try translatingErrors(at: path) { () throws(SQLiteError) in
      // SQLite doesn't open a dangling link, but would later write through it.
      try Database.checkFiles(beside: path)
      return try Database(
        path, mode: mode,
        configuration: .ofStore(wait: wait, lengthLimit: Int(StoreFormat.maximumValue)))
    }
  }

  /// Checks SQLite's file header before SQLite uses it.
  ///
  /// - Returns: Whether the file is in WAL mode.
  @discardableResult
  package static func checkFirstPage(
    _ database: Database, path: String, isImmutable: Bool = false
  ) throws(StoreError) -> Bool {
    var status = stat()
    let (page, size) = try translatingErrors(at: path) { () throws(SQLiteError) in
      (try database.firstBytes(100), try database.fileSize())
    }
    func number(_ offset: Int) -> UInt32 {
      page[offset..<offset + 4].reduce(0) { $0 << 8 | UInt32($1) }
    }
    let notAStore = StoreError(.notAStore, "\(path): not a store", hint: StoreError.adviceOfNoStore)
    guard page.count == 100, page.starts(with: Array("SQLite format 3\0".utf8)),
      number(68) == StoreFormat.applicationID
    else { throw notAStore }
    let pageSize = Int64(page[16]) << 8 | Int64(page[17])
    guard size >= (pageSize == 1 ? 65536 : pageSize) else { throw notAStore }
    guard number(60) <= StoreFormat.version else {
      throw StoreError(
        .otherFormat, "\(path): made by a later version of this program (format \(number(60)))",
        hint: "update this program")
    }
    guard !(1..<StoreFormat.version).contains(number(60)) else {
      throw StoreError(
        .otherFormat,
        "\(path): made before the first release, in format \(number(60)), which this program does not read",
        hint: "make the store again from its source")
    }
    guard number(60) == StoreFormat.version, number(56) == 1 else {
      throw .damagedStore("its version or text encoding is invalid")
    }
    if page[18] == 1, lstat(path + "-wal", &status) == 0 {
      throw StoreError(
        .unsafeFile, "\(path)-wal is beside a store that has no write-ahead log",
        hint: "nothing was changed: find out who put it there, and move it away")
    }
    // If the file had several names, each name would get its own log.
    if page[18] == 2, !isImmutable { try FileLocation(of: path).requireSingleName() }
    return page[18] == 2
  }

  /// Returns the error for a failure to open. If a read-only folder prevents rolling back a journal, the message
  /// explains this, because the store isn't damaged.
  private static func opening(_ error: SQLiteError, path: String, database: Database) -> StoreError {
    if database.isReadOnly, error.code == .readOnly || error.code == .cantOpen {
      // Byte 18 of SQLite's header is 2 for a file in WAL mode.
      if let mode = try? database.firstBytes(19).last, mode == 2 {
        return StoreError(
          .readOnly, "\(path): a store with a write-ahead log can't be read where nothing may be written",
          hint:
            "copy its files to a place where you may write, or make stores for read-only places with the rollback journal"
        )
      }
      return StoreError(
        .damaged, "\(path): a killed writer left a journal beside the store, and nothing may be written here",
        hint: "open it once where it can be written, or copy \(path) and \(path)-journal to such a place")
    }
    return StoreError(error, path: path)
  }

  /// Detects a truncated file. SQLite doesn't notice if only part of the last page is missing.
  ///
  /// Call this within a transaction, so the file's size can't change. In WAL mode, the last pages can be in the log.
  func checkSize() throws(StoreError) {
    guard !isWriteAhead else { return }
    let isWhole = try translatingErrors { () throws(SQLiteError) in
      let pages = try database.connection.integerPragma("page_count") ?? 0
      let pageSize = try database.connection.integerPragma("page_size") ?? 0
      return try database.connection.fileSize() >= pages * pageSize
    }
    guard isWhole else { throw .damagedStore("the file was cut short") }
  }

  /// Returns the header and its slots, checked as far as possible without a key.
  package func readHeader() throws(StoreError) -> (StoreHeader, [KeySlotRecord]) {
    let header = try StoreHeader(database)
    return (header, try KeySlotRecord.readAll(database))
  }

  /// Returns a consistent header with its slots, read in a short transaction.
  func readConsistently() throws(StoreError) -> (StoreHeader, [KeySlotRecord]) {
    try database.reading { () throws(StoreError) in
      try checkSize()
      return try readHeader()
    }
  }
}

extension Database {
  /// Applies the settings that every connection to a store needs, including the connection that creates it.
  ///
  /// Temporary data is kept in memory, because SQLite may sort plaintext titles. Deleted rows are overwritten, and a
  /// commit is on disk when it returns. On Apple's systems, a drive may keep it in its cache unless SQLite asks for a
  /// full synchronization. Elsewhere, these settings have no effect.
  func setStorePragmas() throws(SQLiteError) {
    let pragmas = [
      "temp_store = MEMORY", "secure_delete = ON", "synchronous = EXTRA", "fullfsync = ON", "checkpoint_fullfsync = ON",
    ]
    for pragma in pragmas { _ = try textPragma(pragma) }
  }
}
