import Coffer
import CofferPlatform
import CofferRecords
import CofferSQLite
import CofferTestSupport
import Dispatch
import Foundation
import Synchronization
import Testing

@testable import CofferEngine
@testable import CofferStoreTestSupport

/// `suspend` ends all work, and leaves no lock and no open file.
struct SuspensionTests {
  static let notes = DocumentCollection("notes")
  /// A query without an end.
  static let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"

  private func store(
    _ journal: CreateOptions.Journal, documents: Int = 3, _ change: (inout OpenOptions) -> Void = { _ in }
  ) throws -> TestStore {
    var options = OpenOptions.testing
    change(&options)
    let test = try TestStore({ $0.journal = journal }, options: options)
    try test.store.write { writer in
      try writer.insert(contentsOf: (0..<documents).map { Document(text: "text \($0)") }, into: Self.notes)
    }
    return test
  }

  private func locks(_ test: TestStore) throws -> [String] { try HeldLocks.ofFiles(in: test.place.url) }

  /// Expects that this process doesn't lock a file in the store's folder, and that the store has no connection.
  private func expectReleased(_ test: TestStore, _ location: SourceLocation = #_sourceLocation) throws {
    #expect(try locks(test) == [], sourceLocation: location)
    let connections = test.store.engine.connections
    #expect(connections.share.withLock { $0 == nil }, sourceLocation: location)
    #expect(connections.writingConnection == nil, sourceLocation: location)
    #expect(connections.idle.withLock { $0.readers.isEmpty }, sourceLocation: location)
  }

  private func texts(_ store: DocumentStore) throws -> [String] {
    try store.read { reader in
      var texts: [String] = []
      try reader.forEach(in: Self.notes) { texts.append($0.text) }
      return texts
    }
  }

  // MARK: Files and keys

  @Test(arguments: CreateOptions.Journal.allCases)
  func suspendReleasesLocksAndFiles(_ journal: CreateOptions.Journal) throws {
    let test = try store(journal)
    let store = test.store
    #expect(try texts(store).count == 3)
    #expect(try locks(test).isEmpty == (journal != .writeAheadLog))
    try store.suspend(within: .seconds(60))
    #expect(store.isSuspended)
    try expectReleased(test)
    expect(.suspended) { try store.read { _ in } }
    expect(.suspended) { try store.write { _ in } }
    expect(.suspended) { try store.verify() }
    expect(.suspended) { try store.compact() }
    expect(.suspended) { try store.rekey() }
    expect(.suspended) { try store.backup(to: test.place.file("backup.coffer")) }
    expect(.suspended) { try store.copy(to: test.place.file("copy.coffer")) }
    try expectReleased(test)
    store.resume()
    #expect(!store.isSuspended)
    try store.write { _ = try $0.insert(Document(text: "later"), into: Self.notes) }
    #expect(try texts(store) == ["text 0", "text 1", "text 2", "later"])
    try test.expectSound()
    try store.close()
    try expectReleased(test)
  }

  @Test func errorNamesTheCallThatResumes() throws {
    let test = try store(.rollback)
    try test.store.suspend(within: .zero)
    do {
      try test.store.read { _ in }
      Issue.record("a suspended store was read")
    } catch let error as StoreError {
      #expect(error.hint == "call resume(), and try again")
    }
  }

  @Test func suspendKeepsKeysAndWipesTexts() throws {
    let test = try store(.writeAheadLog)
    let store = test.store
    let keys = ObjectIdentifier(try store.engine.session.keys)
    _ = try store.read { try $0.text(of: 1) }
    let texts = try #require(store.engine.session.texts)
    #expect(texts.byteCount > 0)
    try store.suspend(within: .zero)
    #expect(texts.byteCount == 0)
    #expect(ObjectIdentifier(try store.engine.session.keys) == keys)
    store.resume()
    #expect(try store.read { try $0.text(of: 1) } == "text 0")
    #expect(texts.byteCount > 0)
  }

  @Test(arguments: CreateOptions.Journal.allCases)
  func repeatedCallsHaveNoEffect(_ journal: CreateOptions.Journal) throws {
    let test = try store(journal)
    let store = test.store
    store.resume()
    #expect(try texts(store).count == 3)
    for _ in 0..<2 { try store.suspend(within: .zero) }
    try expectReleased(test)
    for _ in 0..<2 { store.resume() }
    #expect(try texts(store).count == 3)
  }

