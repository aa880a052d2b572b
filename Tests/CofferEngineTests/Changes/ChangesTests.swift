import Coffer
import CofferRecords
import Foundation
import Testing

@testable import CofferEngine
@testable import CofferStoreTestSupport

/// Changes that subscribers receive from local commits and from polls for commits of other stores.
struct ChangesTests {
  private func title(_ text: String) -> Document { Document(title: text, text: text) }

  /// Returns the next change, and fails if the sequence has ended.
  private func next(_ iterator: inout StoreObservation<StoreChange>.AsyncIterator) async throws -> StoreChange {
    try #require(try await iterator.next())
  }

  @Test func reportsLocalCommitExactly() async throws {
    let test = try TestStore()
    let notes = test.notes
    let ids = try await test.store.write { writer in
      try (1...4).map { try writer.insert(Document(text: "\($0)"), into: notes) }
    }
    let changes = test.store.changes(in: notes)
    var iterator = changes.makeAsyncIterator()
    let new = try await test.store.write { writer in
      try writer.update(ids[0]) { $0.text = "other" }
      try writer.move(ids[1], to: .top)
      try writer.delete(ids[2])
      let gone = try writer.insert(Document(text: "gone"), into: notes)
      try writer.delete(gone)
      return try writer.insert(Document(text: "5"), into: notes)
    }
    let change = try await next(&iterator)
    #expect(change.inserted == [new])
    #expect(change.updated == [ids[0]])
    #expect(change.moved == [ids[1]])
    #expect(change.deleted == [ids[2]])
    #expect(change.isComplete && change.changedCollections.isEmpty)
    #expect(try await test.store.read { $0.generation } == change.generation)
  }

  @Test func deliversEveryChangeToEachIterator() async throws {
    let test = try TestStore()
    let notes = test.notes
    let changes = test.store.changes(in: notes)
    let id = try await test.store.write { try $0.insert(Document(text: "x"), into: notes) }
    var first = changes.makeAsyncIterator()
    var second = changes.makeAsyncIterator()
    // The first iterator receives changes since the sequence was created.
    #expect(try await next(&first).inserted == [id])
    try await test.store.write { try $0.update(id) { $0.text = "y" } }
    #expect(try await next(&first).updated == [id])
    #expect(try await next(&second).updated == [id])
    try await test.store.write { try $0.delete(id) }
    #expect(try await next(&second).deleted == [id])
    #expect(try await next(&first).deleted == [id])
  }

