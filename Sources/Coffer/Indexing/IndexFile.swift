internal import CofferRecords
internal import CofferSQLite

/// The inner database of one index, open on one connection of the store.
///
/// Its pages are rows of the store, so that it belongs to one transaction at a time. Kept open between transactions as
/// long as the root row is the one that it has seen last.
final class IndexFile {
  let pages: IndexPages
  let database: Database
  let declaration: IndexDeclaration
  let rank = FullTextRank()
  private let cache: IndexCaches.Place
  /// The size of the cache, as last set.
  private(set) var cacheBytes: Int
  /// The root row as it was seen or written last.
  private(set) var sealedRoot: [UInt8]
  /// The state of the documents in the pages in memory; nil if no page was changed in memory.
  private(set) var memoryContents: IndexRoot.Contents?
  /// Whether pages in memory hold changes that are not committed to the store yet.
  private(set) var isTentative = false
  /// For an app's statements on this database; the index's own are always allowed.
  let rule: ReadingRule
  var highlighter: Highlighter?
  /// The collection whose rows ``rank`` counts.
  private var ranked: UInt32?
  private var outdated: [UInt32: Set<Int64>] = [:]

  /// - Throws: `damaged` for an invalid declaration; SQLite's errors as ``failure(_:_:)`` maps them.
  init(
    _ root: IndexRoot, sealed: [UInt8], _ transaction: StoreTransaction, _ access: IndexPages.Access
  ) throws(StoreError) {
    declaration = try IndexDeclaration(root.declaration)
    sealedRoot = sealed
    pages = IndexPages(root, transaction.database, transaction.keys, access)
    try Self.prove(pages, access)
    cache = IndexCaches.Place(transaction.connection.session.indexCaches)
    cacheBytes = cache.share
    // Tables of the index are read through views alone.
    let views = Views()
    self.views = views
    rule = ReadingRule(mayRead: { reading in views.mayRead(reading) })
    do throws(SQLiteError) {
      // The schema is ours: only holders of the keys can write a page.
      database = try Database(
        pages: pages, cacheBytes: cacheBytes,
        configuration: .init(isHardened: true, lengthLimit: Int(StoreFormat.maximumValue)))
      try database.add(rank)
    } catch {
      throw Self.failure(error, pages)
    }
  }

  /// From now on statements of an app may read, and nothing else.
  func allowReadingOnly() throws(SQLiteError) {
    try database.allowReadingOnly(rule)
  }

  deinit {
    try? database.close()
  }

  /// The state of the indexed documents, changes in memory included.
  var contents: IndexRoot.Contents? { memoryContents ?? pages.root.contents }

  /// The tables of the index, for an update.
  func tables(_ keys: RowKeys) throws(StoreError) -> any IndexTablesOfDocuments {
    pages.root.part == IndexPart.titles ? TitleIndex(self) : try ContentIndex(self, keys)
  }

  /// The tables of fields that the views of queries read, by the names of the views.
  private final class Views {
    var tables: [String: String] = [:]

    /// A query's view may read only its own table of fields. SQLite reports no view for a table of which no column is
    /// read.
    func mayRead(_ reading: ReadingRule.Reading) -> Bool {
      guard ContentIndex.isTable(reading.table) else { return !reading.table.hasPrefix("sqlite_stat") }
      guard reading.hasColumn else { return ContentIndex.collection(ofFields: reading.table) != nil }
      return reading.view.map { tables[$0] == reading.table } ?? false
    }
  }

  private let views: Views

  var viewTables: [String: String] {
    get { views.tables }
    set { views.tables = newValue }
  }

  // MARK: Work on the database

  /// Runs work on the inner database.
  ///
  /// - Throws: `damaged` if a page is damaged; `indexBehind` if changed pages exceed the memory limit.
  func run<R>(_ work: (Database) throws(SQLiteError) -> R) throws(StoreError) -> R {
    do throws(SQLiteError) {
      return try rule.lifting { () throws(SQLiteError) in try work(database) }
    } catch {
      throw Self.failure(error, pages)
    }
  }

