internal import CofferRecords
public import CofferSQLite

extension ReadScope where Self: ~Copyable {
  /// Runs one SELECT over the decrypted view `documents(collection, id, position, title, text, key, created, modified,
  /// isJSON, size, parent, attributes, json)`, and returns all its rows.
  ///
  /// - `json` is the text if it is JSON, else NULL, so that `json ->> '$.price'` passes over other texts; `*` leaves it
  ///   out. `isJSON` is 1 for a stored value. JSON is RFC 8259 with at most 512 levels.
  /// - `created` and `modified` are text (ISO 8601, UTC), as dates among the parameters are.
  /// - `key` is text, or a blob if the key is not UTF-8. SQL compares the stored bytes, in a collection that folds
  ///   keys, too.
  /// - `size` is the text's length in bytes; `parent` and `attributes` (a JSON object) are NULL if there are none.
  ///
  /// All of SQLite's functions can be used. Without conditions, rows are sorted by the number of their collection, then
  /// in the collection's order. A query by `id`, a range of ids or `key` reads those rows, one by `collection` only
  /// that collection; a text is opened only if the query reads it. Rows of which a query reads no column but
  /// `collection` are counted and not opened: `count(*)` is counted by an SQLite index, unproved until `verify`.
  ///
  /// The view exists in memory; no decrypted data reaches a file, not even for sorting. Memory holds all rows of the
  /// result, and the rows that the SQL itself collects for ORDER BY, GROUP BY or DISTINCT.
  /// ``withQuery(_:parameters:timeLimit:_:)`` gives the rows of the result one at a time.
  ///
  /// Cancelling the task ends the query.
  ///
  /// ```swift
  /// let cheap = try store.read {
  ///   try $0.query("SELECT title, json ->> '$.price' AS price FROM documents WHERE price < ?", 10)
  /// }
  /// for row in cheap { print(try row["price", as: Double.self]) }
  /// ```
  ///
  /// - Throws: `invalidArgument` for SQL that can't be compiled, that writes, or that has another number of parameters;
  ///   `queryFailed`, with the id of the document that it failed at if that is known; `damaged` with the id. Rows that
  ///   are read as types throw ``SQLiteError``.
  public func query(_ sql: String, _ parameters: (any SQLiteValueConvertible)?...) throws(StoreError) -> QueryResult {
    try query(sql, parameters: parameters)
  }

  /// Runs one SELECT as ``query(_:_:)`` does, with the parameters in an array, in the order of the SQL's parameters.
  ///
  /// `timeLimit` is about how long the query may run; nil sets no limit.
  ///
  /// - Throws: the errors of ``query(_:_:)``, and `cancelled` after the time limit.
  public func query(
    _ sql: String, parameters: [(any SQLiteValueConvertible)?], timeLimit: Duration? = nil
  ) throws(StoreError) -> QueryResult {
    try transaction.query(sql, parameters, within: timeLimit)
  }

  /// Runs one SELECT as ``query(_:_:)`` does, and calls `body` with its rows, which it takes one at a time.
  ///
  /// Memory holds one row, its texts included, and the rows that the SQL itself collects for ORDER BY, GROUP BY or
  /// DISTINCT. Without those it does not depend on the number of rows. `timeLimit` is about how long the query may run
  /// before it fails with `cancelled`.
  ///
  /// - Returns: the result of `body`, which need not read all rows.
  /// - Throws: errors of `body`, and those of ``query(_:_:)``.
  public func withQuery<R>(
    _ sql: String, parameters: [(any SQLiteValueConvertible)?] = [], timeLimit: Duration? = nil,
    _ body: (inout QueryRows) throws -> R
  ) throws -> R {
    try transaction.withQuery(sql, parameters, within: timeLimit, body)
  }
}
