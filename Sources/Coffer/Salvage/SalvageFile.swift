internal import CofferRecords
internal import CofferSQLite

#if canImport(Glibc)
  internal import Glibc
#endif

/// A damaged file, open for reading only: its tables, and its pages.
struct SalvageFile {
  /// The file's tables, or those that were made for a file without its first page.
  let database: StoreDatabase
  /// The file itself, where `database` is not it; no statement runs on it.
  private let raw: StoreDatabase?
  /// As found by the spare copy; nil: as the file's header says.
  private let pageSize: Int?
  private(set) var problems: [String] = []

  /// Opens the file with SQLite.
  ///
  /// SQLite is configured to continue with an incomplete schema and a file shorter than its header says, and to use the
  /// rest of a page whose cells don't add up. That is safe here: it writes nothing, no SQL from the file runs, and its
  /// results are verified afterwards.
  init(at path: String, wait: Duration?) throws(StoreError) {
    var status = stat()
    let hasLog = try stat(FilePlace(of: path).path + "-wal", &status) == 0 && status.st_size > 0
    let database = try StoreFile.connect(to: path, wait: wait)
    try StoreFile.checkFirstPage(database, path: path)
    do throws(SQLiteError) {
      // A log stays unchanged: copying it into a damaged file could make the damage worse.
      if hasLog { try database.set(.noCheckpointOnClose, to: true) }
      try database.set(.defensive, to: false)
      for pragma in [
        "writable_schema = ON", "query_only = ON", "cell_size_check = OFF", "temp_store = MEMORY",
        "cache_size = -\(ConnectionPool.readerCache / 1024)",
      ] { _ = try database.textPragma(pragma) }
      try database.begin(.deferred)
    } catch {
      throw StoreError(error, path: path)
    }
    do throws(StoreError) {
      try Schema.requireTables(["coffer_record", "coffer_body"], in: StoreDatabase(database))
    } catch {
      guard error.code == .damaged || error.code == .notAStore else { throw error }
      throw StoreError(
        .damaged, "nothing can be salvaged: the list of its tables, on the file's first pages, is damaged",
        hint: "restore the store from a backup")
    }
    self.database = StoreDatabase(database)
    raw = nil
    pageSize = nil
  }

  // MARK: Without the first page

  /// The spare copy is on one of the first pages: its table has had the same one since the store was created.
  private static let firstPages = 64

  /// Opens a file whose first page is lost. SQLite can't read it, so every page is searched: for states and collections
  /// here, for the spare copy and documents later. The tables are in memory, those of documents empty.
  ///
  /// - Returns: nil if no page size shows a spare copy of a header on the first pages.
  init?(withoutFirstPageAt path: String, wait: Duration?) throws(StoreError) {
    let file = StoreDatabase(try StoreFile.connect(to: path, wait: wait))
    var found: (Int, LeafReader)?
    for shift in 9...16 where found == nil {
      let reader = try file.run { database throws(SQLiteError) in try LeafReader(database, pageSize: 1 << shift) }
      guard let reader, !Self.spareCopies(reader, reader.pages.prefix(Self.firstPages)).isEmpty else { continue }
      found = (1 << shift, reader)
    }
    guard let (size, reader) = found else { return nil }
    raw = file
    pageSize = size
    problems = ["its first pages can't be read: every page was searched"]
    var status = stat()
    let place = try FilePlace(of: path).path
    let hasLog = ["-wal", "-journal"].contains { stat(place + $0, &status) == 0 && status.st_size > 0 }
    // Its state may be older than what the log or the journal holds.
    if hasLog { problems.append("without its first page, the log or journal beside it can't be read, either") }
    do throws(SQLiteError) {
      database = StoreDatabase(try Database(":memory:", mode: .create))
    } catch {
      throw StoreError(error)
    }
    try fill(from: reader, withStates: !hasLog)
  }

  /// Fills the tables with the rows that look like states and collections. The seals decide later.
  private func fill(from reader: LeafReader, withStates: Bool) throws(StoreError) {
    for (name, sql) in Schema.objects where !["coffer_state", "coffer_collection"].contains(name) {
      try database.execute(sql)
    }
    // Without keys: older rows and forged ones are candidates beside the sound ones.
    try database.execute("CREATE TABLE coffer_state(sealed)")
    try database.execute("CREATE TABLE coffer_collection(coll,epoch,rev,sealed)")
    try database.execute("CREATE INDEX coffer_collection_number ON coffer_collection(coll,rev)")
    let record = LeafRecord()
    try reader.visitRows { number, columnCount, place throws(StoreError) in
      guard columnCount == 2 || columnCount == 4, reader.read(place, into: record, limit: Self.smallRow),
        let last = record.columns.last, last.storageClass == .blob
      else { return }
      let sealed = Array(last.bytes)
      if columnCount == 4 {
        let (epoch, revision) = (record.columns[1].integer, record.columns[2].integer)
        try database.execute(SQL.insertCollection, number, epoch, revision, sealed)
      } else if withStates, sealed.count == StoreState.sealedByteCount {
        try database.execute("INSERT INTO coffer_state VALUES(?)", sealed)
      }
    }
  }

  /// Above the longest row of a state or a collection.
  private static let smallRow = 8192

  // MARK: Pages

  /// - Returns: nil where the file's own header doesn't say how large its pages are.
  func leaves() throws(StoreError) -> LeafReader? {
    try (raw ?? database).run { file throws(SQLiteError) in try LeafReader(file, pageSize: pageSize) }
  }

  /// The spare copies in their table, and on pages to which no other leads any more.
  func spareCopies() -> [HeaderCopy] {
    var copies: [HeaderCopy] = []
    for row in (try? database.rows(SQL.spare)) ?? [] {
      if case .blob(let bytes) = row[0], let copy = bytes.withBytes({ HeaderCopy(spare: $0) }) { copies.append(copy) }
    }
    guard copies.isEmpty, let reader = try? leaves() else { return copies }
    return Self.spareCopies(reader, reader.pages)
  }

  private static func spareCopies(_ reader: LeafReader, _ pages: Range<Int>) -> [HeaderCopy] {
    var copies: [HeaderCopy] = []
    let record = LeafRecord()
    reader.visitRows(ofPages: pages) { _, columnCount, place in
      guard columnCount == 2, copies.count < spareLimit, reader.read(place, into: record, limit: 320 << 10),
        record.columns.count == 2, record.columns[1].storageClass == .blob,
        let copy = HeaderCopy(spare: record.columns[1].bytes)
      else { return }
      copies.append(copy)
    }
    return copies
  }

  /// The most spare copies that are tried; a sound file has one.
  private static let spareLimit = 16
}
