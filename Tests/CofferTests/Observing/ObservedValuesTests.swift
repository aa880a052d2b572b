import Coffer
import CofferRecords
import Foundation
import Synchronization
import Testing

@testable import CofferStoreTestSupport

/// Observed lists of values.
struct ObservedValuesTests {
  private struct Task: Codable, Sendable, Equatable {
    var title: String
    var isDone = false
  }

  private struct NewerTask: VersionedValue {
    static let schema = 2
    var title: String
    var isDone = false
  }

  private static let tasks = DocumentCollection("tasks")
  private typealias Change = ListChange<StoredValue<Task>>

  /// A condition that counts the values it's asked about, each of which was decrypted.
  private final class Counter: Sendable {
    private let count = Mutex(0)

    func isOpen(_ task: Task) -> Bool {
      count.withLock { $0 += 1 }
      return !task.isDone
    }

    func take() -> Int {
      count.withLock { count in
        defer { count = 0 }
        return count
      }
    }
  }

  private func fill(_ store: DocumentStore, _ count: Int) throws {
    try store.write { writer in
      for number in 0..<count { try writer.insert(Task(title: "\(number)"), into: Self.tasks) }
    }
  }

  @Test func conditionDecidesMembership() async throws {
    let test = try TestStore()
    let store = test.store
    try fill(store, 3)
    let iterator = Observer(store.observe(Task.self, in: Self.tasks) { !$0.isDone })
    #expect(try await iterator.require().inserted.map(\.element.title) == ["0", "1", "2"])
    try await store.write { writer in
      try writer.update(2, as: Task.self) { $0.isDone = true }
      try writer.update(3, as: Task.self) { $0.title = "two" }
    }
    let done = try await iterator.require()
    #expect(done.deleted == [1] && done.inserted.isEmpty && done.updated.map(\.index) == [1] && done.count == 2)
    try await store.write { try $0.update(2, as: Task.self) { $0 = Task(title: "again") } }
    let again = try await iterator.require()
    #expect(again.inserted.map(\.index) == [1] && again.inserted.map(\.element.title) == ["again"])
    try await store.write { try $0.update(2, as: Task.self) { $0.title = "changed" } }
    #expect(try await iterator.require().updated.map(\.element.title) == ["changed"])
  }

  @Test func omitsChangesOfOtherValues() async throws {
    let test = try TestStore()
    let store = test.store
    try fill(store, 3)
    let iterator = Observer(store.observe(Task.self, in: Self.tasks) { !$0.isDone })
    _ = try await iterator.require()
    try await store.write { try $0.insert(Task(title: "done", isDone: true), into: Self.tasks, at: .top) }
    try await store.write { try $0.move(4, to: .after(1)) }
    try await store.write { try $0.delete(4) }
    try await store.write { try $0.insert(Task(title: "next"), into: Self.tasks, at: .top) }
    let change = try await iterator.require()
    #expect(change.inserted.map(\.element.title) == ["next"] && change.moved.isEmpty && change.deleted.isEmpty)
  }

  @Test func decryptsOnlyChangedValues() async throws {
    let test = try TestStore()
    let store = test.store
    try fill(store, 200)
    let counter = Counter()
    let list = store.observe(Task.self, in: Self.tasks, first: 50) { counter.isOpen($0) }
    let iterator = Observer(list)
    var model = ListModel<StoredValue<Task>>()
    try model.take(try await iterator.require())
    #expect(counter.take() == 51)
    // Each change, and the number of texts that it decrypts.
    let changes: [(Int, @Sendable (inout WriteTransaction) throws -> Void)] = [
      (1, { try $0.update(10, as: Task.self) { $0.title = "changed" } }),
      (1, { try $0.insert(Task(title: "new"), into: Self.tasks, at: .top) }),
      // The value that moves up into the list, and the one after it.
      (2, { try $0.delete(20) }),
      (1, { try $0.move(30, to: .top) }),
      // The value becomes the first one beyond the limit.
      (3, { try $0.move(1, to: .bottom) }),
      (3, { try $0.update(40, as: Task.self) { $0.isDone = true } }),
      (1, { try $0.update(40, as: Task.self) { $0.isDone = false } }),
    ]
    for (number, (count, change)) in changes.enumerated() {
      try await store.write(change)
      try model.take(try await iterator.require())
      #expect(counter.take() <= count, "change \(number)")
      let values = try await store.read { try $0.values(Task.self, in: Self.tasks, limit: 50) { !$0.isDone } }
      model.expectSame(as: values)
    }
    // Values beyond the limit aren't decrypted.
    for id in 150..<160 {
      try await store.write { try $0.update(DocumentID(Int64(id)), as: Task.self) { $0.title = "far" } }
    }
    list.setLimit(60)
    let raised = try await iterator.require()
    #expect(raised.inserted.map(\.index) == Array(50..<60) && raised.deleted.isEmpty && raised.hasMore)
    #expect(counter.take() == 11)
    list.setLimit(30)
    #expect(try await iterator.require().deleted == Array(30..<60))
    #expect(counter.take() == 0)
  }

