import CofferRecords
import CofferSQLite
import CofferTestSupport
import Foundation
import Synchronization
import Testing

@testable import Coffer
@testable import CofferEngine
@testable import CofferStoreTestSupport

/// Observations beside locks, long transactions, other stores of the file, key changes and many other observations.
struct ObservationInteractionTests {
  /// A number that tasks change.
  private final class Shared: Sendable {
    private let state = Mutex(0)

    var value: Int { state.withLock { $0 } }
    func add() { state.withLock { $0 += 1 } }
  }

  /// The number of closures that run, and the greatest number that ran at once.
  private final class Running: Sendable {
    private let state = Mutex((now: 0, most: 0))

    var most: Int { state.withLock { $0.most } }

    func count<Result>(_ work: () throws -> Result) rethrows -> Result {
      state.withLock { state in
        state.now += 1
        state.most = max(state.most, state.now)
      }
      defer { state.withLock { $0.now -= 1 } }
      return try work()
    }
  }

  private static let notes = DocumentCollection("notes")

  private func fill(_ store: DocumentStore, _ count: Int) throws {
    try store.write { writer in
      for number in 0..<count { try writer.insert(Document(title: "\(number)", text: "word"), into: Self.notes) }
    }
  }

  private func impatient(_ journal: CreateOptions.Journal) throws -> TestStore {
    var options = OpenOptions.testing
    options.wait = .milliseconds(1)
    return try TestStore({ $0.journal = journal }, options: options)
  }

  // MARK: Locks

  @Test func lockDelaysElementsAfterFirst() async throws {
    let test = try impatient(.rollback)
    let store = test.store
    try fill(store, 3)
    let list = Observer(store.observe(Self.notes))
    let count = Observer(store.observe { try $0.count(in: Self.notes) })
    #expect(try await list.require().count == 3)
    #expect(try await count.require() == 3)
    try fill(store, 1)
    let raw = try test.raw()
    try raw.execute("BEGIN EXCLUSIVE")
    let listing = Task { try await list.next() }
    let counting = Task { try await count.next() }
    // Every read fails while the file is locked. The observations fail at the same time, and try again.
    for _ in 0..<50 { expect(.locked) { try store.read { try $0.count(in: Self.notes) } } }
    // A first element fails, as any read does.
    let late = Observer(store.observe(Self.notes))
    await #expect(throws: StoreError(.locked, "")) { try await late.next() }
    try raw.execute("ROLLBACK")
    #expect(try await listing.value?.inserted.map(\.index) == [3])
    #expect(try await counting.value == 4)
  }

  /// The lock ends after the read that the subscription begins with, and before the read of the first element.
  @Test func lockAtBeginningFailsFirstElement() async throws {
    let test = try impatient(.rollback)
    let store = test.store
    try fill(store, 3)
    nonisolated(unsafe) let raw = try test.raw()
    let subscribe = store.subscription(to: nil, for: .reread)
    let observed = ObservedStore(
      subscribe: {
        _ = try? raw.execute("BEGIN EXCLUSIVE")
        defer { _ = try? raw.execute("ROLLBACK") }
        return subscribe()
      }, engine: { store.engine })
    let count = ReadingIteration(ClosureReads { try $0.count(in: Self.notes) }, observed)
    await #expect(throws: StoreError(.locked, "")) { try await count.next() }
    #expect(try await count.next() == nil)
  }

  @Test(arguments: CreateOptions.Journal.allCases)
  func observesBesideLongWrite(_ journal: CreateOptions.Journal) async throws {
    let test = try impatient(journal)
    let store = test.store
    try fill(store, 3)
    let meeting = Meeting()
    let writing = Background {
      try store.write { writer in
        _ = try writer.insert(Document(text: "late"), into: Self.notes)
        meeting.stop()
      }
    }
    await onThread { meeting.waitForArrival() }
    let list = Observer(store.observe(Self.notes))
    let count = Observer(store.observe { try $0.count(in: Self.notes) })
    // The writer's changes aren't visible before its commit.
    #expect(try await list.require().count == 3)
    #expect(try await count.require() == 3)
    meeting.letGo()
    try await withCheckedThrowingContinuation { continuation in
      Thread.detachNewThread { continuation.resume(with: Result { try writing.value() }) }
    }
    #expect(try await list.require().inserted.map(\.index) == [3])
    #expect(try await count.require() == 4)
  }

  // MARK: Many observations

  @Test(arguments: CreateOptions.Journal.allCases)
  func manyObservationsShareThreads(_ journal: CreateOptions.Journal) async throws {
    let test = try TestStore { $0.journal = journal }
    try fill(test.store, 20)
    try await test.store.close()
    var options = OpenOptions.testing
    // Only the threads limit the reads.
    options.maximumReaders = 300
    let store = try test.reopened(.published("primary"), options)
    let running = Running()
    let observers = (0..<300).map { number in
      Task {
        if number % 2 == 0 {
          for try await change in store.observe(Self.notes) where change.count == 21 { return }
        } else {
          let counts = store.observe { scope in
            try running.count {
              try scope.forEach(in: Self.notes) { _ in }
              return try scope.count(in: Self.notes)
            }
          }
          for try await count in counts where count == 21 { return }
        }
      }
    }
    await yieldUntil { running.most > 0 }
    _ = try await store.write { try $0.insert(Document(text: "last"), into: Self.notes) }
    for observer in observers { try await observer.value }
    #expect(running.most <= 16)
  }

