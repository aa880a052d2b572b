import Coffer
import CofferRecords
import CofferTestSupport
import Foundation
import Testing

@testable import CofferEngine
@testable import CofferStoreTestSupport

/// Observations, subscriptions and sequences of a store that is suspended and resumed.
struct SuspendedObservationTests {
  private static let notes = DocumentCollection("notes")

  private func store(_ journal: CreateOptions.Journal) throws -> TestStore {
    let test = try TestStore { $0.journal = journal }
    try test.store.write { _ = try $0.insert(Document(title: "first", text: "word"), into: Self.notes) }
    return test
  }

  @Test(arguments: CreateOptions.Journal.allCases)
  func reportsCommitsOfTheMeantime(_ journal: CreateOptions.Journal) async throws {
    let test = try store(journal)
    let store = test.store
    let titles = Observer(store.observe { try $0.headers(in: Self.notes).map(\.title) })
    let list = Observer(store.observe(Self.notes))
    var changes = store.changes(in: Self.notes).makeAsyncIterator()
    #expect(try await titles.require() == ["first"])
    #expect(try await list.require().count == 1)
    try await store.suspend(within: .seconds(60))
    let other = try test.reopened()
    let id = try await other.write { try $0.insert(Document(title: "second", text: "word"), into: Self.notes) }
    try await other.close()
    // A poll of the suspended store reads nothing.
    store.engine.poll()
    store.resume()
    #expect(try await titles.require() == ["first", "second"])
    #expect(try await list.require().count == 2)
    #expect(try await changes.next()?.inserted == [id])
    // Commits of this process are reported as before.
    try await store.write { try $0.delete(id) }
    #expect(try await titles.require() == ["first"])
    #expect(try await changes.next()?.deleted == [id])
  }

  @Test func readDuringSuspensionDelaysElement() async throws {
    let test = try store(.rollback)
    let store = test.store
    try await store.write { _ = try $0.insert(Document(title: "second", text: "word"), into: Self.notes) }
    let observation = store.observe(Self.notes, first: 1)
    let list = Observer(observation)
    #expect(try await list.require().count == 1)
    try await store.suspend(within: .seconds(60))
    // The greater limit makes the observation read at once.
    observation.setLimit(10)
    let listing = Task { try await list.next() }
    for _ in 0..<2000 {
      expect(.suspended) { try store.read { _ in } }
      await Task.yield()
    }
    store.resume()
    #expect(try await listing.value?.count == 2)
  }

  @Test func observationOfSuspendedStoreThrows() async throws {
    let test = try store(.rollback)
    try await test.store.suspend(within: .seconds(60))
    let titles = Observer(test.store.observe { try $0.headers(in: Self.notes).map(\.title) })
    await #expect(throws: StoreError(.suspended, "")) { try await titles.next() }
    var changes = test.store.changes().makeAsyncIterator()
    await #expect(throws: StoreError(.suspended, "")) { try await changes.next() }
    test.store.resume()
    let later = Observer(test.store.observe { try $0.headers(in: Self.notes).map(\.title) })
    #expect(try await later.require() == ["first"])
  }

  @Test func closingSuspendedStoreEndsObservations() async throws {
    let test = try store(.writeAheadLog)
    let titles = Observer(test.store.observe { try $0.headers(in: Self.notes).map(\.title) })
    #expect(try await titles.require() == ["first"])
    try await test.store.suspend(within: .seconds(60))
    try await test.store.close()
    #expect(try await titles.next() == nil)
  }

  @Test(arguments: CreateOptions.Journal.allCases)
  func attachmentReaderContinuesAfterResume(_ journal: CreateOptions.Journal) async throws {
    let test = try store(journal)
    let store = test.store
    let bytes = (0..<700_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    let id = try await store.write { writer in
      let id = try writer.insert(Document(text: "with bytes"), into: Self.notes)
      return try writer.attach(.bytes(bytes), to: id, name: "bytes").id
    }
    var iterator = store.parts(of: id).makeAsyncIterator()
    var read = try #require(try await iterator.next())
    try await store.suspend(within: .seconds(60))
    await #expect(throws: StoreError(.suspended, "")) { try await iterator.next() }
    store.resume()
    while let part = try await iterator.next() { read += part }
    #expect(read == bytes)
  }

  @Test func openRowsOfQueryThrow() throws {
    let test = try store(.rollback)
    let store = test.store
    let meeting = Meeting()
    let reader = Background {
      try store.read { reader in
        try reader.withQuery("SELECT id FROM documents") { rows in
          meeting.stop()
          expect(.suspended) { try rows.next() }
          expect(.suspended) { try reader.collections() }
        }
      }
    }
    meeting.waitForArrival()
    let suspending = Background { try store.suspend(within: .seconds(60)) }
    waitUntil { store.isSuspended }
    meeting.letGo()
    try reader.value()
    try suspending.value()
  }

  /// Commits, searches and suspensions take turns, so the index is brought up to date by each of them.
  @Test(arguments: CreateOptions.Journal.allCases)
  func indexesStayUsable(_ journal: CreateOptions.Journal) throws {
    let test = try store(journal)
    let store = test.store
    try store.index(Self.notes, .words())
    for round in 1...10 {
      for _ in 0..<20 { try store.write { _ = try $0.insert(Document(text: "word \(round)"), into: Self.notes) } }
      try store.suspend(within: .seconds(60))
      store.resume()
      #expect(try store.read { try $0.search(for: .text("word"), in: Self.notes).count } == round * 20 + 1)
    }
    try test.expectSound()
  }
}
