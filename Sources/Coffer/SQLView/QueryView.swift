internal import CofferRecords
internal import CofferSQLite

/// A connection with the views that queries read: of one query at a time, and kept for the next one.
///
/// In a store with indexes it is the inner database of these, so that SQLite plans with the indexes of fields. Otherwise
/// it is a database in memory without tables.
final class QueryView {
  let database: Database
  let table: DocumentTable
  /// The index that the views read; nil in a store without one.
  private let index: IndexFile?
  private let matches: [MatchTable]
  private let function: DocumentFunction
  /// The collections of the views.
  private let collections: [CollectionView]
  /// The tables and views that statements read, by their text: of compiled ones SQLite does not say it again.
  private var reads: [String: QueryReads] = [:]
  private let rule: ReadingRule

  private init(_ index: IndexFile?, _ collections: [CollectionView]) throws(StoreError) {
    self.index = index
    self.collections = collections
    let table = DocumentTable()
    self.table = table
    function = DocumentFunction(table)
    rule = index?.rule ?? ReadingRule()
    let names = Set(collections.map(\.name))
    rule.mayCall = { function, view in function != DocumentFunction.name || view.map(names.contains) == true }
    index?.viewTables = Dictionary(
      uniqueKeysWithValues: collections.map { ($0.name, ContentIndex.fields($0.number)) })
    try index?.checkFieldTables()
    do throws(SQLiteError) {
      guard let index else {
        database = try Database.scratch()
        matches = []
        try Self.fill(database, table, function, [], collections, nil)
        try database.allowReadingOnly(rule)
        return
      }
      database = index.database
      matches = collections.filter(\.hasWords).map { MatchTable($0.number, $0.matchName, index) }
      // Those of an earlier view may mean other views by the same names.
      database.emptyStatementCache()
      try index.rule.lifting { () throws(SQLiteError) in
        try Self.fill(index.database, table, function, matches, collections, index)
      }
      try index.allowReadingOnly()
    } catch {
      throw index.map { IndexFile.failure(error, $0.pages) } ?? StoreError(error)
    }
  }

  /// Makes the views and their tables.
  private static func fill(
    _ database: Database, _ table: DocumentTable, _ function: DocumentFunction, _ matches: [MatchTable],
    _ collections: [CollectionView], _ index: IndexFile?
  ) throws(SQLiteError) {
    try database.add(table, named: DocumentTable.name)
    try database.add(function, named: DocumentFunction.name)
    for match in matches { try database.add(match, named: match.name) }
    // Views of an earlier query, whose collections may have other names now.
    for row in try database.query("SELECT name FROM temp.sqlite_schema WHERE type='view'").rows {
      try database.execute("DROP VIEW temp.\(CollectionView.quoted(row[0].text ?? ""))")
    }
    for collection in collections { try database.execute(collection.sql) }
  }

  /// A view of a transaction, for one query; give it back after that.
  ///
  /// - Parameter limit: about how long the query may run.
  static func take(
    _ sql: String, for transaction: StoreTransaction, within limit: Duration?
  ) throws(StoreError) -> QueryView {
    try transaction.requireOpen()
    let index = try mayUseIndex(sql, transaction) ? transaction.openIndex(IndexPart.contents) : nil
    // An index that was never built has no tables for the views.
    if let index, index.contents == nil { try transaction.update(index) }
    let collections = try CollectionView.all(transaction.collections(), index?.declaration)
    let idle = idle(transaction.connection, index, collections)
    let view = if let idle { idle } else { try QueryView(index, collections) }
    transaction.connection.idleView = nil
    do throws(SQLiteError) {
      try view.database.setStopCondition(stopCondition(of: transaction, within: limit))
    } catch {
      throw StoreError(error)
    }
    view.show(transaction)
    return view
  }

  /// Whether a query may read an index: only then is it opened.
  private static func mayUseIndex(_ sql: String, _ transaction: StoreTransaction) throws(StoreError) -> Bool {
    guard transaction.hasIndexes else { return false }
    let folded = Array(sql.asciiLowercased.utf8)
    // A name counts if the SQL contains it anywhere; a name that quotation changes always counts.
    let quotes = Set("\"'`[]".utf8)
    let records = try transaction.collections()
    return folded.contains(UInt8(ascii: "#"))
      || records.contains { record in
        record.name.utf8.contains { quotes.contains($0) }
          || folded.firstRange(of: Array(record.name.asciiLowercased.utf8)) != nil
      }
  }

