import Coffer
import CofferRecords
import CofferTestSupport
import Foundation
import Testing

@testable import CofferStoreTestSupport

/// Observed lists, which deliver the whole list first and differences after it.
struct ObserveTests {
  private static let notes = DocumentCollection("notes")

  private func next(_ iterator: inout StoreObservation<ListChange<DocumentHeader>>.AsyncIterator) async throws
    -> ListChange<DocumentHeader>
  {
    try #require(try await iterator.next())
  }

  private func fill(_ store: DocumentStore, _ count: Int) async throws {
    try await store.write { writer in
      for number in 0..<count { try writer.insert(Document(title: "\(number)", text: "\(number)"), into: Self.notes) }
    }
  }

  @Test func deliversListThenDifferences() async throws {
    let test = try TestStore()
    let store = test.store
    try await fill(store, 5)
    var iterator = store.observe(Self.notes).makeAsyncIterator()
    var model = ListModel<DocumentHeader>()
    let first = try await next(&iterator)
    #expect(first.inserted.map(\.element.id) == [1, 2, 3, 4, 5] && first.countBefore == 0 && !first.hasMore)
    try model.take(first)
    try await store.write { writer in
      try writer.delete(2)
      try writer.move(5, to: .top)
      try writer.update(3) { $0.title = "three" }
      try writer.insert(Document(title: "new", text: ""), into: Self.notes, at: .after(3))
    }
    let second = try await next(&iterator)
    #expect(second.deleted == [1])
    #expect(second.moved.map(\.from) == [4] && second.moved.map(\.to) == [0])
    #expect(second.inserted.map(\.index) == [3] && second.inserted.map(\.element.id) == [6])
    #expect(second.updated.map(\.from) == [2] && second.updated.map(\.index) == [2])
    #expect(second.updated.map(\.element.title) == ["three"])
    try model.take(second)
    model.expectSame(as: try await store.read { try $0.headers(in: Self.notes) })
    #expect(try await store.read { $0.generation } == second.generation)
  }

  @Test func followsCollectionFromCreationToDrop() async throws {
    let test = try TestStore()
    let store = test.store
    var iterator = store.observe(Self.notes).makeAsyncIterator()
    let first = try await next(&iterator)
    #expect(first.count == 0 && first.isEmpty)
    try await fill(store, 2)
    #expect(try await next(&iterator).inserted.map(\.index) == [0, 1])
    try await store.write { _ = try $0.rename(Self.notes, to: "renamed") }
    try await store.write { try $0.insert(Document(text: ""), into: DocumentCollection("renamed"), at: .top) }
    #expect(try await next(&iterator).inserted.map(\.index) == [0])
    try await store.write { try $0.drop(DocumentCollection("renamed")) }
    let last = try await next(&iterator)
    #expect(last.deleted == [0, 1, 2] && last.count == 0)
    // This creates another collection with the same name and number.
    try await fill(store, 1)
    #expect(try await next(&iterator).inserted.count == 1)
  }

  @Test func followsRecreatedCollection() async throws {
    let test = try TestStore()
    let store = test.store
    try await fill(store, 3)
    var iterator = store.observe(Self.notes).makeAsyncIterator()
    var model = ListModel<DocumentHeader>()
    try model.take(try await next(&iterator))
    try await store.write { writer in
      try writer.truncate(Self.notes, restartingIDs: true)
      try writer.drop(Self.notes)
      for _ in 0..<2 { try writer.insert(Document(title: "again", text: ""), into: Self.notes) }
    }
    let change = try await next(&iterator)
    #expect(change.count == 2 && !change.deleted.isEmpty)
    try model.take(change)
    model.expectSame(as: try await store.read { try $0.headers(in: Self.notes) })
  }

