import Testing

@testable import CofferSQLite

@Suite struct StatementRuleTests {
  private let scratch: Scratch

  init() throws { scratch = try Scratch() }

  private static let schema = [
    "CREATE TABLE own_a(x INTEGER PRIMARY KEY, y TEXT)", "CREATE TABLE other(x, y AS (upper(x)), z AS (x + 1))",
    "CREATE VIEW seen AS SELECT lower(y) AS y FROM own_a", "INSERT INTO other(x) VALUES('word')",
  ]

  private func opened(_ rule: StatementRule) throws -> Database {
    let path = scratch.file("a.db")
    let maker = try Database(path, mode: .create)
    for sql in Self.schema { try maker.execute(sql) }
    try maker.close()
    var configuration = Database.Configuration(enforcesForeignKeys: false)
    configuration.isHardened = true
    configuration.rule = rule
    return try Database(path, configuration: configuration)
  }

  @Test(arguments: [
    "ATTACH ':memory:' AS b", "VACUUM", "PRAGMA user_version", "PRAGMA writable_schema = ON", "ANALYZE",
    "CREATE TABLE other_b(x)", "CREATE VIEW own_v AS SELECT 1", "CREATE TEMP TABLE own_t(x)",
    "CREATE TRIGGER own_t AFTER INSERT ON own_a BEGIN SELECT 1; END", "CREATE VIRTUAL TABLE own_f USING fts5(x)",
    "DELETE FROM other", "ALTER TABLE own_a ADD COLUMN z", "SELECT upper(y) FROM own_a",
    "SELECT y FROM seen", "SELECT load_extension('x')", "UPDATE sqlite_master SET sql = ''", "DROP TABLE other",
  ])
  func refusesOtherStatements(_ sql: String) throws {
    let database = try opened(
      StatementRule(functions: ["count"], pragmas: ["page_size"], writablePrefix: "own_"))
    #expect(throws: SQLiteError.self) { try database.execute(sql) }
  }

  @Test func allowsOwnStatements() throws {
    let database = try opened(
      StatementRule(functions: ["count"], pragmas: ["page_size"], writablePrefix: "own_"))
    for sql in [
      "PRAGMA page_size", "BEGIN", "CREATE TABLE own_b(x)", "CREATE INDEX own_i ON own_b(x)",
      "INSERT INTO own_b VALUES(1)", "SAVEPOINT a", "UPDATE own_b SET x = 2", "ROLLBACK TO a", "RELEASE a",
      "SELECT count(*), x FROM own_b GROUP BY x", "SELECT name FROM sqlite_schema", "SELECT x, z FROM other",
      "DROP INDEX own_i", "DELETE FROM own_b", "DROP TABLE own_b",
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3) SELECT i FROM n", "COMMIT",
    ] { try database.execute(sql) }
    _ = try database.liftingRule { try database.execute("VACUUM") }
    #expect(throws: SQLiteError.self) { try database.execute("VACUUM") }
  }

  @Test func readersOnlyRead() throws {
    let database = try opened(StatementRule(functions: [], pragmas: []))
    #expect(try database.query("SELECT x FROM other").rows.count == 1)
    for sql in ["DELETE FROM own_a", "INSERT INTO own_a VALUES(1, 'a')", "CREATE TABLE own_b(x)", "SAVEPOINT a"] {
      #expect(throws: SQLiteError.self) { try database.execute(sql) }
    }
  }
}
