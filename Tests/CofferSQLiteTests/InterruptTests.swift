import CofferTestSupport
import Synchronization
import Testing

@testable import CofferSQLite

/// Runs the body on a new thread, and interrupts its connection until it ends.
func interruptedUntilItEnds<T: Sendable>(
  _ body: @escaping @Sendable ((InterruptHandle) -> Void) throws -> T
) async throws -> T {
  let shared = Shared()
  async let result = onThread {
    defer { shared.ended.store(true, ordering: .releasing) }
    return try body { handle in shared.named.withLock { $0 = handle } }
  }
  await yieldUntil {
    shared.named.withLock { $0 }?.interrupt()
    return shared.ended.load(ordering: .acquiring)
  }
  return try await result
}

private final class Shared: Sendable {
  let named = Mutex<InterruptHandle?>(nil)
  let ended = Atomic(false)
}

@Suite struct InterruptTests {
  private static let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "

  @Test func interruptsEndlessQuery() async throws {
    let code = try await interruptedUntilItEnds { named in
      let database = try emptyDatabase()
      named(database.interruptHandle)
      return thrown { _ = try database.query(Self.endless + "SELECT count(*) FROM n") }?.code
    }
    #expect(code == .interrupted)
  }

  @Test func interruptedWriteRollsBackTransaction() async throws {
    let scratch = try Scratch()
    let path = scratch.file("file.db")
    try Database(path, mode: .create).execute("CREATE TABLE t(a)")
    let code = try await interruptedUntilItEnds { named in
      let database = try Database(path)
      let error = thrown {
        try database.transaction {
          try database.execute("INSERT INTO t VALUES(1)")
          named(database.interruptHandle)
          try database.execute(Self.endless + "INSERT INTO t SELECT i FROM n")
        }
      }
      #expect(!database.isInTransaction)
      return error?.code
    }
    #expect(code == .interrupted)
    #expect(try Database(path).query("SELECT * FROM t").rows.isEmpty)
  }

  @Test func connectionRemainsUsableAfterInterrupt() throws {
    let database = try emptyDatabase()
    database.interrupt()
    #expect(try database.query("SELECT 1").rows.count == 1)
  }

  @Test func ignoresInterruptAfterConnectionEnds() throws {
    let handle = try emptyDatabase().interruptHandle
    handle.interrupt()
    #expect(handle.count == 1)
  }
}