  /// A collection gets the list's name and loses it before the list reads.
  @Test func showsNextCollectionWithName() async throws {
    let test = try TestStore()
    let store = test.store
    var iterator = store.observe(Self.notes).makeAsyncIterator()
    #expect(try await next(&iterator).count == 0)
    _ = try await store.write { try $0.insert(Document(text: "unseen"), into: Self.notes) }
    try await store.write { try $0.rename(Self.notes, to: "other") }
    let id = try await store.write { try $0.insert(Document(text: "shown"), into: Self.notes) }
    #expect(try await next(&iterator).inserted.map(\.element.id) == [id])
    _ = try await store.write { try $0.insert(Document(text: "elsewhere"), into: "other") }
    try await store.write { try $0.delete(id) }
    #expect(try await next(&iterator).deleted == [0])
  }

  @Test func combinesCommitsForSlowConsumer() async throws {
    let test = try TestStore()
    let store = test.store
    try await fill(store, 10)
    var iterator = store.observe(Self.notes).makeAsyncIterator()
    _ = try await next(&iterator)
    for number in 0..<20 {
      try await store.write { try $0.insert(Document(title: "\(number)", text: ""), into: Self.notes, at: .top) }
    }
    let gone = try await store.write { try $0.insert(Document(text: ""), into: Self.notes) }
    try await store.write { try $0.delete(gone) }
    let change = try await next(&iterator)
    #expect(change.inserted.map(\.index) == Array(0..<20) && change.deleted.isEmpty)
    #expect(try await store.read { $0.generation } == change.generation)
  }

  @Test func appliesChangedLimit() async throws {
    let test = try TestStore()
    let store = test.store
    try await fill(store, 10)
    let list = store.observe(Self.notes, first: 3)
    var iterator = list.makeAsyncIterator()
    var model = ListModel<DocumentHeader>()
    let first = try await next(&iterator)
    #expect(first.inserted.map(\.element.id) == [1, 2, 3] && first.hasMore)
    try model.take(first)
    try await store.write { try $0.insert(Document(text: ""), into: Self.notes, at: .top) }
    let second = try await next(&iterator)
    #expect(second.inserted.map(\.index) == [0] && second.deleted == [2] && second.hasMore)
    try model.take(second)
    list.setLimit(6)
    let third = try await next(&iterator)
    #expect(third.inserted.map(\.index) == [3, 4, 5] && third.deleted.isEmpty && third.hasMore)
    try model.take(third)
    model.expectSame(as: try await store.read { try $0.headers(in: Self.notes, limit: 6) })
    list.setLimit(100)
    #expect(try await next(&iterator).hasMore == false)
    list.setLimit(0)
    let last = try await next(&iterator)
    #expect(last.count == 0 && last.hasMore)
  }

  @Test func omitsChangesBeyondLimit() async throws {
    let test = try TestStore()
    let store = test.store
    try await fill(store, 10)
    var iterator = store.observe(Self.notes, first: 3).makeAsyncIterator()
    _ = try await next(&iterator)
    try await store.write { try $0.update(9) { $0.title = "behind" } }
    try await store.write { try $0.move(9, to: .bottom) }
    try await store.write { try $0.update(2) { $0.title = "seen" } }
    let change = try await next(&iterator)
    #expect(change.updated.map(\.index) == [1] && change.deleted.isEmpty && change.inserted.isEmpty)
    #expect(change.hasMore)
  }