  /// The view of the last query, if it still fits.
  private static func idle(
    _ connection: StoreConnection, _ index: IndexFile?, _ collections: [CollectionView]
  ) -> QueryView? {
    guard let view = connection.idleView as? QueryView, view.index === index, view.collections == collections else {
      // The next view is made on the same database.
      return nil
    }
    return view
  }

  private func show(_ transaction: StoreTransaction?) {
    table.show(transaction)
    function.show(transaction)
    for match in matches { match.show(transaction) }
  }

  /// Keeps the view for the connection's next query.
  ///
  /// - Parameter statement: the query's, which is reset: it and its values end here.
  func giveBack(_ statement: Statement, to connection: StoreConnection) {
    statement.reset()
    try? database.setStopCondition(nil)
    show(nil)
    connection.idleView = self
  }

  /// Closes the view after an error.
  func close(_ connection: StoreConnection) {
    if index == nil { try? database.close() } else { connection.closeIndex(IndexPart.contents) }
    show(nil)
  }

  /// Ends a query that was cancelled or is over its limit, even if its SQL reads no row, and one of a closed store.
  private static func stopCondition(
    of transaction: StoreTransaction, within limit: Duration?
  ) -> (@Sendable () -> Bool)? {
    let cancellation = transaction.connection.cancellation
    let session = transaction.isWriter ? nil : transaction.connection.session
    let end = limit.map { ContinuousClock.now + $0 }
    guard cancellation != nil || end != nil || session != nil else { return nil }
    return {
      if session?.isClosing == true { return true }
      if let cancellation, cancellation.isCancelled { return true }
      return end.map { ContinuousClock.now >= $0 } ?? false
    }
  }

  /// Compiles a query, or takes it from the cache, and binds its parameters.
  func compiled(_ sql: String, _ parameters: [(any SQLiteValueConvertible)?]) throws(SQLiteError) -> Statement {
    (rule.views, rule.tables, rule.tablesAlone) = ([], [], [])
    for match in matches { match.wasPlanned = false }
    // Statements of an app rest in the cache beside those of the index, which may read more: no text is both.
    let statement = try database.statement(sql + "\n")
    guard statement.isReadOnly, statement.columnCount > 0 else {
      throw SQLiteError(.notAllowed, "not a SELECT")
    }
    try statement.bind(all: parameters)
    return statement
  }

  /// The first error of a table of this view; SQLite itself reports none.
  var failure: StoreError? { table.failure ?? matches.lazy.compactMap(\.failure).first }

  /// The index that a query reads, which was just compiled; nil if it reads none.
  func indexRead(by sql: String) -> IndexFile? {
    reads(of: sql).usesIndex ? index : nil
  }

  /// The tables and views that a query reads, which was just compiled.
  func reads(of sql: String) -> QueryReads {
    if let known = reads[sql] { return known }
    if reads.count > 1000 {
      reads = [:]
      // SQLite says what a statement reads when it compiles it, and not again.
      database.emptyStatementCache()
    }
    let planned = matches.filter(\.wasPlanned)
    var found = QueryReads(usesIndex: !planned.isEmpty || rule.tables.contains { ContentIndex.isTable($0) })
    if index == nil { found.usesIndex = false }
    var numbers = Set(planned.map(\.collection) + rule.tablesAlone.compactMap { ContentIndex.collection(ofFields: $0) })
    numbers.formUnion(collections.filter { rule.views.contains($0.name) }.map(\.number))
    // SQLite does not report a virtual table of which no column is read, as for count(*).
    found.collections = sql.asciiLowercased.contains(DocumentTable.name) ? nil : numbers
    reads[sql] = found
    return found
  }

  /// The error of the store for an error of SQLite that the index is the reason of; nil for any other.
  func indexFailure(_ error: SQLiteError) -> StoreError? {
    guard let index else { return nil }
    // A name that no table has may be one of an old schema that was put back.
    if [.sqlLogic, .schema].contains(error.code) {
      do throws(StoreError) { try index.checkFieldTables() } catch { return error }
    }
    guard index.pages.failure != nil || [.corrupt, .notADatabase, .ioError].contains(error.code) else { return nil }
    return IndexFile.failure(error, index.pages)
  }
}

/// The parts of a store that a query reads.
struct QueryReads {
  var usesIndex: Bool
  /// The numbers of the collections; nil for any.
  var collections: Set<UInt32>?
}
