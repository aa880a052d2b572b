internal import CofferEngine
internal import CofferRecords
internal import CofferSQLite

/// A connection with the views for queries, which serves one query at a time and is kept for the next query.
///
/// If a query may use an index, the connection's database is the inner database, so SQLite can plan with field indexes.
/// Otherwise, it's an empty in-memory database.
final class QueryView: IndexUser {
  let database: Database
  let table: DocumentTable
  /// The index that the views read, if any.
  private let index: IndexFile?
  private let matches: [MatchTable]
  private let function: DocumentFunction
  private let collections: [CollectionView]
  /// The reads of each statement by its text, cached because SQLite reports them only during compilation.
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
      // Statements compiled for an earlier view may refer to other views with the same names.
      database.emptyStatementCache()
      try index.rule.lifting { () throws(SQLiteError) in
        try Self.fill(index.database, table, function, matches, collections, index)
      }
      try index.allowReadingOnly()
    } catch {
      throw index.map { IndexFile.failure(error, $0.pages) } ?? StoreError(error)
    }
  }

  /// Creates the views and their tables.
  private static func fill(
    _ database: Database, _ table: DocumentTable, _ function: DocumentFunction, _ matches: [MatchTable],
    _ collections: [CollectionView], _ index: IndexFile?
  ) throws(SQLiteError) {
    try database.add(table, named: DocumentTable.name)
    try database.add(function, named: DocumentFunction.name)
    for match in matches { try database.add(match, named: match.name) }
    // Remove an earlier query's views, because collections may have been renamed.
    for row in try database.query("SELECT name FROM temp.sqlite_schema WHERE type='view'").rows {
      try database.execute("DROP VIEW temp.\(CollectionView.quoted(row[0].text ?? ""))")
    }
    for collection in collections { try database.execute(collection.sql) }
  }

  /// Returns a view for one query in a transaction. Call ``giveBack(_:to:)`` after the query.
  ///
  /// - Parameter limit: The approximate time limit for the query.
  static func take(
    _ sql: String, for transaction: StoreTransaction, within limit: Duration?
  ) throws(StoreError) -> QueryView {
    try transaction.requireOpen()
    let index = try mayUseIndex(sql, transaction) ? StoreIndexes(transaction).openForView(IndexPart.contents) : nil
    let collections = try CollectionView.all(transaction.collections(), index?.declaration)
    let idle = idle(transaction.connection, index, collections)
    let view = if let idle { idle } else { try QueryView(index, collections) }
    transaction.connection.openIndexes.idleReader = nil
    try translatingErrors { () throws(SQLiteError) in
      try view.database.setStopCondition(stopCondition(of: transaction, within: limit))
    }
    view.index?.isInQuery = true
    view.show(transaction)
    return view
  }

  /// Returns whether a query may read an index. Otherwise, the index isn't opened.
  private static func mayUseIndex(_ sql: String, _ transaction: StoreTransaction) throws(StoreError) -> Bool {
    guard transaction.hasIndexes else { return false }
    let folded = Array(sql.asciiLowercased.utf8)
    // A name counts if the SQL contains it anywhere. A name with quotation characters always counts.
    let quotes = Set("\"'`[]".utf8)
    let records = try transaction.collections()
    return folded.contains(UInt8(ascii: "#"))
      || records.contains { record in
        record.name.utf8.contains { quotes.contains($0) }
          || folded.firstRange(of: Array(record.name.asciiLowercased.utf8)) != nil
      }
  }

  /// Returns the last query's view if its index and collections are unchanged.
  private static func idle(
    _ connection: StoreConnection, _ index: IndexFile?, _ collections: [CollectionView]
  ) -> QueryView? {
    guard let view = connection.openIndexes.idleReader as? QueryView, view.index === index,
      view.collections == collections
    else {
      // The next view uses the same database.
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
  /// - Parameter statement: The query's statement, which is reset. Its values aren't valid after this call.
  func giveBack(_ statement: Statement, to connection: StoreConnection) {
    statement.reset()
    try? database.setStopCondition(nil)
    show(nil)
    index?.isInQuery = false
    if isOpen(connection) { connection.openIndexes.idleReader = self }
  }

  /// Returns whether the connection keeps the view's index, which isn't the case for a query within a query.
  private func isOpen(_ connection: StoreConnection) -> Bool {
    index == nil || index === connection.openIndexes.files[IndexPart.contents]
  }

  /// Closes the view after an error.
  func close(_ connection: StoreConnection) {
    if index == nil {
      try? database.close()
    } else if isOpen(connection) {
      connection.openIndexes.close(IndexPart.contents)
    }
    show(nil)
    index?.isInQuery = false
  }

  /// Returns a condition that ends a query if it's canceled, exceeds its limit, or the store is closed or suspended,
  /// even if the SQL doesn't read rows.
  private static func stopCondition(
    of transaction: StoreTransaction, within limit: Duration?
  ) -> @Sendable () -> Bool {
    let cancellation = transaction.connection.currentCancellation
    let stop = transaction.stop
    let end = limit.map { ContinuousClock.now + $0 }
    return {
      if stop.isPending { return true }
      if let cancellation, cancellation.isCancelled { return true }
      return end.map { ContinuousClock.now >= $0 } ?? false
    }
  }

  /// Compiles a query, or takes it from the cache, and binds its parameters.
  ///
  /// - Parameter values: The store's values, which have numbers or texts for dates.
  func compiled(
    _ sql: String, _ parameters: [(any SQLiteValueConvertible)?], values: CodableValues
  ) throws(SQLiteError) -> Statement {
    (rule.views, rule.tables, rule.tablesOutsideViews) = ([], [], [])
    for match in matches { match.wasPlanned = false }
    // The cache also contains the index's statements, which may read more, so an app's statements get a different text.
    let statement = try database.statement(sql + "\n")
    guard statement.isReadOnly, statement.columnCount > 0 else {
      throw SQLiteError(.notAllowed, "not a SELECT")
    }
    let read = index == nil ? nil : reads(of: sql).collections
    var parameters = parameters
    DateParameters.convert(&parameters, in: sql, number: values.number) { qualifier, name in
      self.isNumber(name, of: qualifier, amongFieldsOf: read)
    }
    try statement.bind(all: parameters)
    return statement
  }

  /// Returns whether a column is a numeric field in each collection that a query reads and that has the field.
  private func isNumber(_ name: String, of qualifier: String?, amongFieldsOf numbers: Set<UInt32>?) -> Bool {
    guard let numbers else { return false }
    var read = collections.filter { numbers.contains($0.number) }
    // Any other qualifier is an alias.
    if let qualifier, let view = read.first(where: { $0.name.isEqualForSQL(to: qualifier) }) { read = [view] }
    let kinds = read.compactMap { $0.kind(ofField: name) }
    return !kinds.isEmpty && kinds.allSatisfy { $0 == .number }
  }

  /// The first error in this view's tables, which SQLite doesn't report.
  var failure: StoreError? { table.failure ?? matches.lazy.compactMap(\.failure).first }

  /// Returns the index that a just compiled query reads, if any.
  func indexRead(by sql: String) -> IndexFile? {
    reads(of: sql).usesIndex ? index : nil
  }

  /// Returns the parts of the store that a just compiled query reads.
  func reads(of sql: String) -> QueryReads {
    if let known = reads[sql] { return known }
    if reads.count > 1000 {
      reads = [:]
      // SQLite reports a statement's reads only during compilation.
      database.emptyStatementCache()
    }
    let planned = matches.filter(\.wasPlanned)
    var found = QueryReads(usesIndex: !planned.isEmpty || rule.tables.contains { ContentIndex.isTable($0) })
    if index == nil { found.usesIndex = false }
    var numbers = Set(
      planned.map(\.collection) + rule.tablesOutsideViews.compactMap { ContentIndex.collection(ofFields: $0) })
    numbers.formUnion(collections.filter { rule.views.contains($0.name) }.map(\.number))
    // SQLite doesn't report a virtual table if the query doesn't read its columns, such as in count(*).
    found.collections = sql.asciiLowercased.contains(DocumentTable.name) ? nil : numbers
    reads[sql] = found
    return found
  }

  /// Returns the store error for a SQLite error caused by the index, or `nil` for other errors.
  func indexFailure(_ error: SQLiteError) -> StoreError? {
    guard let index else { return nil }
    guard index.pages.failure != nil || [.corrupt, .notADatabase, .ioError].contains(error.code) else { return nil }
    return IndexFile.failure(error, index.pages)
  }
}

/// The parts of a store that a query reads.
struct QueryReads {
  var usesIndex: Bool
  /// The collection numbers, or `nil` for any collection.
  var collections: Set<UInt32>?
}
