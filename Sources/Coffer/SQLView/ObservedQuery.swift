internal import CofferRecords
public import CofferSQLite

/// The result of a query after each change of the documents that it reads, from
/// ``DocumentStore/observe(query:_:)``.
///
/// Each iterator begins with the present result. Ends when the store is closed or released, or the task is cancelled;
/// throws `closed` if the store was closed before it began.
public struct ObservedQuery: AsyncSequence, Sendable {
  public typealias Element = QueryResult
  public typealias Failure = StoreError

  private let sql: String
  private let parameters: [SQLiteValue?]
  private let source: QuerySource

  init(_ sql: String, _ parameters: [SQLiteValue?], _ source: QuerySource) {
    (self.sql, self.parameters, self.source) = (sql, parameters, source)
  }

  /// The iterator of one task.
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

/// The store of an observed query, which its observers don't keep open.
struct QuerySource: Sendable {
  typealias Found = (result: QueryResult, reads: QueryReads, generation: UInt64)

  let subscribe: @Sendable () -> ChangeSubscription
  /// Runs the query in one read transaction; nil once the store is released.
  let read: @Sendable (_ sql: String, _ parameters: [SQLiteValue?]) throws -> Found?
}

/// One iteration of an observed query.
private final class QueryIteration: @unchecked Sendable {
  // One task at a time uses an iterator, and waits while another thread reads with these.
  private let sql: String
  private let parameters: [SQLiteValue?]
  private let source: QuerySource
  private var subscription: ChangeSubscription?
  /// The collections that the last result was read from; nil for any.
  private var collections: Set<UInt32>?
  /// The generation of the last result; nil before the first.
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
        guard let found = try await offCooperativePool({ try self.read() }) else { break }
        (collections, generation) = (found.reads.collections, found.generation)
        return found.result
      }
    } catch let error as StoreError where error.code != .closed || generation == nil {
      isOver = true
      subscription = nil
      throw error
    } catch {
      // The store was closed, or the task cancelled.
    }
    isOver = true
    subscription = nil
    return nil
  }

  /// Whether the result may be another after a change.
  private func concerns(_ change: StoreChange) -> Bool {
    if let generation, change.generation <= generation { return false }
    guard let collections, change.isComplete else { return true }
    // Names may mean other collections now.
    guard change.changedCollections.isEmpty else { return true }
    return change.collections.keys.contains { collections.contains($0.rawValue) }
  }

  private func read() throws -> QuerySource.Found? {
    // Before the first result, so that no commit is missed in between.
    if subscription == nil { subscription = source.subscribe() }
    return try source.read(sql, parameters)
  }
}
