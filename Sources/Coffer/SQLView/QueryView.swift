internal import CofferRecords
internal import CofferSQLite

/// A connection in memory that has only the view `documents`: of one query at a time, and kept for the next one.
final class QueryView {
  let database: Database
  let table: DocumentTable

  private init() throws(StoreError) {
    table = DocumentTable()
    do throws(SQLiteError) {
      database = try Database(
        ":memory:", mode: .create,
        configuration: .init(
          isHardened: true, lengthLimit: Int(StoreFormat.maximumValue), statementCacheCapacity: 16))
      try database.keepTemporariesInMemory()
      try database.add(table, named: DocumentTable.name)
      try database.allowReadingOnly()
    } catch {
      throw StoreError(error)
    }
  }

  /// A view of a transaction, for one query; give it back after that.
  ///
  /// - Parameter limit: about how long the query may run.
  static func take(for transaction: StoreTransaction, within limit: Duration?) throws(StoreError) -> QueryView {
    try transaction.requireOpen()
    let idle = transaction.connection.idleView as? QueryView
    let view = if let idle { idle } else { try QueryView() }
    transaction.connection.idleView = nil
    do throws(SQLiteError) {
      try view.database.setStopCondition(stopCondition(of: transaction, within: limit))
    } catch {
      throw StoreError(error)
    }
    view.table.show(transaction)
    return view
  }

  /// Keeps the view for the connection's next query.
  ///
  /// - Parameter statement: the query's, which is reset: it and its values end here.
  func giveBack(_ statement: Statement, to connection: StoreConnection) {
    statement.reset()
    try? database.setStopCondition(nil)
    table.show(nil)
    connection.idleView = self
  }

  /// Closes the view after an error.
  func close() {
    try? database.close()
    table.show(nil)
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
    let statement = try database.statement(sql)
    guard statement.isReadOnly, statement.columnCount > 0 else {
      throw SQLiteError(.notAllowed, "not a SELECT")
    }
    try statement.bind(all: parameters)
    return statement
  }
}
