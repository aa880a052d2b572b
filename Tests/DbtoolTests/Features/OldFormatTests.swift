import Foundation
import Testing

/// Tests the files of the five old systems, which an independent program creates and inspects.
@Suite(.enabled(if: Python.isPresent, "python3 with sqlite3 and plistlib is absent"))
struct OldFormatTests {
  private static let table = """
    import datetime, plistlib
    table = {"autoincrement": "12", "data": [
      {"wgFileDbSecretId": "7", "name": "Ada", "age": 36, "since": datetime.datetime(1970, 1, 1)},
      {"wgFileDbSecretId": "2", "name": "Ümit", "image": bytes([0, 1, 2]), "weight": 1.5},
      {"wgFileDbSecretId": "10", "name": "", "on": True}],
      "index": {"7": "0", "2": "1", "10": "2"}}

    """

  /// Imports wgFileDb's property list with order, IDs and counter, and exports it.
  @Test(arguments: ["FMT_XML", "FMT_BINARY"])
  func roundTripsWgFileDbPropertyList(format: String) throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.python(Self.table + "plistlib.dump(table, open('db.plist', 'wb'), fmt=plistlib.\(format))")
    try sandbox.succeed("import", "s.coffer", "db.plist", "--from", "plist", "--keep-ids")
    #expect(try sandbox.succeed("ls", "s.coffer").lines.map { $0.split(separator: "\t")[0] } == ["7", "2", "10"])
    #expect(try sandbox.succeed("show", "s.coffer", "10").text.contains(#""on":true"#))
    try sandbox.succeed("export", "s.coffer", "--to", "plist", "-o", "out.plist")
    #expect(
      try sandbox.python(Self.table + "print(plistlib.load(open('out.plist', 'rb')) == table)") == "True\n")
    // The counter prevents reusing the IDs of deleted rows.
    #expect(try sandbox.succeed("put", "s.coffer", "--text", "new").text == "13\n")
  }

  /// wgIo printed 1.9 MB as 1.00.
  @Test func infoReportsCorrectFileSize() throws {
    let sandbox = try Sandbox.withStore("--no-padding")
    try sandbox.succeed("put", "s.coffer", "-", input: String(repeating: "x", count: 1_860_000))
    struct Info: Decodable {
      let size: Int
      let sizeInWords: String
    }
    let info = try sandbox.succeed("info", "s.coffer", "--json").json(Info.self)
    #expect(try sandbox.python("import os; print(os.path.getsize('s.coffer'))") == "\(info.size)\n")
    #expect(info.sizeInWords == "2.0 MB" && (1_900_000..<2_050_000).contains(info.size))
  }

  /// A FourLines archive contains an object of an unknown class under the key `Data`.
  @Test(arguments: ["FMT_XML", "FMT_BINARY"]) func importsFourLinesArchiveWithoutClass(format: String) throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.python(
      """
      import plistlib
      UID = plistlib.UID if '\(format)' == 'FMT_BINARY' else lambda number: {"CF$UID": number}
      archive = {"$version": 100000, "$archiver": "NSKeyedArchiver", "$top": {"Data": UID(1)}, "$objects": ["$null",
        {"$class": UID(5), "Field1": UID(2), "Field2": UID(3), "Field3": UID(0), "Field4": UID(4)},
        "eins", "zwei ä", "", {"$classname": "FourLines", "$classes": ["FourLines", "NSObject"]}]}
      plistlib.dump(archive, open('archive', 'wb'), fmt=plistlib.\(format))
      """)
    try sandbox.succeed("import", "s.coffer", "archive", "--from", "keyed-archive")
    #expect(
      try sandbox.succeed("show", "s.coffer", "1").text
        == #"{"$class":"FourLines","Field1":"eins","Field2":"zwei ä","Field3":null,"Field4":""}"#)
  }

  /// The rows of FourLines' `data.sqlite3` include NULL, empty text and U+0000.
  @Test func importsFourLinesDatabaseByTableAndMap() throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.python(
      """
      import sqlite3
      database = sqlite3.connect('data.sqlite3')
      database.execute('CREATE TABLE IF NOT EXISTS FIELDS (ROW INTEGER PRIMARY KEY, FIELD_DATA TEXT)')
      rows = [(4, 'four'), (2, ''), (1, 'one\\0more'), (3, None)]
      database.executemany('INSERT OR REPLACE INTO FIELDS (ROW, FIELD_DATA) VALUES (?, ?)', rows)
      database.commit()
      """)
    try sandbox.succeed(
      "import", "s.coffer", "data.sqlite3", "--from", "sqlite", "--table", "FIELDS", "--map", "id=ROW,text=FIELD_DATA",
      "--keep-ids")
    #expect(try sandbox.succeed("ls", "s.coffer").lines.map { $0.split(separator: "\t")[0] } == ["1", "2", "3", "4"])
    #expect(try sandbox.succeed("show", "s.coffer", "1").text == "one\0more")
    #expect(try sandbox.succeed("show", "s.coffer", "2", "4").text == "four")
  }

  /// Imports the rows of QuickConnect's `demo.sqlite` as JSON documents with the title from `name`, and queries them.
  @Test func importsQuickConnectRowsAsTitledJSON() throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.python(
      """
      import sqlite3
      database = sqlite3.connect('demo.sqlite')
      database.execute('CREATE TABLE contact (id INTEGER PRIMARY KEY, name TEXT, email TEXT, company TEXT)')
      rows = [('Ada', 'ada@example.org', None), ('Bjørn "B"', '', 'C & D')]
      database.executemany('INSERT INTO contact (name, email, company) VALUES (?, ?, ?)', rows)
      database.commit()
      """)
    try sandbox.succeed("import", "s.coffer", "demo.sqlite", "--from", "sqlite", "--table", "contact", "-c", "contact")
    #expect(
      try sandbox.succeed("show", "s.coffer", "1").text
        == #"{"id":1,"name":"Ada","email":"ada@example.org","company":null}"#)
    #expect(
      try sandbox.succeed("ls", "s.coffer", "-c", "contact").lines.map { $0.split(separator: "\t")[1] }
        == ["Ada", #"Bjørn "B""#])
    let found = try sandbox.succeed(
      "query", "s.coffer", "SELECT title FROM documents WHERE text ->> '$.company' = ?", "C & D", "--format", "ndjson")
    #expect(found.text == #"{"title":"Bjørn \"B\""}"# + "\n")
  }

  /// Detects txtEdit's `records.sql`, including a reader's UTF-16 version.
  @Test(arguments: ["UTF-8", "UTF-16le", "UTF-16be"]) func detectsTxtEditRecords(encoding: String) throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.python(
      """
      import sqlite3
      database = sqlite3.connect('txtEdit.db')
      database.executescript('''
        PRAGMA encoding = "\(encoding)";
        CREATE TABLE records (id INTEGER PRIMARY KEY, title TEXT, txt TEXT);
        CREATE TABLE settings (name, value);
        INSERT INTO records VALUES (1, 'Grüße', 'Grüße aus 東京 👩‍👩‍👧'), (5, 'five', 'second' || char(10) || 'line');
        ''')
      """)
    let result = try sandbox.succeed("import", "s.coffer", "txtEdit.db", "--keep-ids")
    #expect(result.text.hasPrefix("txtEdit.db: 2 documents (sqlite, \(encoding.lowercased()))"))
    #expect(try sandbox.succeed("show", "s.coffer", "1").text == "Grüße aus 東京 👩‍👩‍👧")
    #expect(
      try sandbox.succeed("ls", "s.coffer").lines.map { $0.split(separator: "\t").prefix(2) }
        == [["1", "Grüße"], ["5", "five"]])
  }

  /// One reader had UTF-16 data from a spreadsheet, and another used MySQL to convert it.
  @Test func importsTxtEditSpreadsheetInUTF16() throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.python(
      #"""
      rows = 'title\ttext\r\nGrüße\t"two\r\nlines"\r\n東京\ttext\r\n'
      open('data.tsv', 'wb').write(rows.encode('utf-16'))
      open('unmarked.tsv', 'wb').write(rows.encode('utf-16-be'))
      """#)
    try sandbox.succeed("import", "s.coffer", "data.tsv")
    #expect(try sandbox.succeed("show", "s.coffer", "1", "2").text == "two\r\nlinestext")
    #expect(try sandbox.run("import", "s.coffer", "unmarked.tsv").status == 22)
    try sandbox.succeed("import", "s.coffer", "unmarked.tsv", "--encoding", "utf-16be")
    #expect(try sandbox.succeed("ls", "s.coffer").lines.map { $0.split(separator: "\t")[1] }.suffix(1) == ["東京"])
    #expect(
      try sandbox.succeed("convert", "data.tsv").text == "title\ttext\r\nGrüße\t\"two\r\nlines\"\r\n東京\ttext\r\n")
  }

  /// The option decides whether to reject, skip or store empty records, and the report counts them.
  @Test func handlesEmptyTxtEditNotesByOption() throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.python(
      """
      import sqlite3
      database = sqlite3.connect('txtEdit.db')
      database.execute('CREATE TABLE records (id INTEGER PRIMARY KEY, title TEXT, txt TEXT)')
      database.executemany('INSERT INTO records VALUES (?, ?, ?)', [(1, 'ghost', ''), (2, 'two', 'text')])
      database.commit()
      """)
    let before = try sandbox.read("s.coffer")
    #expect(try sandbox.run("put", "s.coffer", "--text", "").status == 1)
    #expect(try sandbox.read("s.coffer") == before)
    struct Report: Decodable {
      let created: Int
      let skipped: Int
    }
    let skipping = try sandbox.succeed("import", "s.coffer", "txtEdit.db", "--skip-empty", "--json").json(
      Report.self)
    #expect(skipping.created == 1 && skipping.skipped == 1)
    let storing = try sandbox.succeed("import", "s.coffer", "txtEdit.db", "--json").json(
      Report.self)
    #expect(storing.created == 2 && storing.skipped == 0)
    #expect(try sandbox.succeed("show", "s.coffer", "2").text.isEmpty)
  }

  /// Readers wanted to inspect the file with stock tools and with `ls`, `show` and `query`.
  @Test func stockToolsOpenTxtEditStore() throws {
    let sandbox = try Sandbox.withStore("--titles", "clear")
    try sandbox.succeed("put", "s.coffer", "--title", "Plans", "--text", "Sail at dawn.")
    let seen = try sandbox.python(
      """
      import sqlite3
      database = sqlite3.connect('s.coffer')
      print(database.execute('PRAGMA integrity_check').fetchone()[0])
      tables = [name for name, in database.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
      print('coffer_record' in tables and 'coffer_body' in tables)
      print([len(database.execute(f'SELECT * FROM {name}').fetchall()) > 0 for name in ('coffer_record', 'coffer_body')])
      print(any(b'dawn' in (value if isinstance(value, bytes) else str(value).encode())
        for name in tables for row in database.execute(f'SELECT * FROM {name}') for value in row))
      """)
    #expect(seen == "ok\nTrue\n[True, False]\nFalse\n")
    #expect(try sandbox.succeed("ls", "s.coffer").text.hasPrefix("1\tPlans\t"))
    #expect(try sandbox.succeed("show", "s.coffer", "1").text == "Sail at dawn.")
    #expect(
      try sandbox.succeed("query", "s.coffer", "SELECT text FROM documents", "--format", "csv").text
        == "text\nSail at dawn.\n")
  }
}
