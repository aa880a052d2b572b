import CofferDocuments
import CofferSQLite
import CofferTestSupport
import Foundation
import Testing

@testable import CofferFormats

/// Rows with invalid text, and invalid database files.
@Suite struct SQLiteErrorTests {
  private static let bad = """
    CREATE TABLE records(id INTEGER PRIMARY KEY, title, txt, other);
    INSERT INTO records VALUES(10, 'a', 'good', 1), (20, 'b', CAST(x'61C3' AS TEXT), 2), (30, 'c', 'good', 3)
    """

  @Test func reportsRowOfInvalidText() throws {
    let directory = try TemporaryDirectory()
    let error = failure(SQLiteSource(path: try directory.database(Self.bad), options: ReadingOptions(path: "x.db")))
    #expect(error?.code == .undecodable)
    #expect(
      error?.description
        == "x.db: truncated UTF-8 sequence at the end at byte 1, in column txt of row 20 of the table records (record 2)"
    )
    #expect(error?.location == InputLocation(record: 2, line: nil, column: nil, byteOffset: nil))
  }

  @Test func returnsDocumentsBeforeError() throws {
    let directory = try TemporaryDirectory()
    var source = SQLiteSource(path: try directory.database(Self.bad))
    var batch = DraftBatch()
    #expect(try source.read(into: &batch))
    #expect(batch.drafts.map(\.id) == [10])
    for _ in 0..<2 { #expect(throws: FormatError(.undecodable, "")) { try source.read(into: &batch) } }
  }

  @Test func skipsOnlyInvalidRow() throws {
    let directory = try TemporaryDirectory()
    let rejections = Rejections()
    var source = SQLiteSource(path: try directory.database(Self.bad), options: rejections.options())
    #expect(try drafts(&source).map(\.id) == [10, 30])
    #expect(source.report.rejected == 1)
    #expect(rejections.all.map(\.record) == [2])
  }

  @Test func replacesInvalidText() throws {
    let directory = try TemporaryDirectory()
    let source = SQLiteSource(path: try directory.database(Self.bad), options: ReadingOptions(onError: .replace))
    #expect(try drafts(source).map(\.text) == ["good", "a\u{FFFD}", "good"])
  }

  @Test(arguments: [
    ("UTF-16le", "3DD86100", "unpaired surrogate at byte 0"), ("UTF-16le", "610000DE", "unpaired surrogate at byte 2"),
    ("UTF-16be", "D83D0061", "unpaired surrogate at byte 0"), ("UTF-16be", "0061DE00", "unpaired surrogate at byte 2"),
  ])
  func rejectsOrReplacesLoneSurrogates(encoding: String, hex: String, reason: String) throws {
    let directory = try TemporaryDirectory()
    let path = try directory.database(
      "PRAGMA encoding = '\(encoding)'; CREATE TABLE records(id, title, txt)",
      "INSERT INTO records VALUES(1, 'a', CAST(x'\(hex)' AS TEXT))")
    #expect(failure(SQLiteSource(path: path))?.reason.hasPrefix(reason) == true)
    let replaced = try drafts(SQLiteSource(path: path, options: ReadingOptions(onError: .replace)))
    #expect(replaced[0].text.unicodeScalars.count { $0 == "\u{FFFD}" } == 1)
  }

  /// SQLite silently discards the odd byte.
  @Test(arguments: ["UTF-16le", "UTF-16be"])
  func rejectsOddByteInUTF16(encoding: String) throws {
    let directory = try TemporaryDirectory()
    let path = try directory.database(
      "PRAGMA encoding = '\(encoding)'; CREATE TABLE t(id, title, text)",
      "INSERT INTO t VALUES(x'01', x'02', x'61626364656667')")
    var bytes = try directory.bytes(of: "source.db")
    // Find the types of the row's three blobs, and change the last, with 7 bytes, to a text.
    let types = try #require(bytes.indices.dropLast(4).first { Array(bytes[$0..<$0 + 4]) == [4, 14, 14, 26] })
    bytes[types + 3] = 27
    try directory.write(bytes, to: "source.db")
    let error = failure(SQLiteSource(path: path))
    #expect(error?.code == .undecodable, "\(String(describing: error))")
    #expect(error?.reason.contains("truncated UTF-16 unit") == true)
  }

  @Test func appliesEmptyTextMode() throws {
    let directory = try TemporaryDirectory()
    let path = try directory.database(
      "CREATE TABLE t(id INTEGER PRIMARY KEY, title, text); INSERT INTO t VALUES(1, 'a', ''),(2, 'b', NULL),(3, 'c', 'x')"
    )
    var skipping = SQLiteSource(path: path, options: ReadingOptions(emptyText: .skip))
    #expect(try drafts(&skipping).map(\.id) == [3])
    #expect(skipping.report.skippedEmpty == 2)
    #expect(failure(SQLiteSource(path: path, options: ReadingOptions(emptyText: .fail)))?.code == .emptyText)
  }

  @Test func skipsOversizedRows() throws {
    let directory = try TemporaryDirectory()
    let path = try directory.database(
      "CREATE TABLE t(id INTEGER PRIMARY KEY, title, text, other)",
      "INSERT INTO t VALUES(1, 'a', zeroblob(0), NULL),(2, 'b', hex(zeroblob(600)), NULL),(3, 'c', 'x', hex(zeroblob(600000))),(4, 'd', 'y', 0)"
    )
    let rejections = Rejections()
    let source = SQLiteSource(path: path, options: rejections.options { $0.maximumRecordByteCount = 1000 })
    #expect(try drafts(source).map(\.id) == [1, 4])
    #expect(rejections.all.map(\.error.code) == [.tooLarge, .tooLarge])
  }

  @Test func rejectsInvalidAndMissingFiles() throws {
    let directory = try TemporaryDirectory()
    try directory.write("SQLite format 3\0".utf8, to: "short.db")
    try directory.write([UInt8](repeating: 0, count: 4096), to: "zero.db")
    try directory.write([], to: "empty.db")
    for name in ["short.db", "zero.db", "empty.db"] {
      #expect(failure(SQLiteSource(path: "\(directory.path)/\(name)"))?.code == .malformed)
    }
    #expect(failure(SQLiteSource(path: "\(directory.path)/none.db"))?.code == .unreadable)
    #expect(failure(SQLiteSource(copying: MemoryByteSource("SQLite format 3\0")))?.code == .malformed)
  }

  @Test func rejectsEveryTruncation() throws {
    let directory = try TemporaryDirectory()
    try directory.database(
      "PRAGMA page_size = 512; CREATE TABLE t(id INTEGER PRIMARY KEY, title, text)",
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40) INSERT INTO t SELECT i, 't', hex(zeroblob(50)) FROM n"
    )
    let whole = try directory.bytes(of: "source.db")
    for count in stride(from: 0, to: whole.count, by: 61) {
      try directory.write(whole[..<count], to: "cut.db")
      let error = failure(SQLiteSource(path: "\(directory.path)/cut.db"))
      #expect([.malformed, .missingTable].contains(error?.code), "\(count) bytes")
    }
  }

  /// A tree with a page cycle would return the same rows forever.
  @Test func detectsRepeatedRows() throws {
    let directory = try TemporaryDirectory()
    let path = try directory.database(
      "PRAGMA page_size = 512; CREATE TABLE t(id INTEGER PRIMARY KEY, title, text)",
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40) INSERT INTO t SELECT i, 't', hex(zeroblob(50)) FROM n"
    )
    var bytes = try directory.bytes(of: "source.db")
    // Page 2 is the table's root, an interior page (5). Each cell begins with a page number.
    let root = 512
    try #require(bytes[root] == 5)
    let pointers = root + 12
    let first = root + Int(bytes[pointers]) << 8 + Int(bytes[pointers + 1])
    let second = root + Int(bytes[pointers + 2]) << 8 + Int(bytes[pointers + 3])
    bytes.replaceSubrange(second..<second + 4, with: Array(bytes[first..<first + 4]))
    try directory.write(bytes, to: "source.db")
    let error = failure(SQLiteSource(path: path))
    #expect(error?.code == .malformed)
    #expect(error?.reason.contains("not in order") == true)
  }

  /// Otherwise, a file with rows that share their overflow pages could fill any disk. Without an index in their order,
  /// the rows of an exported table are collected before the first one is returned.
  @Test(arguments: ["", ",key,created,modified,attributes,parent,json,position"])
  func limitsSizeOfRowsWithSamePages(_ columns: String) throws {
    let directory = try TemporaryDirectory()
    // A record begins with its header's size and a type for each column. The type of a long text has three bytes.
    let header = 4 + columns.count { $0 == "," }
    // A cell has a size, a row ID of two bytes, the record's first bytes, and the number of its first overflow page.
    let local = 39
    let size = local + 500 * 508
    let path = try directory.database(
      "PRAGMA page_size = 512; CREATE TABLE t(id INTEGER PRIMARY KEY,title,text\(columns))",
      "INSERT INTO t(id,title,text) VALUES(128, '', substr(hex(zeroblob(200000)), 1, \(size - header - 2)))",
      """
      WITH RECURSIVE n(i) AS (SELECT 129 UNION ALL SELECT i + 1 FROM n WHERE i < 300)
      INSERT INTO t(id,title,text) SELECT i, '', substr(hex(zeroblob(50)), 1, \(local + 6 - header)) FROM n
      """)
    #expect(try drafts(SQLiteSource(path: path)).count == 173)
    var bytes = try directory.bytes(of: "source.db")
    var cells: [Int] = []
    for page in stride(from: 512, to: bytes.count, by: 512) where bytes[page] == 13 {
      for index in 0..<Int(bytes[page + 4]) {
        let pointer = page + 8 + 2 * index
        cells.append(page + Int(bytes[pointer]) << 8 + Int(bytes[pointer + 1]))
      }
    }
    #expect(cells.count == 173)
    // The size of a long record has three bytes. Give the other cells, which are as long, the same record.
    let long = try #require(cells.first { bytes[$0] > 127 })
    let cell = Array(bytes[long..<long + 3 + 2 + local + 4])
    for place in cells where place != long {
      try #require(bytes[place] == local + 6)
      let row = cell[..<3] + bytes[place + 1...place + 2] + cell[5...]
      bytes.replaceSubrange(place..<place + row.count, with: row)
    }
    try directory.write(bytes, to: "source.db")
    for mode in [RecordErrorMode.fail, .skip] {
      var source = SQLiteSource(path: path, options: ReadingOptions(onError: mode))
      let error = #expect(throws: FormatError.self) { try drafts(&source) }
      #expect(error?.code == .malformed && error?.reason.contains("far larger than the file") == true)
      #expect(source.report.documents < 173 && (columns.isEmpty || source.report.documents == 0))
    }
  }

  @Test(.corpora("sqlite-malformed.tar.xz")) func survivesMalformedDatabases() throws {
    let directory = try TemporaryDirectory()
    let tar = Process()
    tar.executableURL = URL(filePath: "/usr/bin/env")
    tar.arguments = ["tar", "xJf", Corpora.path("sqlite-malformed.tar.xz"), "-C", directory.path]
    try tar.run()
    tar.waitUntilExit()
    let folder = "\(directory.path)/sqlite-malformed"
    let names = try FileManager.default.contentsOfDirectory(atPath: folder)
    #expect(names.count == 699)
    for name in names {
      let path = "\(folder)/\(name)"
      let before = try Data(contentsOf: URL(filePath: path))
      var tables = failure(SQLiteSource(path: path))?.names ?? []
      tables.append("t1")
      for table in tables {
        for map in ["", "text=1", "id=1,text=2"] {
          _ = failure(SQLiteSource(path: path, table: table, mapping: ColumnMapping(parsing: map) ?? ColumnMapping()))
        }
      }
      #expect(try Data(contentsOf: URL(filePath: path)) == before, "\(name) was changed")
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder).count == names.count)
  }
}
