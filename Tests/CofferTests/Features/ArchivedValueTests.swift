import Coffer
import CofferSQLite
import Foundation
import Testing

@testable import CofferStoreTestSupport

/// The features of FourLines, the archiving and SQLite tutorial.
struct ArchivedValueTests {
  struct FourLines: Codable, Sendable, Equatable {
    var field1: String?
    var field2: String?
    var field3: String?
    var field4: String?
  }

  private let lines = FourLines(field1: "one", field2: "", field3: nil, field4: "\0four")

  /// FourLines archived four strings under the key `Data` when the app ended, so a killed app lost its data.
  @Test func storesValueDurablyByKey() throws {
    try withTestStore { test in
      try test.store.write { _ = try $0.put(lines, into: test.notes, key: "Data") }
      let other = try test.reopened()
      #expect(try other.read { try $0.value(FourLines.self, forKey: "Data", in: test.notes) } == lines)
      #expect(try other.read { try $0.value(FourLines.self, forKey: "None", in: test.notes) } == nil)
      try other.close()
    }
  }

  /// FourLines ran `CREATE TABLE IF NOT EXISTS` at each launch.
  @Test func opensExistingStoreAtEachLaunch() throws {
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

  /// FourLines ran `INSERT OR REPLACE` per row, in four transactions.
  @Test func upsertPreservesOtherFields() throws {
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
          #expect(try writer.put(Document(text: "new \(row)"), id: DocumentID(row), into: test.notes).isNew == false)
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

  /// FourLines bound variables in prepared statements, and crashed on a NULL text.
  @Test func distinguishesNullEmptyAndNUL() throws {
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
      // Documents make the same distinctions.
      try test.store.write { writer in
        for (row, value) in zip((1 as Int64)..., values) {
          try writer.put(Document(title: value, text: value ?? "none"), id: DocumentID(row), into: test.notes)
        }
      }
      #expect(try test.store.read { try $0.headers(in: test.notes).map(\.title) } == values)
      #expect(try test.store.read { try $0.query("SELECT title FROM documents") }.rows.map { $0[0].text } == values)
    }
  }

  /// FourLines depended on `ORDER BY ROW` in its query.
  @Test func listsDocumentsInPositionOrder() throws {
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
  @Test func countsDocumentsWithoutDecryptingTexts() throws {
    try withTestStore { test in
      try test.store.write { writer in
        for number in 1...9 {
          try writer.insert(Document(text: String(repeating: "x", count: number)), into: test.notes)
        }
      }
      // Damage the texts to prove that counting doesn't decrypt them.
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
