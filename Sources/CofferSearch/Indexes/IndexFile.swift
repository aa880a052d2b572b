internal import CofferEngine
internal import CofferRecords
internal import CofferSQLite

/// The inner database of an index, open on one of the store's connections.
///
/// Its pages are rows in the store, so it belongs to one transaction at a time. It remains open between transactions
/// until the root row changes.
package final class IndexFile {
  let pages: IndexPages
  let database: Database
  let declaration: IndexDeclaration
  let rank = FullTextRank()
  private let memory: IndexMemory.Share
  /// The last cache size that was set.
  private(set) var cacheBytes: Int
  /// The root row that was last read or written.
  private(set) var sealedRoot: [UInt8]
  /// The document state after changes in memory, or `nil` without changes in memory.
  private(set) var memoryContents: IndexRoot.Contents?
  /// Whether a query reads the index. A query within it needs a separate ``IndexFile``, because SQLite doesn't replace
  /// the tables and functions of a connection while a statement runs.
  var isInQuery = false
  /// Whether pages in memory contain changes that aren't committed to the store yet.
  private(set) var hasUncommittedChanges = false
  /// The rule for an app's statements. The index's own statements are always allowed.
  let rule: ReadingRule
  /// The collection whose rows ``rank`` counts.
  private var ranked: UInt32?
  private var outdated: [UInt32: Set<Int64>] = [:]

  /// - Parameters:
  ///   - isNewDeclaration: Whether the tables still belong to an earlier declaration.
  ///   - shared: Another reader's pages in memory to continue from.
  /// - Throws: `damaged` for an invalid declaration or other tables, or SQLite's errors as mapped by ``failure(_:_:)``.
  init(
    _ root: IndexRoot, sealed: [UInt8], _ transaction: StoreTransaction, _ access: IndexPages.Access,
    isNewDeclaration: Bool = false, continuing shared: IndexMemory.Update? = nil
  ) throws(StoreError) {
    declaration = try IndexDeclaration(root.declaration)
    sealedRoot = sealed
    memoryContents = shared?.contents
    pages = IndexPages(root, transaction.database, transaction.keys, access, overlay: shared?.pages)
    memory = IndexMemory.Share(transaction.connection.session.companion(IndexMemory.self))
    cacheBytes = memory.byteCount
    // Apps can read index tables only through views.
    let views = Views()
    self.views = views
    rule = ReadingRule(mayRead: { reading in views.mayRead(reading) })
    // A key holder may have written the schema. Before it's compared, its expressions can't call functions, and it
    // can't be far larger than the declaration implies.
    let count = IndexSchema.texts(of: declaration, part: root.part).count
    do throws(SQLiteError) {
      database = try Database(
        pages: pages, cacheBytes: cacheBytes,
        configuration: .init(isHardened: true, lengthLimit: Int(StoreFormat.maximumValue)),
        schema: .store(entries: max(1000, 2 * count)))
      try database.add(rank)
      try WordTokenizer.add(to: database)
    } catch {
      throw Self.failure(error, pages)
    }
    if !isNewDeclaration { try checkSchema() }
  }

  /// Restricts an app's statements to reading.
  func allowReadingOnly() throws(SQLiteError) {
    try database.allowReadingOnly(rule)
  }

  deinit {
    try? database.close()
  }

  /// Whether pages are written to the store instead of memory.
  var isInStore: Bool { pages.isInStore }

  /// The state of the indexed documents, including changes in memory.
  var contents: IndexRoot.Contents? { memoryContents ?? pages.root.contents }

  /// Returns the index tables for an update.
  func tables(_ transaction: StoreTransaction) throws(StoreError) -> any DocumentIndexTables {
    pages.root.part == IndexPart.titles ? TitleIndex(self) : try ContentIndex(self, transaction)
  }

  /// The field tables that query views read, by view name.
  private final class Views {
    var tables: [String: String] = [:]

    /// Returns whether a statement may read a table. A view may read only its own field table. SQLite doesn't report
    /// the view if a statement doesn't read columns from the table.
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
  /// - Throws: `damaged` if a page is damaged, or `indexBehind` if changed pages exceed the memory limit.
  func run<R>(_ work: (Database) throws(SQLiteError) -> R) throws(StoreError) -> R {
    do throws(SQLiteError) {
      return try rule.lifting { () throws(SQLiteError) in try work(database) }
    } catch {
      throw Self.failure(error, pages)
    }
  }

  /// Returns the store error for an inner database error.
  static func failure(_ error: SQLiteError, _ pages: IndexPages) -> StoreError {
    switch pages.failure {
    case .damaged(let error): return error
    case .overLimit: return .indexBehind
    case .store(let error): return error
    case nil: break
    }
    switch error.code {
    case .noMemory, .interrupted, .rolledBack, .busy, .locked: return StoreError(error)
    // Without a store error, all other errors are caused by page contents.
    default: return IndexRoot.damaged("its pages are in disorder")
    }
  }

  /// Verifies that the tables match the declaration.
  func checkSchema() throws(StoreError) {
    let objects = try run { database throws(SQLiteError) in
      try database.query("SELECT name,sql FROM main.sqlite_schema WHERE sql IS NOT NULL").rows
    }
    let found = objects.map { ($0[0].text ?? "", $0[1].text ?? "") }
    try IndexSchema.require(found, of: declaration, part: pages.root.part)
    guard !found.isEmpty else {
      guard pages.root.contents == nil else { throw IndexRoot.damaged("it has no tables") }
      return
    }
    let encoding = try run { database throws(SQLiteError) in try database.firstValue("PRAGMA main.encoding")?.text }
    guard encoding == "UTF-8" else { throw IndexRoot.damaged("its texts have another encoding") }
    let made = try run { database throws(SQLiteError) in
      try database.query("SELECT coll FROM main.made ORDER BY coll").rows.map { $0[0].integer }
    }
    guard made == declaration.collections.map({ Int64($0.number) }) else {
      throw IndexRoot.damaged("its tables are those of other collections")
    }
  }

  /// Prepares the rank for a collection's current rows.
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

  func outdatedRows(of collection: UInt32) throws(SQLiteError) -> Set<Int64> {
    if let known = outdated[collection] { return known }
    let rows = Set(try ContentIndex.outdatedRows(of: collection, database))
    outdated[collection] = rows
    return rows
  }

  /// Runs work that stops if the transaction is canceled or its store is closed or suspended, even during a statement.
  func watching<R>(_ transaction: StoreTransaction, _ work: () throws(StoreError) -> R) throws(StoreError) -> R {
    // A query already has a stricter stop condition.
    guard !database.hasStopCondition else { return try rule.lifting(work) }
    let cancellation = transaction.connection.currentCancellation
    let stop = transaction.stop
    try run { database throws(SQLiteError) in
      try database.setStopCondition { stop.isPending || cancellation?.isCancelled == true }
    }
    defer { try? database.setStopCondition(nil) }
    return try rule.lifting(work)
  }

  // MARK: Transactions

  /// Continues in another transaction with the same root row.
  func use(_ transaction: StoreTransaction, _ access: IndexPages.Access) {
    pages.use(transaction.database, transaction.keys, access)
  }

  /// Adjusts the cache to the index's share of the store's memory.
  func adjustCache() throws(StoreError) {
    let share = memory.byteCount
    guard share != cacheBytes else { return }
    try run { database throws(SQLiteError) in try database.setCache(byteCount: share) }
    cacheBytes = share
  }

  /// Records the document state after an update in memory.
  func didUpdateMemory(_ contents: IndexRoot.Contents, hasUncommittedChanges: Bool) {
    memoryContents = contents
    (ranked, outdated) = (nil, [:])
    self.hasUncommittedChanges = hasUncommittedChanges
  }

  /// Writes the root for the pages written by the transaction.
  func write(_ contents: IndexRoot.Contents, _ transaction: StoreTransaction) throws(StoreError) {
    try pages.finish(contents)
    (ranked, outdated) = (nil, [:])
    sealedRoot = try transaction.put(pages.root)
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
