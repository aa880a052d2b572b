public import CofferSQLite

extension DocumentStore {
  /// The documents of a collection that hold a pattern, in order, with the ranges of the matches. Runs in a new read
  /// transaction.
  ///
  /// Before it, up to a thousand documents that are missing in an index are added to the file, if the store is open for
  /// writing and no other writer is at work.
  ///
  /// - Throws: the errors of ``ReadScope/search(for:in:fields:limit:)``, and of beginning a transaction: `locked`,
  ///   `keyChanged`, `rolledBack`, `closed`.
  public func search(
    for pattern: SearchPattern, in collection: DocumentCollection, fields: SearchFields = .all, limit: Int = .max
  ) throws -> [SearchMatch] {
    try engine.catchUpIndexes()
    return try read { try $0.search(for: pattern, in: collection, fields: fields, limit: limit) }
  }

  /// The documents of a collection that hold a pattern, for async code. Cancelling the task ends the search within a
  /// few hundred documents.
  ///
  /// - Throws: `CancellationError`, and the errors of the form that blocks.
  public func search(
    for pattern: SearchPattern, in collection: DocumentCollection, fields: SearchFields = .all, limit: Int = .max
  ) async throws -> [SearchMatch] {
    try await offCooperativePool { try self.search(for: pattern, in: collection, fields: fields, limit: limit) }
  }
}

extension DocumentStore {
  /// The documents of a collection that match words best; see
  /// ``ReadScope/search(ranked:in:limit:after:withSnippets:)``.
  ///
  /// Runs in a new read transaction. Before it, up to a thousand documents that are missing in the index are added to
  /// the file, if the store is open for writing and no other writer is at work.
  ///
  /// - Throws: the errors of that call, and of beginning a transaction: `locked`, `keyChanged`, `rolledBack`, `closed`.
  public func search(
    ranked words: String, in collection: DocumentCollection, limit: Int = 20, after cursor: RankedCursor? = nil,
    withSnippets: Bool = true
  ) throws -> RankedMatches {
    try engine.catchUpIndexes()
    return try read {
      try $0.search(ranked: words, in: collection, limit: limit, after: cursor, withSnippets: withSnippets)
    }
  }

  /// The documents of a collection that match words best, for async code. Cancelling the task ends the search.
  ///
  /// - Throws: `CancellationError`, and the errors of the form that blocks.
  public func search(
    ranked words: String, in collection: DocumentCollection, limit: Int = 20, after cursor: RankedCursor? = nil,
    withSnippets: Bool = true
  ) async throws -> RankedMatches {
    try await offCooperativePool {
      try self.search(ranked: words, in: collection, limit: limit, after: cursor, withSnippets: withSnippets)
    }
  }
}

extension DocumentStore {
  /// Runs one SELECT over the decrypted views of documents in a new read transaction; see ``ReadScope/query(_:_:)``.
  ///
  /// Before it, up to a thousand documents that are missing in an index are added to the file, if the store is open for
  /// writing and no other writer is at work.
  ///
  /// - Returns: all rows of the result, in memory.
  /// - Throws: the errors of that call, and of beginning a transaction: `locked`, `keyChanged`, `rolledBack`, `closed`.
  public func query(_ sql: String, _ parameters: (any SQLiteValueConvertible)?...) throws -> QueryResult {
    try engine.catchUpIndexes()
    return try read { try $0.query(sql, parameters: parameters) }
  }

  /// Runs one SELECT over the decrypted views of documents, for async code. Cancelling the task ends the query.
  ///
  /// - Throws: `CancellationError`, and the errors of the form that blocks.
  public func query(
    _ sql: String, _ parameters: (any SQLiteValueConvertible & Sendable)?...
  ) async throws -> QueryResult {
    let values = parameters.map { $0?.sqliteValue }
    return try await offCooperativePool {
      try self.engine.catchUpIndexes()
      return try self.read { try $0.query(sql, parameters: values) }
    }
  }
}
