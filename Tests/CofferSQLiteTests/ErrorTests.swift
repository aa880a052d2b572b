import Testing

@testable import CofferSQLite

@Suite struct ErrorTests {
  let database: Database

  init() throws {
    database = try emptyDatabase()
    try database.execute(
      """
      CREATE TABLE t(
        id INTEGER PRIMARY KEY, u TEXT UNIQUE, n INTEGER NOT NULL DEFAULT 0, c INTEGER CHECK(c < 10),
        p INTEGER REFERENCES t(id)) STRICT
      """)
    try database.execute("INSERT INTO t(id, u) VALUES(1, 'taken')")
  }

  @Test(arguments: [
    ("INSERT INTO t(u) VALUES('taken')", SQLiteError.Constraint.unique),
    ("INSERT INTO t(id) VALUES(1)", .primaryKey),
    ("INSERT INTO t(n) VALUES(NULL)", .notNull),
    ("INSERT INTO t(c) VALUES(10)", .check),
    ("INSERT INTO t(p) VALUES(99)", .foreignKey),
    ("INSERT INTO t(n) VALUES('text')", .dataType),
    ("INSERT INTO t(id) VALUES('text')", .dataType),
  ])
  func reportsViolatedConstraint(sql: String, constraint: SQLiteError.Constraint) {
    #expect(throws: error(.constraint(constraint))) { try database.execute(sql) }
  }

  @Test func passesTriggerMessage() throws {
    try database.execute(
      "CREATE TRIGGER no BEFORE DELETE ON t BEGIN SELECT RAISE(ABORT, 'keep it'); END")
    let error = thrown { try database.execute("DELETE FROM t") }
    #expect(error?.code == .constraint(.trigger) && error?.message == "keep it")
  }

  @Test func constraintErrorHidesValue() {
    let error = thrown { try database.execute("INSERT INTO t(u) VALUES(?)", "taken") }
    #expect(error?.message == "UNIQUE constraint failed: t.u")
    #expect(error?.extendedCode == 2067)
    #expect(error?.sql == "INSERT INTO t(u) VALUES(?)")
  }

  @Test(arguments: [
    "SELECT json_extract('{}', ?)", "SELECT json_set('{}', ?, 1)", "SELECT * FROM f WHERE f MATCH ?",
    "SELECT json_extract('{}', v) FROM (SELECT ? AS v)",
  ])
  func functionErrorHidesValue(sql: String) throws {
    try database.execute("CREATE VIRTUAL TABLE f USING fts5(a)")
    let error = thrown { _ = try database.query(sql, "secret: (") }
    #expect(error?.code == .sqlLogic)
    #expect(error.map { "\($0)".contains("secret") } == false)
  }

  @Test func reportsUnknownNames() {
    let error = thrown { try database.execute("SELECT * FROM absent") }
    #expect(error?.code == .sqlLogic)
    #expect(error?.message == "no such table: absent")
  }

  @Test func comparesErrorsByCode() {
    #expect(SQLiteError(.busy, "a", extendedCode: 5, sql: "x") == SQLiteError(.busy, "b"))
    #expect(SQLiteError(.constraint(.unique), "") != SQLiteError(.constraint(.primaryKey), ""))
  }

  @Test(
    arguments: [
      (5, SQLiteError.Code.busy), (261, .busy), (15, .busy), (517, .staleSnapshot), (6, .locked), (262, .locked),
      (8, .readOnly),
      (776, .readOnly), (14, .cantOpen), (526, .isDirectory), (26, .notADatabase), (11, .corrupt), (267, .corrupt),
      (13, .full), (4874, .full), (9, .interrupted), (10, .ioError), (778, .ioError), (3082, .noMemory), (7, .noMemory),
      (17, .schema),
      (18, .tooBig), (21, .misuse), (25, .misuse), (1, .sqlLogic), (23, .notAllowed), (3, .notAllowed),
      (516, .rolledBack), (4, .other), (20, .constraint(.dataType)), (19, .constraint(.other)),
      (2579, .constraint(.rowID)), (12, .other), (999_999, .other),
    ] as [(Int32, SQLiteError.Code)])
  func mapsResultCodes(result: Int32, code: SQLiteError.Code) {
    #expect(SQLiteError.Code(result: result) == code)
  }

  @Test(
    arguments: [
      ("*** in database main ***\nPage 12: unable to get the page. error code=7", .noMemory),
      ("Page 3: unable to get the page. error code=266", .ioError),
      ("Page 3: btreeInitPage() returns error code 11", nil), ("Page 3 is never used", nil),
      ("wrong # of entries in index coffer_record_pos", nil),
    ] as [(String, SQLiteError.Code?)])
  func tellsFailuresFromFindings(finding: String, code: SQLiteError.Code?) {
    #expect(SQLiteError(finding: finding)?.code == code)
  }

  @Test func reportsFullDatabase() throws {
    _ = try database.integerPragma("max_page_count = 10")
    try database.execute("CREATE TABLE big(a)")
    #expect(throws: error(.full)) { try database.execute("INSERT INTO big VALUES(zeroblob(100000))") }
  }

  @Test func locksTableDuringRead() throws {
    let reader = try database.statement("SELECT * FROM t")
    try reader.step()
    #expect(throws: error(.locked)) { try database.execute("DROP TABLE t") }
    withExtendedLifetime(reader) {}
  }
}
