import CofferSQLite
import Foundation
import Testing

/// Tests importing and exporting SQLite databases.
@Suite struct SQLiteVerbTests {
  @discardableResult
  private func database(_ sandbox: Sandbox, _ sql: String, name: String = "in.db") throws -> String {
    let database = try Database(sandbox.path(name), mode: .createNew)
    try database.execute(sql)
    try database.close()
    return name
  }

  @Test func detectsRecords() throws {
    let sandbox = try Sandbox.withStore()
    try database(
      sandbox, "CREATE TABLE records(id INTEGER PRIMARY KEY, title, txt); INSERT INTO records VALUES(3, 'T', 'text')")
    let before = try sandbox.read("in.db")
    let result = try sandbox.succeed("import", "s.coffer", "in.db", "--keep-ids")
    #expect(result.text == "in.db: 1 document (sqlite, utf-8)\n1 document created, id 3\n")
    #expect(try sandbox.succeed("show", "s.coffer", "3").text == "text")
    #expect(try sandbox.read("in.db") == before)
  }

  @Test func keepsForeignIDColumnAsAttribute() throws {
    let sandbox = try Sandbox.withStore()
    try database(sandbox, "CREATE TABLE records(id, title, txt); INSERT INTO records VALUES('A-7', 'T', 'text')")
    let told = try sandbox.succeed("import", "s.coffer", "in.db")
    #expect(told.diagnostics.hasSuffix("dbtool: in.db: text from txt; attributes: id\n"))
    #expect(try sandbox.succeed("export", "s.coffer").text.contains(#""attributes":{"id":"A-7"}"#))
    try sandbox.succeed("export", "s.coffer", "-o", "own.db")
    let own = try sandbox.succeed("import", "t.coffer", "own.db", "--create")
    #expect(own.diagnostics.hasSuffix("dbtool: own.db: new ids (--keep-ids keeps those of the file)\n"))
    #expect(try sandbox.succeed("export", "t.coffer").text.contains(#""attributes":{"id":"A-7"}"#))
  }

  @Test func acceptsTableAndMapOptions() throws {
    let sandbox = try Sandbox.withStore()
    try database(
      sandbox,
      "CREATE TABLE FIELDS(ROW INTEGER PRIMARY KEY, FIELD_DATA TEXT); CREATE TABLE contact(id, name, email, company); INSERT INTO FIELDS VALUES(1, 'one'),(2, 'two'); INSERT INTO contact VALUES(1, 'Ann', 'a@b', NULL)"
    )
    let unsaid = try sandbox.run("import", "s.coffer", "in.db")
    #expect(unsaid.status == 64)
    #expect(unsaid.diagnostics.hasSuffix("hint: name it with --table; there are: FIELDS, contact\n"))
    try sandbox.succeed(
      "import", "s.coffer", "in.db", "--table", "FIELDS", "--map", "id=ROW,text=FIELD_DATA", "--keep-ids")
    #expect(try sandbox.succeed("show", "s.coffer", "1", "2").text == "onetwo")
    try sandbox.succeed("import", "s.coffer", "in.db", "--table", "contact", "-c", "people")
    #expect(
      try sandbox.succeed("show", "s.coffer", "3").text == #"{"id":1,"name":"Ann","email":"a@b","company":null}"#)
    #expect(try sandbox.succeed("ls", "s.coffer", "-c", "people").text.hasPrefix("3\tAnn\t"))
    #expect(try sandbox.run("import", "s.coffer", "in.db", "--table", "none").status == 64)
    #expect(try sandbox.run("import", "s.coffer", "in.db", "--table", "contact", "--map", "text=none").status == 64)
  }

