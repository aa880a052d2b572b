import CCofferSQLite
import Testing

@testable import CofferSQLite

@Suite struct TransactionTests {
  struct Refusal: Error, Equatable {}

  let database: Database

  init() throws {
    database = try emptyDatabase()
    try database.execute("CREATE TABLE t(a UNIQUE)")
  }

  private func rows() throws -> [SQLiteValue] { try database.query("SELECT a FROM t ORDER BY a").rows.map { $0[0] } }

  private func insert(_ value: Int) throws { try database.execute("INSERT INTO t VALUES(?)", value) }

  @Test(arguments: [Database.TransactionKind.deferred, .immediate, .exclusive])
  func commitsOnReturn(kind: Database.TransactionKind) throws {
    let result = try database.transaction(kind) {
      try insert(1)
      #expect(database.isInTransaction)
      return "done"
    }
    #expect(try result == "done" && rows() == [1] && !database.isInTransaction)
  }

  @Test func rollsBackOnThrow() throws {
    #expect(throws: Refusal()) {
      try database.transaction {
        try insert(1)
        throw Refusal()
      }
    }
    #expect(try rows() == [] && !database.isInTransaction)
  }

  @Test func rollbackResetsReadingStatements() throws {
    try insert(1)
    #expect(throws: Refusal()) {
      try database.transaction {
        try insert(2)
        try database.statement("SELECT a FROM t").step()
        throw Refusal()
      }
    }
    #expect(try rows() == [1])
  }

  @Test func rollsBackOnlyNestedTransaction() throws {
    try database.transaction {
      try insert(1)
      #expect(throws: Refusal()) {
        try database.transaction {
          try insert(2)
          throw Refusal()
        }
      }
      try database.transaction { try insert(3) }
    }
    #expect(try rows() == [1, 3])
  }

  @Test func nestsSavepoints() throws {
    try database.savepoint {
      try insert(1)
      try? database.savepoint {
        try insert(2)
        try database.savepoint { try insert(3) }
        throw Refusal()
      }
      try database.savepoint { try insert(4) }
    }
    #expect(try rows() == [1, 4] && !database.isInTransaction)
  }

  @Test func failedStatementUndoesOnlyItsChanges() throws {
    try database.transaction {
      try insert(1)
      #expect(throws: error(.constraint(.unique))) { try database.execute("INSERT INTO t VALUES(2), (1)") }
      try insert(3)
    }
    #expect(try rows() == [1, 3])
  }

  /// A statement that fails like every error that rolls back the transaction, such as a full disk or an interrupt.
  private let fatalInsertion = "INSERT OR ROLLBACK INTO t VALUES(1)"

  @Test func throwsOriginalErrorOfFatalStatement() throws {
    #expect(throws: error(.constraint(.unique))) {
      try database.transaction {
        try insert(1)
        try database.execute(fatalInsertion)
      }
    }
    #expect(try rows() == [] && !database.isInTransaction)
  }

  @Test func rejectsStatementsAfterLostTransaction() throws {
    #expect(throws: error(.rolledBack)) {
      try database.transaction {
        try insert(1)
        _ = try? database.execute(fatalInsertion)
        #expect(!database.isInTransaction)
        #expect(thrown { try insert(2) }?.code == .rolledBack)
        #expect(thrown { try database.transaction { try insert(3) } }?.code == .rolledBack)
        #expect(thrown { try database.savepoint { try insert(4) } }?.code == .rolledBack)
      }
    }
    #expect(try rows() == [])
    try insert(5)
    #expect(try rows() == [5])
  }

  @Test func lossInSavepointEndsTransaction() throws {
    #expect(throws: error(.rolledBack)) {
      try database.transaction {
        try insert(1)
        let lost = thrown { try database.savepoint { _ = try? database.execute(fatalInsertion) } }
        #expect(lost?.code == .rolledBack)
        #expect(thrown { try insert(2) }?.code == .rolledBack)
      }
    }
    #expect(try rows() == [])
  }

  @Test func reportsTransactionEndedInBody() throws {
    #expect(throws: error(.rolledBack)) {
      try database.transaction {
        try insert(1)
        try database.execute("ROLLBACK")
      }
    }
    #expect(try rows() == [])
  }

  @Test func rollsBackFailedCommit() throws {
    try database.execute("CREATE TABLE u(a REFERENCES t(a) DEFERRABLE INITIALLY DEFERRED)")
    #expect(throws: error(.constraint(.foreignKey))) {
      try database.transaction { try database.execute("INSERT INTO u VALUES(99)") }
    }
    #expect(try !database.isInTransaction && database.query("SELECT * FROM u").rows.isEmpty)
  }

  @Test func retriesFailedCommit() throws {
    try database.execute("CREATE TABLE u(a REFERENCES t(a) DEFERRABLE INITIALLY DEFERRED)")
    try database.begin(.immediate)
    try database.execute("INSERT INTO u VALUES(7)")
    #expect(throws: error(.constraint(.foreignKey))) { try database.commit() }
    #expect(database.isInTransaction)
    try insert(7)
    try database.commit()
    #expect(try rows() == [7])
  }

  @Test func rejectsSecondBegin() throws {
    try database.begin(.immediate)
    #expect(throws: error(.misuse)) { try database.begin(.immediate) }
    try database.rollback()
  }

  @Test func rejectsCommitWithoutTransaction() {
    #expect(throws: error(.misuse)) { try database.commit() }
  }

  @Test func acceptsRollbackAfterLostTransaction() throws {
    try database.begin(.immediate)
    try insert(1)
    _ = try? database.execute(fatalInsertion)
    #expect(throws: error(.rolledBack)) { try insert(2) }
    try database.rollback()
    try database.rollback()
    try insert(3)
    #expect(try rows() == [3])
  }

  @Test func commitReportsLostTransaction() throws {
    try database.begin(.immediate)
    try insert(1)
    _ = try? database.execute(fatalInsertion)
    #expect(throws: error(.rolledBack)) { try database.commit() }
    try database.begin(.immediate)
    try database.commit()
  }

  /// Runs `body` while no statement can be compiled, as when memory is short.
  private func withoutCompiling(_ body: () throws -> Void) throws {
    let handle = try database.connection.open()
    let limit = sqlite3_limit(handle, SQLITE_LIMIT_SQL_LENGTH, 1)
    defer { sqlite3_limit(handle, SQLITE_LIMIT_SQL_LENGTH, limit) }
    try body()
  }

  @Test func rollsBackWhereNothingCanBeCompiled() throws {
    try database.begin(.immediate)
    try insert(1)
    try withoutCompiling { try database.rollback() }
    #expect(try rows() == [] && !database.isInTransaction)
  }

  @Test func savepointThatCannotBeUndoneLosesTransaction() throws {
    #expect(throws: error(.rolledBack)) {
      try database.transaction {
        try insert(1)
        let second = try database.statement("INSERT INTO t VALUES(2)")
        // SAVEPOINT is compiled here and ROLLBACK TO isn't.
        try database.savepoint {}
        try withoutCompiling {
          try? database.savepoint {
            try second.run()
            throw Refusal()
          }
        }
        try insert(3)
      }
    }
    #expect(try rows() == [] && !database.isInTransaction)
  }

  @Test func closingRollsBack() throws {
    let scratch = try Scratch()
    let database = try Database(scratch.file("file.db"), mode: .create)
    try database.execute("CREATE TABLE t(a)")
    try database.begin(.immediate)
    try database.execute("INSERT INTO t VALUES(1)")
    try database.close()
    #expect(try Database(scratch.file("file.db")).query("SELECT * FROM t").rows.isEmpty)
    #expect(try scratch.names() == ["file.db"])
  }
}
