import Coffer
import CofferRecords
import CofferSQLite
import CofferTestSupport
import Foundation
import Synchronization
import Testing

@testable import CofferEngine
@testable import CofferStoreTestSupport

/// Observations of any reads.
struct ObservedReadsTests {
  private struct Item: Codable, Sendable, Equatable {
    var n: Int
  }

  private static let notes = DocumentCollection("notes")
  private static let others = DocumentCollection("others")

  private func insert(_ text: String, into collection: DocumentCollection, _ store: DocumentStore) throws {
    try store.write { scope in _ = try scope.insert(Document(text: text), into: collection, at: .bottom) }
  }

  @Test func readsAgainAfterChangeOfKeyFolding() async throws {
    let test = try TestStore()
    let store = test.store
    try await store.write { try $0.insert(Document(text: "text", key: "KEY"), into: Self.notes) }
    let found = Observer(store.observe { try $0.id(forKey: "key", in: Self.notes) })
    #expect(try await found.require() == nil)
    try await store.write { _ = try $0.update(Self.notes, foldsKeys: true) }
    #expect(try await found.require() == 1)
  }

  @Test func readsAgainAfterCommitsToWhatWasRead() async throws {
    let test = try TestStore()
    let store = test.store
    try insert("first", into: Self.notes, store)
    try insert("elsewhere", into: Self.others, store)
    let runs = Mutex(0)
    let iterator = Observer(
      store.observe { scope in
        runs.withLock { $0 += 1 }
        return try scope.headers(in: Self.notes).map { try scope.text(of: $0.id) }
      })
    #expect(try await iterator.require() == ["first"])
    for _ in 0..<5 { try insert("elsewhere", into: Self.others, store) }
    try insert("second", into: Self.notes, store)
    #expect(try await iterator.require() == ["first", "second"])
    #expect(runs.withLock { $0 } == 2)
    // Another process's commits are found by a poll.
    try insert("third", into: Self.notes, try test.reopened())
    #expect(try await iterator.require() == ["first", "second", "third"])
  }

  @Test func followsSingleDocuments() async throws {
    let test = try TestStore()
    let store = test.store
    for number in 0..<3 { try insert("\(number)", into: Self.notes, store) }
    let runs = Mutex(0)
    let iterator = Observer(
      store.observe { scope in
        runs.withLock { $0 += 1 }
        return try scope.exists(2) ? try scope.text(of: 2) : "none"
      })
    #expect(try await iterator.require() == "1")
    try await store.write { try $0.update(1) { $0.text = "x" } }
    try await store.write { try $0.move(2, into: Self.others) }
    try await store.write { try $0.update(2) { $0.text = "moved" } }
    #expect(try await iterator.require() == "moved")
    #expect(runs.withLock { $0 } == 2)
    try await store.write { try $0.delete(2) }
    #expect(try await iterator.require() == "none")
    try await store.write { try $0.put(Document(text: "back"), id: 2, into: Self.others) }
    #expect(try await iterator.require() == "back")
  }

  @Test func omitsEqualResults() async throws {
    let test = try TestStore()
    let store = test.store
    try insert("a", into: Self.notes, store)
    let runs = Mutex(0)
    let count = Observer(
      store.observe { scope in
        runs.withLock { $0 += 1 }
        return try scope.count(in: Self.notes)
      })
    let missing = Observer(store.observe { scope -> Int? in try scope.count(in: Self.notes) > 2 ? 3 : nil })
    let query = Observer(store.observe { try $0.query("SELECT count(*) FROM notes") })
    #expect(try await count.require() == 1)
    #expect(try await missing.require() == nil)
    #expect(try await query.require()[0][0] == .integer(1))
    try await store.write { try $0.update(1) { $0.text = "b" } }
    let waiting = Task { try await count.next() }
    await yieldUntil { runs.withLock { $0 } >= 2 }
    try insert("c", into: Self.notes, store)
    try insert("d", into: Self.notes, store)
    #expect(try #require(try await waiting.value) > 1)
    #expect(try await missing.require() == 3)
    #expect(try await query.require()[0][0] == .integer(3))
  }

  /// A document is inserted, read, and deleted before the observation hears of either.
  @Test(arguments: [false, true])
  func hearsOfDocumentDeletedAfterItWasRead(_ isForeign: Bool) async throws {
    let test = try TestStore()
    let store = test.store
    try insert("first", into: Self.notes, store)
    let reads = Observer(store.observe { try $0.headers(in: Self.notes).map(\.id) })
    let list = Observer(store.observe(Self.notes))
    #expect(try await reads.require() == [1])
    #expect(try await list.require().count == 1)
    // Prevents timed polls.
    store.engine.session.feed.willCommit(isForeign ? 0 : .max)
    // Both hear of a first commit, and wait for a thread to read.
    for _ in 0..<16 { FairSemaphore.observations.takeTurn() }
    let reading = Task { try await reads.next() }
    let listing = Task { try await list.next() }
    try await store.write { try $0.update(1) { $0.text = "changed" } }
    await yieldUntil { FairSemaphore.observations.waiterCount >= 2 }
    let writer = isForeign ? try test.reopened() : store
    try insert("second", into: Self.notes, writer)
    for _ in 0..<16 { FairSemaphore.observations.signal() }
    #expect(try await reading.value == [1, 2])
    #expect(try await listing.value?.count == 2)
    try await writer.write { try $0.delete(2) }
    store.engine.session.feed.commitFailed()
    #expect(try await reads.require() == [1])
    #expect(try await list.require().deleted == [1])
  }

