internal import CofferRecords
internal import CofferSQLite
internal import CofferSealing

#if canImport(Glibc)
  internal import Glibc
#endif

/// An open file that is known to be a store of our format; nothing in it is trusted yet.
///
/// All of these checks run before any key is used (FORMAT, "Opening"); commands without a key need no others.
struct StoreFile {
  let path: String
  /// The file as it was named before SQLite opened it.
  let place: FilePlace
  let database: StoreDatabase
  let isWriteAhead: Bool

  /// Opens the file, without keys.
  ///
  /// Opened for writing if the file may be written, so that SQLite can undo a killed writer's journal; or in a mode that
  /// only reads.
  ///
  /// - Parameter willRead: called before anything is read, which may wait for another process's lock, with the handle that
  ///   ends the wait.
  /// - Throws: `noSuchFile`, `notAStore`, `otherFormat`, `damaged`, `locked`; errors of `willRead`.
  init(
    at path: String, wait: Duration?, cacheBytes: Int, mode: Database.Mode = .readWrite,
    willRead: (InterruptHandle) throws(StoreError) -> Void = { _ throws(StoreError) in }
  ) throws(StoreError) {
    self.path = path
    // An opening that waits for a restore gets the file that was there before it.
    place = try FilePlace(of: path)
    let connection = try Self.connect(to: path, wait: wait, mode: mode)
    try willRead(connection.interruptHandle)
    let watch = Cancellation.Watch(connection)
    defer { watch.end() }
    try place.requireSameFile()
    try Self.checkFirstPage(connection, path: path, isImmutable: mode == .immutable)
    // Most pragmas would make SQLite read it.
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
    let isRead: Bool
    do throws(SQLiteError) {
      isRead = try database.readSchema(entryLimit: Schema.entryLimit)
    } catch {
      throw opening(error, path: path, database: database)
    }
    guard isRead else { throw Schema.tooManyEntries }
  }

  static func connect(
    to path: String, wait: Duration?, mode: Database.Mode = .readWrite
  ) throws(StoreError) -> Database {
    var status = stat()
    // Reading from a pipe would wait for its writer.
    if stat(path, &status) == 0, status.st_mode & S_IFMT != S_IFREG {
      throw StoreError(.notAStore, "\(path): not a regular file, and so no store")
    }
    do throws(SQLiteError) {
      // SQLite does not open a link that leads nowhere, and would write through it later.
      try Database.checkFiles(beside: path)
      return try Database(
        path, mode: mode,
        configuration: Database.Configuration(
          busyTimeout: wait, isHardened: true, enforcesForeignKeys: false,
          lengthLimit: Int(StoreFormat.maximumValue)))
    } catch {
      throw StoreError(error, path: path)
    }
  }

  /// Checks SQLite's file header before SQLite uses it.
  static func checkFirstPage(
    _ database: Database, path: String, isImmutable: Bool = false
  ) throws(StoreError) {
    let page: [UInt8]
    let size: Int64
    var status = stat()
    do throws(SQLiteError) {
      page = try database.firstBytes(100)
      size = try database.fileSize()
    } catch {
      throw StoreError(error, path: path)
    }
    func number(_ offset: Int) -> UInt32 {
      page[offset..<offset + 4].reduce(0) { $0 << 8 | UInt32($1) }
    }
    let notAStore = StoreError(.notAStore, "\(path): not a store")
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
    guard number(60) != 1 else {
      throw StoreError(
        .otherFormat, "\(path): made before the first release, in format 1, which this program does not read",
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
    // With several names, each name of the file would have another log.
    if page[18] == 2, !isImmutable { try FilePlace(of: path).requireOnlyName() }
  }

  /// If a journal must be undone first but nothing may be written there, the store is not damaged: the error says so.
  private static func opening(_ error: SQLiteError, path: String, database: Database) -> StoreError {
    if database.isReadOnly, error.code == .readOnly || error.code == .cantOpen {
      // Byte 18 of SQLite's header: 2 for a file in WAL mode.
      if let mode = try? database.firstBytes(19).last, mode == 2 {
        return StoreError(
          .readOnly, "\(path): a store with a write-ahead log can't be read where nothing may be written",
          hint: "copy it to such a place, or make stores for read-only places with the rollback journal")
      }
      return StoreError(
        .damaged, "\(path): a killed writer left a journal beside the store, and nothing may be written here",
        hint: "open it once where it can be written, or copy \(path) and \(path)-journal to such a place")
    }
    return StoreError(error, path: path)
  }

  /// Detects a file that was cut short; SQLite does not notice if only part of the last page is gone.
  ///
  /// Call within a transaction, so that no writer changes the file's size. In WAL mode the last pages may be in the
  /// log.
  func checkSize() throws(StoreError) {
    guard !isWriteAhead else { return }
    let isWhole = try database.run { database throws(SQLiteError) in
      let pages = try database.integerPragma("page_count") ?? 0
      let pageSize = try database.integerPragma("page_size") ?? 0
      return try database.fileSize() >= pages * pageSize
    }
    guard isWhole else { throw .damagedStore("the file was cut short") }
  }

  /// The header and its slots, checked as far as possible without a key.
  func readHeader() throws(StoreError) -> (StoreHeader, [KeySlotRecord]) {
    let header = try StoreHeader(database)
    return (header, try KeySlotRecord.readAll(database))
  }

  /// The header and its slots as of one moment, read in a short transaction.
  func readConsistently() throws(StoreError) -> (StoreHeader, [KeySlotRecord]) {
    try database.begin(.deferred)
    let result: Result<(StoreHeader, [KeySlotRecord]), StoreError> = Result { () throws(StoreError) in
      try checkSize()
      return try readHeader()
    }
    // The connection is used again, so no transaction may stay open, even if memory runs out.
    try database.run { database throws(SQLiteError) in try database.rollback() }
    return try result.get()
  }
}

extension Database {
  /// The settings of every connection to a store, including one that creates it.
  ///
  /// Temporary files would hold plaintext titles that SQLite sorts; deleted rows are overwritten; a commit is on the
  /// disk when it returns.
  func setStorePragmas() throws(SQLiteError) {
    for pragma in ["temp_store = MEMORY", "secure_delete = ON", "synchronous = EXTRA"] { _ = try textPragma(pragma) }
  }
}