  @Test(arguments: CreateOptions.Journal.allCases)
  func closesSuspendedStore(_ journal: CreateOptions.Journal) throws {
    let test = try store(journal)
    let store = test.store
    try store.suspend(within: .zero)
    try store.close()
    expect(.closed) { _ = try store.engine.session.keys }
    expect(.closed) { try store.suspend(within: .zero) }
    store.resume()
    expect(.closed) { try store.read { _ in } }
    try expectReleased(test)
    let reopened = try test.reopened()
    #expect(try texts(reopened).count == 3)
    #expect(try reopened.verify().isSound)
  }

  @Test func rejectsSuspendInsideTransaction() throws {
    try withTestStore { test in
      try test.store.read { _ in expect(.misuse) { try test.store.suspend(within: .zero) } }
      try test.store.write { _ in expect(.misuse) { try test.store.suspend(within: .zero) } }
      #expect(!test.store.isSuspended)
    }
  }

  @Test func otherHandleKeepsItsLocks() throws {
    let test = try store(.writeAheadLog)
    let other = try test.reopened()
    try test.store.suspend(within: .zero)
    #expect(try !locks(test).isEmpty)
    #expect(try texts(other).count == 3)
    try other.suspend(within: .zero)
    try expectReleased(test)
    test.store.resume()
    #expect(try texts(test.store).count == 3)
    expect(.suspended) { try texts(other) }
  }

  // MARK: Running work

  @Test(arguments: CreateOptions.Journal.allCases, [false, true])
  func interruptsRunningStatement(_ journal: CreateOptions.Journal, inWrite: Bool) throws {
    let test = try store(journal)
    let store = test.store
    let begun = DispatchSemaphore(value: 0)
    let work = Background {
      if inWrite {
        try store.write { writer in
          try writer.insert(Document(text: "lost"), into: Self.notes)
          begun.signal()
          try writer.withQuery(Self.endless) { rows in _ = try rows.next() }
        }
      } else {
        try store.read { reader in
          begun.signal()
          try reader.withQuery(Self.endless) { rows in _ = try rows.next() }
        }
      }
    }
    begun.wait()
    try store.suspend(within: .seconds(60))
    try expectReleased(test)
    expect(.suspended) { try work.value() }
    store.resume()
    #expect(try texts(store) == ["text 0", "text 1", "text 2"])
    try test.expectSound()
  }

  /// Nothing but an interrupt ends such a statement.
  @Test(arguments: CreateOptions.Journal.allCases, [false, true])
  func interruptsStatementOfEngine(_ journal: CreateOptions.Journal, inWrite: Bool) throws {
    let test = try store(journal)
    let store = test.store
    let begun = DispatchSemaphore(value: 0)
    @Sendable func run(_ transaction: StoreTransaction) throws {
      begun.signal()
      let database = transaction.database.connection
      try translatingErrors { () throws(SQLiteError) in
        try database.liftingRule { () throws(SQLiteError) in _ = try database.firstValue(Self.endless) }
      }
    }
    let work = Background {
      try inWrite ? store.engine.write { try run($0) } : store.engine.read { try run($0) }
    }
    begun.wait()
    try store.suspend(within: .seconds(10))
    expect(.suspended) { try work.value() }
    try expectReleased(test)
  }

  @Test(arguments: CreateOptions.Journal.allCases, [false, true])
  func rollsBackRunningWrite(_ journal: CreateOptions.Journal, callsAgain: Bool) throws {
    let test = try store(journal)
    let store = test.store
    let meeting = Meeting()
    let running = Background {
      try store.write { writer in
        try writer.insert(Document(text: "lost"), into: Self.notes)
        meeting.stop()
        if callsAgain { try writer.insert(Document(text: "lost, too"), into: Self.notes) }
      }
    }
    meeting.waitForArrival()
    let suspending = Background { try store.suspend(within: .seconds(60)) }
    waitUntil { store.isSuspended }
    meeting.letGo()
    expect(.suspended) { try running.value() }
    try suspending.value()
    try expectReleased(test)
    store.resume()
    #expect(try texts(store) == ["text 0", "text 1", "text 2"])
    try test.expectSound()
  }

