import Coffer
import CofferSQLite
import CofferTestSupport
import Foundation
import Synchronization
import Testing

@testable import CofferStoreTestSupport

/// Query results that follow commits.
@Suite struct ObservedQueryTests {
  private func numbers(_ result: QueryResult?) throws -> [Int64] {
    try #require(result).rows.map { try #require($0[0].integer) }
  }

  private func insert(_ text: String, into collection: DocumentCollection, _ store: DocumentStore) throws {
    try store.write { scope in _ = try scope.insert(Document(text: text), into: collection, at: .bottom) }
  }

  @Test(arguments: [false, true])
  func followsCommitsToReadCollections(_ isIndexed: Bool) async throws {
    let test = try TestStore()
    let store = test.store
    try insert(#"{"n": 1}"#, into: "orders", store)
    try insert("x", into: "other", store)
    if isIndexed { try store.index("orders", .field("n", "$.n", as: .number)) }
    let field = isIndexed ? "n" : "json ->> '$.n'"
    var iterator = store.observe { try $0.query("SELECT \(field) FROM orders WHERE \(field) < ? ORDER BY 1", 10) }
      .makeAsyncIterator()
    #expect(try numbers(await iterator.next()) == [1])
    // Commits to other collections and equal results are skipped, and several commits can share one result.
    try insert("y", into: "other", store)
    try insert(#"{"n": 5}"#, into: "orders", store)
    try insert(#"{"n": 50}"#, into: "orders", store)
    try insert(#"{"n": 3}"#, into: "orders", store)
    var last = try numbers(await iterator.next())
    while last.count < 3 { last = try numbers(await iterator.next()) }
    #expect(last == [1, 3, 5])
    // Observe commits from another handle.
    let other = try test.reopened()
    try insert(#"{"n": 4}"#, into: "orders", other)
    last = try numbers(await iterator.next())
    while last.count < 4 { last = try numbers(await iterator.next()) }
    #expect(last == [1, 3, 4, 5])
    try await store.close()
    #expect(try await iterator.next() == nil)
    #expect(try await iterator.next() == nil)
  }

  /// The next element comes from a later commit to a collection that the statement reads.
  @Test func ignoresCommitsToOtherCollections() async throws {
    let test = try TestStore()
    let store = test.store
    try insert("x", into: "other", store)
    try insert(#"{"n": 1}"#, into: "orders", store)
    try store.index("orders", .field("n", "$.n", as: .number))
    let runs = Mutex(0)
    var iterator = store.observe { scope in
      runs.withLock { $0 += 1 }
      return try scope.query("SELECT count(*) FROM orders")
    }.makeAsyncIterator()
    #expect(try numbers(await iterator.next()) == [1])
    for _ in 0..<5 { try insert("y", into: "other", store) }
    try insert(#"{"n": 2}"#, into: "orders", store)
    #expect(try numbers(await iterator.next()) == [2])
    #expect(runs.withLock { $0 } == 2)
    // Every commit affects a statement that reads all documents.
    var all = store.observe { try $0.query("SELECT count(*) FROM documents") }.makeAsyncIterator()
    #expect(try numbers(await all.next()) == [8])
    try insert("y", into: "other", store)
    #expect(try numbers(await all.next()) == [9])
  }

  @Test func viewsFollowNewAndRenamedCollections() async throws {
    let test = try TestStore()
    let store = test.store
    try insert("x", into: "notes", store)
    try insert("y", into: "other", store)
    var iterator = store.observe({ try $0.query("SELECT count(*) FROM notes") }).makeAsyncIterator()
    #expect(try numbers(await iterator.next()) == [1])
    try await store.write { scope in
      _ = try scope.rename("notes", to: "old")
      _ = try scope.rename("other", to: "notes")
      _ = try scope.insert(Document(text: "z"), into: "notes", at: .bottom)
    }
    #expect(try numbers(await iterator.next()) == [2])
  }

  @Test func errorsEndTheIteration() async throws {
    let test = try TestStore()
    var iterator = test.store.observe({ try $0.query("DELETE FROM documents") }).makeAsyncIterator()
    await #expect(throws: StoreError.self) { _ = try await iterator.next() }
    #expect(try await iterator.next() == nil)
    try await test.store.close()
    var late = test.store.observe({ try $0.query("SELECT 1") }).makeAsyncIterator()
    let error = await #expect(throws: StoreError.self) { _ = try await late.next() }
    #expect(error?.code == .closed)
  }

  @Test func canceledTaskEndsIteration() async throws {
    let test = try TestStore()
    let task = Task { [store = test.store] in
      var count = 0
      for try await _ in store.observe({ try $0.query("SELECT 1") }) {
        count += 1
        withUnsafeCurrentTask { $0?.cancel() }
      }
      return count
    }
    #expect(try await task.value == 1)
  }
}