  @Test func omitsRolledBackChanges() async throws {
    let test = try TestStore()
    let notes = test.notes
    let id = try await test.store.write { try $0.insert(Document(text: "x"), into: notes) }
    var iterator = test.store.changes().makeAsyncIterator()
    await #expect(throws: Interruption()) {
      try await test.store.write { writer in
        try writer.delete(id)
        throw Interruption()
      }
    }
    try await test.store.write { writer in
      #expect(throws: Interruption()) {
        try writer.savepoint { inner in
          try inner.delete(id)
          throw Interruption()
        }
      }
      try writer.update(id) { $0.text = "y" }
    }
    let change = try await next(&iterator)
    #expect(change.deleted.isEmpty && change.updated == [id])
  }

  @Test func pollReportsCommitsOfAnotherHandle() async throws {
    let test = try TestStore()
    let other = try test.reopened()
    let notes = test.notes
    let ids = try await other.write { writer in
      try (1...4).map { try writer.insert(Document(text: "\($0)"), into: notes) }
    }
    let changes = test.store.changes(in: notes)
    var iterator = changes.makeAsyncIterator()
    try await other.write { try $0.update(ids[0]) { $0.text = "other" } }
    try await other.write { try $0.move(ids[1], to: .top) }
    try await other.write { try $0.delete(ids[2]) }
    let new = try await other.write { try $0.insert(Document(text: "5"), into: notes) }
    var told = StoreChange(generation: 0)
    let last = try await other.read { $0.generation }
    while told.generation < last { told.merge(try await next(&iterator)) }
    #expect(told.inserted == [new])
    #expect(told.updated == [ids[0]])
    #expect(told.moved == [ids[1]])
    #expect(told.deleted == [ids[2]])
  }

  @Test func reportsLocalAndForeignCommitsOnce() async throws {
    let test = try TestStore()
    let other = try test.reopened()
    let notes = test.notes
    var iterator = test.store.changes(in: notes).makeAsyncIterator()
    var inserted: [DocumentID] = []
    var told: [DocumentID: Int] = [:]
    for round in 0..<60 {
      let store = round % 3 == 0 ? other : test.store
      inserted.append(try await store.write { try $0.insert(Document(text: "\(round)"), into: notes) })
      if round % 7 == 0 { test.store.engine.poll() }
    }
    while told.count < inserted.count {
      for id in try await next(&iterator).inserted { told[id, default: 0] += 1 }
    }
    #expect(told == Dictionary(uniqueKeysWithValues: inserted.map { ($0, 1) }))
    try test.expectSound()
  }

  // MARK: Local commits after unpolled foreign commits

  /// Returns the changes reported for a foreign and then a local change to a document, both before any poll.
  private func reportedChanges(
    _ others: @escaping @Sendable (inout WriteTransaction, DocumentID) throws -> Void,
    _ ours: @escaping @Sendable (inout WriteTransaction, DocumentID) throws -> Void
  ) async throws -> (first: StoreChange, all: StoreChange, id: DocumentID) {
    let test = try TestStore()
    let other = try test.reopened()
    let notes = test.notes
    let ids = try await test.store.write { writer in
      try (1...4).map { try writer.insert(Document(text: "\($0)"), into: notes) }
    }
    var iterator = test.store.changes(in: notes).makeAsyncIterator()
    // Prevents timed polls from reporting before the local commit ends.
    test.store.engine.session.feed.willCommit(0)
    try await other.write { try others(&$0, ids[2]) }
    try await test.store.write { try ours(&$0, ids[2]) }
    let first = try await next(&iterator)
    // A final insertion marks the end of the reported changes.
    let mark = try await other.write { try $0.insert(Document(text: "mark"), into: notes) }
    var all = first
    while !all.inserted.contains(mark) { all.merge(try await next(&iterator)) }
    return (first, all, ids[2])
  }

  @Test func combinesForeignMoveWithLocalUpdate() async throws {
    let (first, all, id) = try await reportedChanges(
      { try $0.move($1, to: .top) }, { try $0.update($1) { $0.text = "x" } })
    // The local commit reports both changes without waiting for a poll.
    #expect(first.updated == [id] && first.moved == [id])
    #expect(all.updated == [id] && all.moved == [id])
  }

  @Test func combinesForeignUpdateWithLocalMove() async throws {
    let (_, all, id) = try await reportedChanges({ try $0.update($1) { $0.text = "x" } }, { try $0.move($1, to: .top) })
    #expect(all.updated == [id] && all.moved == [id])
  }

  @Test func reportsLocalMoveWithForeignInsertion() async throws {
    let (first, all, id) = try await reportedChanges(
      { writer, _ in try writer.insert(Document(text: "y"), into: DocumentCollection("notes"), id: 99) },
      { try $0.move($1, to: .top) })
    #expect(first.updated.isEmpty && first.moved == [id] && first.inserted == [99])
    #expect(all.updated.isEmpty && all.moved == [id])
  }

  @Test func reportsLocallyUpdatedForeignInsertion() async throws {
    let (first, all, _) = try await reportedChanges(
      { writer, _ in try writer.insert(Document(text: "y"), into: DocumentCollection("notes"), id: 99) },
      { writer, _ in try writer.update(99) { $0.text = "z" } })
    #expect(first.inserted == [99] && first.updated.isEmpty)
    #expect(all.inserted.contains(99) && all.updated.isEmpty)
  }

  @Test func omitsLocallyDeletedForeignInsertion() async throws {
    let (first, all, id) = try await reportedChanges(
      { writer, _ in try writer.insert(Document(text: "y"), into: DocumentCollection("notes"), id: 99) },
      { writer, id in
        try writer.delete(99)
        try writer.update(id) { $0.text = "z" }
      })
    #expect(first.updated == [id] && first.deleted.isEmpty)
    #expect(all.deleted.isEmpty && !all.inserted.contains(99))
  }

  @Test func reportsReinsertionAsUpdateAndMove() async throws {
    let (_, all, id) = try await reportedChanges(
      { try $0.delete($1) },
      { writer, id in _ = try writer.insert(Document(text: "y"), into: DocumentCollection("notes"), id: id) })
    #expect(all.updated == [id] && all.moved == [id] && all.deleted.isEmpty && !all.inserted.contains(id))
  }

  @Test func reportsForeignRenameWithLocalCommit() async throws {
    let test = try TestStore()
    let other = try test.reopened()
    let id = try await test.store.write { try $0.insert(Document(text: "x"), into: DocumentCollection("notes")) }
    var iterator = test.store.changes().makeAsyncIterator()
    test.store.engine.session.feed.willCommit(0)
    try await other.write { try $0.rename(DocumentCollection("notes"), to: "renamed") }
    try await test.store.write { try $0.update(id) { $0.text = "y" } }
    var told = StoreChange(generation: 0)
    while told.changedCollections.isEmpty { told.merge(try await next(&iterator)) }
    #expect(told.updated == [id])
  }

  /// A local commit ends while a slow poll still holds an earlier generation.
  @Test func latePollAvoidsDuplicateReports() async throws {
    let test = try TestStore()
    let other = try test.reopened()
    let notes = test.notes
    let id = try await test.store.write { try $0.insert(Document(text: "x"), into: notes) }
    var iterator = test.store.changes(in: notes).makeAsyncIterator()
    let feed = test.store.engine.session.feed
    feed.willCommit(0)
    let new = try await other.write { writer in
      try writer.delete(id)
      return try writer.insert(Document(text: "y"), into: notes)
    }
    let (changes, reported, found) = try test.store.engine.reading { transaction throws(StoreError) in
      feed.commitFailed()
      guard let reported = feed.reported(before: transaction.state.generation) else {
        throw StoreError(.misuse, "reported already")
      }
      return (try transaction.changes(since: reported), reported, transaction.state)
    }
    feed.willCommit(0)
    try await test.store.write { try $0.update(new) { $0.text = "z" } }
    let first = try await next(&iterator)
    #expect(first.inserted == [new] && first.deleted == [id] && first.updated.isEmpty)
    // The poll ends after the commit has reported the same changes.
    feed.didPoll(changes, since: reported, to: found, names: nil, took: .zero)
    try await test.store.write { try $0.update(new) { $0.text = "zz" } }
    let second = try await next(&iterator)
    #expect(second.inserted.isEmpty && second.deleted.isEmpty && second.updated == [new])
  }

  @Test func reportsForeignDeletionAfterLocalInsertion() async throws {
    let test = try TestStore()
    let other = try test.reopened()
    let notes = test.notes
    var iterator = test.store.changes(in: notes).makeAsyncIterator()
    let id = try await test.store.write { try $0.insert(Document(text: "x"), into: notes) }
    #expect(try await next(&iterator).inserted == [id])
    try await other.write { try $0.delete(id) }
    #expect(try await next(&iterator).deleted == [id])
  }

  @Test func combinesChangesForSlowListener() async throws {
    let test = try TestStore()
    let notes = test.notes
    var iterator = test.store.changes(in: notes).makeAsyncIterator()
    var ids: [DocumentID] = []
    for round in 0..<50 {
      ids.append(try await test.store.write { try $0.insert(Document(text: "\(round)"), into: notes) })
    }
    let dead = ids[0]
    try await test.store.write { try $0.delete(dead) }
    let change = try await next(&iterator)
    #expect(change.inserted == Set(ids.dropFirst()) && change.deleted.isEmpty)
  }

  /// Reads may have been repeated between the insertion and the deletion.
  @Test(arguments: [false, true])
  func deletedInsertionCountsForReads(_ isForeign: Bool) async throws {
    let test = try TestStore()
    let writer = isForeign ? try test.reopened() : test.store
    let notes = test.notes
    try await test.store.write { try $0.create(notes) }
    let engine = test.store.engine
    let subscriptions = [ChangeUse.reread, .report].map { use in
      engine.session.feed.subscribe(
        to: "notes", for: use, { () throws(StoreError) in try engine.beginning() }, poll: {})
    }
    let id = try await writer.write { try $0.insert(Document(text: "x"), into: notes) }
    try await writer.write { try $0.delete(id) }
    engine.poll()
    let change = try #require(try await subscriptions[0].subscriber.pending())
    for isCollection in [false, true] {
      let notes = ReadNotes()
      if isCollection { notes.note([1]) } else { notes.note(id) }
      #expect(notes.mayDiffer(after: change))
    }
    #expect(change.inserted.isEmpty && change.deleted.isEmpty)
    #expect(try await subscriptions[1].subscriber.pending() == nil)
  }

  @Test func reportsOnlyCollectionsOfLargeChange() async throws {
    var change = StoreChange(generation: 1)
    let limit = Int64(ChangeLog.limit)
    let most = StoreChange(.entries([RingChanges.Entry(.inserted, in: 1, [1...limit])]), at: 1)
    #expect(most.isComplete && most.inserted.count == limit)
    change.merge(most)
    change.merge(StoreChange(.entries([RingChanges.Entry(.deleted, in: 2, [limit + 1...limit + 1])]), at: 2))
    #expect(!change.isComplete && change.inserted.isEmpty && change.collections.count == 2)
    let more = StoreChange(.entries([RingChanges.Entry(.inserted, in: 1, [1...Int64.max - 1])]), at: 1)
    #expect(!more.isComplete && more.inserted.isEmpty && more.collections.count == 1)
    #expect(!StoreChange(.everything, at: 1).isComplete)
  }

  @Test func reportsOnlyRequestedCollection() async throws {
    let test = try TestStore()
    let notes = test.notes
    var iterator = test.store.changes(in: notes).makeAsyncIterator()
    try await test.store.write { try $0.insert(Document(text: "x"), into: DocumentCollection("other")) }
    let id = try await test.store.write { try $0.insert(Document(text: "y"), into: notes) }
    let change = try await next(&iterator)
    #expect(change.inserted == [id] && change.collections.count == 1 && change.changedCollections.count == 1)
  }

  @Test func reportsDocumentsOfDroppedCollection() async throws {
    let test = try TestStore()
    let notes = test.notes
    let id = try await test.store.write { try $0.insert(Document(text: "x"), into: notes) }
    var iterator = test.store.changes(in: notes).makeAsyncIterator()
    try await test.store.write { try $0.rename(DocumentCollection("notes"), to: "renamed") }
    #expect(try await next(&iterator).changedCollections.count == 1)
    try await test.store.write { try $0.drop(DocumentCollection("renamed")) }
    let change = try await next(&iterator)
    #expect(change.deleted == [id] && change.changedCollections.count == 1)
  }

  @Test func omitsRekey() async throws {
    let test = try TestStore()
    let notes = test.notes
    let id = try await test.store.write { try $0.insert(Document(text: "x"), into: notes) }
    var iterator = test.store.changes(in: notes).makeAsyncIterator()
    _ = try test.store.rekey { _ in }
    test.store.engine.poll()
    try await test.store.write { try $0.update(id) { $0.text = "y" } }
    let change = try await next(&iterator)
    #expect(change.updated == [id] && change.inserted.isEmpty && change.deleted.isEmpty && change.moved.isEmpty)
  }

  @Test func distinguishesCollectionWithReusedID() async throws {
    let test = try TestStore()
    let notes = test.notes
    try await test.store.write { _ = try $0.insert(Document(text: "old"), into: notes) }
    var iterator = test.store.changes(in: notes).makeAsyncIterator()
    try await test.store.write { writer in
      try writer.drop(notes)
      try writer.create("other")
    }
    #expect(try await next(&iterator).deleted.count == 1)
    try await test.store.write { _ = try $0.insert(Document(text: "elsewhere"), into: "other") }
    let id = try await test.store.write { try $0.insert(Document(text: "again"), into: notes) }
    #expect(try await next(&iterator).inserted == [id])
  }

  @Test func closingStoreEndsSequence() async throws {
    let test = try TestStore()
    let changes = test.store.changes()
    let listening = Task {
      var count = 0
      for try await _ in changes { count += 1 }
      return count
    }
    try await test.store.write { try $0.insert(Document(text: "x"), into: DocumentCollection("notes")) }
    try await test.store.close()
    #expect(try await listening.value <= 1)
  }

  @Test func pollOfClosingStoreLeavesEndToClosing() async throws {
    let test = try TestStore()
    var iterator = test.store.changes().makeAsyncIterator()
    test.store.engine.session.beginClosing()
    test.store.engine.poll()
    try await test.store.close()
    #expect(try await iterator.next() == nil)
  }

  @Test func canceledTaskStopsListening() async throws {
    let test = try TestStore()
    let changes = test.store.changes()
    let listening = Task { for try await _ in changes {} }
    listening.cancel()
    try await listening.value
  }

  @Test func reportsClosedStoreToSubscriber() async throws {
    let test = try TestStore()
    try await test.store.close()
    var iterator = test.store.changes().makeAsyncIterator()
    await #expect(throws: StoreError(.closed, "")) { try await iterator.next() }
    #expect(try await iterator.next() == nil)
  }

  @Test func keyChangeByAnotherHandleEndsSequence() async throws {
    let test = try TestStore()
    let other = try test.reopened()
    var iterator = test.store.changes().makeAsyncIterator()
    _ = try other.rekey(to: [.published("next")]) { _ in }
    await #expect(throws: StoreError(.keyChanged, "")) {
      while try await iterator.next() != nil {}
    }
  }

  @Test func newSubscriptionReceivesOnlyNewChanges() async throws {
    let test = try TestStore()
    let notes = test.notes
    try await test.store.write { writer in
      for number in 0..<20 { try writer.insert(Document(text: "\(number)"), into: notes) }
    }
    for round in 0..<200 {
      // This subscription may end while the next subscription begins.
      let leaving = Task.detached { [changes = test.store.changes()] in _ = changes }
      let changes = test.store.changes(in: notes)
      _ = await leaving.value
      if round.isMultiple(of: 20) {
        var iterator = changes.makeAsyncIterator()
        let id = try await test.store.write { try $0.insert(Document(text: "new"), into: notes) }
        test.store.engine.poll()
        #expect(try await next(&iterator).inserted == [id])
        withExtendedLifetime(iterator) { #expect(test.store.engine.session.feed.hasSubscribers) }
      } else {
        withExtendedLifetime(changes) { #expect(test.store.engine.session.feed.hasSubscribers) }
      }
    }
  }

  @Test func rejectsSubscriberWithoutInitialState() throws {
    let feed = ChangeFeed()
    // Simulates a subscriber that ended since the caller checked.
    #expect(feed.add(nil, .report, nil, {}) == nil && !feed.hasSubscribers)
    let state = StoreState(headerMAC: [UInt8](repeating: 0, count: 32), generation: 5, replicas: .zeros)
    let names = [
      CollectionID(1): FollowedCollection(name: "notes", uid: UniqueID(high: 0, low: 7), foldsKeys: false)
    ]
    let added = feed.add(nil, .report, .success(ChangeFeed.Beginning(state: state, names: names)), {})
    let subscriber = try #require(added)
    #expect(feed.hasSubscribers && feed.reported(before: 5) == nil && feed.reported(before: 6) == state)
    feed.remove(subscriber)
    #expect(!feed.hasSubscribers && feed.reported(before: 6) == nil)
  }

  @Test func releasesStateWithLastSubscriber() async throws {
    let test = try TestStore()
    do {
      let changes = test.store.changes()
      #expect(test.store.engine.session.feed.hasSubscribers)
      _ = changes
    }
    #expect(!test.store.engine.session.feed.hasSubscribers && test.store.engine.session.feed.reported == nil)
  }
}