  @Test(arguments: CreateOptions.Journal.allCases, ClosingTests.readings)
  func stopsReaders(_ journal: CreateOptions.Journal, _ reading: ClosingTests.Reading) throws {
    let test = try store(journal, documents: ClosingTests.count)
    let store = test.store
    let meeting = Meeting()
    let steps = Atomic(0)
    let reader = Background {
      try store.read { reader in
        try reading.run(reader) {
          if steps.add(1, ordering: .relaxed).newValue == 5 { meeting.stop() }
        }
      }
    }
    meeting.waitForArrival()
    let suspending = Background { try store.suspend(within: .seconds(60)) }
    waitUntil { store.isSuspended }
    meeting.letGo()
    expect(.suspended) { try reader.value() }
    #expect(steps.load(ordering: .relaxed) == 5)
    try suspending.value()
    try expectReleased(test)
  }

  @Test(arguments: CreateOptions.Journal.allCases, [false, true])
  func reportsClosureThatDoesNotReturn(_ journal: CreateOptions.Journal, inWrite: Bool) throws {
    let test = try store(journal)
    let store = test.store
    let meeting = Meeting()
    let work = Background {
      if inWrite {
        try store.write { writer in
          try writer.insert(Document(text: "lost"), into: Self.notes)
          meeting.stop()
        }
      } else {
        try store.read { reader in
          _ = try reader.collections()
          meeting.stop()
          _ = try reader.collections()
        }
      }
    }
    meeting.waitForArrival()
    expect(.locked) { try store.suspend(within: .zero) }
    #expect(store.isSuspended)
    expect(.suspended) { try store.read { _ in } }
    meeting.letGo()
    expect(.suspended) { try work.value() }
    waitUntil { (try? locks(test).isEmpty) == true }
    try store.suspend(within: .seconds(60))
    try expectReleased(test)
    store.resume()
    #expect(try texts(store).count == 3)
  }

