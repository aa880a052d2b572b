import Testing

@testable import CofferSQLite

@Suite struct RunningTests {
  let database: Database

  init() throws {
    database = try emptyDatabase()
    try database.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, name VARCHAR(10), n)")
  }

  @Test func requiresMatchingParameterCount() throws {
    #expect(throws: error(.misuse)) { try database.execute("INSERT INTO t(name) VALUES(?)") }
    #expect(throws: error(.misuse)) { try database.execute("INSERT INTO t(name) VALUES(?)", 1, 2) }
    #expect(try database.query("SELECT * FROM t").rows.isEmpty)
  }

  @Test func rejectsParametersForSeveralStatements() throws {
    #expect(throws: error(.misuse)) { try database.execute("SELECT ?; SELECT ?", 1) }
    #expect(throws: error(.misuse)) { try database.query("SELECT 1; SELECT 2") }
    #expect(throws: error(.misuse)) { try database.statement("SELECT 1; nonsense") }
  }

  @Test(arguments: ["", "  ;; \n", "-- nothing", "/* nothing */"])
  func rejectsTextWithoutStatement(sql: String) {
    #expect(throws: error(.misuse)) { try database.query(sql) }
  }

  @Test func rejectsStatementWithNUL() {
    #expect(throws: error(.misuse)) { try database.query("SELECT 1\u{0}, 2") }
    #expect(throws: error(.misuse)) { try database.execute("SELECT 1;\u{0} DELETE FROM t") }
  }

  @Test(arguments: ["SELECT 1;", "SELECT 1; ;\n", "SELECT 1 -- one", "SELECT 1; -- one\n /* two */ ;"])
  func acceptsTrailingBlanksAndComments(sql: String) throws {
    #expect(try database.query(sql).rows.map { $0[0] } == [1])
  }

  @Test func scriptRunsEveryStatement() throws {
    let done = try database.execute(
      """
      -- a script
      CREATE TABLE u(a); INSERT INTO u VALUES(1), (2);
      ;; INSERT INTO u VALUES('a;b'); /* the end */
      SELECT 1
      """)
    #expect(done == Execution(rowsAffected: 3, insertedID: 3))
    #expect(try database.query("SELECT a FROM u").rows.map { $0[0] } == [1, 2, "a;b"])
  }

  @Test func failedScriptKeepsEarlierStatements() throws {
    #expect(throws: error(.sqlLogic)) { try database.execute("INSERT INTO t(n) VALUES(1); nonsense; SELECT 1") }
    #expect(try database.query("SELECT n FROM t").rows.count == 1)
  }

  @Test func reportsChangedRowsAndInsertedID() throws {
    #expect(try database.execute("INSERT INTO t(n) VALUES(1), (2)") == Execution(rowsAffected: 2, insertedID: 2))
    #expect(try database.execute("UPDATE t SET n = n + 1") == Execution(rowsAffected: 2, insertedID: nil))
    #expect(try database.execute("DELETE FROM t WHERE id = 1") == Execution(rowsAffected: 1, insertedID: nil))
  }

  @Test func statementsWithoutChangesReportNoRowsAndNoInsertedID() throws {
    try database.execute("INSERT INTO t(n) VALUES(1), (2)")
    let nothing = Execution(rowsAffected: 0, insertedID: nil)
    #expect(try database.execute("CREATE TABLE u(a)") == nothing)
    #expect(try database.execute("SELECT 1") == nothing)
    #expect(try database.execute("INSERT OR IGNORE INTO t(id) VALUES(1)") == nothing)
    #expect(try database.execute("DROP TABLE u") == nothing)
    #expect(database.lastInsertedID == 2 && database.totalRowsAffected == 2)
  }

  @Test func reportsInsertedIDEqualToPrevious() throws {
    try database.execute("CREATE TABLE u(id INTEGER PRIMARY KEY)")
    #expect(try database.execute("INSERT INTO t(n) VALUES(1)").insertedID == 1)
    #expect(try database.execute("INSERT INTO u DEFAULT VALUES").insertedID == 1)
  }

  @Test func updatingUpsertLacksInsertedID() throws {
    let upsert = "INSERT INTO t(id, n) VALUES(1, ?) ON CONFLICT DO UPDATE SET n = excluded.n"
    #expect(try database.execute(upsert, 1) == Execution(rowsAffected: 1, insertedID: 1))
    #expect(try database.execute(upsert, 2) == Execution(rowsAffected: 1, insertedID: nil))
  }

  @Test func ignoresRowsAndIDsOfTriggers() throws {
    try database.execute(
      """
      CREATE TABLE log(id INTEGER PRIMARY KEY, n); INSERT INTO log VALUES(40, 0);
      CREATE TRIGGER logging AFTER UPDATE ON t BEGIN INSERT INTO log(n) VALUES(new.n), (new.n); END;
      INSERT INTO t(id) VALUES(7)
      """)
    #expect(try database.execute("UPDATE t SET n = 1") == Execution(rowsAffected: 1, insertedID: nil))
    #expect(try database.query("SELECT * FROM log").rows.count == 3)
  }

  @Test func reportsNamesAndDeclaredTypes() throws {
    try database.execute("INSERT INTO t(name, n) VALUES('x', 1.5)")
    let result = try database.query("SELECT id, name AS title, n, n + 1, name FROM t")
    #expect(result.columnNames == ["id", "title", "n", "n + 1", "name"])
    #expect(result.declaredTypes == ["INTEGER", "VARCHAR(10)", nil, nil, "VARCHAR(10)"])
    #expect(result.rows.map(\.values) == [[1, "x", 1.5, 2.5, "x"]])
    #expect(result.rows[0]["title"] == "x" && result.rows[0]["nothing"] == nil)
    #expect(result.rowsAffected == 0 && result.insertedID == nil)
  }

  @Test func emptyResultStillHasColumns() throws {
    let result = try database.query("SELECT id, n FROM t")
    #expect(result.columnNames == ["id", "n"] && result.rows.isEmpty)
  }

  @Test func duplicateNameFindsFirstColumn() throws {
    #expect(try database.query("SELECT 1 AS a, 2 AS a").rows[0]["a"] == 1)
  }

  @Test func returningClauseReturnsRowsAndCounts() throws {
    let result = try database.query("INSERT INTO t(n) VALUES(?), (?) RETURNING id, n", 5, 6)
    #expect(result.rows.map(\.values) == [[1, 5], [2, 6]])
    #expect(result.rowsAffected == 2 && result.insertedID == 2)
  }

  @Test func findsParametersWithOrWithoutSign() throws {
    let sql = "SELECT :a, @b, $c"
    let expected: [SQLiteValue] = [1, "two", .null]
    #expect(try database.query(sql, named: ["a": 1, "b": "two", "c": nil]).rows[0].values == expected)
    #expect(try database.query(sql, named: [":a": 1, "@b": "two", "$c": nil]).rows[0].values == expected)
  }

  @Test func requiresMatchingParameterNames() {
    #expect(throws: error(.misuse)) { try database.query("SELECT :a", named: ["b": 1]) }
    #expect(throws: error(.misuse)) { try database.query("SELECT :a, :b", named: ["a": 1]) }
    #expect(throws: error(.misuse)) { try database.query("SELECT :a, :b", named: ["a": 1, ":a": 1]) }
    #expect(throws: error(.misuse)) { try database.execute("SELECT :a", named: ["a": 1, "b": 1]) }
  }

  @Test func rejectsBindingOutOfRange() throws {
    let statement = try database.statement("SELECT ?")
    #expect(throws: error(.misuse)) { try statement.bind(1, at: 0) }
    #expect(throws: error(.misuse)) { try statement.bind(1, at: 2) }
  }

  @Test func rejectsValueOverLengthLimit() throws {
    let small = try emptyDatabase(.init(lengthLimit: 1000))
    #expect(throws: error(.tooBig)) { try small.query("SELECT ?", [UInt8](repeating: 0, count: 1001)) }
    #expect(throws: error(.tooBig)) { try small.query("SELECT zeroblob(1001)") }
    #expect(try small.query("SELECT length(?)", [UInt8](repeating: 0, count: 1000)).rows[0][0] == 1000)
  }

  @Test func reportsReadOnlyStatement() throws {
    #expect(try database.statement("SELECT * FROM t").isReadOnly)
    #expect(try !database.statement("DELETE FROM t").isReadOnly)
  }

  @Test func resultReflectsChangedTable() throws {
    try database.execute("CREATE TABLE u(a); INSERT INTO u VALUES(1)")
    #expect(try database.query("SELECT * FROM u").columnNames == ["a"])
    try database.execute("ALTER TABLE u ADD COLUMN b DEFAULT 2")
    let result = try database.query("SELECT * FROM u")
    #expect(result.columnNames == ["a", "b"] && result.rows[0].values == [1, 2] && result.rows[0]["b"] == 2)
  }
}
