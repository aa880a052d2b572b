import Coffer
import CofferSQLite
import Foundation
import Testing

/// The archiving and SQLite tutorial (FourLines), feature by feature.
struct ArchivedValueTests {
  struct FourLines: Codable, Sendable, Equatable {
    var field1: String?
    var field2: String?
    var field3: String?
    var field4: String?
  }

  private let lines = FourLines(field1: "one", field2: "", field3: nil, field4: "\0four")

  /// An object of four strings, archived under the key `Data` when the app ends; a killed app lost all.
  @Test func fourLinesAreDurableAtEachCommitUnderTheirKey() throws {
    try withTestStore { test in
      try test.store.write { _ = try $0.put(lines, into: test.notes, key: "Data") }
      let other = try test.reopened()
      #expect(try other.read { try $0.value(FourLines.self, forKey: "Data", in: test.notes) } == lines)
      #expect(try other.read { try $0.value(FourLines.self, forKey: "None", in: test.notes) } == nil)
      try other.close()
    }
  }

  /// Open or create, `CREATE TABLE IF NOT EXISTS` at each launch.
  @Test func fourLinesOpenAtEachLaunchTheSame() throws {
    try withTestStore { test in
      try test.store.write { _ = try $0.put(lines, into: test.notes, key: "Data") }
      for _ in 0..<3 {
        let store = try DocumentStore.open(
          at: test.url, key: .published("primary"), creatingIfMissing: true, options: .testing)
        #expect(store.opening == .opened)
        #expect(try store.read { try $0.count(in: test.notes) } == 1)
        try store.close()
      }
    }
  }

  /// `INSERT OR REPLACE` per row, in four transactions.
  @Test func fourLinesUpsertInOneTransactionAndKeepOtherFields() throws {
    try withTestStore { test in
      let attributes: Attributes = ["colour": "red"]
      try test.store.write { writer in
        for row in 1...4 as ClosedRange<Int64> {
          try writer.put(
            Document(title: "title \(row)", text: "\(row)", attributes: attributes), id: DocumentID(row),
            into: test.notes)
        }
      }
      let generation = try test.store.read { $0.generation }
      try test.store.write { writer throws in
        for row in 1...4 as ClosedRange<Int64> {
          #expect(try writer.put(Document(text: "new \(row)"), id: DocumentID(row), into: test.notes) == false)
        }
      }
      try test.store.read { reader in
        #expect(reader.generation == generation + 1)
        for row in 1...4 as ClosedRange<Int64> {
          let document = try reader.document(DocumentID(row))
          #expect(document.text == "new \(row)")
          #expect(document.title == "title \(row)")
          #expect(document.attributes == attributes)
        }
      }
    }
  }

  /// Bind variables, prepare, step, finalize; a NULL text crashed.
  @Test func fourLinesNullEmptyAndNULStayDistinct() throws {
    try withTestStore { test in
      let database = try Database(test.place.file("data.sqlite3").path, mode: .create)
      try database.execute("CREATE TABLE IF NOT EXISTS FIELDS(ROW INTEGER PRIMARY KEY, FIELD_DATA TEXT)")
      let values: [String?] = [nil, "", "\0", "a\0b"]
      for (row, value) in zip(1..., values) {
        try database.execute("INSERT OR REPLACE INTO FIELDS VALUES(?, ?)", row, value)
      }
      let result = try database.query("SELECT FIELD_DATA FROM FIELDS ORDER BY ROW")
      #expect(result.rows.map { $0[0].text } == values)
      #expect(result.rows.map { $0[0].storageClass } == [.null, .text, .text, .text])
      try database.close()
      // The same over documents.
      try test.store.write { writer in
        for (row, value) in zip((1 as Int64)..., values) {
          try writer.put(Document(title: value, text: value ?? "none"), id: DocumentID(row), into: test.notes)
        }
      }
      #expect(try test.store.read { try $0.headers(in: test.notes).map(\.title) } == values)
      #expect(try test.store.query("SELECT title FROM documents").rows.map { $0[0].text } == values)
    }
  }

  /// Rows came `ORDER BY ROW`, by habit of the query.
  @Test func fourLinesAreAlwaysInTheOrderOfTheirPositions() throws {
    try withTestStore { test in
      try test.store.write { writer in
        for id in [4, 2, 1, 3] as [DocumentID] { try writer.put(lines, id: id, into: test.notes) }
        #expect(try writer.headers(in: test.notes).map(\.id) == [4, 2, 1, 3])
        try writer.sort(test.notes, by: .id)
        #expect(try writer.headers(in: test.notes).map(\.id) == [1, 2, 3, 4])
      }
    }
  }

  /// Aggregations, "orders of magnitude faster than loading objects".
  @Test func fourLinesAreCountedAndMeasuredWithoutOpeningAText() throws {
    try withTestStore { test in
      try test.store.write { writer in
        for number in 1...9 {
          try writer.insert(Document(text: String(repeating: "x", count: number)), into: test.notes)
        }
      }
      // Texts that can't be opened any more: nothing here looks at them.
      let raw = try test.raw()
      let bodies = try raw.query("SELECT id, body FROM coffer_record").rows
      try raw.execute("UPDATE coffer_record SET body = zeroblob(length(body))")
      try test.store.read { reader throws in
        #expect(try reader.count(in: test.notes) == 9)
        #expect(try reader.headers(in: test.notes).map(\.byteCount).reduce(0, +) == 45)
        expect(.damaged) { try reader.text(of: 1) }
      }
      for row in bodies { try raw.execute("UPDATE coffer_record SET body = ?2 WHERE id = ?1", row[0], row[1]) }
      try raw.close()
    }
  }
}