  @Test(arguments: CreateOptions.Journal.allCases, [false, true])
  func resumingDoesNotContinueInterruptedWork(_ journal: CreateOptions.Journal, inWrite: Bool) throws {
    let test = try store(journal)
    let store = test.store
    let meeting = Meeting()
    let work = Background {
      if inWrite {
        try store.write { writer in
          try writer.insert(Document(text: "lost"), into: Self.notes)
          meeting.stop()
        }
      } else {
        try store.read { reader in
          meeting.stop()
          _ = try reader.collections()
        }
      }
    }
    meeting.waitForArrival()
    expect(.locked) { try store.suspend(within: .zero) }
    store.resume()
    if !inWrite || journal == .writeAheadLog { #expect(try texts(store).count == 3) }
    meeting.letGo()
    expect(.suspended) { try work.value() }
    try store.write { _ = try $0.insert(Document(text: "later"), into: Self.notes) }
    #expect(try texts(store) == ["text 0", "text 1", "text 2", "later"])
    try test.expectSound()
  }

  @Test(arguments: CreateOptions.Journal.allCases)
  func endsWaitsForTurn(_ journal: CreateOptions.Journal) throws {
    let test = try store(journal) { $0.wait = nil }
    let store = test.store
    let meeting = Meeting()
    let running = Background { try store.write { _ in meeting.stop() } }
    meeting.waitForArrival()
    let waiting = (0..<2).map { _ in Background { try store.write { _ in } } }
    waitUntil { store.engine.connections.locks.writers.waiterCount == 2 }
    let suspending = Background { try store.suspend(within: .seconds(60)) }
    for waiting in waiting { expect(.suspended) { try waiting.value() } }
    meeting.letGo()
    expect(.suspended) { try running.value() }
    try suspending.value()
    try expectReleased(test)
  }

  @Test func endsWaitForAnotherProcessInRollbackMode() throws {
    let test = try store(.rollback) { $0.wait = nil }
    let store = test.store
    let other = try test.raw()
    try other.execute("BEGIN EXCLUSIVE")
    let reader = Background { try store.read { _ = try $0.collections() } }
    let writer = Background { try store.write { _ = try $0.insert(Document(text: "x"), into: Self.notes) } }
    waitUntil { store.engine.connections.idle.withLock { !$0.interrupts.isEmpty && $0.writer != nil } }
    try store.suspend(within: .seconds(60))
    expect(.suspended) { try reader.value() }
    expect(.suspended) { try writer.value() }
    try other.execute("ROLLBACK")
    try other.close()
    try expectReleased(test)
  }

  @Test func endsWaitForAnotherWriterOfLog() throws {
    let test = try store(.writeAheadLog) { $0.wait = nil }
    let store = test.store
    let lock = try WriteAheadLock.of(test.url.path)
    try lock.lock(wait: .zero)
    let writer = Background { try store.write { _ in } }
    waitUntil { store.engine.connections.idle.withLock { $0.writer != nil } }
    try store.suspend(within: .seconds(60))
    expect(.suspended) { try writer.value() }
    lock.unlock()
    lock.release()
    try expectReleased(test)
  }

  // MARK: Calls of several transactions

  @Test(arguments: CreateOptions.Journal.allCases)
  func stopsCopiesWithoutFile(_ journal: CreateOptions.Journal) throws {
    let test = try store(journal)
    let store = test.store
    // A backup looks whether it was stopped after every 1024 pages.
    let long = String(repeating: "long ", count: 1000)
    try store.write { try $0.insert(contentsOf: (0..<1500).map { _ in Document(text: long) }, into: Self.notes) }
    let target = test.place.file("target.coffer")
    let calls: [@Sendable (@escaping ProgressHandler) throws -> Void] = [
      { try store.backup(to: target, progress: $0) },
      { _ = try store.copy(to: target, keys: [.published("next")], progress: $0) },
      { _ = try store.makeEditableCopy(at: target, keys: [.published("primary")], progress: $0) },
    ]
    for call in calls {
      let meeting = Meeting()
      let hasMet = Flag()
      let work = Background {
        try call { _ in
          guard !hasMet.isSet else { return }
          hasMet.set()
          meeting.stop()
        }
      }
      meeting.waitForArrival()
      expect(.locked) { try store.suspend(within: .zero) }
      let suspending = Background { try store.suspend(within: .seconds(60)) }
      meeting.letGo()
      try suspending.value()
      try expectReleased(test)
      expect(.suspended) { try work.value() }
      #expect(!FileManager.default.fileExists(atPath: target.path))
      try? FileManager.default.removeItem(at: target)
      store.resume()
    }
    try test.expectSound()
  }

  @Test func waitsForCallWithItsOwnFiles() throws {
    let test = try store(.rollback)
    let store = test.store
    let meeting = Meeting()
    let call = Background {
      try store.engine.connections.during { () throws(StoreError) in
        meeting.stop()
        try Cancellation.checkCurrent()
      }
    }
    meeting.waitForArrival()
    expect(.locked) { try store.suspend(within: .zero) }
    meeting.letGo()
    try store.suspend(within: .seconds(60))
    expect(.suspended) { try call.value() }
    expect(.suspended) { try store.engine.connections.during {} }
  }

  @Test(arguments: CreateOptions.Journal.allCases)
  func exchangesAfterResume(_ journal: CreateOptions.Journal) throws {
    let test = try store(journal)
    let store = test.store
    let folder = SyncFolder(at: test.place.file("carried"))
    let invitation = try store.startSyncing(by: folder, keys: [.published("primary")], label: "laptop")
    try store.suspend(within: .seconds(60))
    expect(.suspended) { try store.exchange(with: folder) }
    try expectReleased(test)
    store.resume()
    _ = try store.exchange(with: folder)
    let phone = test.place.file("phone.coffer")
    var options = OpenOptions.testing
    options.creation.journal = journal
    try DocumentStore.join(
      folder, at: phone, key: .published("primary"), pin: invitation.pin, keys: [.published("primary")],
      label: "phone", options: options)
    try store.write { _ = try $0.insert(Document(text: "later"), into: Self.notes) }
    _ = try store.exchange(with: folder)
    let other = try DocumentStore.open(at: phone, key: .published("primary"), options: options)
    _ = try other.exchange(with: folder)
    #expect(try texts(other).count == 4)
  }

  @Test(arguments: CreateOptions.Journal.allCases)
  func closingAndSuspendingAtOnceEnd(_ journal: CreateOptions.Journal) throws {
    for _ in 0..<20 {
      let test = try store(journal)
      let store = test.store
      let work = (0..<4).map { number in
        Background {
          do {
            switch number {
            case 0: try store.close()
            case 1: try store.suspend(within: .seconds(60))
            case 2: store.resume()
            default: try store.write { _ = try $0.insert(Document(text: "x"), into: Self.notes) }
            }
          } catch let error as StoreError where error.code == .closed || error.code == .suspended {}
        }
      }
      for work in work { try work.value() }
      expect(.closed) { _ = try store.engine.session.keys }
      try expectReleased(test)
    }
  }

  @Test(arguments: CreateOptions.Journal.allCases)
  func resumesInterruptedRekey(_ journal: CreateOptions.Journal) throws {
    let test = try store(journal, documents: 300)
    let store = test.store
    let meeting = Meeting()
    let hasMet = Flag()
    let work = Background {
      var options = RekeyOptions()
      options.batchSize = 20
      try store.rekey(to: [.published("next")], options: options) { progress in
        guard progress.done > 100, !hasMet.isSet else { return }
        hasMet.set()
        meeting.stop()
      }
    }
    meeting.waitForArrival()
    try store.suspend(within: .seconds(60))
    try expectReleased(test)
    meeting.letGo()
    expect(.suspended) { try work.value() }
    store.resume()
    #expect(try texts(store).count == 300)
    var options = RekeyOptions()
    options.isResuming = true
    let report = try store.rekey(options: options)
    #expect(report.isFinished)
    try test.expectSound()
  }

  // MARK: Exchanged files

  @Test(arguments: CreateOptions.Journal.allCases)
  func noticesRestoredFile(_ journal: CreateOptions.Journal) throws {
    let test = try store(journal)
    let store = test.store
    let backup = test.place.file("backup.coffer")
    try store.backup(to: backup)
    expect(.locked) { try DocumentStore.restore(at: test.url, from: backup, replacing: true) }
    try store.suspend(within: .zero)
    try DocumentStore.restore(at: test.url, from: backup, replacing: true)
    store.resume()
    expect(.noSuchFile) { try texts(store) }
    expect(.noSuchFile) { try store.write { _ in } }
    try store.close()
    #expect(try texts(test.reopened()).count == 3)
  }

  /// Writes a file's bytes over those of the store's file, which keeps its identity.
  private func overwrite(_ test: TestStore, with bytes: Data) throws {
    let file = try FileHandle(forWritingTo: test.url)
    try file.truncate(atOffset: 0)
    try file.write(contentsOf: bytes)
    try file.close()
  }

  @Test func noticesOlderContents() throws {
    let test = try store(.rollback)
    let store = test.store
    try store.suspend(within: .zero)
    let old = try Data(contentsOf: test.url)
    store.resume()
    try store.write { _ = try $0.insert(Document(text: "later"), into: Self.notes) }
    try store.suspend(within: .zero)
    try overwrite(test, with: old)
    store.resume()
    expect(.rolledBack) { try texts(store) }
  }

  @Test func noticesOtherStore() throws {
    let test = try store(.rollback)
    let other = try store(.rollback)
    try other.store.close()
    try test.store.suspend(within: .zero)
    try overwrite(test, with: Data(contentsOf: other.url))
    test.store.resume()
    expect(.pinMismatch) { try texts(test.store) }
  }

  @Test func locksItsOwnFileAfterAnotherHadItsPlace() throws {
    let test = try store(.writeAheadLog)
    let other = try store(.writeAheadLog)
    try other.store.close()
    try test.store.suspend(within: .zero)
    let away = test.place.file("away").path
    let suffixes = ["", "-wal", "-shm"].filter { FileManager.default.fileExists(atPath: test.url.path + $0) }
    for suffix in suffixes { _ = rename(test.url.path + suffix, away + suffix) }
    try FileManager.default.copyItem(at: other.url, to: test.url)
    test.store.resume()
    expect(.noSuchFile) { try texts(test.store) }
    for suffix in suffixes { _ = rename(away + suffix, test.url.path + suffix) }
    try test.store.write { writer in
      try writer.insert(Document(text: "later"), into: Self.notes)
      let lock = try WriteAheadLock.of(test.url.path)
      expect(.locked) { try lock.lock(wait: .zero) }
      lock.release()
    }
    #expect(try texts(test.store).count == 4)
    try test.expectSound()
  }

  @Test func noticesOtherJournal() throws {
    let test = try store(.rollback)
    try test.store.suspend(within: .zero)
    let raw = try test.raw()
    #expect(try raw.textPragma("journal_mode = WAL") == "wal")
    test.store.resume()
    expect(.noSuchFile) { try texts(test.store) }
  }

  @Test func noticesChangedOriginal() throws {
    let test = try store(.writeAheadLog)
    try test.store.close()
    var options = OpenOptions.testing
    options.leavesFileUnchanged = true
    let original = try test.reopened(.published("primary"), options)
    #expect(try texts(original).count == 3)
    try original.suspend(within: .zero)
    original.resume()
    #expect(try texts(original).count == 3)
    try original.suspend(within: .zero)
    let writer = try test.reopened()
    try writer.write { _ = try $0.insert(Document(text: "later"), into: Self.notes) }
    try writer.close()
    original.resume()
    expect(.locked) { try texts(original) }
  }

  @Test func followsRekeyOfAnotherProcess() throws {
    let test = try store(.writeAheadLog)
    let other = try test.reopened()
    try test.store.suspend(within: .zero)
    try other.rekey()
    try other.close()
    test.store.resume()
    #expect(try texts(test.store).count == 3)
  }

  // MARK: Tasks

  @Test func asyncSuspendWaitsDespiteCancellation() async throws {
    let test = try store(.writeAheadLog)
    let store = test.store
    let suspending = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      try await store.suspend(within: .seconds(60))
    }
    try await suspending.value
    try expectReleased(test)
    await #expect(throws: StoreError(.suspended, "")) { try await store.read { _ in } }
    store.resume()
    let count = try await store.read { $0.documentCount }
    #expect(count == 3)
  }

