import CofferTestSupport
import Testing

@testable import CofferSQLite

/// Expressions that SQLite would compute for a stranger's schema. Each would take years, in one step that nothing ends.
@Suite struct SchemaExpressionTests {
  private static let endless = "instr(hex(zeroblob(40000000)), hex(zeroblob(20000000)) || '1')"

  private let path: String
  private let scratch: Scratch

  init() throws {
    scratch = try Scratch()
    path = scratch.file("file.db")
  }

  /// Makes a table `t` with a row and statistics, and then gives an object another text.
  private func plant(_ name: String, _ sql: String) throws {
    let maker = try Database(path, mode: .create)
    try maker.execute(
      """
      CREATE TABLE t(a, b, c); CREATE INDEX i ON t(a); INSERT INTO t VALUES(1, 2, 3); ANALYZE;
      PRAGMA writable_schema = ON
      """)
    try maker.execute("UPDATE sqlite_schema SET sql = ? WHERE name = ?", sql, name)
    try maker.close()
  }

  private func hardened() throws -> Database {
    var configuration = Database.Configuration(isHardened: true)
    configuration.rule = StatementRule(functions: ["count"], pragmas: ["integrity_check"], writablePrefix: "t")
    return try Database(path, configuration: configuration)
  }

  @Test(arguments: [
    "tbl, idx, stat AS (\(endless))", "tbl AS (\(endless)), idx, stat", "tbl, idx, stat AS (tbl LIKE '%a')",
  ])
  func skipsExpressionsInStatistics(_ columns: String) throws {
    try plant("sqlite_stat1", "CREATE TABLE sqlite_stat1(\(columns))")
    #expect(try hardened().query("SELECT a FROM t").rows.count == 1)
  }

  @Test(arguments: [
    ("t", "CREATE TABLE t(a, b CHECK(\(endless)), c)", "PRAGMA integrity_check"),
    ("t", "CREATE TABLE t(a, b, c, CHECK('x' LIKE '%y'))", "INSERT INTO t VALUES(1, 2, 3)"),
    ("t", "CREATE TABLE t(a, b, c AS (\(endless)))", "SELECT c FROM t"),
    ("i", "CREATE INDEX i ON t(\(endless))", "INSERT INTO t VALUES(1, 2, 3)"),
    ("i", "CREATE INDEX i ON t(a) WHERE \(endless)", "INSERT INTO t VALUES(1, 2, 3)"),
    ("t", "CREATE TABLE t(a, b DEFAULT(\(endless)), c)", "INSERT INTO t(a) VALUES(1)"),
  ])
  func failsInsteadOfComputing(_ name: String, _ sql: String, _ statement: String) throws {
    try plant(name, sql)
    let database = try hardened()
    #expect(try database.query("SELECT a FROM t").rows.count == 1)
    #expect(throws: SQLiteError.self) { try database.execute(statement) }
  }

  // MARK: Reading the schema

  private func fill(_ count: Int, _ columns: String) throws {
    let maker = try Database(path, mode: .create)
    try maker.execute("CREATE TABLE t(a); PRAGMA writable_schema = ON")
    try maker.execute(
      """
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(count))
      INSERT INTO sqlite_schema SELECT 'table', 'x' || i, 'x' || i, 2, 'CREATE TABLE x' || i || '(\(columns))' FROM n
      """)
    try maker.close()
  }

  private static let columns = (0..<100).map { "c\($0)" }.joined(separator: ",")

  /// SQLite's time grows with the square of the number of names, and each constraint makes one.
  @Test func limitsConstraints() throws {
    let constraints = (0..<270).map { "UNIQUE(c\($0 % 100), c\($0 / 100))" }.joined(separator: ",")
    try fill(900, "\(Self.columns),\(constraints)")
    // The second one takes SQLite ten seconds.
    let limits: [SchemaLimits] = [.store(entries: 1000), .foreign]
    for limits in CaseSample.one(in: 2, of: limits) {
      let error = try #require(throws: SQLiteError.self) { try hardened().readSchema(within: limits) }
      #expect(error.code == .corrupt && error.extendedCode == 0, "\(error)")
    }
  }

  @Test func limitsColumns() throws {
    try fill(1, (0..<300).map { "c\($0)" }.joined(separator: ","))
    #expect(throws: SQLiteError.self) { try hardened().readSchema(within: .store(entries: 1000)) }
    try hardened().readSchema(within: .foreign)
  }

  @Test func limitsTexts() throws {
    try fill(1, "a " + String(repeating: "CHECK(1)", count: 3000))
    #expect(throws: SQLiteError.self) { try hardened().readSchema(within: .store(entries: 1000)) }
  }

  @Test func refusesFunctionsUntilSchemaIsCompared() throws {
    try plant("t", "CREATE TABLE t(a, b CHECK(length(b)), c)")
    #expect(throws: SQLiteError.self) { try hardened().readSchema(within: .store(entries: 1000)) }
    try hardened().readSchema(within: .foreign)
    let plain = try Database(path, configuration: .init(isHardened: true))
    try? plain.readSchema(within: .store(entries: 1000))
    #expect(try plain.query("SELECT max(a, 9) FROM t").rows[0][0] == .integer(9))
  }

  @Test func stopsOnRequest() throws {
    try fill(300, "a")
    #expect(throws: error(.interrupted)) {
      try hardened().readSchema(within: .store(entries: 1000)) { true }
    }
    let database = try hardened()
    try database.setStopCondition { true }
    #expect(throws: error(.interrupted)) { try database.readSchema(within: .store(entries: 1000)) }
    #expect(database.hasStopCondition)
  }
}
