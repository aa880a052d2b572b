internal import CofferEngine
internal import CofferRecords
public import CofferSQLite
internal import CofferSearch

extension StoreReading where Self: ~Copyable {
  /// Runs a SELECT statement on the decrypted view `documents(collection, id, position, title, text, key, created,
  /// modified, isJSON, size, parent, attributes, json)`, and returns all its rows.
  ///
  /// - `json` is the text if it's JSON, and NULL otherwise, so `json ->> '$.price'` skips other texts. `*` doesn't
  ///   include it. `isJSON` is 1 for a stored value. JSON follows RFC 8259 with at most 512 levels.
  /// - `created` and `modified` are text (ISO 8601, UTC), as are dates in the parameters.
  /// - `key` is text, or a blob if the key isn't UTF-8. SQL compares the stored bytes, even in a collection that folds
  ///   keys.
  /// - `size` is the text's length in bytes. `parent` and `attributes` (a JSON object) are NULL if they're missing.
  ///
  /// You can use all SQLite functions. Without conditions, rows are sorted by collection number, then in the
  /// collection's order. A query by `id`, a range of IDs or `key` reads only those rows, and a query by `collection`
  /// reads only that collection. A text is decrypted only if the query reads it. If a query reads only `collection`,
  /// rows are counted without decrypting them. `count(*)` uses an SQLite index, so it isn't verified until `verify`.
  ///
  /// The view exists in memory. Decrypted data isn't written to a file, even for sorting. Memory holds all result rows,
  /// and the rows that the SQL itself collects for ORDER BY, GROUP BY or DISTINCT.
  /// ``withQuery(_:parameters:timeLimit:_:)`` returns result rows one at a time.
  ///
  /// Canceling the task ends the query.
  ///
  /// ```swift
  /// let cheap = try store.read {
  ///   try $0.query("SELECT title, json ->> '$.price' AS price FROM documents WHERE price < ?", 10)
  /// }
  /// for row in cheap { print(try row["price", as: Double.self]) }
  /// ```
  ///
  /// - Throws: `invalidArgument` for SQL that's invalid, writes, or has a different number of parameters.
  ///   `queryFailed`, with the ID of the document if it's known. `damaged` with the ID. Reading row values as types
  ///   throws `SQLiteError`.
  public func query(_ sql: String, _ parameters: (any SQLiteValueConvertible)?...) throws(StoreError) -> QueryResult {
    try query(sql, parameters: parameters)
  }

  /// Runs a SELECT statement like ``query(_:_:)``, with the parameters in an array in the order of the SQL.
  ///
  /// `timeLimit` is the approximate maximum duration, or `nil` for unlimited time.
  ///
  /// - Throws: The errors of ``query(_:_:)``, and `cancelled` after the time limit.
  public func query(
    _ sql: String, parameters: [(any SQLiteValueConvertible)?], timeLimit: Duration? = nil
  ) throws(StoreError) -> QueryResult {
    try QueryRunner(transaction).query(sql, parameters, within: timeLimit)
  }

  /// Runs a SELECT statement like ``query(_:_:)``, and calls `body` to read its rows one at a time.
  ///
  /// Memory holds one row with its texts, and the rows that the SQL itself collects for ORDER BY, GROUP BY or DISTINCT.
  /// Without these clauses, memory use doesn't depend on the number of rows. `timeLimit` is the approximate maximum
  /// duration, after which the query fails with `cancelled`.
  ///
  /// - Returns: The result of `body`, which doesn't need to read all rows.
  /// - Throws: Errors of `body`, and the errors of ``query(_:_:)``.
  public func withQuery<R>(
    _ sql: String, parameters: [(any SQLiteValueConvertible)?] = [], timeLimit: Duration? = nil,
    _ body: (inout QueryRows) throws -> R
  ) throws -> R {
    try QueryRunner(transaction).withQuery(sql, parameters, within: timeLimit, body)
  }
}