  /// The numbers of reads and writes that succeeded, and whether tasks go on.
  private final class Tally: Sendable {
    let successes = Atomic(0)
    let writes = Atomic(0)
    let isOver = Atomic(false)
  }

  /// Reads or writes until the tally is over.
  private static func work(on store: DocumentStore, writing: Bool, _ tally: Tally) async throws {
    while !tally.isOver.load(ordering: .acquiring) {
      do {
        if writing {
          try await store.write { _ = try $0.insert(Document(text: "text"), into: notes) }
          tally.writes.add(1, ordering: .relaxed)
        } else {
          try await store.read { reader in
            var seen = 0
            try reader.forEach(in: notes) { _ in seen += 1 }
            let count = reader.documentCount
            #expect(count == seen)
          }
        }
        tally.successes.add(1, ordering: .relaxed)
      } catch let error as StoreError where error.code == .suspended {
        await Task.yield()
      }
    }
  }

  @Test(arguments: CreateOptions.Journal.allCases)
  func hundredTasksSurviveSuspensions(_ journal: CreateOptions.Journal) async throws {
    let test = try store(journal, documents: 1) { $0.wait = nil }
    let store = test.store
    let tally = Tally()
    let tasks = (0..<100).map { number in
      Task { try await Self.work(on: store, writing: number.isMultiple(of: 4), tally) }
    }
    for round in 1...20 {
      let before = tally.successes.load(ordering: .relaxed)
      await yieldUntil { tally.successes.load(ordering: .relaxed) >= before + 20 }
      await onThread {
        do {
          try store.suspend(within: .seconds(60))
          #expect(try HeldLocks.ofFiles(in: test.place.url) == [], "round \(round)")
        } catch {
          Issue.record(error)
        }
        store.resume()
      }
    }
    tally.isOver.store(true, ordering: .releasing)
    for task in tasks { try await task.value }
    let count = try await store.read { $0.documentCount }
    #expect(count == tally.writes.load(ordering: .relaxed) + 1)
    try test.expectSound()
  }
}
