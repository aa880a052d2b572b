import CofferDocuments
import CofferSQLite
import CofferTestSupport
import CofferText
import Foundation
import Testing

@testable import CofferFormats

/// Database columns read as parts of a document.
@Suite struct SQLiteSourceTests {
  private func read(
    _ sql: String..., table: String? = nil, mapping: ColumnMapping = ColumnMapping(),
    options: ReadingOptions = ReadingOptions()
  ) throws -> [Drafted] {
    let directory = try TemporaryDirectory()
    let path = try directory.database(sql.joined(separator: ";"))
    let before = try directory.everything()
    defer { #expect((try? directory.everything()) == before, "the source was changed") }
    return try drafts(SQLiteSource(path: path, table: table, mapping: mapping, options: options))
  }

  private func failure(_ sql: String..., table: String? = nil, mapping: ColumnMapping = ColumnMapping()) -> FormatError?
  {
    do {
      _ = try read(sql.joined(separator: ";"), table: table, mapping: mapping)
      return nil
    } catch {
      return error as? FormatError
    }
  }

  @Test(
    .corpora("sqlite-made"), arguments: ["utf-8", "utf-16le", "utf-16be"], [512, 4096, 65536])
  func readsRecordsInEveryEncoding(encoding: String, pageSize: Int) throws {
    struct Record: Decodable {
      let id: Int64
      let title: String?
      let txt: String?
    }
    let rows = try JSONDecoder().decode([Record].self, from: Data(Corpora.bytes("sqlite-made/rows.json")))
    var source = try InputSource(opening: Corpora.path("sqlite-made/records-\(encoding)-\(pageSize).db"))
    let read = try drafts(&source)
    #expect(source.format == .sqlite)
    #expect(source.report.encoding?.rawValue == encoding)
    #expect(source.report.privateCopy == nil)
    #expect(read.map(\.id) == rows.map(\.id))
    #expect(read.map { $0.title.map { Array($0.utf8) } } == rows.map { $0.title.map { Array($0.utf8) } })
    #expect(read.map { Array($0.text.utf8) } == rows.map { Array(($0.txt ?? "").utf8) })
  }

  @Test func convertsRowToJSONText() throws {
    let read = try read(
      "CREATE TABLE contact(id INTEGER PRIMARY KEY, name, email, n, r, b)",
      "INSERT INTO contact VALUES(7, 'A\"n', NULL, 9007199254740993, 1.0, x'00FF'),(8, 'B', '', -9223372036854775808, 9e999, x'')",
      "INSERT INTO contact VALUES(9, NULL, 1, -1, -9e999, zeroblob(1)),(10, 'D', 0.1, 1e300, -0.0, 'x')",
      table: "contact")
    #expect(
      read.map(\.text) == [
        #"{"id":7,"name":"A\"n","email":null,"n":9007199254740993,"r":1.0,"b":{"$base64":"AP8="}}"#,
        #"{"id":8,"name":"B","email":"","n":-9223372036854775808,"r":{"$real":"inf"},"b":{"$base64":""}}"#,
        #"{"id":9,"name":null,"email":1,"n":-1,"r":{"$real":"-inf"},"b":{"$base64":"AA=="}}"#,
        #"{"id":10,"name":"D","email":0.1,"n":1e+300,"r":-0.0,"b":"x"}"#,
      ])
    #expect(read.map(\.title) == ["A\"n", "B", nil, "D"])
    #expect(read.map(\.id) == [7, 8, 9, 10])
    #expect(read.allSatisfy { $0.attributes == nil })
  }

  @Test func readsMappedTable() throws {
    let fields = "CREATE TABLE FIELDS(ROW INTEGER PRIMARY KEY, FIELD_DATA TEXT)"
    let rows = "INSERT INTO FIELDS VALUES(0, 'zero'),(3, 'three'),(1, 'one'),(2, NULL)"
    for mapping in [mapping("id=ROW,text=FIELD_DATA"), mapping("id=1,text=2"), mapping("id=row,text=field_data")] {
      for table in ["FIELDS", "fields", nil] {
        let read = try read(fields, rows, table: table, mapping: mapping)
        #expect(read.map(\.text) == ["zero", "one", "", "three"])
        #expect(read.map(\.id) == [nil, 1, 2, 3])
      }
    }
  }

