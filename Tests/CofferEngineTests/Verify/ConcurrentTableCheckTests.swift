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

/// Verifying a store with so many documents that another thread checks the tables.
struct ConcurrentTableCheckTests {
  private func largeStore(_ journal: CreateOptions.Journal = .rollback) throws -> TestStore {
    let test = try TestStore { $0.journal = journal }
    try test.store.write { writer in
      let long = String(repeating: "long ", count: 1000)
      let parent = try writer.insert(Document(text: long), into: test.notes)
      try writer.insert(
        contentsOf: (1...ConcurrentTableCheck.minimumCount).map {
          Document(text: $0 % 1000 == 0 ? long : "short", parent: $0 % 3 == 0 ? parent : nil)
        }, into: test.notes)
    }
    return test
  }

  @Test(arguments: CreateOptions.Journal.allCases) func soundStoreIsSoundAtEveryDepth(_ journal: CreateOptions.Journal)
    throws
  {
    let test = try largeStore(journal)
    for depth in [DocumentStore.VerifyDepth.quick, .full] {
      let verdict = try test.store.verify(depth)
      #expect(verdict.isSound && verdict.documents == ConcurrentTableCheck.minimumCount + 1)
    }
    try test.store.engine.read { transaction in
      let check = try #require(ConcurrentTableCheck(of: test.store.engine, beside: transaction))
      #expect(check.result()?.problems == [])
    }
    try test.store.write { _ = try $0.insert(Document(text: "later"), into: test.notes) }
  }

  /// The bytes of a large store.
  private static let file = Result {
    let test = try ConcurrentTableCheckTests().largeStore()
    try test.store.close()
    return try Data(contentsOf: test.url)
  }

  /// With a single reader, the verifying thread checks the tables itself.
  @Test(arguments: [
    "DELETE FROM coffer_body WHERE id = 1001", "INSERT INTO coffer_body VALUES (77, zeroblob(3000))",
    "INSERT INTO coffer_body VALUES (99999, zeroblob(3000))", "UPDATE coffer_body SET ct = zeroblob(9) WHERE id = 1001",
    "UPDATE coffer_record SET coll = 9 WHERE id = 5", "DELETE FROM coffer_record WHERE id = 1001",
    "UPDATE coffer_record SET body = NULL WHERE id = 6", "UPDATE coffer_record SET head = x'00' WHERE id = 8",
    "UPDATE coffer_body SET id = 1002 WHERE id = 1001", "DELETE FROM coffer_body",
  ])
  func findsWhatSingleReaderFinds(_ change: String) throws {
    let place = try Workplace()
    let url = place.file("test.coffer")
    try Self.file.get().write(to: url)
    let database = try Database(url.path, mode: .readWrite)
    try database.execute(change)
    try database.close()
    var single = OpenOptions.testing
    single.maximumReaders = 1
    let (alone, ordinary) = (
      try DocumentStore.open(at: url, key: .published("primary"), options: single),
      try DocumentStore.open(at: url, key: .published("primary"), options: .testing)
    )
    for depth in [DocumentStore.VerifyDepth.quick, .full] {
      let (expected, found) = (try alone.verify(depth), try ordinary.verify(depth))
      #expect(!found.isSound && found.damaged == expected.damaged && found.problems == expected.problems)
      #expect(found.setMatches == expected.setMatches && found.countMatches == expected.countMatches)
    }
  }

  @Test func leavesCheckToCallerIfOtherStateWasCommitted() throws {
    let test = try largeStore(.writeAheadLog)
    try test.store.engine.read { transaction in
      let other = try test.reopened()
      try other.write { _ = try $0.insert(Document(text: "newer"), into: test.notes) }
      let check = try #require(ConcurrentTableCheck(of: test.store.engine, beside: transaction))
      #expect(check.result() == nil)
    }
    try test.expectSound()
  }

  @Test func leavesCheckToCallerIfReadersAreBusy() throws {
    let test = try largeStore()
    var single = OpenOptions.testing
    single.maximumReaders = 1
    let store = try test.reopened(.published("primary"), single)
    try store.engine.read { transaction in
      let check = try #require(ConcurrentTableCheck(of: store.engine, beside: transaction))
      #expect(check.result() == nil)
    }
  }

  @Test func stoppingWaitsForOtherReader() throws {
    let test = try largeStore()
    let pool = test.store.engine.connections
    try test.store.engine.read { transaction in
      let check = try #require(ConcurrentTableCheck(of: test.store.engine, beside: transaction))
      waitUntil { pool.idle.withLock { $0.reading.count } == 2 || check.end.wait(timeout: .now()) == .success }
      check.stop()
      #expect(pool.idle.withLock { $0.reading.count } == 1)
    }
  }

  /// An interrupted verification leaves no reader that a write would wait for.
  @Test(arguments: CreateOptions.Journal.allCases) func interruptionEndsCheck(_ journal: CreateOptions.Journal) throws {
    var options = OpenOptions.testing
    options.wait = .zero
    let test = try largeStore(journal)
    let store = try test.reopened(.published("primary"), options)
    for _ in 1...3 {
      expect(.cancelled) { try store.verify(progress: { _ in throw Interruption() }) }
      #expect(store.engine.connections.idle.withLock { $0.reading.isEmpty })
      try store.write { _ = try $0.insert(Document(text: "next"), into: test.notes) }
    }
    try store.close()
  }
}