  // MARK: Differences

  @Test func differencesFollowQuery() async throws {
    let test = try TestStore()
    let store = test.store
    try await store.write { writer in
      for n in [5, 1, 3] { try writer.insert(Item(n: n), into: Self.notes) }
    }
    let query = store.observe {
      try $0.query("SELECT id, json ->> '$.n' AS n FROM notes WHERE json ->> '$.n' < 10 ORDER BY n")
    }
    let iterator = Observer(query.differences { $0["id"] })
    var rows: [SQLiteRow] = []
    try await iterator.require().apply(to: &rows)
    #expect(try rows.map { try $0["n", as: Int.self] } == [1, 3, 5])
    try await store.write { writer in
      try writer.update(1, as: Item.self) { $0.n = 2 }
      try writer.update(2, as: Item.self) { $0.n = 20 }
      try writer.insert(Item(n: 9), into: Self.notes)
    }
    let change = try await iterator.require()
    #expect(change.deleted == [0] && change.inserted.map(\.index) == [2] && change.countBefore == 3)
    #expect(change.moved.count == 1)
    #expect(try await store.read { $0.generation } == change.generation)
    try change.apply(to: &rows)
    #expect(try rows.map { try $0["n", as: Int.self] } == [2, 3, 9])
  }

  @Test func differencesFollowRandomArrays() async throws {
    let test = try TestStore()
    let store = test.store
    var random = Pseudorandom(seed: 1)
    let id = try await store.write { try $0.insert([0], into: Self.notes) }
    // Numbers are the same row if they're equal modulo 10, so rows repeat.
    let iterator = Observer(store.observe { try $0.value([Int].self, of: id) }.differences { $0 % 10 })
    var rows: [Int] = []
    try await iterator.require().apply(to: &rows)
    for _ in 0..<100 {
      let new = (0..<random.number(below: 12)).map { _ in random.number(below: 40) }
      guard new != rows else { continue }
      try await store.write { try $0.update(id, as: [Int].self) { $0 = new } }
      let change = try await iterator.require()
      var bySteps = rows
      for step in change.steps {
        switch step {
        case .delete(let index): bySteps.remove(at: index)
        case .insert(let row, let index): bySteps.insert(row, at: index)
        case .move(let from, let to, let row):
          #expect(bySteps[from] % 10 == row % 10)
          bySteps.insert(row, at: to > from ? to + 1 : to)
          bySteps.remove(at: to > from ? from : from + 1)
        case .update(let row, let index):
          #expect(bySteps[index] % 10 == row % 10)
          bySteps[index] = row
        }
      }
      try change.apply(to: &rows)
      #expect(rows == new && bySteps == new)
    }
  }

  // MARK: Errors

  @Test func errorsOfClosureEndIteration() async throws {
    let test = try TestStore()
    let store = test.store
    try insert("x", into: Self.notes, store)
    func expect<T: Sendable>(_ code: StoreError.Code, _ observation: StoreObservation<T>) async throws {
      let iterator = Observer(observation)
      let error = await #expect(throws: StoreError.self) { _ = try await iterator.next() }
      #expect(error?.code == code)
      #expect(try await iterator.next() == nil)
    }
    try await expect(.noSuchDocument, store.observe { try $0.text(of: 9) })
    try await expect(.queryFailed, store.observe { _ -> Int in throw Interruption() })
    try await expect(.invalidArgument, store.observe { try $0.query("DELETE FROM documents") })
    try await expect(.notDecodable, store.observe { try $0.query("SELECT title FROM notes")[0]["title", as: Int.self] })
    try await expect(.misuse, store.observe { _ in try store.read { try $0.count(in: Self.notes) } })
    // An app's own errors are results.
    let results = store.observe { _ in Result<Int, Interruption>.failure(Interruption()) }
    let iterator = Observer(results)
    #expect(try await iterator.require() == .failure(Interruption()))
  }

  @Test func errorAfterCommitEndsIteration() async throws {
    let test = try TestStore()
    let store = test.store
    try insert("x", into: Self.notes, store)
    let iterator = Observer(store.observe { try $0.text(of: 1) })
    #expect(try await iterator.require() == "x")
    try await store.write { try $0.delete(1) }
    await #expect(throws: StoreError(.noSuchDocument, "")) { try await iterator.next() }
    #expect(try await iterator.next() == nil)
  }
}
