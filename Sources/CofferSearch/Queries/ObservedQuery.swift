package import CofferEngine
public import CofferRecords
public import CofferSQLite

/// A sequence of query results, one after each change to the documents that the query reads, from
/// ``DocumentStore/observe(query:_:)``.
///
/// Each iterator starts with the current result. It ends when the store is closed or released, or when the task is
/// canceled. It throws `closed` if the store was closed before the first result.
public struct ObservedQuery: AsyncSequence, Sendable {
  public typealias Element = QueryResult
  public typealias Failure = StoreError

  private let sql: String
  private let parameters: [SQLiteValue?]
  private let source: QuerySource

  package init(_ sql: String, _ parameters: [SQLiteValue?], _ source: QuerySource) {
    (self.sql, self.parameters, self.source) = (sql, parameters, source)
  }

  /// An iterator for one task.
  public struct AsyncIterator: AsyncIteratorProtocol {
    fileprivate let iteration: QueryIteration

    public mutating func next() async throws(StoreError) -> QueryResult? {
      try await iteration.next()
    }

    public mutating func next(isolation actor: isolated (any Actor)?) async throws(StoreError) -> QueryResult? {
      try await iteration.next()
    }
  }

  public func makeAsyncIterator() -> AsyncIterator {
    AsyncIterator(iteration: QueryIteration(sql, parameters, source))
  }
}

/// The store access of an observed query, which doesn't keep the store open.
package struct QuerySource: Sendable {
  package typealias Found = (result: QueryResult, reads: QueryReads, generation: UInt64)

  let subscribe: @Sendable () -> ChangeSubscription
  /// Runs the query in one read transaction. Returns `nil` after the store is released.
  let read: @Sendable (_ sql: String, _ parameters: [SQLiteValue?]) throws -> Found?

  package init(
    subscribe: @escaping @Sendable () -> ChangeSubscription,
    read: @escaping @Sendable (_ sql: String, _ parameters: [SQLiteValue?]) throws -> Found?
  ) {
    self.subscribe = subscribe
    self.read = read
  }
}

/// An iteration over an observed query.
private final class QueryIteration: @unchecked Sendable {
  // Sendable because one task at a time uses an iterator, and waits while another thread reads with these properties.
  private let sql: String
  private let parameters: [SQLiteValue?]
  private let source: QuerySource
  private var subscription: ChangeSubscription?
  /// The collections that the last result was read from, or `nil` for any collection.
  private var collections: Set<UInt32>?
  /// The generation of the last result, or `nil` before the first result.
  private var generation: UInt64?
  private var isOver = false

  init(_ sql: String, _ parameters: [SQLiteValue?], _ source: QuerySource) {
    (self.sql, self.parameters, self.source) = (sql, parameters, source)
  }

  func next() async throws(StoreError) -> QueryResult? {
    do {
      while !isOver {
        if let subscriber = subscription?.subscriber {
          guard let change = try await subscriber.next() else { break }
          guard concerns(change) else { continue }
        }
        guard let found = try await offCooperativePool(.observations, { try self.read() }) else { break }
        (collections, generation) = (found.reads.collections, found.generation)
        return found.result
      }
    } catch let error as StoreError where error.code != .closed || generation == nil {
      isOver = true
      subscription = nil
      throw error
    } catch {
      // The store was closed or the task was canceled.
    }
    isOver = true
    subscription = nil
    return nil
  }

  /// Returns whether a change may affect the result.
  private func concerns(_ change: StoreChange) -> Bool {
    if let generation, change.generation <= generation { return false }
    guard let collections, change.isComplete else { return true }
    // Names may refer to different collections after the change.
    guard change.changedCollections.isEmpty else { return true }
    return change.collections.keys.contains { collections.contains($0.rawValue) }
  }

  private func read() throws -> QuerySource.Found? {
    // Subscribe before reading the first result, so commits in between aren't missed.
    if subscription == nil { subscription = source.subscribe() }
    return try source.read(sql, parameters)
  }
}
