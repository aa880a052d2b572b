public import CofferSQLite
internal import Synchronization

extension DocumentStore {
  /// The documents of a collection that hold a pattern, in order, in a read transaction of its own.
  public func search(
    for pattern: SearchPattern, in collection: DocumentCollection, fields: SearchFields = .all, limit: Int = .max
  ) throws -> [SearchMatch] {
    try read { try $0.search(for: pattern, in: collection, fields: fields, limit: limit) }
  }

  /// The same for async code; when its task is cancelled, it ends after a few hundred documents.
  ///
  /// - Throws: `CancellationError`.
  public func search(
    for pattern: SearchPattern, in collection: DocumentCollection, fields: SearchFields = .all, limit: Int = .max
  ) async throws -> [SearchMatch] {
    let flag = CancellationFlag()
    return try await withTaskCancellationHandler {
      try await read { reader in
        var matches: [SearchMatch] = []
        try reader.forEachMatch(
          of: pattern, in: collection, fields: fields, limit: limit, progress: { _ in try flag.check() }
        ) { matches.append($0.match) }
        return matches
      }
    } onCancel: {
      flag.cancel()
    }
  }
}

extension DocumentStore {
  /// One SELECT over the decrypted view `documents(…)`, in a read transaction of its own; see
  /// ``ReadScope/query(_:_:)``.
  public func query(_ sql: String, _ parameters: (any SQLiteValueConvertible)?...) throws -> QueryResult {
    try read { try $0.query(sql, parameters: parameters) }
  }

  /// The same for async code; ends when its task is cancelled.
  ///
  /// - Throws: `CancellationError`.
  public func query(
    _ sql: String, _ parameters: (any SQLiteValueConvertible & Sendable)?...
  ) async throws -> QueryResult {
    let flag = CancellationFlag()
    let values = parameters.map { $0?.sqliteValue }
    return try await withTaskCancellationHandler {
      try await read { reader in
        do {
          return try reader.transaction.query(sql, values, stoppingWhen: { flag.isCancelled })
        } catch {
          try flag.check()
          throw error
        }
      }
    } onCancel: {
      flag.cancel()
    }
  }
}

/// Carries a task's cancellation to the thread that works for it.
final class CancellationFlag: Sendable {
  private let wasCancelled = Atomic<Bool>(false)

  var isCancelled: Bool { wasCancelled.load(ordering: .relaxed) }

  func cancel() {
    wasCancelled.store(true, ordering: .relaxed)
  }

  func check() throws {
    if isCancelled { throw CancellationError() }
  }
}
