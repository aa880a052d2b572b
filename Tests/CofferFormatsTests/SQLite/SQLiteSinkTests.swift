import CofferDocuments
import CofferSQLite
import Testing

@testable import CofferFormats

/// Exported databases, read by SQLite and imported again.
@Suite struct SQLiteSinkTests {
  private func written(
    _ documents: [(DocumentHeader, String)], in directory: TemporaryDirectory, collection: String = "notes"
  ) throws -> String {
    try directory.write([], to: "out.db")
    var sink = try SQLiteSink(path: "\(directory.path)/out.db")
    try sink.writeAll(documents, collection: collection)
    return "\(directory.path)/out.db"
  }

  @Test func preservesDocuments() throws {
    let directory = try TemporaryDirectory()
    let path = try written(Samples.rich, in: directory)
    #expect(try directory.names() == ["out.db"])
    let read = try drafts(SQLiteSource(path: path, options: ReadingOptions(keepsIDs: true)))
    #expect(read.count == Samples.rich.count)
    for (draft, (header, text)) in zip(read, Samples.rich) {
      #expect(draft.id == header.id.rawValue)
      #expect(draft.title.map { Array($0.utf8) } == header.title.map { Array($0.utf8) })
      #expect(Array(draft.text.utf8) == Array(text.utf8))
      #expect(draft.key == header.key?.bytes)
      #expect(draft.attributes ?? "" == String(decoding: header.attributes.canonicalJSON, as: UTF8.self))
      #expect(draft.created == header.created.millisecondsSince1970)
      #expect(draft.modified == header.modified.millisecondsSince1970)
      #expect(draft.parent == header.parent?.rawValue && draft.isJSON == header.isJSON)
      #expect(draft.isComplete)
    }
  }

  @Test func writesPlainTable() throws {
    let directory = try TemporaryDirectory()
    let path = try written(
      [(Samples.header(5, title: "T", key: "k"), "a\0b"), (Samples.header(2), "x")], in: directory)
    let database = try Database(path, mode: .readOnly)
    #expect(try database.query("PRAGMA integrity_check").rows[0][0].text == "ok")
    let rows = try database.query("SELECT id, title, text, key, position FROM notes ORDER BY position").rows
    #expect(rows[0].values == [.integer(5), .text("T"), .text("a\0b"), .text("k"), .integer(1)])
    #expect(rows[1].values == [.integer(2), .null, .text("x"), .null, .integer(2)])
  }

  @Test func writesSeparateTablePerCollection() throws {
    let directory = try TemporaryDirectory()
    try directory.write([], to: "out.db")
    var sink = try SQLiteSink(path: "\(directory.path)/out.db")
    try sink.begin()
    let names = ["Notes", "notes", "sqlite_x", "a\"b; DROP TABLE notes", "notes order", "n\0l", "", "é"]
    for (index, name) in names.enumerated() {
      try Array("x".utf8).withUnsafeBytes {
        let header = Samples.header(1, collection: UInt32(index + 1))
        try sink.write(OpenedDocument(header: header, utf8: $0), inCollection: name)
      }
    }
    try sink.finish()
    let database = try Database("\(directory.path)/out.db", mode: .readOnly)
    let tables = try SQLiteTable.all(in: database).map(\.name)
    #expect(
      tables == ["Notes", "2-notes", "3-sqlite_x", "a\"b; DROP TABLE notes", "5-notes order", "n\u{FFFD}l", "", "é"])
  }

  @Test func writesEmptyDatabase() throws {
    let directory = try TemporaryDirectory()
    let path = try written([], in: directory)
    #expect(try drafts(SQLiteSource(path: path)).isEmpty)
  }

  @Test func preservesExistingContent() throws {
    let directory = try TemporaryDirectory()
    let path = try directory.database("CREATE TABLE t(a)")
    let before = try directory.bytes(of: "source.db")
    #expect(throws: FormatError.self) {
      var sink = try SQLiteSink(path: path)
      try sink.begin()
    }
    #expect(try directory.bytes(of: "source.db") == before)
  }

  @Test func rejectsRepeatedDocument() throws {
    let directory = try TemporaryDirectory()
    #expect(throws: FormatError(.unwritable, "")) {
      try written([(Samples.header(1), "a"), (Samples.header(1), "a")], in: directory)
    }
  }
}
