import Coffer
import CofferRecords
import CofferSQLite
import CofferTestSupport
import Foundation
import Synchronization
import Testing

@testable import CofferEngine
@testable import CofferSearch
@testable import CofferStoreTestSupport

/// Reads that use an outdated index, and the update of the index in the file after them.
@Suite struct OutdatedIndexTests {
  /// A store with an index of words, reopened with little memory for updates.
  private func indexed(documents: Int, memory: Int) throws -> (TestStore, DocumentStore) {
    let test = try TestStore()
    try test.store.write { tx in
      for number in 0..<documents {
        try tx.insert(
          Document(title: "note \(number)", text: "needle \(number) in the hay \(number % 17)"), into: test.notes)
      }
    }
    try test.store.index(test.notes, .words(), .titles)
    try test.store.close()
    var options = OpenOptions.testing
    options.indexMemoryBytes = memory
    return (test, try test.reopened(.published("primary"), options))
  }

  private func sealedIndex(_ test: TestStore) throws -> [[SQLiteValue]] {
    try test.raw().query("SELECT sealed FROM coffer_x_index").rows.map(\.values)
  }

  @Test func readUpdatesIndexBeyondMemoryLimit() throws {
    let (test, store) = try indexed(documents: 400, memory: 64 << 10)
    try store.write { tx in
      for number in 0..<100 { try tx.insert(Document(text: "needle, new \(number)"), into: test.notes) }
    }
    #expect(try store.read { try $0.search(ranked: "needle", in: test.notes) }.total == 500)
    #expect(try store.read { try $0.search(ranked: "new", in: test.notes) }.total == 100)
    #expect(try store.verify(.full).isSound)
  }

  @Test(.slow) func searchSucceedsAfterEachOfManyChanges() throws {
    let (test, store) = try indexed(documents: 400, memory: 1 << 20)
    for number in 1...150 {
      try store.write { try $0.update(DocumentID(number)) { $0.text = "needle, changed \(number)" } }
      #expect(try store.read { try $0.search(ranked: "changed", in: test.notes) }.total == number)
    }
  }