  @Test func handlesInvalidTextByOption() throws {
    let sandbox = try Sandbox.withStore()
    try database(
      sandbox,
      "CREATE TABLE records(id INTEGER PRIMARY KEY, title, txt); INSERT INTO records VALUES(1, 'a', 'x'),(2, 'b', CAST(x'FF' AS TEXT))"
    )
    let before = try sandbox.read("s.coffer")
    let failed = try sandbox.run("import", "s.coffer", "in.db")
    #expect(failed.status == 22)
    #expect(failed.diagnostics.contains("row 2 of the table records"))
    #expect(try sandbox.read("s.coffer") == before)
    let skipped = try sandbox.run("import", "s.coffer", "in.db", "--rejects", "bad.ndjson")
    #expect(skipped.status == 3)
    #expect(
      try sandbox.text(of: "bad.ndjson")
        == #"{"input":"in.db","record":2,"error":"byte that UTF-8 never uses at byte 0, in column txt of row 2 of the table records"}"#
        + "\n")
    try sandbox.succeed("import", "s.coffer", "in.db", "--on-error", "replace")
  }

  @Test func reportsAndDeletesPrivateCopy() throws {
    let sandbox = try Sandbox.withStore()
    try FileManager.default.createDirectory(atPath: sandbox.path("tmp"), withIntermediateDirectories: true)
    sandbox.environment["TMPDIR"] = sandbox.path("tmp")
    try database(sandbox, "CREATE TABLE records(id, title, text); INSERT INTO records VALUES(1, 'a', 'x')")
    let bytes = try sandbox.read("in.db")
    let result = try sandbox.run(["import", "s.coffer", "-", "--keep-ids"], input: bytes)
    #expect(result.status == 0)
    #expect(
      result.diagnostics.hasPrefix("dbtool: standard input was copied to a private temporary file, now deleted\n"))
    #expect(try FileManager.default.contentsOfDirectory(atPath: sandbox.path("tmp")) == [])
  }

  @Test func rejectsTruncatedDatabase() throws {
    let sandbox = try Sandbox.withStore()
    try database(sandbox, "CREATE TABLE records(id, title, txt)")
    try sandbox.write("broken.db", bytes: Array(try sandbox.read("in.db").prefix(3000)))
    #expect(try sandbox.run("import", "s.coffer", "broken.db").status == 22)
    #expect(try sandbox.run("import", "s.coffer", "broken.db", "--from", "csv").status == 22)
    try sandbox.write("text.db", "no database")
    #expect(try sandbox.run("import", "s.coffer", "text.db", "--from", "sqlite").status == 22)
  }

  @Test func roundTripsDatabase() throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.write(
      "in.ndjson",
      #"{"id":9,"title":"","text":"a\u0000b","key":"k","attributes":{"x":[1,null]},"created":"1999-01-02T03:04:05.678Z"}"#
        + "\n" + #"{"id":2,"text":"é","position":0}"# + "\n" + #"{"id":5,"title":"t","text":"","position":0}"# + "\n")
    try sandbox.succeed("import", "s.coffer", "in.ndjson", "--keep-ids", "-c", "n")
    let exported = try sandbox.succeed("export", "s.coffer", "-c", "n", "-o", "out.db")
    #expect(exported.diagnostics == "dbtool: 3 documents written to out.db\n")
    #expect(try sandbox.mode(of: "out.db") == 0o600)
    try sandbox.succeed("create", "t.coffer", "--key-file", "primary.key")
    try sandbox.succeed("import", "t.coffer", "out.db", "--keep-ids", "-c", "n")
    func documents(_ store: String) throws -> String {
      try sandbox.succeed("export", store, "-c", "n").text.replacing(/"position":\d+/, with: "")
    }
    #expect(try documents("s.coffer") == documents("t.coffer"))
  }

  @Test func rejectsExistingFileOrTerminalAsOutput() throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.succeed("put", "s.coffer", "--text", "x")
    try sandbox.write("there.db", "precious")
    let names = try sandbox.names()
    #expect(try sandbox.run("export", "s.coffer", "-o", "there.db").status == 1)
    #expect(try sandbox.run("export", "s.coffer", "--to", "sqlite", "-o", "s.coffer", "--force").status == 1)
    #expect(try sandbox.run("export", "s.coffer", "--to", "sqlite").status == 64)
    #expect(
      try sandbox.run("export", "s.coffer", "--to", "sqlite", "-o", "x.db", "--encoding", "utf-8-bom").status == 64)
    #expect(try sandbox.run("export", "s.coffer", "--to", "sqlite", "-o", "/dev/null").status == 1)
    #expect(try sandbox.names() == names)
    #expect(try sandbox.text(of: "there.db") == "precious")
    try sandbox.succeed("export", "s.coffer", "-o", "there.db", "--force")
    #expect(try sandbox.read("there.db").starts(with: "SQLite format 3".utf8))
  }

  @Test func rejectsStoreAsInput() throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.succeed("put", "s.coffer", "--text", "x")
    try sandbox.succeed("backup", "s.coffer", "b.coffer")
    let before = try sandbox.read("s.coffer")
    let result = try sandbox.run("import", "s.coffer", "b.coffer")
    #expect(result.status == 64 && result.errors.contains("this is a store"), "\(result.errors)")
    #expect(try sandbox.read("s.coffer") == before)
  }
}
