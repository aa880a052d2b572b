import Foundation
import Testing

@testable import Coffer
@testable import CofferRecords

/// What subscribers are told: exactly what this process commits, and what a look finds of others.
struct ChangesTests {
  private func title(_ text: String) -> Document { Document(title: text, text: text) }

  /// The next change of a sequence, which must come.
  private func next(_ iterator: inout StoreChanges.AsyncIterator) async throws -> StoreChange {
    try #require(try await iterator.next())
  }

  @Test func ownCommitIsToldExactly() async throws {
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

  @Test func whatIsRolledBackIsNotTold() async throws {
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

  @Test func othersCommitIsFoundByALook() async throws {
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
    #expect(told.updated == [ids[0], ids[1]])
    #expect(told.moved == [ids[1]])
    #expect(told.deleted == [ids[2]])
  }

  @Test func ownAndOthersCommitsAreToldOnceEach() async throws {
    let test = try TestStore()
    let other = try test.reopened()
    let notes = test.notes
    var iterator = test.store.changes(in: notes).makeAsyncIterator()
    var inserted: [DocumentID] = []
    var told: [DocumentID: Int] = [:]
    for round in 0..<60 {
      let store = round % 3 == 0 ? other : test.store
      inserted.append(try await store.write { try $0.insert(Document(text: "\(round)"), into: notes) })
      if round % 7 == 0 { test.store.look() }
    }
    while told.count < inserted.count {
      for id in try await next(&iterator).inserted { told[id, default: 0] += 1 }
    }
    #expect(told == Dictionary(uniqueKeysWithValues: inserted.map { ($0, 1) }))
    try test.expectSound()
  }

  // MARK: Own commits beyond others' that no look has found

  /// What is told of one document that others changed, then we, before any look.
  private func toldOfOne(
    _ others: @escaping @Sendable (inout Writer, DocumentID) throws -> Void,
    _ ours: @escaping @Sendable (inout Writer, DocumentID) throws -> Void
  ) async throws -> (first: StoreChange, all: StoreChange, id: DocumentID) {
    let test = try TestStore()
    let other = try test.reopened()
    let notes = test.notes
    let ids = try await test.store.write { writer in
      try (1...4).map { try writer.insert(Document(text: "\($0)"), into: notes) }
    }
    var iterator = test.store.changes(in: notes).makeAsyncIterator()
    // No look of the timer's comes before our own commit has ended.
    test.store.session.feed.willCommit(0)
    try await other.write { try others(&$0, ids[2]) }
    try await test.store.write { try ours(&$0, ids[2]) }
    let first = try await next(&iterator)
    // A mark behind it all: what is told until then is all there is.
    let mark = try await other.write { try $0.insert(Document(text: "mark"), into: notes) }
    var all = first
    while !all.inserted.contains(mark) { all.merge(try await next(&iterator)) }
    return (first, all, ids[2])
  }

  @Test func movedByOthersThenUpdatedByUsIsToldAsBoth() async throws {
    let (first, all, id) = try await toldOfOne({ try $0.move($1, to: .top) }, { try $0.update($1) { $0.text = "x" } })
    #expect(first.updated == [id] && first.moved == [id])
    #expect(all.updated == [id] && all.moved == [id])
  }

  @Test func updatedByOthersThenMovedByUsIsToldAsBoth() async throws {
    let (_, all, id) = try await toldOfOne({ try $0.update($1) { $0.text = "x" } }, { try $0.move($1, to: .top) })
    #expect(all.updated == [id] && all.moved == [id])
  }

  @Test func onlyOursIsToldOfADocumentThatOthersLeftAlone() async throws {
    let (_, all, id) = try await toldOfOne(
      { writer, _ in try writer.insert(Document(text: "y"), into: DocumentCollection("notes"), id: 99) },
      { try $0.move($1, to: .top) })
    #expect(all.updated.isEmpty && all.moved == [id] && all.inserted.contains(99))
  }

  @Test func insertedByOthersThenUpdatedByUsIsInserted() async throws {
    let (first, all, _) = try await toldOfOne(
      { writer, _ in try writer.insert(Document(text: "y"), into: DocumentCollection("notes"), id: 99) },
      { writer, _ in try writer.update(99) { $0.text = "z" } })
    #expect(first.inserted == [99] && first.updated.isEmpty)
    #expect(all.inserted.contains(99) && all.updated.isEmpty)
  }

  @Test func insertedByOthersThenDeletedByUsWasNeverThere() async throws {
    let (first, all, id) = try await toldOfOne(
      { writer, _ in try writer.insert(Document(text: "y"), into: DocumentCollection("notes"), id: 99) },
      { writer, id in
        try writer.delete(99)
        try writer.update(id) { $0.text = "z" }
      })
    #expect(first.updated == [id] && first.deleted.isEmpty)
    #expect(all.deleted.isEmpty && !all.inserted.contains(99))
  }

  @Test func deletedByOthersThenMadeAnewByUsIsAnotherDocument() async throws {
    let (_, all, id) = try await toldOfOne(
      { try $0.delete($1) },
      { writer, id in _ = try writer.insert(Document(text: "y"), into: DocumentCollection("notes"), id: id) })
    #expect(all.updated == [id] && all.moved == [id] && all.deleted.isEmpty && !all.inserted.contains(id))
  }

  @Test func collectionThatOthersRenamedIsToldThoughWeCommittedMeanwhile() async throws {
    let test = try TestStore()
    let other = try test.reopened()
    let id = try await test.store.write { try $0.insert(Document(text: "x"), into: DocumentCollection("notes")) }
    var iterator = test.store.changes().makeAsyncIterator()
    test.store.session.feed.willCommit(0)
    try await other.write { try $0.rename(DocumentCollection("notes"), to: "renamed") }
    try await test.store.write { try $0.update(id) { $0.text = "y" } }
    var told = StoreChange(generation: 0)
    while told.changedCollections.isEmpty { told.merge(try await next(&iterator)) }
    #expect(told.updated == [id])
  }

  /// A look that took its time: own commits came beyond what it saw.
  @Test func lateLookTellsNothingTwice() async throws {
    let test = try TestStore()
    let other = try test.reopened()
    let notes = test.notes
    let id = try await test.store.write { try $0.insert(Document(text: "x"), into: notes) }
    var iterator = test.store.changes(in: notes).makeAsyncIterator()
    let feed = test.store.session.feed
    feed.willCommit(0)
    let new = try await other.write { writer in
      try writer.delete(id)
      return try writer.insert(Document(text: "y"), into: notes)
    }
    let (change, known, entries, names) = try test.store.reading { transaction throws(StoreError) in
      feed.commitFailed()
      guard let known = feed.known(at: transaction.state.generation) else { throw StoreError(.misuse, "told already") }
      var scan = ChangeScan(known, generation: transaction.state.generation)
      try scan.run(transaction.database)
      return (scan.change, known, scan.entries, try transaction.collectionNames())
    }
    try await test.store.write { try $0.update(new) { $0.text = "z" } }
    feed.found(change, since: known.told, entries, names: names, took: .zero)
    // Of another look at the same moment.
    feed.found(change, since: known.told, entries, names: names, took: .zero)
    let first = try await next(&iterator)
    #expect(first.inserted == [new] && first.deleted == [id] && first.updated.isEmpty)
  }

  @Test func deletedByOthersAfterWeInsertedItIsTold() async throws {
    let test = try TestStore()
    let other = try test.reopened()
    let notes = test.notes
    var iterator = test.store.changes(in: notes).makeAsyncIterator()
    let id = try await test.store.write { try $0.insert(Document(text: "x"), into: notes) }
    #expect(try await next(&iterator).inserted == [id])
    try await other.write { try $0.delete(id) }
    #expect(try await next(&iterator).deleted == [id])
  }

  @Test func slowListenerGetsOneChange() async throws {
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

  @Test func tooManyDocumentsAreNotToldOneByOne() async throws {
    var change = StoreChange(generation: 1)
    for id in 1...Int64(ChangeLog.limit) { change.insert(id, into: 1) }
    var later = StoreChange(generation: 2)
    later.delete(1, from: 2)
    change.merge(later)
    #expect(!change.isComplete && change.inserted.isEmpty && change.collections.count == 2)
  }

  @Test func onlyTheWantedCollectionIsTold() async throws {
    let test = try TestStore()
    let notes = test.notes
    var iterator = test.store.changes(in: notes).makeAsyncIterator()
    try await test.store.write { try $0.insert(Document(text: "x"), into: DocumentCollection("other")) }
    let id = try await test.store.write { try $0.insert(Document(text: "y"), into: notes) }
    let change = try await next(&iterator)
    #expect(change.inserted == [id] && change.collections.count == 1 && change.changedCollections.count == 1)
  }

  @Test func droppedCollectionIsToldWithItsDocuments() async throws {
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

  @Test func rekeyIsNoChange() async throws {
    let test = try TestStore()
    let notes = test.notes
    let id = try await test.store.write { try $0.insert(Document(text: "x"), into: notes) }
    var iterator = test.store.changes(in: notes).makeAsyncIterator()
    _ = try test.store.rekey { _ in }
    test.store.look()
    try await test.store.write { try $0.update(id) { $0.text = "y" } }
    let change = try await next(&iterator)
    #expect(change.updated == [id] && change.inserted.isEmpty && change.deleted.isEmpty && change.moved.isEmpty)
  }

  @Test func closingTheStoreEndsTheSequence() async throws {
    let test = try TestStore()
    let changes = test.store.changes()
    let listening = Task {
      var count = 0
      for try await _ in changes { count += 1 }
      return count
    }
    try await test.store.write { try $0.insert(Document(text: "x"), into: DocumentCollection("notes")) }
    try test.store.close()
    #expect(try await listening.value <= 1)
  }

  @Test func cancelledTaskStopsListening() async throws {
    let test = try TestStore()
    let changes = test.store.changes()
    let listening = Task { for try await _ in changes {} }
    listening.cancel()
    try await listening.value
  }

  @Test func closedStoreSaysSoToWhoeverListens() async throws {
    let test = try TestStore()
    try test.store.close()
    var iterator = test.store.changes().makeAsyncIterator()
    await #expect(throws: StoreError(.closed, "")) { try await iterator.next() }
    #expect(try await iterator.next() == nil)
  }

  @Test func foreignKeyChangeEndsTheSequenceWithItsError() async throws {
    let test = try TestStore()
    let other = try test.reopened()
    var iterator = test.store.changes().makeAsyncIterator()
    _ = try other.rekey(to: [.published("next")]) { _ in }
    await #expect(throws: StoreError(.keyChanged, "")) {
      while try await iterator.next() != nil {}
    }
  }

  @Test func whoeverComesAsTheLastOneLeavesIsToldOnlyWhatIsNew() async throws {
    let test = try TestStore()
    let notes = test.notes
    try await test.store.write { writer in
      for number in 0..<20 { try writer.insert(Document(text: "\(number)"), into: notes) }
    }
    for round in 0..<200 {
      // Gone at any moment while the newcomer subscribes.
      let leaving = Task.detached { [changes = test.store.changes()] in _ = changes }
      let changes = test.store.changes(in: notes)
      _ = await leaving.value
      if round.isMultiple(of: 20) {
        var iterator = changes.makeAsyncIterator()
        let id = try await test.store.write { try $0.insert(Document(text: "new"), into: notes) }
        test.store.look()
        #expect(try await next(&iterator).inserted == [id])
      }
      #expect(test.store.session.feed.isHeard)
    }
  }

  @Test func nobodyIsAddedWithoutABaseOfWhatIsThere() throws {
    let feed = ChangeFeed()
    // He asked while somebody listened, who has gone since.
    #expect(feed.add(nil, nil, {}) == nil && !feed.isHeard)
    let baseline = ChangeFeed.Baseline(
      entries: [ChangeFeed.Entry(id: 1, position: 1, collection: 1)], names: [CollectionID(1): "notes"], generation: 5)
    let added = feed.add(nil, .success(baseline), {})
    let subscriber = try #require(added)
    #expect(feed.isHeard && feed.known(at: 5) == nil && feed.known(at: 6)?.base.count == 1)
    feed.remove(subscriber)
    #expect(!feed.isHeard && feed.known(at: 6) == nil)
  }

  @Test func nothingIsKeptOnceNobodyListens() async throws {
    let test = try TestStore()
    do {
      let changes = test.store.changes()
      #expect(test.store.session.feed.isHeard)
      _ = changes
    }
    #expect(!test.store.session.feed.isHeard)
  }
}
