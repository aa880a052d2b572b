import Testing

@testable import CofferSQLite

/// Tests the features of QuickConnect's SQLite wrapper, and its mistakes.
@Suite struct QuickConnectTests {
  private let scratch: Scratch
  private let path: String

  init() throws {
    scratch = try Scratch()
    path = scratch.file("demo.sqlite")
    let database = try Database(path, mode: .createNew)
    try database.execute("CREATE TABLE contact(id INTEGER PRIMARY KEY, name VARCHAR(40), email TEXT, company)")
    try database.execute("INSERT INTO contact VALUES(1, 'Ada', 'ada@example.org', NULL), (2, 'Bob', '', 7)")
    try database.close()
  }

  /// Replaces `initWithDatabase:isWriteable:`, which returned `nil` for a missing file.
  @Test func opensReadOnlyOrWritable() throws {
    let reader = try Database(path, mode: .readOnly)
    #expect(reader.isReadOnly)
    #expect(throws: error(.readOnly)) { try reader.execute("DELETE FROM contact") }
    let writer = try Database(path, mode: .readWrite)
    #expect(!writer.isReadOnly)
    #expect(try writer.execute("DELETE FROM contact").rowsAffected == 2)
    for mode in [Database.Mode.readOnly, .readWrite] {
      #expect(throws: error(.noSuchFile)) { try Database(scratch.file("missing.sqlite"), mode: mode) }
    }
    #expect(try scratch.names() == ["demo.sqlite"])
  }

  /// Runs any SQL, with or without `?`, without showing a prepared statement.
  @Test func runsSQLWithOrWithoutParameters() throws {
    let database = try Database(path)
    #expect(try database.query("SELECT count(*) FROM contact").rows[0][0] == 2)
    for name in ["Ada", "Bob", "Ada"] {
      #expect(try database.query("SELECT name FROM contact WHERE name = ?", name).rows[0][0] == .text(name))
    }
    #expect(try database.query("SELECT name FROM contact WHERE name = ?", "x' OR 'x' = 'x").rows.isEmpty)
    try database.execute("CREATE INDEX byName ON contact(name); ANALYZE; DROP INDEX byName")
  }

  /// Replaces `getData` with `fieldNames`, `columnTypes` and `results`.
  @Test func returnsNamesTypesAndRows() throws {
    let result = try Database(path).query("SELECT id, name, email, company, 1.5 AS more FROM contact ORDER BY id")
    #expect(result.columnNames == ["id", "name", "email", "company", "more"])
    #expect(result.declaredTypes == ["INTEGER", "VARCHAR(40)", "TEXT", nil, nil])
    #expect(
      result.rows.map { $0.values.map(\.storageClass) }
        == [[.integer, .text, .text, .null, .real], [.integer, .text, .text, .integer, .real]])
    #expect(result.rows.map(\.values) == [[1, "Ada", "ada@example.org", .null, 1.5], [2, "Bob", "", 7, 1.5]])
    #expect(result.rows[1]["name"] == "Bob" && result.rows[1]["nothing"] == nil)
  }

  /// Replaces `rowsAffected` and `insertedID`.
  @Test func reportsAffectedRowsAndInsertedID() throws {
    let database = try Database(path)
    let inserted = try database.execute("INSERT INTO contact(name) VALUES(?)", "Cy")
    #expect(inserted == Execution(rowsAffected: 1, insertedID: 3))
    #expect(try database.execute("UPDATE contact SET company = ?", "C") == Execution(rowsAffected: 3, insertedID: nil))
    let returned = try database.query("INSERT INTO contact(name) VALUES('Di') RETURNING id, name")
    #expect(returned.rowsAffected == 1 && returned.insertedID == 4 && returned.rows[0].values == [4, "Di"])
  }

  /// Replaces `errorDescription` with a typed error that doesn't contain bound values.
  @Test func throwsTypedError() throws {
    let database = try Database(path)
    let error = thrown { try database.execute("INSERT INTO contact(id, name) VALUES(1, ?)", "geheim") }
    #expect(error?.code == .constraint(.primaryKey))
    #expect(error?.description == "SQLite: UNIQUE constraint failed: contact.id (code 1555)")
    #expect(error?.sql == "INSERT INTO contact(id, name) VALUES(1, ?)")
    #expect(thrown { _ = try database.query("SELECT nothing FROM contact") }?.code == .sqlLogic)
  }

  /// Replaces `startTransaction`, `endTransaction` and `rollback`. QuickConnect's sample checked the wrong result and
  /// committed half of the transaction.
  @Test func failedTransactionCommitsNoChange() throws {
    let database = try Database(path)
    #expect(throws: error(.constraint(.primaryKey))) {
      try database.transaction {
        try database.execute("INSERT INTO contact(name) VALUES('first half')")
        try database.execute("INSERT INTO contact(id, name) VALUES(1, 'second half')")
      }
    }
    #expect(!database.isInTransaction)
    #expect(try Database(path).query("SELECT count(*) FROM contact").rows[0][0] == 2)
  }

  @Test func nestedTransactionUsesSavepoint() throws {
    struct Enough: Error {}
    let database = try Database(path)
    try database.transaction {
      try database.execute("INSERT INTO contact(name) VALUES('kept')")
      #expect(throws: Enough.self) {
        try database.transaction {
          try database.execute("INSERT INTO contact(name) VALUES('undone')")
          throw Enough()
        }
      }
    }
    #expect(try database.query("SELECT name FROM contact WHERE id > 2").rows.map(\.values) == [["kept"]])
  }

  /// Replaces `close`, which is optional.
  @Test func closesExplicitlyOrOnDeinit() throws {
    var database: Database? = try Database(path)
    try database?.execute("BEGIN; DELETE FROM contact")
    database = nil
    let other = try Database(path)
    #expect(try other.query("SELECT count(*) FROM contact").rows[0][0] == 2)
    try other.close()
    #expect(throws: error(.misuse)) { try other.query("SELECT 1") }
    try other.close()
  }
}
