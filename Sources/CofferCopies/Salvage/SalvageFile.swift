internal import CofferEngine
internal import CofferPlatform
internal import CofferRecords
internal import CofferSQLite

/// A damaged file's tables and pages, opened read-only.
struct SalvageFile {
  /// The file's tables, or tables reconstructed in memory if the first page is lost.
  let database: StoreDatabase
  /// The file itself if the tables are reconstructed. Statements don't run on it.
  private let raw: StoreDatabase?
  /// The page size found with a spare copy, or `nil` to use the file's header.
  private let pageSize: Int?
  private(set) var problems: [String] = []

  /// Opens the file with SQLite.
  ///
  /// SQLite is configured to tolerate an incomplete schema, a truncated file, and pages with inconsistent cells. This
  /// is safe because it doesn't write or run SQL from the file, and its results are verified afterwards.
  init(at path: String, wait: Duration?) throws(StoreError) {
    var status = stat()
    let hasLog = try stat(FileLocation(of: path).path + "-wal", &status) == 0 && status.st_size > 0
    let database = try StoreFile.connect(to: path, wait: wait)
    try StoreFile.checkFirstPage(database, path: path)
    try translatingErrors(at: path) { () throws(SQLiteError) in
      // Don't checkpoint the log, because copying it into a damaged file could cause more damage.
      if hasLog { try database.set(.noCheckpointOnClose, to: true) }
      try database.set(.defensive, to: false)
      try database.liftingRule { () throws(SQLiteError) in
        for pragma in [
          "writable_schema = ON", "query_only = ON", "cell_size_check = OFF", "temp_store = MEMORY",
          "cache_size = -\(StoreFile.readerCache / 1024)",
        ] { _ = try database.textPragma(pragma) }
      }
      do throws(SQLiteError) {
        try database.readSchema(within: .store(entries: Schema.entryLimit))
      } catch {
        // What SQLite could read of a damaged schema is enough.
        if error.code == .corrupt && error.extendedCode == 0 { throw error }
      }
      if let cancellation = Cancellation.current { try database.setStopCondition { cancellation.isCancelled } }
      try database.begin(.deferred)
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

  /// The number of pages to search for the spare copy, whose page is allocated when the store is created.
  private static let spareCopyPages = 64

  /// Opens a file whose first page is lost, or returns `nil` if its other pages don't contain a spare header copy.
  ///
  /// SQLite can't read such a file, so every page is searched. States and collections are stored in memory now.
  /// Documents and the spare copy are searched later.
  init?(withoutFirstPageAt path: String, wait: Duration?) throws(StoreError) {
    let file = try StoreFile.connect(to: path, wait: wait)
    var found: (Int, LeafReader)?
    for shift in 9...16 where found == nil {
      let reader = try translatingErrors { () throws(SQLiteError) in try LeafReader(file, pageSize: 1 << shift) }
      guard let reader, !Self.spareCopies(reader, reader.pages.prefix(Self.spareCopyPages)).isEmpty else { continue }
      found = (1 << shift, reader)
    }
    guard let (size, reader) = found else { return nil }
    raw = StoreDatabase(file)
    pageSize = size
    problems = ["its first pages can't be read: every page was searched"]
    var status = stat()
    let place = try FileLocation(of: path).path
    let hasLog = ["-wal", "-journal"].contains { stat(place + $0, &status) == 0 && status.st_size > 0 }
    // The file's state can be older than its log or journal.
    if hasLog { problems.append("without its first page, the log or journal beside it can't be read, either") }
    let memory = try translatingErrors { () throws(SQLiteError) in try Database(":memory:", mode: .create) }
    database = StoreDatabase(memory)
    try fill(from: reader, withStates: !hasLog)
  }

  /// Whether the tables contain rows from all pages. Some of these rows may belong to other tables.
  var isSearched: Bool { raw != nil }

  /// Calls `body` with the sealed rows of a table. A sound file has one row. If every page was searched, the rows are
  /// candidates.
  ///
  /// - Parameters:
  ///   - size: The size of the longest row.
  ///   - body: Returns `false` to stop.
  func forEachCandidate(in table: String, upTo size: Int, _ body: ([UInt8]) -> Bool) {
    // The pages of a malicious file can lead to the same row any number of times.
    let limit: Int64 = isSearched ? .max : 16
    try? database.forEachRow("SELECT sealed FROM \(table) LIMIT ?", [limit]) { row in
      guard let sealed = row.blob(at: 0), sealed.count <= size else { return true }
      return body(Array(sealed))
    }
  }

  /// Fills the tables with rows that resemble states, replicas, collections and deletions. Decryption verifies them
  /// later.
  private func fill(from reader: LeafReader, withStates: Bool) throws(StoreError) {
    let searched = ["coffer_state", "coffer_replica", "coffer_collection", "coffer_gone"]
    for (name, sql) in Schema.objects where !searched.contains(name) {
      try database.execute(sql)
    }
    // Create tables without primary keys, because older and forged rows are also candidates.
    try database.execute("CREATE TABLE coffer_state(sealed)")
    try database.execute("CREATE TABLE coffer_replica(sealed)")
    for (table, number) in [("coffer_collection", "coll"), ("coffer_gone", "gone")] {
      try database.execute("CREATE TABLE \(table)(\(number),rev,sealed)")
      try database.execute("CREATE INDEX \(table)_number ON \(table)(\(number),rev)")
    }
    let record = LeafRecord()
    // Rows overlap only if a free page still refers to overflow pages that are in use.
    var bytesLeft = 2 * reader.byteCount
    try reader.visitRows { number, columnCount, place throws(StoreError) in
      guard columnCount == 2 || columnCount == 3, reader.read(place, into: record, limit: Self.maximumSmallRow),
        let last = record.columns.last, last.storageClass == .blob, last.bytes.count <= bytesLeft
      else { return }
      bytesLeft -= last.bytes.count
      let sealed = Array(last.bytes)
      if columnCount == 3 {
        // The row's table is unknown until a key opens its seal.
        try database.execute("INSERT INTO coffer_replica VALUES(?)", sealed)
        try database.execute(SQL.insertCollection, number, record.columns[1].integer, sealed)
        try database.execute(SQL.insertDeletion, number, record.columns[1].integer, sealed)
      } else if withStates, sealed.count == StoreState.sealedByteCount {
        try database.execute("INSERT INTO coffer_state VALUES(?)", sealed)
      }
    }
  }

  /// A size above the longest state, collection or deletion, and above the replicas of most stores.
  private static let maximumSmallRow = 192 << 10

  // MARK: Pages

  /// Returns a reader for the file's pages, or `nil` if the page size is unknown.
  func leaves() throws(StoreError) -> LeafReader? {
    try translatingErrors { () throws(SQLiteError) in try LeafReader((raw ?? database).connection, pageSize: pageSize) }
  }

  /// Returns the spare copies in their table, or on any page if the table doesn't contain any.
  func spareCopies() -> [HeaderCopy] {
    var copies: [HeaderCopy] = []
    for row in (try? database.rows(SQL.spare, ofAtMost: StoreFormat.spareLimit)) ?? [] {
      if case .blob(let bytes) = row[0], let copy = bytes.withBytes({ HeaderCopy(spare: $0) }) { copies.append(copy) }
    }
    guard copies.isEmpty, let reader = try? leaves() else { return copies }
    return Self.spareCopies(reader, reader.pages)
  }

  private static func spareCopies(_ reader: LeafReader, _ pages: Range<Int>) -> [HeaderCopy] {
    var copies: [HeaderCopy] = []
    let record = LeafRecord()
    reader.visitRows(ofPages: pages) { _, columnCount, place in
      guard columnCount == 2, copies.count < maximumSpareCopies, reader.read(place, into: record, limit: 320 << 10),
        record.columns.count == 2, record.columns[1].storageClass == .blob,
        let copy = HeaderCopy(spare: record.columns[1].bytes)
      else { return }
      copies.append(copy)
    }
    return copies
  }

  /// The maximum number of spare copies to find on pages. A sound file has one.
  private static let maximumSpareCopies = 16
}