  @Test func closingStoreEndsManyObservations() async throws {
    let test = try TestStore()
    let store = test.store
    try fill(store, 3)
    let begun = Shared()
    let observers = (0..<100).map { number in
      Task {
        if number % 2 == 0 {
          for try await _ in store.observe(Self.notes) { begun.add() }
        } else {
          for try await _ in store.observe({ try $0.count(in: Self.notes) }) { begun.add() }
        }
      }
    }
    await yieldUntil { begun.value >= 100 }
    try await store.close()
    for observer in observers { try await observer.value }
  }

  // MARK: Keys and files

  @Test func observationsSurviveOwnRekey() async throws {
    let test = try TestStore()
    let store = test.store
    try fill(store, 20)
    let list = Observer(store.observe(Self.notes))
    let texts = Observer(store.observe { scope in try scope.headers(in: Self.notes).map { try scope.text(of: $0.id) } })
    #expect(try await list.require().count == 20)
    #expect(try await texts.require().count == 20)
    _ = try store.rekey { _ in }
    try await store.write { try $0.update(7) { $0.text = "other" } }
    #expect(try await list.require().updated.map(\.index) == [6])
    #expect(try await texts.require()[6] == "other")
  }

  @Test func foreignKeyChangeEndsObservations() async throws {
    let test = try TestStore()
    let other = try test.reopened()
    try fill(test.store, 3)
    let list = Observer(test.store.observe(Self.notes))
    let count = Observer(test.store.observe { try $0.count(in: Self.notes) })
    #expect(try await list.require().count == 3)
    #expect(try await count.require() == 3)
    _ = try other.rekey(to: [.published("next")]) { _ in }
    await #expect(throws: StoreError(.keyChanged, "")) { while try await list.next() != nil {} }
    await #expect(throws: StoreError(.keyChanged, "")) { while try await count.next() != nil {} }
    // A new iteration begins with the list of that moment.
    try test.store.unlock(with: .published("next"))
    let again = Observer(test.store.observe(Self.notes))
    #expect(try await again.require().count == 3)
  }

  @Test func followsRestoredDocuments() async throws {
    let test = try TestStore()
    let store = test.store
    try fill(store, 5)
    let url = test.place.file("backup.coffer")
    try store.backup(to: url)
    let backup = try await DocumentStore.open(at: url, key: .published("primary"), options: .testing)
    try await store.write { writer in
      try writer.delete(2)
      try writer.update(3) { $0.title = "changed" }
    }
    let list = Observer(store.observe(Self.notes))
    var model = ListModel<DocumentHeader>()
    try model.take(try await list.require())
    _ = try store.restore([2, 3], from: backup)
    try model.take(try await list.require())
    model.expectSame(as: try await store.read { try $0.headers(in: Self.notes) })
    #expect(model.rows.map(\.title) == ["0", "1", "2", "3", "4"])
  }

  /// An older file replaces the store: the observation ends, and doesn't show the older documents.
  @Test func replacedFileEndsObservation() async throws {
    let test = try TestStore()
    let store = test.store
    try fill(store, 5)
    let url = test.place.file("backup.coffer")
    try store.backup(to: url)
    try fill(store, 1)
    let list = Observer(store.observe(Self.notes))
    #expect(try await list.require().count == 6)
    try await store.close()
    #expect(try await list.next() == nil)
    _ = try DocumentStore.restore(at: test.url, from: url, replacing: true)
    let restored = try test.reopened()
    let again = Observer(restored.observe(Self.notes))
    #expect(try await again.require().count == 5)
    try fill(restored, 1)
    #expect(try await again.require().inserted.map(\.index) == [5])
  }

  // MARK: Indexes

  @Test func searchesFollowIndexUpkeep() async throws {
    let test = try TestStore { $0.journal = .writeAheadLog }
    let store = test.store
    try fill(store, 10)
    try store.index(Self.notes, .words())
    let runs = Mutex(0)
    let found = Observer(
      store.observe { scope in
        runs.withLock { $0 += 1 }
        return try scope.search(ranked: "word", in: Self.notes, limit: 1).total
      })
    #expect(try await found.require() == 10)
    // The reads update the index in the file after 256 documents, with a commit of their own.
    for round in 1...8 {
      try fill(store, 100)
      #expect(try await found.require() == 10 + 100 * round)
    }
    try await store.write { _ = try $0.insert(Document(text: "other"), into: Self.notes) }
    try fill(store, 1)
    #expect(try await found.require() == 811)
    #expect(runs.withLock { $0 } <= 20)
  }

  @Test func settingsAndIndexesAreReads() async throws {
    let test = try TestStore()
    let store = test.store
    try fill(store, 2)
    try await store.write { _ = try $0.insert(Document(text: ""), into: "others") }
    let indexes = Observer(store.observe { try $0.indexes(of: Self.notes) })
    let names = Observer(store.observe { try $0.collections().map(\.name) })
    #expect(try await indexes.require() == [])
    #expect(try await names.require() == ["notes", "others"])
    try store.index(Self.notes, .words())
    #expect(try await indexes.require() == [.words()])
    try await store.write { try $0.reorder(["others", "notes"]) }
    #expect(try await names.require() == ["others", "notes"])
  }
}
