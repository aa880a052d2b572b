import Testing

@testable import CofferSQLite

@Suite struct StatementCacheTests {
  let database: Database

  init() throws { database = try emptyDatabase() }

  @Test func reusesCompiledStatement() throws {
    let first = try database.statement("SELECT 1").pointer
    #expect(try database.statement("SELECT 1").pointer == first)
  }

  @Test func clearsBindingsOfCachedStatement() throws {
    try database.statement("SELECT ?").bind(5, at: 1)
    let statement = try database.statement("SELECT ?")
    try statement.step()
    #expect(statement.isNull(at: 0))
  }

  @Test func skipsStatementInUse() throws {
    let sql = "VALUES(1), (2), (3)"
    let outer = try database.statement(sql)
    var pairs: [[Int64]] = []
    while try outer.step() {
      let inner = try database.statement(sql)
      while try inner.step() { pairs.append([outer.int64(at: 0), inner.int64(at: 0)]) }
    }
    #expect(pairs == [1, 2, 3].flatMap { a in [1, 2, 3].map { [a, $0] } })
  }

  @Test func resetsUnfinishedStatement() throws {
    try database.execute("CREATE TABLE t(a); INSERT INTO t VALUES(1), (2)")
    try database.statement("SELECT a FROM t").step()
    #expect(throws: Never.self) { try database.execute("DROP TABLE t") }
  }

  @Test func limitsCachedStatements() throws {
    let database = try emptyDatabase(.init(statementCacheCapacity: 2))
    for n in 1...5 { try database.execute("SELECT \(n)") }
    #expect(!database.connection.cache.knows("SELECT 3"))
    #expect(database.connection.cache.knows("SELECT 4") && database.connection.cache.knows("SELECT 5"))
  }

  @Test func evictsLeastRecentlyUsedStatement() throws {
    let database = try emptyDatabase(.init(statementCacheCapacity: 2))
    for n in [1, 2, 1, 3] { try database.execute("SELECT \(n)") }
    #expect(database.connection.cache.knows("SELECT 1") && !database.connection.cache.knows("SELECT 2"))
  }

  @Test func statementInUseSurvivesEviction() throws {
    let database = try emptyDatabase(.init(statementCacheCapacity: 1))
    let statement = try database.statement("SELECT 1")
    try database.execute("SELECT 2")
    #expect(try statement.step() && statement.int64(at: 0) == 1)
  }

  @Test func zeroCapacityDisablesCache() throws {
    let database = try emptyDatabase(.init(statementCacheCapacity: 0))
    try database.execute("SELECT 1")
    #expect(!database.connection.cache.knows("SELECT 1"))
  }

  @Test func resetsFailedStatement() throws {
    try database.execute("CREATE TABLE t(a UNIQUE)")
    let insert = try database.statement("INSERT INTO t VALUES(?)")
    try insert.bind(1, at: 1)
    try insert.run()
    #expect(throws: error(.constraint(.unique))) { try insert.run() }
    try insert.bind(2, at: 1)
    try insert.run()
    #expect(try database.query("SELECT a FROM t").rows.map { $0[0] } == [1, 2])
  }

  @Test func runKeepsBindings() throws {
    try database.execute("CREATE TABLE t(a)")
    let insert = try database.statement("INSERT INTO t VALUES(?)")
    try insert.bind("x", at: 1)
    try insert.run()
    try insert.run()
    insert.clearBindings()
    try insert.run()
    #expect(try database.query("SELECT a FROM t").rows.map { $0[0] } == ["x", "x", .null])
  }
}