  @Test func undecodableDocumentEndsIteration() async throws {
    let test = try TestStore()
    let store = test.store
    try fill(store, 2)
    let iterator = Observer(store.observe(Task.self, in: Self.tasks))
    _ = try await iterator.require()
    let id = try await store.write { try $0.insert(Document(text: "no value"), into: Self.tasks) }
    let error = await #expect(throws: StoreError.self) { try await iterator.next() }
    #expect(error?.code == .notDecodable && error?.documentID == id)
    #expect(try await iterator.next() == nil)
    let late = Observer(store.observe(Task.self, in: Self.tasks))
    let again = await #expect(throws: StoreError.self) { try await late.next() }
    #expect(again?.code == .notDecodable && again?.documentID == id)
  }

  @Test func skipsOtherDocumentsIfAsked() async throws {
    let test = try TestStore()
    let store = test.store
    try fill(store, 2)
    let iterator = Observer(store.observe(Task.self, in: Self.tasks, skippingOthers: true))
    _ = try await iterator.require()
    try await store.write { try $0.insert(Document(text: "no value"), into: Self.tasks, at: .top) }
    // A newer version of the app converts a value, so this version can't read it anymore.
    try await store.write { _ = try $0.put(NewerTask(title: "newer"), id: 1, into: Self.tasks) }
    #expect(try await iterator.require().deleted == [0])
    try await store.write { try $0.insert(Task(title: "last"), into: Self.tasks) }
    #expect(try await iterator.require().inserted.map(\.index) == [1])
  }

  @Test func newerValueEndsIteration() async throws {
    let test = try TestStore()
    let store = test.store
    try fill(store, 2)
    let iterator = Observer(store.observe(Task.self, in: Self.tasks))
    _ = try await iterator.require()
    try await store.write { _ = try $0.put(NewerTask(title: "newer"), id: 1, into: Self.tasks) }
    let error = await #expect(throws: StoreError.self) { try await iterator.next() }
    #expect(error?.code == .notDecodable && error?.documentID == 1)
    // The newer app sees its own value, and older values converted.
    let newer = Observer(store.observe(NewerTask.self, in: Self.tasks))
    #expect(try await newer.next()?.inserted.map(\.element.title) == ["newer", "1"])
  }

  @Test func followsRenameDropAndMerge() async throws {
    let test = try TestStore()
    let store = test.store
    try fill(store, 3)
    let url = test.place.file("copy.coffer")
    _ = try store.makeEditableCopy(at: url, keys: [.published("primary")])
    let copy = try await DocumentStore.open(at: url, key: .published("primary"), options: .testing)
    let iterator = Observer(store.observe(Task.self, in: Self.tasks) { !$0.isDone })
    var model = ListModel<StoredValue<Task>>()
    try model.take(try await iterator.require())
    try await copy.write { writer in
      try writer.update(1, as: Task.self) { $0.isDone = true }
      try writer.insert(Task(title: "from the copy"), into: Self.tasks, at: .top)
    }
    _ = try store.merge(copy)
    try model.take(try await iterator.require())
    #expect(model.rows.map(\.title) == ["from the copy", "1", "2"])
    try await store.write { try $0.rename(Self.tasks, to: "renamed") }
    try await store.write { try $0.update(2, as: Task.self) { $0.title = "renamed" } }
    try model.take(try await iterator.require())
    #expect(model.rows.map(\.title) == ["from the copy", "renamed", "2"])
    try await store.write { try $0.drop("renamed") }
    try model.take(try await iterator.require())
    #expect(model.rows.isEmpty)
  }
}