  @Test func otherColumnsBecomeAttributes() throws {
    let directory = try TemporaryDirectory()
    let path = try directory.database(
      "CREATE TABLE t(zoo, id, title, Body, big, exact, r, b, n, key)",
      "INSERT INTO t VALUES('z', 1, 'T', 'text', 9007199254740993, 9007199254740992, 2.0, x'FF', NULL, 'k')")
    var source = SQLiteSource(path: path, options: ReadingOptions(keepsIDs: true))
    let read = try drafts(&source)
    #expect(read.map(\.text) == ["text"])
    #expect(read.map(\.keyText) == ["k"])
    #expect(
      read.map(\.attributes) == [
        #"{"b":{"$base64":"/w=="},"big":"9007199254740993","exact":9007199254740992,"r":2,"zoo":"z"}"#
      ])
    #expect(source.report.attributeColumns == ["zoo", "big", "exact", "r", "b", "n"])
  }

  @Test func convertsNumbersAndBlobsToText() throws {
    let read = try read(
      "CREATE TABLE t(id, title, text, key)", "INSERT INTO t VALUES('12', 5, 1.5, 7),(x'31', x'41', x'42', x'FF')",
      "INSERT INTO t VALUES(-1, NULL, NULL, '')")
    #expect(read.map(\.id) == [12, nil, nil])
    #expect(read.map(\.title) == ["5", #"{"$base64":"QQ=="}"#, nil])
    #expect(read.map(\.text) == ["1.5", #"{"$base64":"Qg=="}"#, ""])
    #expect(read.map(\.key) == [[0x37], [0xFF], nil])
  }

  @Test func keepingIDsRejectsInvalidIDs() throws {
    let rejections = Rejections()
    let read = try read(
      "CREATE TABLE t(id, title, text)", "INSERT INTO t VALUES(0, 'a', 'b'),('x', 'c', 'd'),(5, 'e', 'f')",
      options: rejections.options { $0.keepsIDs = true })
    #expect(read.map(\.id) == [5])
    #expect(rejections.all.map(\.record) == [1, 2])
    #expect(rejections.all[0].error.reason.contains("column id of row 1 of the table t"))
  }

  @Test func preservesNULAndByteOrderMark() throws {
    for encoding in ["UTF-8", "UTF-16le", "UTF-16be"] {
      let read = try read(
        "PRAGMA encoding = '\(encoding)'", "CREATE TABLE t(id, title, text)",
        "INSERT INTO t VALUES(1, char(65279) || 'm', 'a' || char(0) || 'b'),(2, '', char(128512))")
      #expect(read.map(\.text) == ["a\0b", "😀"])
      #expect(read.map { $0.title.map { Array($0.utf8) } } == [Array("\u{FEFF}m".utf8), []])
    }
  }

  @Test func readsTablesWithoutRowID() throws {
    let plain = try read(
      "CREATE TABLE t(id TEXT PRIMARY KEY, title, text, n) WITHOUT ROWID",
      "INSERT INTO t VALUES('2', 'b', 'two', 3),('1', 'a', 'one', NULL)")
    #expect(plain.map(\.text) == ["one", "two"])
    #expect(plain.map(\.attributes) == [#"{"id":"1"}"#, #"{"id":"2","n":3}"#])
  }

  /// The expression of n would take SQLite years, in one step that nothing interrupts.
  @Test func leavesGeneratedColumnsOut() throws {
    let schema = "CREATE TABLE t(id INTEGER PRIMARY KEY, title, text, m TEXT AS (title || '!') STORED, tail)"
    // Inserting a row would also run the expression, so the column is added last.
    let rows = """
      INSERT INTO t(id, title, text, tail) VALUES(1, 'a', 'one', 'end');
      ALTER TABLE t ADD COLUMN n TEXT AS (instr(hex(zeroblob(40000000)), hex(zeroblob(20000000)) || '1'))
      """
    let found = try read(schema, rows)
    #expect(found.map(\.text) == ["one"] && found.first?.attributes == #"{"id":1,"tail":"end"}"#)
    let error = failure(schema, rows, table: "t", mapping: mapping("title=title,text=N"))
    #expect(error?.code == .missingColumn && "\(error as Any)".contains("is generated"))
  }

  /// SQLite computes the columns of its statistics whenever it reads a schema.
  @Test func skipsExpressionsInStatistics() throws {
    let found = try read(
      "CREATE TABLE t(id INTEGER PRIMARY KEY, title, text)", "INSERT INTO t VALUES(1, 'a', 'one')",
      "CREATE INDEX i ON t(title); ANALYZE; PRAGMA writable_schema = ON",
      """
      UPDATE sqlite_schema SET sql = 'CREATE TABLE sqlite_stat1(tbl, idx, stat AS (instr(hex(zeroblob(40000000)),
        hex(zeroblob(20000000)) || ''1'')))' WHERE name = 'sqlite_stat1'
      """)
    #expect(found.map(\.text) == ["one"])
  }

  @Test func readsColumnsNamedRowID() throws {
    let read = try read(
      "CREATE TABLE t(id, title, text, rowid, _rowid_, oid)",
      "INSERT INTO t VALUES(1, 'a', 'x', 3, 2, 1),(2, 'b', 'y', 1, 1, 1)")
    #expect(read.map(\.text) == ["x", "y"])
    #expect(read.first?.attributes == #"{"_rowid_":2,"id":1,"oid":1,"rowid":3}"#)
  }

  @Test func readsRowsInRowIDOrder() throws {
    let read = try read(
      "CREATE TABLE t(id INTEGER PRIMARY KEY, title, text)", "CREATE INDEX i ON t(title, text)",
      "INSERT INTO t VALUES(3, 'a', 'x'),(1, 'c', 'z'),(2, 'b', 'y')")
    #expect(read.map(\.id) == [1, 2, 3])
  }

  @Test func acceptsUnusualNames() throws {
    let read = try read(
      "CREATE TABLE \"a\"\"b c\"(\"i\"\"d\", \"te xt\", 'select')", "INSERT INTO \"a\"\"b c\" VALUES(4, 'x', 'y')",
      table: "a\"b c", mapping: mapping("id=i\"d,text=te xt,title=select"))
    #expect(read.map(\.id) == [4])
    #expect(read.map(\.title) == ["y"])
  }

  @Test func listsExistingTablesAndColumns() {
    let two = "CREATE TABLE a(id, title, text); CREATE TABLE b(id, title, body); CREATE TABLE c(x)"
    #expect(failure(two)?.code == .missingTable)
    #expect(failure(two)?.names == ["a", "b"])
    #expect(failure(two, table: "d")?.names == ["a", "b", "c"])
    #expect(failure("CREATE TABLE c(x)")?.names == ["c"])
    #expect(failure("CREATE TABLE c(x, y)", table: "c", mapping: mapping("text=z"))?.names == ["x", "y"])
    #expect(failure("CREATE TABLE c(x, y)", table: "c", mapping: mapping("text=3"))?.code == .missingColumn)
    #expect(failure(two + "; CREATE TABLE records(id, title, txt)") == nil)
  }

  @Test func rejectsViewsAndVirtualTables() {
    let view = failure("CREATE VIEW records AS SELECT 1 AS id, 'a' AS title, 'b' AS txt", table: "records")
    #expect(view?.code == .missingTable)
    #expect(view?.reason.contains("view") == true)
    let virtual = failure("CREATE VIRTUAL TABLE records USING fts5(id, title, txt)", table: "records")
    #expect(virtual?.code == .missingTable)
    #expect(virtual?.names.contains("records") == false)
  }

  @Test func readsLongTableInBatches() throws {
    let read = try read(
      "CREATE TABLE t(id INTEGER PRIMARY KEY, title, text)",
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000) INSERT INTO t SELECT i, 't' || i, hex(zeroblob(i % 300)) FROM n"
    )
    #expect(read.count == 5000)
    #expect(read.map(\.record) == Array(1...5000))
    #expect(read[4999].title == "t5000")
    #expect(read[4998].text.count == 2 * (4999 % 300))
  }
}
