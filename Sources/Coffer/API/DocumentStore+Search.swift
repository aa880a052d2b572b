extension DocumentStore {
  /// The documents of a collection that hold a pattern, in order. Runs in a new read transaction.
  public func search(
    for pattern: SearchPattern, in collection: DocumentCollection, fields: SearchFields = .all, limit: Int = .max
  ) throws -> [SearchMatch] {
    try read { try $0.search(for: pattern, in: collection, fields: fields, limit: limit) }
  }

  /// The same for async code. Cancelling the task ends the search within a few hundred documents.
  ///
  /// - Throws: `CancellationError`.
  public func search(
    for pattern: SearchPattern, in collection: DocumentCollection, fields: SearchFields = .all, limit: Int = .max
  ) async throws -> [SearchMatch] {
    try await read { try $0.search(for: pattern, in: collection, fields: fields, limit: limit) }
  }
}
