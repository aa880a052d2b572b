import Coffer
import CofferRecords
import CofferSQLite
import CofferTestSupport
import Testing

@testable import CofferEngine
@testable import CofferStoreTestSupport

/// Changes since an earlier state, read from the ring or found by a walk, including after an attacker edits rows.
struct ProvedChangesTests {
  private typealias Entry = RingChanges.Entry

  private let test: TestStore
  private let other: DocumentStore
  private let ids: [DocumentID]

  init() throws {
    test = try TestStore()
    other = try test.reopened()
    let notes = test.notes
    ids = try test.store.write { writer in
      try (1...9).map { try writer.insert(Document(title: "\($0)", text: "\($0)"), into: notes) }
    }
  }

  private func state() throws -> StoreState {
    try test.store.engine.reading { transaction throws(StoreError) in transaction.state }
  }

  private func changes(since earlier: StoreState) throws -> [RingChanges] {
    try test.store.engine.reading { transaction throws(StoreError) in
      try transaction.changes(since: earlier).changes
    }
  }

  /// Makes more commits than the ring holds, without changing a document.
  private func pass(_ count: Int = 330) throws {
    for _ in 0..<count {
      try other.engine.writing { transaction throws(StoreError) in
        try transaction.writer.willWrite()
        try transaction.commit()
      }
    }
  }

  // MARK: Changes since a state