  @Test func startsEachIteratorWithList() async throws {
    let test = try TestStore()
    let store = test.store
    try await fill(store, 3)
    let list = store.observe(Self.notes)
    var iterators = [list.makeAsyncIterator(), list.makeAsyncIterator()]
    for index in iterators.indices { #expect(try await next(&iterators[index]).inserted.count == 3) }
    try await store.write { try $0.delete(1) }
    for index in iterators.indices { #expect(try await next(&iterators[index]).deleted == [0]) }
  }

  @Test func observesCommitsFromOtherHandle() async throws {
    let test = try TestStore()
    let store = test.store
    let other = try test.reopened()
    try await fill(store, 4)
    var iterator = store.observe(Self.notes).makeAsyncIterator()
    var model = ListModel<DocumentHeader>()
    try model.take(try await next(&iterator))
    try await other.write { try $0.move(4, to: .top) }
    try model.take(try await next(&iterator))
    // The commits exceed the state's ring and include deletions, so the list is reread.
    for number in 0..<80 {
      try await other.write { writer in
        let id = try writer.insert(Document(title: "\(number)", text: ""), into: Self.notes, at: .before(1))
        if number % 3 == 0 { try writer.delete(id) }
      }
    }
    try await other.write { try $0.update(2) { $0.title = "end" } }
    let end = try await other.read { $0.generation }
    while true {
      let change = try await next(&iterator)
      try model.take(change)
      if change.generation == end { break }
    }
    model.expectSame(as: try await store.read { try $0.headers(in: Self.notes) })
  }

  @Test func reportsSingleMoveInLargeList() async throws {
    let test = try TestStore()
    let store = test.store
    try await fill(store, 2000)
    var iterator = store.observe(Self.notes).makeAsyncIterator()
    _ = try await next(&iterator)
    try await store.write { try $0.move(1, to: .bottom) }
    let change = try await next(&iterator)
    #expect(change.moved.map(\.from) == [0] && change.moved.map(\.to) == [1999])
    #expect(change.deleted.isEmpty && change.inserted.isEmpty && change.updated.isEmpty)
  }

  // MARK: The end

  @Test func throwsDamageOnceAndEnds() async throws {
    let test = try TestStore()
    let store = test.store
    try await fill(store, 3)
    var iterator = store.observe(Self.notes).makeAsyncIterator()
    _ = try await next(&iterator)
    try test.raw().execute("UPDATE coffer_record SET head = zeroblob(length(head)) WHERE id = 2")
    try await store.write { try $0.move(3, to: .before(1)) }
    try await store.write { try $0.insert(Document(text: ""), into: Self.notes, at: .after(1)) }
    // Positions next to the damaged row aren't trusted.
    var thrown: StoreError?
    do {
      while try await iterator.next() != nil {
        try await store.write { try $0.insert(Document(text: ""), into: Self.notes, at: .bottom) }
        try await store.write { writer in
          for id in 3...4 { try writer.update(DocumentID(id)) { $0.text += "x" } }
        }
      }
    } catch {
      thrown = error as? StoreError
    }
    #expect(thrown?.code == .damaged)
    #expect(try await iterator.next() == nil)
  }

  @Test func ignoresCollectionWithReusedNumber() async throws {
    let test = try TestStore()
    let store = test.store
    try await fill(store, 2)
    var rows: [DocumentHeader] = []
    var iterator = store.observe(Self.notes).makeAsyncIterator()
    try await next(&iterator).apply(to: &rows)
    try await store.write { writer in
      try writer.drop(Self.notes)
      try writer.create("other")
    }
    try await next(&iterator).apply(to: &rows)
    #expect(rows.isEmpty)
    try await store.write { _ = try $0.insert(Document(text: "elsewhere"), into: "other") }
    let id = try await store.write { try $0.insert(Document(text: "again"), into: Self.notes) }
    try await next(&iterator).apply(to: &rows)
    #expect(rows.map(\.id) == [id])
  }

  @Test func closingStoreEndsSequence() async throws {
    let test = try TestStore()
    let store = test.store
    var iterator = store.observe(Self.notes).makeAsyncIterator()
    _ = try await next(&iterator)
    try await store.close()
    #expect(try await iterator.next() == nil)
    var late = store.observe(Self.notes).makeAsyncIterator()
    await #expect(throws: StoreError(.closed, "")) { try await late.next() }
    #expect(try await late.next() == nil)
  }

  @Test func releasingStoreEndsSequence() async throws {
    let test = try TestStore()
    var store: DocumentStore? = try test.reopened()
    let list = try #require(store).observe(Self.notes)
    var iterator = list.makeAsyncIterator()
    _ = try await next(&iterator)
    store = nil
    #expect(try await iterator.next() == nil)
  }

  @Test func cancelingTaskEndsSequence() async throws {
    let test = try TestStore()
    let store = test.store
    try await fill(store, 3)
    let began = Flag()
    let task = Task {
      var count = 0
      for try await _ in store.observe(Self.notes) {
        count += 1
        began.set()
      }
      return count
    }
    await yieldUntil { began.isSet }
    task.cancel()
    #expect(try await task.value == 1)
  }
}
