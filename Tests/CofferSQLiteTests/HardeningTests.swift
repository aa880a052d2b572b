import Testing

@testable import CofferSQLite

@Suite struct HardeningTests {
  let scratch: Scratch
  let path: String

  init() throws {
    scratch = try Scratch()
    path = scratch.file("file.db")
    try Database(path, mode: .create).execute(
      """
      CREATE TABLE t(a);
      CREATE VIEW v AS SELECT * FROM t;
      CREATE TABLE log(a);
      CREATE TRIGGER r AFTER INSERT ON t BEGIN INSERT INTO log VALUES(new.a); END
      """)
  }

  private func hardened() throws -> Database { try Database(path, configuration: .init(isHardened: true)) }

  @Test func disablesTriggers() throws {
    let database = try hardened()
    try database.execute("INSERT INTO t VALUES(1)")
    #expect(try database.query("SELECT * FROM log").rows.isEmpty)
  }

  @Test func rejectsViews() throws {
    #expect(throws: error(.sqlLogic)) { try hardened().query("SELECT * FROM v") }
  }

  @Test func preventsSchemaWrites() throws {
    let database = try hardened()
    _ = try database.integerPragma("writable_schema = ON")
    #expect(throws: error(.sqlLogic)) { try database.execute("UPDATE sqlite_schema SET sql = 'x'") }
  }

  @Test func distrustsSchema() throws {
    let database = try hardened()
    #expect(try database.integerPragma("trusted_schema") == 0)
    #expect(try database.integerPragma("cell_size_check") == 1)
    #expect(try database.integerPragma("mmap_size") ?? 0 == 0)
  }

  @Test(arguments: [(500, true), (1000, true), (2100, false), (20_000, false)])
  func limitsSchemaSize(_ count: Int, _ isRead: Bool) throws {
    let database = try Database(path)
    try database.execute("PRAGMA writable_schema = ON")
    try database.execute(
      """
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i + 4 < \(count))
      INSERT INTO sqlite_schema SELECT 'table', 'x' || i, 'x' || i, 2, 'CREATE TABLE x' || i || '(a)' FROM n
      """)
    try database.close()
    let reader = try hardened()
    let failure = thrown { try reader.readSchema(within: .store(entries: 1000)) }
    #expect(isRead ? failure == nil : failure?.code == .corrupt)
    // The limit doesn't apply to later queries.
    #expect(try reader.query("SELECT * FROM t").rows.isEmpty)
  }

  @Test func preventsLoadingExtensions() throws {
    #expect(throws: error(.sqlLogic)) { try hardened().query("SELECT load_extension('x')") }
    #expect(throws: error(.sqlLogic)) { try Database(path).query("SELECT load_extension('x')") }
  }

  @Test func unhardenedConnectionRunsTriggersAndViews() throws {
    let database = try Database(path)
    try database.execute("INSERT INTO t VALUES(1)")
    #expect(try database.query("SELECT * FROM log UNION ALL SELECT * FROM v").rows.count == 2)
  }

  @Test func foreignKeysCanBeDisabled() throws {
    let database = try emptyDatabase(.init(enforcesForeignKeys: false))
    try database.execute("CREATE TABLE t(a PRIMARY KEY, b REFERENCES t(a)); INSERT INTO t VALUES(1, 99)")
    #expect(try database.integerPragma("foreign_keys") == 0)
  }
}