  @Test func ringReturnsChangesOfEachGeneration() throws {
    let earlier = try state()
    try other.write { try $0.update(ids[0]) { $0.text = "x" } }
    try other.write { try $0.delete(ids[1]) }
    try other.write { try $0.rename(test.notes, to: "renamed") }
    #expect(
      try changes(since: earlier) == [
        .entries([Entry(.textChanged, in: 1, [1...1]), Entry(.headChanged, in: 1, [1...1])]),
        .entries([Entry(.deleted, in: 1, [2...2])]), .entries([Entry(.collection, in: 1)]),
      ])
    #expect(try changes(since: try state()) == [])
  }

  @Test func walkReportsHeadChanges() throws {
    let earlier = try state()
    try other.write { writer in
      try writer.update(ids[0]) { $0.text = "x" }
      try writer.update(ids[1]) { $0.modified = Timestamp(millisecondsSince1970: 5) }
      try writer.move(ids[2], to: .top)
      try writer.setParent(of: ids[3], to: ids[4])
      let gone = try writer.insert(Document(text: "gone"), into: test.notes)
      try writer.delete(gone)
      try writer.insert(Document(text: "new"), into: test.notes)
    }
    try pass()
    #expect(
      try changes(since: earlier) == [
        .entries([
          Entry(.inserted, in: 1, [11...11]), Entry(.textChanged, in: 1, [1...1]),
          Entry(.headChanged, in: 1, [1...4]), Entry(.moved, in: 1, [3...4]),
        ])
      ])
  }

  @Test func walkReportsDeletionAsEverything() throws {
    let earlier = try state()
    try other.write { writer in
      try writer.insert(Document(text: "new"), into: test.notes)
      try writer.delete(ids[3])
    }
    try pass()
    #expect(try changes(since: earlier) == [.everything])
  }

  @Test func walkReportsMoveBetweenCollectionsAsEverything() throws {
    try other.write { try $0.create("other") }
    let earlier = try state()
    try other.write { try $0.move(ids[0], into: "other") }
    try pass()
    #expect(try changes(since: earlier) == [.everything])
  }

  @Test func walkFindsChangesOfLargeCommit() throws {
    let many = try other.write { [notes = test.notes] writer in
      try (1...8000).map { try writer.insert(Document(text: "\($0)"), into: notes) }
    }
    let earlier = try state()
    let odd = many.enumerated().filter { $0.offset.isMultiple(of: 2) }.map(\.element)
    try other.write { writer in for id in odd { try writer.move(id, to: .top) } }
    #expect(try state().ring.changes(after: earlier.generation)?.first?.changes == .everything)
    let ranges = odd.map { $0.rawValue...$0.rawValue }
    #expect(
      try changes(since: earlier) == [
        .entries([Entry(.headChanged, in: 1, ranges), Entry(.moved, in: 1, ranges)])
      ])
  }

  @Test func omitsRekey() throws {
    let earlier = try state()
    _ = try test.store.rekey { _ in }
    // A new root key clears the ring.
    #expect(try state().ring.changes(after: earlier.generation) == nil)
    #expect(try changes(since: earlier) == [.entries([])])
  }

  @Test func reportsDivergedHistoryAsEverything() throws {
    let copy = try test.place.copy(test.url, as: "fork.coffer")
    let fork = try DocumentStore.open(at: copy, key: .published("primary"), options: .testing)
    try other.write { try $0.update(ids[0]) { $0.text = "x" } }
    let earlier = try state()
    // Commits a different change at the same generation, then another change.
    try fork.write { try $0.delete(ids[1]) }
    try fork.write { try $0.delete(ids[2]) }
    try fork.engine.reading { transaction throws(StoreError) in
      #expect(try! transaction.changes(since: earlier).changes == [.everything])
      #expect(try! transaction.changesInRing(since: earlier) == nil)
    }
    try fork.close()
  }

  // MARK: Rows edited by an attacker without a key

  private static let columns = "coll,epoch,rev,pos,parent,flags,lookup,title,head,body_nt,body"

  /// A way to edit rows without going through the store.
  enum Planting: CaseIterable {
    case copiedRow, deletedRow, movedRow, olderRow

    func plant(_ test: TestStore) throws {
      let database = try test.raw()
      switch self {
      case .copiedRow:
        // The state allows this ID.
        try database.execute("DELETE FROM coffer_record WHERE id=9")
        try database.execute(
          "INSERT INTO coffer_record SELECT 9,\(ProvedChangesTests.columns) FROM coffer_record WHERE id=8")
      case .deletedRow:
        try database.execute("DELETE FROM coffer_record WHERE id=5")
      case .movedRow:
        try database.execute("UPDATE coffer_record SET pos=CAST(pos||x'01' AS BLOB),rev=rev+1 WHERE id=5")
      case .olderRow:
        try database.execute("UPDATE coffer_record SET rev=rev-1 WHERE id=5")
      }
      try database.close()
    }
  }

  @Test(arguments: Planting.allCases)
  func omitsPlantedRow(_ planting: Planting) async throws {
    let notes = test.notes
    var iterator = test.store.changes(in: notes).makeAsyncIterator()
    try planting.plant(test)
    test.store.engine.poll()
    let new = try await other.write { try $0.insert(Document(text: "new"), into: DocumentCollection("notes")) }
    test.store.engine.poll()
    let change = try #require(try await iterator.next())
    #expect(change.collections.count == 1 && change.isComplete)
    #expect(change.inserted == [new] && change.deleted.isEmpty && change.updated.isEmpty && change.moved.isEmpty)
  }

  @Test(.slow, arguments: Planting.allCases)
  func walkReportsPlantedRowAsDamage(_ planting: Planting) async throws {
    var iterator = test.store.changes(in: test.notes).makeAsyncIterator()
    // Prevents timed polls from reporting before the ring has overflowed.
    let feed = test.store.engine.session.feed
    feed.willCommit(0)
    try await other.write { [ids] in try $0.update(ids[0]) { $0.text = "x" } }
    try pass()
    try planting.plant(test)
    feed.commitFailed()
    test.store.engine.poll()
    await #expect(throws: StoreError(.damaged, "")) { try await iterator.next() }
    #expect(try await iterator.next() == nil)
  }

  @Test(.slow) func reportsManyCommitsBetweenPolls() async throws {
    var iterator = test.store.changes(in: test.notes).makeAsyncIterator()
    let feed = test.store.engine.session.feed
    feed.willCommit(0)
    try await other.write { [ids] in try $0.update(ids[0]) { $0.text = "x" } }
    try pass()
    feed.commitFailed()
    test.store.engine.poll()
    let change = try #require(try await iterator.next())
    #expect(change.isComplete && change.updated == [ids[0]] && change.moved.isEmpty)
    feed.willCommit(0)
    try await other.write { [ids] in try $0.delete(ids[0]) }
    try pass()
    feed.commitFailed()
    test.store.engine.poll()
    #expect(try await iterator.next()?.isComplete == false)
  }

  @Test func walkReportsDroppedCollection() async throws {
    try await other.write { try $0.create(DocumentCollection("empty")) }
    var iterator = test.store.changes().makeAsyncIterator()
    let feed = test.store.engine.session.feed
    feed.willCommit(0)
    try await other.write { try $0.drop(DocumentCollection("empty")) }
    try pass()
    feed.commitFailed()
    test.store.engine.poll()
    let change = try #require(try await iterator.next())
    #expect(change.isComplete && change.collections.isEmpty && change.changedCollections == [CollectionID(2)])
  }
}
