import Coffer
import CofferRecords
import CofferSQLite
import CofferTestSupport
import Dispatch
import Foundation
import Synchronization
import Testing

@testable import CofferEngine
@testable import CofferStoreTestSupport

/// `close` ends reads, waits for writes, and wipes memory.
struct ClosingTests {
  /// A read that calls a closure for each result.
  struct Reading: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let run: @Sendable (borrowing ReadTransaction, () -> Void) throws -> Void
  }

  static let notes = DocumentCollection("notes")
  static let count = 2000

  static let readings = [
    Reading(testDescription: "every text") { reader, step in try reader.forEach(in: notes) { _ in step() } },
    Reading(testDescription: "every header") { reader, step in try reader.forEachHeader(in: notes) { _ in step() } },
    Reading(testDescription: "texts by id") { reader, step in
      for id in 1...count {
        try reader.withText(of: DocumentID(id)) { _ in step() }
      }
    },
    Reading(testDescription: "search") { reader, step in
      try reader.forEachMatch(of: .text("text"), in: notes) { _ in step() }
    },
    Reading(testDescription: "rows of a query") { reader, step in
      try reader.withQuery("SELECT text FROM documents") { rows in
        while try rows.next() != nil { step() }
      }
    },
    Reading(testDescription: "rows of a sorted query") { reader, step in
      try reader.withQuery("SELECT text FROM documents ORDER BY text DESC") { rows in
        while try rows.next() != nil { step() }
      }
    },
    Reading(testDescription: "calls of a scope") { reader, step in
      for _ in 0..<count {
        _ = try reader.collections()
        step()
      }
    },
  ]

  private func fill(_ test: TestStore) throws {
    try test.store.write { writer in
      try writer.insert(contentsOf: (0..<Self.count).map { Document(text: "text \($0)") }, into: test.notes)
    }
  }

  @Test(.slow, arguments: readings, [1, 700])
  func closingStopsReaders(_ reading: Reading, _ last: Int) throws {
    let test = try TestStore()
    try fill(test)
    let store = test.store
    let meeting = Meeting()
    let steps = Atomic(0)
    let reader = Background {
      try store.read { reader in
        try reading.run(reader) {
          if steps.add(1, ordering: .relaxed).newValue == last { meeting.stop() }
        }
      }
    }
    meeting.waitForArrival()
    let closer = Background { try store.close() }
    waitUntil { store.engine.session.isClosing }
    meeting.letGo()
    expect(.closed) { try reader.value() }
    try closer.value()
    let taken = steps.load(ordering: .relaxed)
    #expect(taken == last)
  }

  @Test func closeWaitsForReadersAndFreesMemory() throws {
    final class Seen: @unchecked Sendable {
      // Written before the meeting and read afterward.
      weak var connection: StoreConnection?
      weak var keys: SessionKeys?
    }
    let test = try TestStore()
    try fill(test)
    let store = test.store
    let meeting = Meeting()
    let seen = Seen()
    let order = Mutex<[String]>([])
    let reader = Background {
      try store.read { reader in
        seen.connection = reader.transaction.connection
        seen.keys = reader.transaction.keys.session
        try reader.withText(of: 7) { opened in
          meeting.stop()
          // The bytes remain valid until the call returns, even while other threads close the store.
          #expect(opened.text == "text 6")
        }
        expect(.closed) { try reader.text(of: 8) }
        order.withLock { $0.append("left") }
      }
    }
    meeting.waitForArrival()
    let closers = (0..<2).map { _ in
      Background {
        try store.close()
        #expect(seen.connection == nil && seen.keys == nil)
        order.withLock { $0.append("closed") }
      }
    }
    waitUntil { store.engine.session.isClosing }
    #expect(seen.connection != nil && seen.keys != nil)
    meeting.letGo()
    for closer in closers { try closer.value() }
    try reader.value()
    #expect(order.withLock { $0 } == ["left", "closed", "closed"])
  }

  @Test func closingClearsCachedTexts() throws {
    let test = try TestStore()
    try fill(test)
    let store = test.store
    _ = try store.read { try $0.text(of: 3) }
    let texts = try #require(store.engine.session.texts)
    #expect(texts.byteCount > 0)
    let meeting = Meeting()
    let reader = Background {
      try store.read { reader in
        _ = try reader.text(of: 4)
        meeting.stop()
        expect(.closed) { try reader.text(of: 5) }
      }
    }
    meeting.waitForArrival()
    let closer = Background { try store.close() }
    waitUntil { store.engine.session.isClosing }
    meeting.letGo()
    try closer.value()
    try reader.value()
    #expect(texts.byteCount == 0)
  }

  @Test(arguments: CreateOptions.Journal.allCases)
  func closingWaitsForRunningAndEndsWaitingWrite(_ journal: CreateOptions.Journal) throws {
    var options = OpenOptions.testing
    options.wait = nil
    let test = try TestStore({ $0.journal = journal }, options: options)
    let store = test.store
    let notes = test.notes
    let meeting = Meeting()
    let running = Background {
      try store.write { writer in
        try writer.insert(Document(text: "before"), into: notes)
        meeting.stop()
        try writer.insert(Document(text: "after"), into: notes)
      }
    }
    meeting.waitForArrival()
    let waiting = Background { try store.write { try $0.insert(Document(text: "never"), into: notes) } }
    waitUntil { store.engine.connections.locks.writers.waiterCount == 1 }
    let closer = Background { try store.close() }
    expect(.closed) { try waiting.value() }
    meeting.letGo()
    try running.value()
    try closer.value()
    let reopened = try test.reopened()
    #expect(try reopened.everything()["notes"]?.map(\.text) == ["before", "after"])
    #expect(try reopened.verify().isSound)
  }

  @Test(arguments: CreateOptions.Journal.allCases)
  func closingEndsWriteThatWaitsForAnotherProcess(_ journal: CreateOptions.Journal) throws {
    var options = OpenOptions.testing
    options.wait = nil
    let test = try TestStore({ $0.journal = journal }, options: options)
    let (store, notes) = (test.store, test.notes)
    let other = try test.raw()
    try other.execute("BEGIN IMMEDIATE")
    let waiting = Background { try store.write { try $0.insert(Document(text: "never"), into: notes) } }
    waitUntil { store.engine.connections.idle.withLock { $0.writer != nil } }
    try store.close()
    expect(.closed) { try waiting.value() }
    try other.execute("ROLLBACK")
    try test.reopened().close()
  }

  @Test func closingEndsWaitForAnotherWriterOfLog() throws {
    var options = OpenOptions.testing
    options.wait = nil
    let test = try TestStore({ $0.journal = .writeAheadLog }, options: options)
    let store = test.store
    let lock = try WriteAheadLock.of(test.url.path)
    try lock.lock(wait: .zero)
    let waiting = Background { try store.write { _ in } }
    waitUntil { store.engine.connections.idle.withLock { $0.writer != nil } }
    let closing = Background { try store.close() }
    expect(.closed) { try waiting.value() }
    lock.unlock()
    try closing.value()
    lock.release()
  }

  @Test func closingEndsReaderWaitingForLock() throws {
    var options = OpenOptions.testing
    options.wait = nil
    let test = try TestStore(options: options)
    let store = test.store
    let other = try test.raw()
    try other.execute("BEGIN EXCLUSIVE")
    let reader = Background { try store.read { _ = try $0.collections() } }
    waitUntil { store.engine.connections.idle.withLock { !$0.interrupts.isEmpty } }
    try store.close()
    expect(.closed) { try reader.value() }
    try other.execute("ROLLBACK")
  }

  @Test func closingEndsReaderOpeningConnection() throws {
    var options = OpenOptions.testing
    options.wait = nil
    let test = try TestStore(options: options)
    let store = test.store
    let other = try test.raw()
    try other.execute("BEGIN EXCLUSIVE")
    // The first reader takes the idle connection. The second opens a connection, which waits before reading the schema.
    let readers = (0..<2).map { _ in Background { try store.read { _ = try $0.collections() } } }
    waitUntil { store.engine.connections.idle.withLock { $0.interrupts.count == 2 } }
    try store.close()
    for reader in readers { expect(.closed) { try reader.value() } }
    try other.execute("ROLLBACK")
  }

  @Test func closingEndsListOfCountedAttachments() throws {
    let test = try TestStore()
    let (store, notes) = (test.store, test.notes)
    let id = try store.write { tx throws in
      let id = try tx.insert(Document(text: "x"), into: notes)
      try tx.attach([1], to: id, name: "a")
      return id
    }
    try store.read { reader throws in
      // Counting reads the attachments, which the next call lists without reading them again.
      #expect(try reader.header(of: id).attachmentCount == 1)
      #expect(try reader.attachments(of: id).count == 1)
      store.engine.session.beginClosing()
      expect(.closed) { try reader.attachments(of: id) }
    }
    try store.close()
  }

  @Test func closingEndsReaderBeforeItHasConnection() throws {
    let test = try TestStore()
    let store = test.store
    let connections = store.engine.connections
    let (thread, number) = try connections.beginReading(wait: nil, nil, turn: nil)
    let closer = Background { try store.close() }
    waitUntil { store.engine.session.isClosing }
    expect(.closed) { try connections.takeReader(wait: nil) }
    connections.endReading(thread, number)
    try closer.value()
  }

  @Test func closingEndsVerifyAndExport() throws {
    let test = try TestStore()
    try fill(test)
    for work in [
      { (store: DocumentStore, target: URL, step: @escaping () -> Void) throws in
        _ = try store.verify { _ in step() }
      },
      { store, target, step in
        _ = try store.copy(to: target, keys: [.published("next")]) { if $0.done > 0 { step() } }
      },
    ] {
      let store = try test.reopened()
      let target = test.place.file("export.coffer")
      let meeting = Meeting()
      let hasMet = Atomic(false)
      nonisolated(unsafe) let run = work
      let reader = Background {
        try run(store, target) {
          if !hasMet.exchange(true, ordering: .relaxed) { meeting.stop() }
        }
      }
      meeting.waitForArrival()
      let closer = Background { try store.close() }
      waitUntil { store.engine.session.isClosing }
      meeting.letGo()
      expect(.closed) { try reader.value() }
      try closer.value()
      #expect(!FileManager.default.fileExists(atPath: target.path))
    }
    try test.expectSound()
  }

  @Test func asyncCloseWaitsDespiteCancellation() async throws {
    let test = try TestStore()
    try fill(test)
    let store = test.store
    let meeting = Meeting()
    let hasLeft = Flag()
    let reader = Task {
      try await store.read { reader in
        try reader.forEach(in: Self.notes) { opened in
          if opened.header.id == 500 {
            meeting.stop()
            hasLeft.set()
          }
        }
      }
    }
    await onThread { meeting.waitForArrival() }
    let closer = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      try await store.close()
      #expect(hasLeft.isSet)
    }
    await onThread {
      waitUntil { store.engine.session.isClosing }
      meeting.letGo()
    }
    try await closer.value
    await #expect(throws: StoreError(.closed, "")) { try await reader.value }
    await #expect(throws: StoreError(.closed, "")) { try await store.read { _ in } }
  }

  @Test func rejectsCloseInsideTransaction() throws {
    try withTestStore { test in
      try test.store.read { _ in expect(.misuse) { try test.store.close() } }
      try test.store.write { _ in expect(.misuse) { try test.store.close() } }
    }
  }
}
