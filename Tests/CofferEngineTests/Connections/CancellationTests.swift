import Coffer
import CofferSQLite
import CofferTestSupport
import Foundation
import Testing

@testable import CofferEngine
@testable import CofferStoreTestSupport

/// Canceling work that uses several connections.
struct CancellationTests {
  /// Work that reads another store inside its own transaction watches both connections.
  @Test func stopsAllWatchedConnections() throws {
    let place = try Workplace()
    let path = place.file("a.db").path
    let holder = try Database(path, mode: .create)
    try holder.execute("CREATE TABLE t(a); BEGIN EXCLUSIVE")
    let first = try Database(path, configuration: .init(busyTimeout: nil))
    let second = try Database(path, configuration: .init(busyTimeout: nil))
    let cancellation = Cancellation()
    cancellation.run {
      let (outer, inner) = (Cancellation.Watch(first), Cancellation.Watch(second))
      cancellation.cancel()
      for database in [second, first] {
        #expect(throws: SQLiteError.self) { try database.execute("BEGIN EXCLUSIVE") }
      }
      inner.end()
      #expect(throws: SQLiteError.self) { try first.execute("BEGIN EXCLUSIVE") }
      outer.end()
    }
    try holder.execute("ROLLBACK")
    for database in [first, second] { try database.execute("BEGIN EXCLUSIVE; ROLLBACK") }
  }

  /// SQLite forgets an interrupt that arrives while no statement runs.
  @Test func stopsStatementThatBeginsAfterCancellation() throws {
    let database = try Database(":memory:", mode: .create)
    let cancellation = Cancellation()
    cancellation.run {
      let watch = Cancellation.Watch(database)
      cancellation.cancel()
      let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"
      #expect(throws: SQLiteError.self) { try database.query(endless) }
      watch.end()
    }
  }

  /// A call that keeps files of its own has a cancellation of its own, and ends with the work that it's a part of.
  @Test func stopsCallsWithinWork() throws {
    let test = try TestStore()
    let connections = test.store.engine.connections
    Cancellation.polling({ true }) {
      expect(.cancelled) { try connections.during { try Cancellation.checkCurrent() } }
    }
    let whole = Cancellation()
    whole.run {
      expect(.cancelled) {
        try connections.during {
          let part = Cancellation.current
          #expect(part !== whole && part?.isCancelled == false)
          whole.cancel()
          #expect(part?.isCancelled == true)
          try Cancellation.checkCurrent()
        }
      }
    }
    try connections.during { try Cancellation.checkCurrent() }
  }
}