  /// Many readers with little memory for their pages find every document while others write without a rest.
  @Test(arguments: CreateOptions.Journal.allCases)
  func readersWithLittleMemoryFindDocumentsBesideWriters(_ journal: CreateOptions.Journal) async throws {
    let test = try TestStore { $0.journal = journal }
    try await test.store.write { tx in
      for number in 0..<300 { try tx.insert(Document(text: "needle \(number) in the hay"), into: "notes") }
    }
    try test.store.index(test.notes, .words())
    try await test.store.close()
    var options = OpenOptions.testing
    options.indexMemoryBytes = 64 << 10
    let store = try test.reopened(.published("primary"), options)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for writer in 0..<4 {
        group.addTask {
          for number in 0..<60 {
            try await store.write { try $0.insert(Document(text: "needle \(writer) \(number)"), into: "notes") }
          }
        }
      }
      for _ in 0..<16 {
        group.addTask {
          for _ in 0..<15 {
            let (found, count) = try await store.read { tx in
              (try tx.search(ranked: "needle", in: "notes").total, try tx.count(in: "notes"))
            }
            #expect(found == count)
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(try store.verify(.full).isSound)
  }

  private func insertNeedles(_ count: Int, into store: DocumentStore, _ test: TestStore) throws {
    try store.write { tx in
      for _ in 0..<count { try tx.insert(Document(text: "needle"), into: test.notes) }
    }
  }

  @Test func readUpdatesIndexInFileAfterManyDocuments() throws {
    let (test, store) = try indexed(documents: 20, memory: 8 << 20)
    let before = try sealedIndex(test)
    for round in 1...3 {
      try insertNeedles(100, into: store, test)
      #expect(try store.read { try $0.search(ranked: "needle", in: test.notes) }.total == 20 + 100 * round)
      store.engine.waitForIndexUpkeep()
      #expect(try (sealedIndex(test) == before) == (round < 3), "round \(round)")
    }
  }

  @Test func closingUpdatesIndexInFile() throws {
    let (test, store) = try indexed(documents: 20, memory: 8 << 20)
    try insertNeedles(1, into: store, test)
    let before = try sealedIndex(test)
    _ = try store.read { try $0.search(ranked: "needle", in: test.notes) }
    #expect(try sealedIndex(test) == before)
    try store.close()
    #expect(try sealedIndex(test) != before)
    let other = try test.reopened()
    #expect(try other.verify(.full).isSound)
    #expect(try other.read { try $0.search(ranked: "needle", in: test.notes) }.total == 21)
  }

  /// Whoever sees the file doesn't learn that somebody searched, or where a value of one changed document ranks.
  @Test func searchAloneLeavesFileUnchanged() throws {
    let (test, store) = try indexed(documents: 20, memory: 8 << 20)
    let before = try sealedIndex(test)
    for _ in 0..<10 { try insertNeedles(1, into: store, test) }
    try store.close()
    #expect(try sealedIndex(test) == before)
    let bytes = try test.bytesOnDisk()
    let other = try test.reopened()
    #expect(try other.read { try $0.search(ranked: "needle", in: test.notes) }.total == 30)
    try other.close()
    #expect(try test.bytesOnDisk() == bytes)
  }

  /// Another program's lock keeps the update from the file. The read has its result at once, and a later one updates.
  @Test func lockedFileIsUpdatedByLaterRead() throws {
    let (test, store) = try indexed(documents: 20, memory: 8 << 20)
    try insertNeedles(256, into: store, test)
    let before = try sealedIndex(test)
    let other = try test.raw()
    try other.begin(.immediate)
    #expect(try store.read { try $0.search(ranked: "needle", in: test.notes) }.total == 276)
    #expect(try sealedIndex(test) == before)
    try other.rollback()
    try other.close()
    store.engine.waitForIndexUpkeep()
    _ = try store.read { try $0.search(ranked: "needle", in: test.notes) }
    #expect(try sealedIndex(test) != before)
  }

  /// Returns the number of documents that an index in the file lacks.
  private func missing(_ store: DocumentStore, _ part: UInt32 = IndexPart.contents) throws -> UInt64 {
    try store.engine.reading { transaction throws(StoreError) in
      let indexes = StoreIndexes(transaction)
      return try indexes.gap(since: indexes.root(part)?.root.contents).limit(of: transaction.state.count)
    }
  }

  /// The state lists the changes of about 180 commits, and an index never falls so far behind.
  @Test(arguments: CreateOptions.Journal.allCases) func commitsBringIndexAlong(_ journal: CreateOptions.Journal) throws
  {
    let test = try TestStore { $0.journal = journal }
    try test.store.write { tx in
      for number in 0..<2000 { try tx.insert(Document(title: "\(number)", text: "hay \(number)"), into: test.notes) }
    }
    try test.store.index(test.notes, .words(), .titles)
    for number in 1...400 {
      try test.store.write { try $0.update(DocumentID(number)) { $0.text = "needle \(number)" } }
      if number % 50 == 0 { test.store.engine.waitForIndexUpkeep() }
      #expect(try IndexPart.all.allSatisfy { try missing(test.store, $0) <= 200 }, "commit \(number)")
    }
    try test.store.close()
    let store = try test.reopened()
    #expect(try IndexPart.all.allSatisfy { try missing(store, $0) < 64 })
    #expect(try store.read { try $0.search(ranked: "needle", in: test.notes) }.total == 400)
    #expect(try store.verify(.full).isSound)
  }

  /// A commit of many documents that aren't neighbors takes as much of the state's list as twenty small ones.
  @Test func largeCommitsBringIndexAlong() throws {
    let test = try TestStore()
    try test.store.write { tx in
      for number in 0..<2000 { try tx.insert(Document(title: "\(number)", text: "hay \(number)"), into: test.notes) }
    }
    try test.store.index(test.notes, .words(), .titles)
    for number in 1...16 {
      try test.store.write { tx in
        for step in 0..<120 {
          try tx.update(DocumentID(number + 16 * step)) { $0.text = "needle \(number)" }
        }
      }
      test.store.engine.waitForIndexUpkeep()
      #expect(try IndexPart.all.allSatisfy { try missing(test.store, $0) < 500 }, "commit \(number)")
    }
    #expect(try test.store.read { try $0.search(ranked: "needle", in: test.notes) }.total == 1920)
    #expect(try test.store.verify(.full).isSound)
  }

  enum Commit: CaseIterable {
    case merge, restore, migration
  }

  /// Each commit counts, also if it isn't one of `write`.
  @Test(arguments: Commit.allCases) func closingBringsIndexAlong(after commit: Commit) throws {
    var (test, store) = try indexed(documents: 400, memory: 8 << 20)
    @Sendable func change(_ tx: borrowing WriteTransaction) throws {
      for number in 1...300 { try tx.update(DocumentID(number)) { $0.text = "changed \(number)" } }
    }
    if commit == .migration {
      try store.close()
      var options = OpenOptions.testing
      options.migrations = [Migration("texts") { try change($0) }]
      store = try test.reopened(.published("primary"), options)
    } else {
      let copy = try DocumentStore.openEditableCopy(
        of: test.url, at: test.place.file("copy.coffer"), key: .published("primary"), options: .testing)
      try copy.write { try change($0) }
      if commit == .merge {
        #expect(try store.merge(copy).isMerged)
      } else {
        try store.restore((1...300).map { DocumentID($0) }, from: copy)
      }
    }
    try store.close()
    let other = try test.reopened()
    #expect(try IndexPart.all.allSatisfy { try missing(other, $0) == 0 })
    #expect(try other.read { try $0.search(ranked: "changed", in: test.notes) }.total == 300)
    #expect(try other.verify(.full).isSound)
  }

  /// An index that another program left far behind costs the documents that changed, once.
  @Test func indexFarBehindIsBroughtUpToDate() throws {
    let (test, store) = try indexed(documents: 3000, memory: 64 << 20)
    // A writer without this upkeep.
    let writer = try StoreEngine(at: test.url.path, key: .published("primary"), options: .testing)
    for _ in 0..<250 {
      try writer.write { transaction in
        let tx = WriteTransaction(transaction)
        for _ in 0..<8 { try tx.insert(Document(text: "needle, late"), into: test.notes) }
      }
    }
    try writer.connections.close()
    #expect(try missing(store) == 5000)
    #expect(try store.read { try $0.search(ranked: "late", in: test.notes) }.total == 2000)
    // A search alone writes nothing, and a process that also commits does.
    #expect(try missing(store) == 5000)
    try insertNeedles(1, into: store, test)
    #expect(try store.read { try $0.search(ranked: "late", in: test.notes) }.total == 2000)
    #expect(try missing(store) == 0)
    #expect(try store.verify(.full).isSound)
  }

  /// An index of a copy with another history is compared with each row, because its rows have the same revisions.
  @Test func indexOfAnotherHistoryIsUpdated() throws {
    let (test, store) = try indexed(documents: 20, memory: 8 << 20)
    try store.close()
    let other = test.place.file("other.coffer")
    try FileManager.default.copyItem(at: test.url, to: other)
    let copy = try DocumentStore.open(at: other, key: .published("primary"), options: .testing)
    try copy.write { tx in
      for number in 1...20 { try tx.update(DocumentID(number)) { $0.text = "there" } }
    }
    #expect(try copy.updateIndexes())
    try copy.close()
    let writer = try StoreEngine(at: test.url.path, key: .published("primary"), options: .testing)
    try writer.write { transaction in
      let tx = WriteTransaction(transaction)
      for number in 1...5 { try tx.update(DocumentID(number)) { $0.text = "here" } }
    }
    for number in 0..<250 {
      _ = try writer.write { try WriteTransaction($0).update(20) { $0.text = "later \(number)" } }
    }
    try writer.connections.close()
    try test.putIndexes(of: other)
    let reader = try test.reopened()
    #expect(try missing(reader) == 20)
    for (word, total) in [("there", 0), ("here", 5), ("later", 1), ("needle", 14)] {
      #expect(try reader.read { try $0.search(ranked: word, in: test.notes) }.total == total, "\(word)")
    }
    #expect(try reader.verify(.full).isSound)
  }

  /// Readers continue from the pages of the first one, which takes the memory of one.
  @Test func readersShareUpdatedPages() throws {
    let test = try TestStore { $0.journal = .writeAheadLog }
    try test.store.write { tx in
      for number in 0..<400 { try tx.insert(Document(text: "needle \(number)"), into: test.notes) }
    }
    try test.store.index(test.notes, .words())
    try test.store.write { tx in
      for number in 1...300 { try tx.update(DocumentID(number)) { $0.text = "changed \(number)" } }
    }
    try test.store.close()
    var options = OpenOptions.testing
    options.isReadOnly = true
    let store = try test.reopened(.published("primary"), options)
    let group = DispatchGroup()
    let totals = Mutex<[Int]>([])
    for _ in 0..<40 {
      let thread = Thread {
        let total = try? store.read { try $0.search(ranked: "changed", in: test.notes) }.total
        totals.withLock { $0.append(total ?? -1) }
        group.leave()
      }
      group.enter()
      thread.start()
    }
    group.wait()
    #expect(totals.withLock { $0 } == Array(repeating: 300, count: 40))
    #expect(store.engine.session.outdatedIndexDocuments.load(ordering: .relaxed) <= 300)
  }

  /// Between the steps of an update in the file, others commit, and readers find all documents.
  @Test func updateInStepsTakesChangesInBetween() throws {
    let (test, store) = try indexed(documents: 1500, memory: 8 << 20)
    try store.close()
    let writer = try StoreEngine(at: test.url.path, key: .published("primary"), options: .testing)
    try writer.write { transaction in
      let tx = WriteTransaction(transaction)
      for number in 1...1500 where number % 10 != 0 { try tx.update(DocumentID(number)) { $0.text = "changed" } }
      for number in stride(from: 10, through: 1500, by: 10) { try tx.delete(DocumentID(number)) }
    }
    var options = OpenOptions.testing
    options.isReadOnly = true
    let reader = try test.reopened(.published("primary"), options)
    let steps = IndexSteps()
    var count = 0
    repeat {
      try writer.writing { transaction throws(StoreError) in
        #expect(try StoreIndexes(transaction).write(IndexPart.contents, in: steps))
        try transaction.commit()
      }
      count += 1
      try writer.write { transaction in
        let tx = WriteTransaction(transaction)
        for number in [1, 1499] { try tx.update(DocumentID(number)) { $0.text = "changed again, \(count)" } }
        try tx.insert(Document(text: "changed, new"), into: test.notes)
      }
      #expect(try reader.read { try $0.search(ranked: "changed", in: test.notes) }.total == 1350 + count)
    } while !steps.isFinished
    #expect(count > 4)
    // The last step has also indexed what changed since the first one.
    #expect(try missing(reader) == 3)
    #expect(try reader.verify(.full).isSound)
    try writer.connections.close()
  }

  /// A step of the upkeep has the turn to write when the store closes, and the other steps follow.
  @Test func closingWaitsForStepsOfUpkeep() throws {
    let (test, store) = try indexed(documents: 1500, memory: 8 << 20)
    let writer = try StoreEngine(at: test.url.path, key: .published("primary"), options: .testing)
    try writer.write { transaction in
      let tx = WriteTransaction(transaction)
      for number in 1...1500 { try tx.update(DocumentID(number)) { $0.text = "changed" } }
    }
    try writer.connections.close()
    let upkeep = store.engine.session.companion(IndexUpkeep.self)
    let meeting = Meeting()
    upkeep.queue.async {
      let steps = IndexSteps()
      var isFirst = true
      repeat {
        let written: Void? = try? store.engine.writing { transaction throws(StoreError) in
          try StoreIndexes(transaction).write(IndexPart.contents, in: steps)
          try transaction.commit()
          if isFirst { meeting.stop() }
        }
        guard written != nil else { return }
        isFirst = false
      } while !steps.isFinished
    }
    meeting.waitForArrival()
    let closing = Background { try store.close() }
    waitUntil { upkeep.waiterCount.load(ordering: .relaxed) == 1 || store.engine.session.isClosing }
    meeting.letGo()
    try closing.value()
    #expect(try missing(test.reopened()) == 0)
  }

  /// Two stores that update the index at the same time don't undo each other's progress without end.
  @Test func updatesInTurnEnd() throws {
    let (test, store) = try indexed(documents: 1500, memory: 8 << 20)
    try store.close()
    let writer = try StoreEngine(at: test.url.path, key: .published("primary"), options: .testing)
    try writer.write { transaction in
      let tx = WriteTransaction(transaction)
      for number in 1...1500 { try tx.update(DocumentID(number)) { $0.text = "changed" } }
    }
    let (first, second) = (IndexSteps(), IndexSteps())
    func isWritten(_ steps: IndexSteps) throws -> Bool {
      try writer.writing { transaction throws(StoreError) in
        let hasWritten = try StoreIndexes(transaction).write(IndexPart.contents, in: steps)
        try transaction.commit()
        return hasWritten
      }
    }
    #expect(try isWritten(first) && !first.isFinished)
    #expect(try isWritten(second) && !second.isFinished)
    #expect(try isWritten(first) && first.isFinished)
    #expect(try !isWritten(second) && second.isFinished)
    try writer.connections.close()
    let reader = try test.reopened()
    #expect(try missing(reader) == 0)
    #expect(try reader.verify(.full).isSound)
  }

  /// Others change more documents in each turn than a step compares.
  @Test func updateBesideLargeChangesEnds() throws {
    let (test, store) = try indexed(documents: 1500, memory: 8 << 20)
    try store.close()
    let writer = try StoreEngine(at: test.url.path, key: .published("primary"), options: .testing)
    let steps = IndexSteps()
    var count = 0
    repeat {
      count += 1
      try writer.write { transaction in
        let tx = WriteTransaction(transaction)
        for number in 1...1500 { try tx.update(DocumentID(number)) { $0.text = "changed \(count)" } }
      }
      try writer.writing { transaction throws(StoreError) in
        #expect(try StoreIndexes(transaction).write(IndexPart.contents, in: steps))
        try transaction.commit()
      }
    } while !steps.isFinished && count < 10
    #expect(steps.isFinished)
    try writer.connections.close()
    let reader = try test.reopened()
    #expect(try missing(reader) == 0)
    #expect(try reader.verify(.full).isSound)
  }

  /// A holder of a key has written an index with a document that can't exist.
  @Test func indexOfImpossibleDocumentIsMadeAgain() throws {
    let (test, store) = try indexed(documents: 20, memory: 8 << 20)
    try store.close()
    let writer = try StoreEngine(at: test.url.path, key: .published("primary"), options: .testing)
    try writer.writing { transaction throws(StoreError) in
      guard let found = try StoreIndexes(transaction).root(IndexPart.contents) else { throw .indexBehind }
      guard var contents = found.root.contents else { throw .indexBehind }
      try transaction.keys.beginIndexRun(transaction.connection.nonceSource)
      let file = try IndexFile(found.root, sealed: found.sealed, transaction, .inStore)
      _ = try file.run { database throws(SQLiteError) in
        try database.execute("INSERT INTO main.document VALUES(?,1,0,0,NULL)", Int64.max)
      }
      // The next update compares each row.
      contents.mark = contents.mark.map { ~$0 }
      try file.write(contents, transaction)
      try transaction.commit()
    }
    _ = try writer.write { try WriteTransaction($0).update(1) { $0.text = "changed" } }
    let steps = IndexSteps()
    for _ in 0..<4 where !steps.isFinished {
      try writer.writing { transaction throws(StoreError) in
        #expect(try StoreIndexes(transaction).write(IndexPart.contents, in: steps))
        try transaction.commit()
      }
    }
    #expect(steps.isFinished)
    try writer.connections.close()
    let reader = try test.reopened()
    #expect(try missing(reader) == 0)
    #expect(try reader.verify(.full).isSound)
  }

  /// Between two steps, an index has documents of its own history that the root doesn't name, so each row is compared.
  @Test func partOfAnotherHistoryIsUpdated() throws {
    let (test, store) = try indexed(documents: 400, memory: 8 << 20)
    try store.close()
    let other = test.place.file("other.coffer")
    try FileManager.default.copyItem(at: test.url, to: other)
    let copy = try StoreEngine(at: other.path, key: .published("primary"), options: .testing)
    try copy.write { transaction in
      let tx = WriteTransaction(transaction)
      for number in 1...400 { try tx.update(DocumentID(number)) { $0.text = "there" } }
    }
    let steps = IndexSteps()
    try copy.writing { transaction throws(StoreError) in
      #expect(try StoreIndexes(transaction).write(IndexPart.contents, in: steps))
      try transaction.commit()
    }
    #expect(!steps.isFinished)
    try copy.connections.close()
    let writer = try StoreEngine(at: test.url.path, key: .published("primary"), options: .testing)
    _ = try writer.write { try WriteTransaction($0).update(5) { $0.text = "here" } }
    try writer.connections.close()
    try test.putIndexes(of: other)
    let reader = try test.reopened()
    for (word, total) in [("there", 0), ("here", 1), ("needle", 399)] {
      #expect(try reader.read { try $0.search(ranked: word, in: test.notes) }.total == total, "\(word)")
    }
    #expect(try reader.verify(.full).isSound)
  }

  /// Tables that are made again have documents of later commits, so the rest of the index gets them, too.
  @Test func wornTablesBringTheirIndexAlong() throws {
    let (test, store) = try indexed(documents: 400, memory: 64 << 20)
    try store.close()
    let engine = try StoreEngine(at: test.url.path, key: .published("primary"), options: .testing)
    try engine.write { transaction in
      let tx = WriteTransaction(transaction)
      for number in 1...200 { try tx.update(DocumentID(number)) { $0.text = "changed \(number)" } }
    }
    let worn = try engine.reading { transaction throws(StoreError) in
      try StoreIndexes(transaction).withIndex(IndexPart.contents) { file throws(StoreError) in
        file.map {
          IndexMemory.Update(sealedRoot: $0.sealedRoot, pages: $0.pages.overlay, contents: $0.memoryContents!)
        }
      }
    }
    let update = try #require(worn)
    _ = try engine.write { try WriteTransaction($0).update(300) { $0.text = "later" } }
    try engine.writing { transaction throws(StoreError) in
      #expect(try StoreIndexes(transaction).write(IndexPart.contents, update))
      try transaction.commit()
    }
    try engine.connections.close()
    let reader = try test.reopened()
    #expect(try missing(reader) == 0)
    for (word, total) in [("changed", 200), ("later", 1), ("needle", 199)] {
      #expect(try reader.read { try $0.search(ranked: word, in: test.notes) }.total == total, "\(word)")
    }
    #expect(try reader.verify(.full).isSound)
  }

  /// Tables with many outdated rows are made again before the transaction that writes them, for which others wait.
  @Test func wornTablesAreMadeAgainInMemory() throws {
    let (test, store) = try indexed(documents: 400, memory: 64 << 20)
    try store.write { tx in
      for number in 1...200 { try tx.update(DocumentID(number)) { $0.text = "changed \(number)" } }
    }
    let reader = try test.reopened()
    try reader.engine.reading { transaction throws(StoreError) in
      let indexes = StoreIndexes(transaction)
      guard let found = try indexes.root(IndexPart.contents) else { throw .indexBehind }
      func isWorn(_ update: IndexMemory.Update) throws(StoreError) -> Bool {
        let file = try IndexFile(
          found.root, sealed: found.sealed, transaction, .inMemory(PageBudget(64 << 20)), continuing: update)
        return try IndexUpdate(file, transaction).hasWornTables
      }
      let worn = try indexes.withIndex(IndexPart.contents) { file throws(StoreError) in
        file.map {
          IndexMemory.Update(sealedRoot: $0.sealedRoot, pages: $0.pages.overlay, contents: $0.memoryContents!)
        }
      }
      #expect(try worn.map(isWorn) == true)
      let update = try indexes.update(of: IndexPart.contents)
      #expect(try update.map(isWorn) == false)
    }
    try insertNeedles(100, into: store, test)
    try store.close()
    #expect(try missing(reader) == 0)
    #expect(try reader.verify(.full).isSound)
    #expect(try reader.read { try $0.search(ranked: "changed", in: test.notes) }.total == 200)
  }

  /// A second store of the file continues from the first one's pages, and their memory counts for both.
  @Test func storesOfOneFileShareUpdatedPages() throws {
    let (test, store) = try indexed(documents: 400, memory: 8 << 20)
    try store.write { tx in
      for number in 1...100 { try tx.update(DocumentID(number)) { $0.text = "changed \(number)" } }
    }
    try store.close()
    var options = OpenOptions.testing
    options.isReadOnly = true
    let first = try test.reopened(.published("primary"), options)
    // Less than a page.
    options.indexMemoryBytes = 1024
    let second = try test.reopened(.published("primary"), options)
    let budget = second.engine.session.companion(IndexMemory.self).budget
    func count(_ store: DocumentStore) throws -> Int {
      try store.read { try $0.search(ranked: "changed", in: test.notes) }.total
    }
    expect(.indexBehind) { try count(second) }
    #expect(!budget.isScarce)
    #expect(try count(first) == 100)
    #expect(budget.isScarce)
    #expect(try count(second) == 100)
    // The pages stay while a store uses them.
    try first.close()
    #expect(try count(second) == 100)
    try second.close()
    #expect(!budget.isScarce)
  }

  /// A reader that waits for another store's reader to update an index doesn't keep its store open.
  @Test func waitingReaderEndsWithItsStore() throws {
    let (test, store) = try indexed(documents: 20, memory: 8 << 20)
    try insertNeedles(100, into: store, test)
    let turn = store.engine.session.locks.indexReaders
    try turn.wait(nil)
    defer { turn.signal() }
    for isClosing in [false, true] {
      let other = try test.reopened()
      let reading = Background { _ = try other.read { try $0.search(ranked: "needle", in: test.notes) } }
      waitUntil { turn.waiterCount == 1 }
      if isClosing { try other.close() } else { try other.suspend(within: .seconds(60)) }
      expect(isClosing ? .closed : .suspended) { try reading.value() }
    }
  }

  /// The index needs more memory than readers have, so the read waits for the file like a writer.
  @Test func readBesideLockedFileIsLocked() throws {
    let (test, store) = try indexed(documents: 20, memory: 8 << 20)
    try insertNeedles(100, into: store, test)
    try store.close()
    var options = OpenOptions.testing
    (options.wait, options.indexMemoryBytes) = (.zero, 1024)
    let reader = try test.reopened(.published("primary"), options)
    let other = try test.raw()
    try other.begin(.immediate)
    expect(.locked) { try reader.read { try $0.search(ranked: "needle", in: test.notes) } }
    try other.rollback()
    #expect(try reader.read { try $0.search(ranked: "needle", in: test.notes) }.total == 120)
  }

  /// A store that was closed or suspended after the read failed doesn't hide that behind the read's error.
  @Test func repeatedReadNamesEndOfStore() throws {
    let (test, store) = try indexed(documents: 1, memory: 8 << 20)
    defer { withExtendedLifetime(test) {} }
    try store.suspend(within: .seconds(60))
    expect(.suspended) { try store.engine.canRepeatRead(after: StoreError.indexBehind) }
    store.resume()
    #expect(try store.engine.canRepeatRead(after: StoreError.indexBehind))
    try store.close()
    expect(.closed) { try store.engine.canRepeatRead(after: StoreError.indexBehind) }
  }

  @Test func failedReadIsRunOnce() throws {
    let (test, store) = try indexed(documents: 20, memory: 8 << 20)
    var calls = 0
    expect(.noSuchDocument) {
      try store.read { reader in
        calls += 1
        return try reader.text(of: 99)
      }
    }
    #expect(calls == 1)
    _ = test
  }

  /// Batches of a rekey change the seals of rows that an index has already taken.
  @Test func verifyAcceptsIndexesDuringRekey() throws {
    let (test, store) = try indexed(documents: 30, memory: 8 << 20)
    var options = RekeyOptions()
    options.isKeysOnly = true
    try store.rekey(to: [.published("next")], options: options) { _ in }
    #expect(try store.read { try $0.search(ranked: "needle", in: test.notes) }.total == 30)
    options = RekeyOptions()
    options.isResuming = true
    options.batchSize = 7
    var steps = 0
    #expect(throws: StoreError.self) {
      try store.rekey(options: options) { _ in
        steps += 1
        if steps == 3 { throw Interruption() }
      }
    }
    #expect(try !store.rekeyStatus().isFinished)
    #expect(try store.verify(.full).error == nil)
    #expect(try store.read { try $0.search(ranked: "needle", in: test.notes) }.total == 30)
    options.batchSize = 1000
    try store.rekey(options: options) { _ in }
    #expect(try store.verify(.full).isSound)
  }

  /// A rekey empties the indexes, so the first read needs all of them.
  @Test func readAfterRekeyMakesIndexInFile() throws {
    let (test, store) = try indexed(documents: 1500, memory: 16 << 10)
    var options = RekeyOptions.batched
    options.isKeysOnly = true
    try store.rekey(to: [.published("next")], options: options) { _ in }
    var count = 0
    let total = try store.read { reader in
      count += 1
      return try reader.search(ranked: "needle", in: test.notes).total
    }
    #expect(total == 1500 && count <= 3)
  }
}
