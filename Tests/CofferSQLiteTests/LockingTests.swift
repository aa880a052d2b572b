import CofferTestSupport
import Foundation
import Testing

@testable import CofferSQLite

/// Tests two connections to the same file.
@Suite struct LockingTests {
  let scratch: Scratch
  let path: String
  let one: Database
  let other: Database

  init() throws {
    scratch = try Scratch()
    path = scratch.file("file.db")
    one = try Database(path, mode: .create)
    try one.execute("CREATE TABLE t(a); INSERT INTO t VALUES(1)")
    other = try Database(path, configuration: .init(busyTimeout: .zero))
  }

  private func count(_ database: Database) throws -> SQLiteValue? { try database.firstValue("SELECT count(*) FROM t") }

  @Test func secondWriterIsBusy() throws {
    try one.begin(.immediate)
    #expect(throws: error(.busy)) { try other.transaction {} }
    try one.commit()
    try other.transaction {}
  }

  /// Closing another descriptor of the file would end them.
  @Test func lookingForReasonKeepsLocks() throws {
    try one.begin(.immediate)
    let folder = URL(filePath: scratch.path)
    let locks = try HeldLocks.ofFiles(in: folder).count
    #expect(locks > 0)
    #expect(DatabaseFile.refusal(of: path) == nil)
    #expect(try HeldLocks.ofFiles(in: folder).count == locks)
    try one.rollback()
  }

  @Test func readerIsBusyDuringExclusiveCommit() throws {
    try one.begin(.exclusive)
    #expect(throws: error(.busy)) { try count(other) }
    try one.rollback()
    #expect(try count(other) == 1)
  }

  @Test func busyCommitKeepsTransactionOpen() throws {
    one.busyTimeout = .zero
    try other.begin(.deferred)
    #expect(try count(other) == 1)
    try one.begin(.immediate)
    try one.execute("INSERT INTO t VALUES(2)")
    #expect(throws: error(.busy)) { try one.commit() }
    #expect(one.isInTransaction)
    #expect(try count(other) == 1)
    try other.commit()
    try one.commit()
    #expect(try count(other) == 2)
  }

  @Test func rollsBackScopeWithBusyCommit() throws {
    one.busyTimeout = .zero
    try other.begin(.deferred)
    #expect(try count(other) == 1)
    #expect(throws: error(.busy)) { try one.transaction { try one.execute("INSERT INTO t VALUES(2)") } }
    try other.commit()
    #expect(try !one.isInTransaction && count(one) == 1)
  }

  @Test func connectionsSeeEachOthersCommits() throws {
    try one.execute("INSERT INTO t VALUES(2)")
    #expect(try count(other) == 2)
    try other.execute("DELETE FROM t")
    #expect(try count(one) == 0)
  }

  @Test func cachedStatementsDetectSchemaChange() throws {
    #expect(try other.query("SELECT * FROM t").columnNames == ["a"])
    try one.execute("ALTER TABLE t ADD COLUMN b")
    #expect(try other.query("SELECT * FROM t").rows[0].values == [1, .null])
    try one.execute("DROP TABLE t")
    #expect(throws: error(.sqlLogic)) { try other.query("SELECT * FROM t") }
  }

  @Test func readTransactionSeesSnapshot() throws {
    _ = try one.textPragma("journal_mode = WAL")
    try other.begin(.deferred)
    #expect(try count(other) == 1)
    try one.execute("INSERT INTO t VALUES(2)")
    #expect(try count(other) == 1)
    try other.commit()
    #expect(try count(other) == 2)
  }

  @Test func rejectsWriteAfterStaleRead() throws {
    _ = try one.textPragma("journal_mode = WAL")
    try other.begin(.deferred)
    #expect(try count(other) == 1)
    try one.execute("INSERT INTO t VALUES(2)")
    #expect(throws: error(.staleSnapshot)) { try other.execute("INSERT INTO t VALUES(3)") }
    try other.rollback()
    try other.execute("INSERT INTO t VALUES(3)")
  }

  @Test func writerWaitsForOtherWriter() async throws {
    try one.begin(.immediate)
    let path = path
    async let waiting = onThread {
      let third = try Database(path, configuration: .init(busyTimeout: nil))
      return try third.execute("INSERT INTO t VALUES(2)").rowsAffected
    }
    try one.commit()
    #expect(try await waiting == 1)
  }

  @Test func busyTimeoutExpires() throws {
    try one.begin(.immediate)
    other.busyTimeout = .milliseconds(30)
    let start = ContinuousClock.now
    #expect(throws: error(.busy)) { try other.transaction {} }
    #expect(ContinuousClock.now - start >= .milliseconds(30))
    try one.commit()
  }

  @Test func interruptsLockWait() async throws {
    try one.begin(.immediate)
    let code = try await interruptedUntilItEnds { [path] handle in
      let third = try Database(path, configuration: .init(busyTimeout: nil))
      handle(third.interruptHandle)
      return thrown { try third.execute("INSERT INTO t VALUES(2)") }?.code
    }
    #expect(code == .interrupted)
    try one.rollback()
  }

  @Test func stopConditionEndsLockWait() throws {
    try one.begin(.immediate)
    other.busyTimeout = .milliseconds(30)
    try other.setStopCondition { true }
    #expect(throws: error(.interrupted)) { try other.execute("INSERT INTO t VALUES(2)") }
    try other.setStopCondition(nil)
    #expect(throws: error(.busy)) { try other.execute("INSERT INTO t VALUES(2)") }
    try one.commit()
    try other.execute("INSERT INTO t VALUES(2)")
  }

  @Test func checkpointEmptiesLog() throws {
    #expect(try one.checkpoint(.passive) == nil)
    _ = try one.textPragma("journal_mode = WAL")
    try one.execute("INSERT INTO t VALUES(2)")
    let done = try #require(try one.checkpoint(.passive))
    #expect(done.frames > 0 && done.copied == done.frames)
    try one.checkpoint(.truncate)
    #expect(try one.checkpoint(.passive)?.frames == 0)
  }

  @Test func checkpointIsBusyDuringRead() throws {
    _ = try one.textPragma("journal_mode = WAL")
    one.busyTimeout = .zero
    try other.begin(.deferred)
    #expect(try count(other) == 1)
    try one.execute("INSERT INTO t VALUES(2)")
    #expect(throws: error(.busy)) { try one.checkpoint(.truncate) }
    try other.commit()
    try one.checkpoint(.truncate)
  }

  @Test func lastCloseKeepsLogWithoutCheckpoint() throws {
    _ = try one.textPragma("journal_mode = WAL")
    try one.execute("INSERT INTO t VALUES(2)")
    try one.set(.noCheckpointOnClose, to: true)
    try other.close()
    try one.close()
    #expect(try scratch.names().contains("file.db-wal"))
    #expect(try count(Database(path)) == 2)
  }
}
