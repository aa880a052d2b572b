public import CofferSQLite

extension DocumentStore {
  /// Runs one SELECT over the decrypted view `documents(…)` in a new read transaction; see ``ReadScope/query(_:_:)``.
  public func query(_ sql: String, _ parameters: (any SQLiteValueConvertible)?...) throws -> QueryResult {
    try read { try $0.query(sql, parameters: parameters) }
  }

  /// The same for async code. Cancelling the task ends the query.
  ///
  /// - Throws: `CancellationError`.
  public func query(
    _ sql: String, _ parameters: (any SQLiteValueConvertible & Sendable)?...
  ) async throws -> QueryResult {
    let values = parameters.map { $0?.sqliteValue }
    return try await read { try $0.query(sql, parameters: values) }
  }
}
