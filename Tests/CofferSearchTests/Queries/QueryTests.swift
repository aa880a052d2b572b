import Coffer
import CofferPlatform
import CofferRecords
import CofferTestSupport
import Foundation
import Testing

@testable import CofferStoreTestSupport

/// SQL over the decrypted view.
struct QueryTests {
  private func fill(_ test: TestStore) throws {
    try test.store.write { writer in
      for (title, price) in [("banana", "2.5"), ("apple", "10"), ("cherry", "7")] {
        try writer.insert(
          Document(title: title, text: #"{"name":"\#(title)","price":\#(price)}"#, key: DocumentKey("k-\(title)")),
          into: test.notes)
      }
      try writer.insert(Document(title: nil, text: "plain\u{0}text"), into: DocumentCollection("other"))
    }
  }

  /// Checks column names, types, rows and parameters of QuickConnect's `getData`, and rejects writes.
  @Test func supportsQuickConnectQueries() throws {
    try withTestStore { test in
      try fill(test)
      let data = try test.store.read {
        try $0.query("SELECT id, title AS name FROM documents WHERE title >= ? ORDER BY title", "b")
      }
      #expect(data.columnNames == ["id", "name"] && data.declaredTypes == ["INTEGER", "TEXT"])
      #expect(data.rows.map(\.values) == [[1, "banana"], [3, "cherry"]])
      #expect(data.rowsAffected == 0 && data.insertedID == nil)
      expect(.invalidArgument) { try test.store.read { try $0.query("UPDATE documents SET title = ?", "x") } }
    }
  }

  @Test func viewHasExpectedColumnsAndOrder() throws {
    try withTestStore { test in
      try fill(test)
      let result = try test.store.read { try $0.query("SELECT * FROM documents") }
      #expect(
        result.columnNames == [
          "collection", "id", "position", "title", "text", "key", "created", "modified", "isJSON", "size", "parent",
          "attributes",
        ])
      #expect(
        result.declaredTypes == [
          "TEXT", "INTEGER", "TEXT", "TEXT", "TEXT", "TEXT", "TEXT", "TEXT", "INTEGER", "INTEGER", "INTEGER", "TEXT",
        ])
      #expect(result.rows.map { $0["id"] } == [1, 2, 3, 4])
      #expect(result.rows.map { $0["collection"] } == ["notes", "notes", "notes", "other"])
      let header = try test.store.read { try $0.header(of: 1) }
      #expect(result.rows[0]["created"] == .text(header.created.description))
      #expect(result.rows[0]["position"] == .text("\(header.position)"))
      #expect(result.rows[0]["key"] == "k-banana")
      #expect(result.rows[3].values[3...5] == [.null, "plain\u{0}text", .null])
    }
  }

  @Test func jsonFunctionsReadTexts() throws {
    try withTestStore { test in
      try fill(test)
      let result = try test.store.read {
        try $0.query(
          "SELECT title, text ->> '$.price' AS price FROM documents WHERE collection = ? AND text ->> '$.price' < ? ORDER BY 2",
          "notes", 10)
      }
      #expect(result.rows.map(\.values) == [["banana", 2.5], ["cherry", 7]])
      #expect(result.columnNames == ["title", "price"])
    }
  }

  @Test(arguments: [
    ("id = 2", [2]), ("id <= 2.0", [1, 2]), ("id = '2'", [2]), ("id = 2.0", [2]), ("id = 2.5", []), ("id = 99", []),
    ("id = NULL", []), ("id IN (3, 1, 99)", [1, 3]), ("id > 2", [3, 4]), ("id = -1", []),
    ("id = 2 AND collection = 'other'", []),
    ("collection = 'other'", [4]), ("collection = 'OTHER'", []), ("collection = 'OTHER' COLLATE NOCASE", [4]),
    ("collection = 5", []), ("collection = NULL", []), ("collection = x'6f74686572'", []),
    ("collection <> 'notes'", [4]),
    ("collection IN ('notes', 'other') AND title IS NULL", [4]), ("\"key\" = 'k-apple'", [2]),
    ("text LIKE '%cherry%'", [3]),
    ("id = (SELECT max(id) FROM documents)", [4]), ("title = 'apple' OR id = 1", [1, 2]),
    ("length(CAST(text AS BLOB)) = 10", [4]),
  ])
  func conditionsSelectRows(_ condition: String, _ expected: [Int]) throws {
    try withTestStore { test in
      try fill(test)
      let result = try test.store.read { try $0.query("SELECT id FROM documents WHERE \(condition) ORDER BY id") }
      #expect(result.rows.map { $0[0] } == expected.map { .integer(Int64($0)) })
    }
  }

  @Test func sortsByRequestedOrder() throws {
    try withTestStore { test in
      try fill(test)
      try test.store.write { try $0.move(3, to: .top) }
      func ids(_ order: String) throws -> [Int64?] {
        try test.store.read { try $0.query("SELECT id FROM documents WHERE collection = 'notes' ORDER BY \(order)") }
          .rows
          .map { $0[0].integer }
      }
      #expect(try ids("position") == [3, 1, 2])
      #expect(try ids("position, id") == [3, 1, 2])
      #expect(try ids("position DESC") == [2, 1, 3])
      #expect(try ids("position, id DESC") == [3, 1, 2])
      #expect(try ids("id, position") == [1, 2, 3])
      #expect(try ids("title") == [2, 1, 3])
    }
  }

  @Test func viewSupportsJoinsAndCounts() throws {
    try withTestStore { test in
      try fill(test)
      let pairs = try test.store.read {
        try $0.query(
          "SELECT count(*) FROM documents a JOIN documents b ON a.collection = b.collection AND a.id < b.id")
      }
      #expect(pairs.rows[0][0] == 3)
      let groups = try test.store.read {
        try $0.query("SELECT collection, count(*) FROM documents GROUP BY 1 ORDER BY 1")
      }
      #expect(groups.rows.map(\.values) == [["notes", 3], ["other", 1]])
      let each = try test.store.read {
        try $0.query(
          "SELECT d.id, j.value FROM documents d, json_each(d.text) j WHERE d.collection = 'notes' AND j.key = 'price'")
      }
      #expect(each.rows.map(\.values) == [[1, 2.5], [2, 10], [3, 7]])
    }
  }

  @Test(arguments: [
    "ATTACH 'x.db' AS x", "PRAGMA user_version", "PRAGMA temp_store = FILE", "SELECT * FROM pragma_database_list",
    "CREATE TABLE t(a)", "CREATE TEMP TABLE t AS SELECT * FROM documents", "INSERT INTO documents(id) VALUES(1)",
    "DELETE FROM documents", "UPDATE documents SET title = ''", "DROP TABLE documents", "BEGIN", "COMMIT",
    "SAVEPOINT a",
    "VACUUM", "VACUUM INTO 'x.db'", "DETACH main", "SELECT load_extension('x')",
    "SELECT sqlite_log(1, text) FROM documents",
    "CREATE VIRTUAL TABLE t USING documents", "CREATE VIEW v AS SELECT 1", "REINDEX", "ANALYZE", "",
    "SELECT 1; SELECT 2", "SELECT nothing FROM documents", "SELECT * FROM coffer_record", "SELECT FROM",
    "SELECT ?1, ?2",
  ])
  func rejectsDisallowedStatements(_ sql: String) throws {
    try withTestStore { test in
      try fill(test)
      let before = try test.bytesOnDisk()
      expect(.invalidArgument) { try test.store.read { try $0.query(sql) } }
      expect(.invalidArgument) { try test.store.read { try $0.withQuery(sql) { _ = try $0.next() } } }
      #expect(try test.bytesOnDisk() == before)
      #expect(!FileManager.default.fileExists(atPath: "x.db"))
    }
  }

  @Test func bindsParametersUnchanged() throws {
    try withTestStore { test in
      try fill(test)
      let result = try test.store.read {
        try $0.query("SELECT ?, ?, ?, ?, typeof(?)", 1, 2.5, "a\u{0}b", nil, [UInt8]())
      }
      #expect(result.rows[0].values == [1, 2.5, "a\u{0}b", .null, "blob"])
      expect(.invalidArgument) { try test.store.read { try $0.query("SELECT ?", 1, 2) } }
    }
  }

  @Test func queryErrorOmitsText() throws {
    try withTestStore { test in
      let id = try test.store.write { try $0.insert(Document(text: "geheim"), into: test.notes) }
      do {
        _ = try test.store.read { try $0.query("SELECT json_extract(text, '$.a') FROM documents") }
        Issue.record("nothing was thrown")
      } catch let error as StoreError {
        #expect(error.code == .queryFailed && error.documentID == id)
        #expect(error.message == "the query failed at document \(id): malformed JSON")
        #expect(error.hint == "read the column json in place of text: it is NULL for a text that is no JSON")
      }
      do {
        _ = try test.store.read { try $0.query("SELECT json_extract('{}', text) FROM documents") }
        Issue.record("nothing was thrown")
      } catch let error as StoreError {
        #expect(error.code == .queryFailed && !error.description.contains("geheim"))
      }
    }
  }

  @Test func reportsDamagedRows() throws {
    let test = try TestStore()
    try fill(test)
    let raw = try test.raw()
    _ = try raw.execute("UPDATE coffer_record SET body = zeroblob(length(body)) WHERE id=2")
    _ = try raw.execute("UPDATE coffer_record SET head=zeroblob(length(head)) WHERE id=4")
    try raw.close()
    expect(.damaged) { try test.store.read { try $0.query("SELECT text FROM documents WHERE id = 2") } }
    expect(.damaged) { try test.store.read { try $0.query("SELECT count(title) FROM documents") } }
    expect(.damaged) { try test.store.read { try $0.query("SELECT title FROM documents WHERE id >= 4") } }
    // A count reads the index without decrypting documents.
    #expect(try test.store.read { try $0.query("SELECT count(*) FROM documents") }[0][0] == 4)
    expect(.damaged) { try test.store.read { try $0.query("SELECT id FROM documents WHERE id = 4") } }
    #expect(try test.store.read { try $0.query("SELECT title FROM documents WHERE id = 2") }.rows[0][0] == "apple")
    #expect(
      try test.store.read { try $0.query("SELECT count(*) FROM documents WHERE collection = 'notes'") }.rows[0][0] == 3)
  }

  @Test func decryptsOnlyRequiredTexts() throws {
    let test = try TestStore()
    try fill(test)
    let raw = try test.raw()
    _ = try raw.execute("UPDATE coffer_record SET body = zeroblob(length(body)) WHERE id<>3")
    try raw.close()
    let result = try test.store.read { try $0.query("SELECT text FROM documents WHERE title = 'cherry' LIMIT 1") }
    #expect(result.rows.count == 1)
  }

  @Test func writerQuerySeesOwnWrites() throws {
    try withTestStore { test in
      try fill(test)
      try test.store.write { writer in
        try writer.update(1) { $0.title = "changed" }
        #expect(try writer.query("SELECT title FROM documents WHERE id = 1").rows[0][0] == "changed")
        try writer.delete(2)
        #expect(try writer.query("SELECT count(*) FROM documents").rows[0][0] == 3)
      }
      #expect(try test.store.read { try $0.query("SELECT title FROM documents WHERE id = 1") }.rows[0][0] == "changed")
    }
  }

  @Test func returnsRowsIncrementally() throws {
    try withTestStore { test in
      try fill(test)
      let titles = try test.store.read { reader in
        try reader.withQuery("SELECT title FROM documents WHERE collection = ?", parameters: ["notes"]) { rows in
          #expect(rows.columnNames == ["title"] && rows.declaredTypes == ["TEXT"])
          var titles: [String?] = []
          while let row = try rows.next() {
            titles.append(row[0].text)
            // A nested query returns its own rows.
            #expect(try reader.query("SELECT count(*) FROM documents").rows[0][0] == 4)
          }
          return titles
        }
      }
      #expect(titles == ["banana", "apple", "cherry"])
    }
  }

  @Test func timeLimitOrCancellationStopsEndlessQuery() async throws {
    let test = try TestStore()
    let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
    expect(.cancelled) {
      try test.store.read { try $0.query(endless, parameters: [], timeLimit: .milliseconds(5)) }
    }
    let store = test.store
    let task = Task { try await store.read { try $0.query(endless) } }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    let inAScope = Task { try await store.read { try $0.query(endless) } }
    inAScope.cancel()
    await #expect(throws: CancellationError.self) { try await inAScope.value }
    try test.expectSound()
  }

  /// Cancels the query while it runs without reading documents.
  @Test func cancellationStopsRunningQuery() async throws {
    let store = try TestStore().store
    let (begun, begin) = AsyncStream.makeStream(of: Void.self)
    let task = Task {
      try await store.read { reader in
        try reader.withQuery("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n") {
          rows in
          while try rows.next() != nil { begin.yield() }
        }
      }
    }
    for await _ in begun.prefix(1) { task.cancel() }
    await #expect(throws: CancellationError.self) { try await task.value }
    try await store.close()
  }

  /// Each query gets a thread, so the task can still cancel all of them.
  @Test func cancelsMoreQueriesThanProcessors() async throws {
    let test = try TestStore()
    let store = test.store
    let (begun, begin) = AsyncStream.makeStream(of: Void.self)
    let count = 2 * ProcessInfo.processInfo.activeProcessorCount + 2
    let tasks = (0..<count).map { _ in
      Task {
        try await store.read { reader in
          try reader.withQuery("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT 1 FROM n) SELECT i FROM n") { rows in
            _ = try rows.next()
            begin.yield()
            while try rows.next() != nil {}
          }
        }
      }
    }
    for await _ in begun.prefix(count) {}
    for task in tasks { task.cancel() }
    for task in tasks { await #expect(throws: CancellationError.self) { try await task.value } }
    try test.expectSound()
  }

  /// SQLite would sort in a temporary file that is deleted while open, and this test would find it.
  @Test(.slow) func sortsLargeResultsInMemory() throws {
    try withTestStore { test in
      let text = String(repeating: "many words ", count: 400)
      let items = ListSource.items(5000) { number, item in item.text = "\(number * 7919 % 5000) " + text }
      try test.store.write { _ = try $0.insert(contentsOf: ListSource(items, batch: 200), into: test.notes) }
      try test.store.read { reader in
        try reader.withQuery("SELECT text FROM documents ORDER BY text") { rows in
          _ = try rows.next()
          #expect(try openDeletedFiles().isEmpty)
        }
        try reader.withQuery("SELECT DISTINCT text FROM documents UNION SELECT title FROM documents") { rows in
          _ = try rows.next()
          #expect(try openDeletedFiles().isEmpty)
        }
      }
    }
  }

  private func openDeletedFiles() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap { name in
      try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(name)")
    }.filter { $0.contains("etilqs_") }
  }
}