  /// The error of the store for an error of the inner database.
  static func failure(_ error: SQLiteError, _ pages: IndexPages) -> StoreError {
    switch pages.failure {
    case .damaged(let error): return error
    case .overLimit: return .indexBehind
    case .store(let error): return error
    case nil: break
    }
    switch error.code {
    case .noMemory, .interrupted, .rolledBack: return StoreError(error)
    // Without an error of the store, any other one is caused by the content of the pages.
    default: return IndexRoot.damaged("its pages are in disorder")
    }
  }

  /// Refuses an index whose tables of fields are not the declared ones, as old pages that are put back may make them.
  func checkFieldTables() throws(StoreError) {
    for collection in declaration.collections where !collection.fields.isEmpty {
      let table = ContentIndex.fields(collection.number)
      let columns = try run { database throws(SQLiteError) in
        try database.query("SELECT name FROM pragma_table_info(?,'main') ORDER BY cid", table).rows.map { $0[0].text }
      }
      guard columns == ["id"] + collection.fields.indices.map({ ContentIndex.column($0) }) else {
        throw IndexRoot.damaged("its tables of fields differ from the declared fields")
      }
    }
  }

  /// Sets the rank to the current rows of a collection.
  func prepareRank(of collection: UInt32) throws(StoreError) {
    guard ranked != collection else { return }
    try run { database throws(SQLiteError) in
      let counts = try ContentIndex.counts(of: collection, database)
      rank.set(
        rows: max(counts.rows, 1), tokens: counts.tokens,
        outdated: try ContentIndex.outdatedRows(of: collection, database))
    }
    ranked = collection
  }

  /// The outdated rows of a collection.
  func outdatedRows(of collection: UInt32) throws(SQLiteError) -> Set<Int64> {
    if let known = outdated[collection] { return known }
    let rows = Set(try ContentIndex.outdatedRows(of: collection, database))
    outdated[collection] = rows
    return rows
  }

  /// Runs work that ends when the transaction's work is cancelled, or its store is closed.
  func watching<R>(_ transaction: StoreTransaction, _ work: () throws(StoreError) -> R) throws(StoreError) -> R {
    // A query watches more than that already.
    guard !database.hasStopCondition else { return try rule.lifting(work) }
    let cancellation = transaction.connection.cancellation
    let session = transaction.isWriter ? nil : transaction.connection.session
    try run { database throws(SQLiteError) in
      try database.setStopCondition { session?.isClosing == true || cancellation?.isCancelled == true }
    }
    defer { try? database.setStopCondition(nil) }
    return try rule.lifting(work)
  }

  // MARK: Transactions

  /// Continues in another transaction, which has found the same root row.
  func use(_ transaction: StoreTransaction, _ access: IndexPages.Access) throws(StoreError) {
    pages.use(transaction.database, transaction.keys, access)
    try Self.prove(pages, access)
  }

  /// Adjusts the cache to the index's share of the store's memory.
  func fitCache() throws(StoreError) {
    let share = cache.share
    guard share != cacheBytes else { return }
    try run { database throws(SQLiteError) in try database.setCache(byteCount: share) }
    cacheBytes = share
  }

  /// Proves all pages of an index that lists everything, before SQLite reads the first one.
  private static func prove(_ pages: IndexPages, _ access: IndexPages.Access) throws(StoreError) {
    guard pages.root.part == IndexPart.titles, access != .inStore, let problem = try pages.prove() else { return }
    throw problem
  }

  /// Notes the state of the documents that an update in memory has reached.
  func didUpdateMemory(_ contents: IndexRoot.Contents, isTentative: Bool) {
    memoryContents = contents
    (ranked, outdated) = (nil, [:])
    self.isTentative = isTentative
  }

  /// Writes the root for the pages that the transaction has written.
  func write(_ contents: IndexRoot.Contents, _ transaction: StoreTransaction) throws(StoreError) {
    pages.finish(contents)
    (ranked, outdated) = (nil, [:])
    sealedRoot = try IndexTables(transaction.database).put(pages.root, transaction.keys)
  }
}

extension StoreError {
  static var indexBehind: StoreError {
    StoreError(
      .indexBehind, "an index is behind by more than memory may hold, and can't be written here",
      hint: "bring it up to date with \(.updateIndex)")
  }

  static func noIndex(_ what: String) -> StoreError {
    StoreError(.noIndex, "the collection has no index of \(what)", hint: "make one with \(.addIndex)")
  }
}
