import Coffer
import CofferRecords
import CofferSQLite
import Foundation
import Testing

@testable import CofferStoreTestSupport

/// JSON and metadata columns, query errors, and skipped reads.
struct QueryColumnTests {
  private struct Item: Codable, Equatable, Sendable {
    var name: String
    var price: Double
    var tags: [String] = []
  }

  private func fill(_ test: TestStore) throws {
    try test.store.write { tx in
      let id = try tx.insert(Item(name: "pear", price: 2.5, tags: ["ripe"]), into: test.notes)
      try tx.insert(Document(text: "plain"), into: test.notes)
      try tx.insert(Document(text: #" {"price":7} "#), into: test.notes)
      let attributes = try Attributes(json: #"{"a":[1]}"#)
      try tx.insert(
        Document(text: "größe", attributes: attributes, parent: id, isJSON: true), into: test.notes)
    }
  }

  private func column(_ name: String, _ test: TestStore) throws -> [SQLiteValue] {
    try test.store.read { try $0.query("SELECT \(name) FROM documents ORDER BY id") }.map { $0[0] }
  }

  @Test func jsonColumnContainsValidJSON() throws {
    try withTestStore { test in
      try fill(test)
      #expect(
        try column("json", test)
          == [#"{"name":"pear","price":2.5,"tags":["ripe"]}"#, .null, #" {"price":7} "#, .null])
      #expect(try column("json ->> '$.price'", test) == [2.5, .null, 7, .null])
      #expect(try column("json_valid(text)", test) == [1, 0, 1, 0])
    }
  }

  /// The view and SQLite recognize the same texts as JSON, except for lone surrogates.
  @Test(arguments: [
    "1", "\"a\"", "null", " [1, 2] ", "{\"a\":1,\"a\":2}", "{a:1}", "[1,]", "01", "1.", ".5", "+1", "'a'", "[", "",
    "\u{FEFF}1", "NaN", "// x\n1", "\"\\u0000\"", "1e400", "-", "-0", "[1]x", "\u{0}", "1\u{0}", "\"a\u{1}\"",
  ]) func jsonAgreesWithSQLite(_ text: String) throws {
    try withTestStore { test in
      try test.store.write { _ = try $0.insert(Document(text: text), into: test.notes) }
      let row = try test.store.read { try $0.query("SELECT json IS NOT NULL, json_valid(text) FROM documents") }[0]
      // SQLite stops at U+0000, so it would accept invalid text after it.
      if !text.contains("\u{0}") { #expect(row[0] == row[1]) } else { #expect(row[0] == 0) }
    }
  }

  @Test func rejectsLoneSurrogatesAsJSON() throws {
    try withTestStore { test in
      try test.store.write { _ = try $0.insert(Document(text: #"["\ud800"]"#), into: test.notes) }
      #expect(try column("json", test) == [.null])
    }
  }

  @Test func exposesMetadataColumns() throws {
    try withTestStore { test in
      try fill(test)
      #expect(try column("isJSON", test) == [1, 0, 0, 1])
      #expect(try column("size", test) == [43, 5, 13, 7])
      #expect(try column("parent", test) == [.null, .null, .null, 1])
      #expect(try column("attributes", test) == [.null, .null, .null, #"{"a":[1]}"#])
      #expect(try column("attributes ->> '$.a[0]'", test) == [.null, .null, .null, 1])
      #expect(
        try test.store.read { try $0.query("SELECT id FROM documents WHERE parent = ?", DocumentID(1)) }.map { $0[0] }
          == [4])
    }
  }

  @Test func readsMetadataWithoutTexts() throws {
    let test = try TestStore()
    try fill(test)
    let raw = try test.raw()
    _ = try raw.execute("UPDATE coffer_record SET body = zeroblob(length(body))")
    try raw.close()
    let sql =
      "SELECT collection, id, position, title, key, created, modified, isJSON, size, parent, attributes FROM documents"
    #expect(try test.store.read { try $0.query(sql) }.count == 4)
    expect(.damaged) { try test.store.read { try $0.query("SELECT json FROM documents") } }
  }

  // MARK: Documents in errors

  private func failure(_ test: TestStore, _ sql: String) throws -> StoreError {
    try #require(throws: StoreError.self) { try test.store.read { try $0.query(sql) } }
  }

  @Test func reportsDocumentWithInvalidJSON() throws {
    try withTestStore { test in
      try fill(test)
      #expect(try failure(test, "SELECT text ->> '$.a' FROM documents").documentID == 2)
      // The outer cursor's text fails, whichever rows the inner cursor has read.
      let outer = "FROM documents a JOIN documents b ON b.id = 3 OR b.id = 1 WHERE a.id = 2"
      #expect(try failure(test, "SELECT b.text || (a.text ->> '$.a') \(outer)").documentID == 2)
      #expect(try failure(test, "SELECT (a.text ->> '$.a') || b.text \(outer)").documentID == 2)
      #expect(try failure(test, "SELECT json_extract(a.text, b.title) \(outer)").documentID == 2)
      let inner = "FROM documents a JOIN documents b ON b.id = 2 WHERE a.id = 3"
      #expect(try failure(test, "SELECT a.text || (b.text ->> '$.a') \(inner)").documentID == 2)
      let nested = "SELECT (SELECT text ->> '$.a' FROM documents WHERE id = d.id + 1) FROM documents d WHERE d.id = 1"
      #expect(try failure(test, nested).documentID == 2)
    }
  }

  @Test func errorAfterSortingNamesPossibleDocument() throws {
    try withTestStore { test in
      try fill(test)
      let error = try failure(
        test, "SELECT max(t ->> '$.a') FROM (SELECT text AS t FROM documents ORDER BY title LIMIT 9)")
      #expect(error.code == .queryFailed && (error.documentID == nil || error.documentID == 2 || error.documentID == 4))
      #expect(error.message.contains("malformed JSON"))
    }
  }

  @Test func otherErrorsReportLastReadDocument() throws {
    try withTestStore { test in
      try fill(test)
      let sql = "SELECT abs(CASE WHEN id = 3 THEN -9223372036854775807 - 1 ELSE id END) FROM documents"
      let error = try failure(test, sql)
      #expect(error.code == .queryFailed && error.documentID == 3 && error.message.contains("integer overflow"))
    }
  }

  @Test func queriesWorkAfterFailure() throws {
    try withTestStore { test in
      try fill(test)
      try test.store.read { reader in
        for _ in 0..<3 {
          #expect(throws: StoreError.self) { try reader.query("SELECT text ->> '$.a' FROM documents") }
          #expect(throws: StoreError.self) { try reader.query("SELECT nothing") }
          let count = try reader.query("SELECT count(*) FROM documents WHERE isJSON").rows[0][0]
          #expect(count == 2)
        }
      }
    }
  }

  // MARK: Parameters and rows

  @Test func bindsIDsKeysDatesAndUUIDs() throws {
    try withTestStore { test in
      let (date, uuid) = (Date(timeIntervalSince1970: 1_700_000_000.123), UUID())
      let stamp = Timestamp(millisecondsSince1970: 1_700_000_000_123)
      try test.store.write { tx in
        for (key, text) in [(DocumentKey("a"), "1"), (DocumentKey(bytes: [0xFF]), "2")] {
          try tx.insert(Document(text: text, key: key, created: stamp, modified: stamp), into: test.notes)
        }
        _ = try tx.insert(["id": uuid], into: test.notes)
      }
      func ids(_ condition: String, _ parameter: any SQLiteValueConvertible) throws -> [SQLiteValue] {
        try test.store.read { try $0.query("SELECT id FROM documents WHERE \(condition)", parameter) }.map { $0[0] }
      }
      #expect(try ids("id = ?", DocumentID(2)) == [2])
      #expect(try ids("created = ?", stamp) == [1, 2] && ids("created = ?", date) == [1, 2])
      #expect(try ids("created > ?", date) == [3] && ids("created < ?", Date(timeIntervalSince1970: .nan)) == [])
      #expect(try ids("json ->> '$.id' = ?", uuid) == [3])
      #expect(try ids("\"key\" = ?", DocumentKey("a")) == [1] && ids("\"key\" = ?", DocumentKey(bytes: [0xFF])) == [2])
      #expect(try ids("collection = ?", test.notes) == [1, 2, 3])
      #expect(try ids("x'00ff' = ? AND id = 1", Data([0, 255])) == [1])
    }
  }

  @Test(arguments: [
    Date.distantPast, .distantFuture, Date(timeIntervalSince1970: .infinity), Date(timeIntervalSince1970: 1e300),
  ])
  func bindsExtremeDates(_ date: Date) throws {
    try withTestStore { test in
      let type = try test.store.read { try $0.query("SELECT typeof(?)", date) }.rows[0][0]
      #expect(type == (abs(date.timeIntervalSince1970) < 1e15 ? "text" : "null"))
    }
  }

  private struct Row: Decodable {
    var id: DocumentID
    var key: String?
    var created: Date
    var modified: Timestamp
    var isJSON: Bool
    var parent: DocumentID?
    var tags: [String]?
    var item: Item?
  }

  private static let rows = """
    SELECT id, "key", created, modified, isJSON, parent, json -> '$.tags' AS tags, CASE WHEN isJSON THEN json END AS item
    FROM documents ORDER BY id
    """

  @Test func decodesRowsWithDatesAndNestedJSON() throws {
    try withTestStore { test in
      try fill(test)
      let rows = try test.store.read { try $0.query(Self.rows) }.decoded(as: Row.self)
      let header = try test.store.read { try $0.header(of: 1) }
      #expect(rows.map(\.id) == [1, 2, 3, 4] && rows.map(\.isJSON) == [true, false, false, true])
      #expect(rows[0].modified == header.modified && rows[3].parent == 1)
      #expect(abs(rows[0].created.timeIntervalSince1970 * 1000 - Double(header.created.millisecondsSince1970)) < 0.01)
      #expect(rows.map(\.tags) == [["ripe"], nil, nil, nil])
      #expect(rows[0].item == Item(name: "pear", price: 2.5, tags: ["ripe"]) && rows[3].item == nil)
      let one = try test.store.read { reader in
        try reader.withQuery(Self.rows) { rows in
          var ids: [DocumentID] = []
          while let row = try rows.next(as: Row.self) { ids.append(row.id) }
          return ids
        }
      }
      #expect(one == [1, 2, 3, 4])
    }
  }

  @Test func decodesNestedJSONAsStoredValues() throws {
    struct Trip: Codable, Sendable, Equatable {
      struct Leg: Codable, Sendable, Equatable { var start: Date }
      var leg: Leg
    }
    var options = OpenOptions.testing
    options.values = ValueCoding(
      encoder: { $0.dateEncodingStrategy = .secondsSince1970 }, decoder: { $0.dateDecodingStrategy = .secondsSince1970 }
    )
    let test = try TestStore(options: options)
    let trip = Trip(leg: Trip.Leg(start: Date(timeIntervalSince1970: 86400)))
    try test.store.write { _ = try $0.insert(trip, into: test.notes) }
    let sql = "SELECT json -> '$.leg' AS leg FROM documents"
    #expect(try test.store.read { try $0.query(sql) }.decoded(as: Trip.self) == [trip])
    let first = try test.store.read { reader in try reader.withQuery(sql) { rows in try rows.next(as: Trip.self) } }
    #expect(first == trip)
  }

  @Test func readsFoundationValuesFromColumns() throws {
    try withTestStore { test in
      let uuid = UUID()
      let sql =
        "SELECT ? AS id, lower(?) AS lower, x'00ff' AS blob, 'AP8=' AS base64, 86400.5 AS seconds, '2026-01-02T03:04:05Z' AS date"
      let row = try test.store.read { try $0.query(sql, uuid, uuid) }[0]
      #expect(try row["id", as: UUID.self] == uuid && row["lower", as: UUID.self] == uuid)
      #expect(try row["blob", as: Data.self] == Data([0, 255]) && row["base64", as: Data.self] == Data([0, 255]))
      #expect(try row["seconds", as: Date.self] == Date(timeIntervalSinceReferenceDate: 86400.5))
      #expect(try row["date", as: Timestamp.self].description == "2026-01-02T03:04:05.000Z")
      #expect(throws: SQLiteError.self) { try row["blob", as: UUID.self] }
      #expect(throws: SQLiteError.self) { try row["id", as: Date.self] }
    }
  }

  @Test func decodingErrorOmitsValue() throws {
    struct Wrong: Decodable { var tags: [Int] }
    try withTestStore { test in
      try fill(test)
      let sql = "SELECT json -> '$.tags' AS tags FROM documents WHERE id = 1"
      let error = try #require(throws: SQLiteError.self) {
        try test.store.read { try $0.query(sql) }.decoded(as: Wrong.self)
      }
      #expect(error.code == .notDecodable)
      #expect(error.message == "the text in the column tags is not the JSON of a Array<Int>")
      let other = try #require(throws: StoreError.self) {
        try test.store.read { try $0.withQuery(sql) { _ = try $0.next(as: Wrong.self) } }
      }
      #expect(other.code == .notDecodable && !other.description.contains("ripe"))
    }
  }
}
