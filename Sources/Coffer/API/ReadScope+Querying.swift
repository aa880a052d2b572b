internal import CofferRecords
public import CofferSQLite

extension ReadScope where Self: ~Copyable {
  /// Runs one SELECT over the decrypted view
  /// `documents(collection, id, position, title, text, key, created, modified)`, and returns all its rows.
  ///
  /// Rows are sorted by the collections' numbers, each collection in order. Dates are text (ISO 8601, UTC); a key that
  /// is not text is a blob. All of SQLite's functions can be used, those for JSON included. A query by `id` reads one
  /// row, one by `collection` only that collection; a text is opened only if the query reads it.
  ///
  /// The view exists in a connection in memory that ends with this call; no decrypted data reaches a file, not even for
  /// sorting. Memory holds all rows of the result, and the rows that the SQL itself collects for ORDER BY, GROUP BY or
  /// DISTINCT. ``withQuery(_:parameters:timeLimit:_:)`` gives the rows of the result one at a time.
  ///
  /// Cancelling the task ends the query.
  ///
  /// ```swift
  /// let cheap = try store.read {
  ///   try $0.query("SELECT title, text ->> '$.price' FROM documents WHERE text ->> '$.price' < ?", 10)
  /// }
  /// ```
  ///
  /// - Throws: `invalidArgument` for SQL that can't be compiled, that writes, or that has another number of parameters;
  ///   `queryFailed`; `damaged` with the id.
  public func query(_ sql: String, _ parameters: (any SQLiteValueConvertible)?...) throws(StoreError) -> QueryResult {
    try query(sql, parameters: parameters)
  }

  /// As ``query(_:_:)``, with the parameters in an array.
  ///
  /// - Parameter timeLimit: about how long the query may run before it fails with `cancelled`; nil sets no limit.
  public func query(
    _ sql: String, parameters: [(any SQLiteValueConvertible)?], timeLimit: Duration? = nil
  ) throws(StoreError) -> QueryResult {
    try transaction.query(sql, parameters, within: timeLimit)
  }

  /// As ``query(_:_:)``, one row at a time.
  ///
  /// Memory holds one row, its texts included, and the rows that the SQL itself collects for ORDER BY, GROUP BY or
  /// DISTINCT. Without those it does not depend on the number of rows.
  public func withQuery<R>(
    _ sql: String, parameters: [(any SQLiteValueConvertible)?] = [], timeLimit: Duration? = nil,
    _ body: (inout QueryRows) throws -> R
  ) throws -> R {
    try transaction.withQuery(sql, parameters, within: timeLimit, body)
  }
}
