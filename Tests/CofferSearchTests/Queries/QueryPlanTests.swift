import Coffer
import CofferRecords
import CofferTestSupport
import Foundation
import Testing

@testable import CofferStoreTestSupport

/// Conditions passed to the store's indexes return the same rows as a scan, without decrypting other rows.
struct QueryPlanTests {
  private func fill(_ test: TestStore) throws {
    try test.store.write { tx in
      for number in 1...30 {
        let name = ["notes", "other", "5"][number % 3]
        let key = number % 5 == 0 ? nil : DocumentKey(number % 7 == 0 ? "\(number)" : "k-\(number)")
        try tx.insert(
          Document(title: "t\(number)", text: "x", key: key), into: DocumentCollection(name),
          at: number % 2 == 0 ? .top : .bottom)
      }
      try tx.insert(Document(text: "bytes", key: DocumentKey(bytes: [0xFF, 0])), into: test.notes)
      try tx.insert(Document(text: "same key", key: "k-1"), into: DocumentCollection("third"))
      try tx.create(DocumentCollection("folded"), foldsKeys: true)
      try tx.insert(Document(text: "f", key: "Größe"), into: DocumentCollection("folded"))
    }
  }

  private func ids(_ test: TestStore, _ condition: String, _ order: String = "id") throws -> [Int64?] {
    try test.store.read { try $0.query("SELECT id FROM documents WHERE \(condition) ORDER BY \(order)") }.map {
      $0[0].integer
    }
  }

  /// Evaluates the condition without a plan by turning each column into an expression of the same affinity.
  private func scanned(_ test: TestStore, _ condition: String, _ order: String) throws -> [Int64?] {
    let all = """
      SELECT collection, id, position, "key", title FROM documents UNION ALL
      SELECT NULL, NULL, NULL, NULL, NULL WHERE 0 LIMIT 1000
      """
    let sql = """
      SELECT id FROM (SELECT CAST(collection AS TEXT) AS collection, CAST(id AS INTEGER) AS id, position, \
      CASE WHEN typeof("key") = 'blob' THEN "key" ELSE CAST("key" AS TEXT) END AS "key", title FROM (\(all)) LIMIT 1000)
      WHERE \(condition) ORDER BY \(order)
      """
    return try test.store.read { try $0.query(sql) }.map { $0[0].integer }
  }

  @Test(
    .slow,
    arguments: [
      "\"key\" = 'k-1'", "\"key\" = 'k-1' AND collection = 'third'", "\"key\" = 'k-1' AND collection = 'absent'",
      "\"key\" = ''", "\"key\" = x'ff00'", "\"key\" = x'6b2d31'", "\"key\" = NULL", "\"key\" IN ('k-1', 'k-2', '7')",
      "\"key\" = 'Größe'", "\"key\" = 'GRÖSSE'", "\"key\" = 'größe' AND collection = 'folded'",
      "\"key\" = x'ff' AND collection = 'folded'", "collection = 'folded' AND \"key\" = 'Größe'",
      "\"key\" = printf('%.2000c', 'k')", "\"key\" = 'K-1' COLLATE NOCASE", "\"key\" > 'k-2'", "\"key\" IS NULL",
      "id > 25", "id >= 25 AND id < 28", "id BETWEEN 3 AND 6", "id BETWEEN 6 AND 3", "id > 25.5", "id <= 3.0",
      "id < 2.5",
      "id > '28'", "id < 'x' AND id > 30", "id > NULL", "id < x'00' AND id = 4", "id BETWEEN -5 AND 2", "id > 1e300",
      "id > -1e300", "id < 9223372036854775807", "id > 9223372036854775806", "id >= -9223372036854775807 - 1",
      "collection = 'notes' AND id > 20", "collection = 'notes' AND id BETWEEN 5 AND 9", "id = 7.0", "id = 7.5",
      "collection = 'absent' AND id > 3", "collection = 5", "collection = 5.0", "collection = '5' AND id < 9",
      "id > 28 OR \"key\" = 'k-1'", "id IN (1, 31, 5) AND id > 4", "id > 3 AND id > 29 AND id < 31 AND id < 99",
    ])
  func returnsSameRowsAsScan(_ condition: String) throws {
    try withTestStore { test in
      try fill(test)
      for order in ["id", "id DESC", "position, id", "title, id"] {
        // SQLite orders blobs after numbers. The subquery's columns have the same affinity.
        #expect(try ids(test, condition, order) == scanned(test, condition, order), "\(order)")
      }
    }
  }

  @Test func comparesKeysByType() throws {
    try withTestStore { test in
      try fill(test)
      #expect(try ids(test, "\"key\" = 7") == [7])
      #expect(try ids(test, "\"key\" = '7'") == [7])
      #expect(try ids(test, "\"key\" = x'37'") == [])
      #expect(try ids(test, "\"key\" = x'ff00'") == [31])
      #expect(try ids(test, "\"key\" = CAST(x'ff00' AS TEXT)") == [])
    }
  }

  @Test func readsOnlyRowsOfKeyOrRange() throws {
    let test = try TestStore()
    try fill(test)
    let raw = try test.raw()
    _ = try raw.execute("UPDATE coffer_record SET head = zeroblob(length(head)) WHERE id NOT IN (4, 5, 6)")
    try raw.close()
    #expect(try ids(test, "\"key\" = 'k-4' AND collection = 'other'") == [4])
    #expect(try ids(test, "\"key\" = 'k-4'") == [4])
    #expect(try ids(test, "id BETWEEN 4 AND 6") == [4, 5, 6])
    #expect(try ids(test, "id > 3 AND id < 7", "id DESC") == [6, 5, 4])
    #expect(
      try test.store.read { try $0.query("SELECT id FROM documents WHERE id > 3 ORDER BY id LIMIT 3") }.map { $0[0] }
        == [4, 5, 6])
    #expect(try ids(test, "collection = 'other' AND id > 3 AND id < 7") == [4])
    expect(.damaged) { try ids(test, "\"key\" = 'k-1'") }
    expect(.damaged) { try ids(test, "id < 7") }
    expect(.damaged) { try ids(test, "\"key\" LIKE 'k-4'") }
  }

  /// The index maps a key to another row.
  @Test func detectsTamperedLookup() throws {
    let test = try TestStore()
    try fill(test)
    let raw = try test.raw()
    let lookup = try raw.query("SELECT lookup FROM coffer_record WHERE id = 4")[0][0]
    _ = try raw.execute("UPDATE coffer_record SET lookup = NULL WHERE id = 4")
    _ = try raw.execute("UPDATE coffer_record SET lookup = ? WHERE id = 13", lookup)
    try raw.close()
    expect(.damaged) { try ids(test, "\"key\" = 'k-4' AND collection = 'other'") }
  }

  // MARK: Counts

  @Test func countsRowsWithoutDecryption() throws {
    let test = try TestStore()
    try fill(test)
    let raw = try test.raw()
    _ = try raw.execute("UPDATE coffer_record SET head = zeroblob(length(head))")
    try raw.close()
    func count(_ sql: String) throws -> SQLiteValue { try test.store.read { try $0.query("SELECT \(sql)") }[0][0] }
    #expect(try count("count(*) FROM documents") == 33)
    #expect(try count("count(*) FROM documents WHERE collection = 'notes'") == 11)
    #expect(try count("count(*) FROM documents WHERE collection = 'absent'") == 0)
    #expect(try count("count(*) FROM documents WHERE collection IN ('notes', 'third')") == 12)
    #expect(try count("count(*) FROM documents WHERE collection <> 'notes'") == 22)
    #expect(try count("count(*) FROM documents WHERE collection = 5") == 10)
    #expect(try count("count(*) FROM documents a, documents b WHERE a.collection = b.collection") == 323)
    #expect(try count("EXISTS (SELECT 1 FROM documents WHERE collection = 'third')") == 1)
    let groups = try test.store.read {
      try $0.query("SELECT collection, count(*) FROM documents GROUP BY 1 ORDER BY 1")
    }
    #expect(groups.rows.map(\.values) == [["5", 10], ["folded", 1], ["notes", 11], ["other", 10], ["third", 1]])
    expect(.damaged) { try count("count(title) FROM documents WHERE collection = 'notes'") }
    expect(.damaged) { try count("count(id) FROM documents WHERE collection = 'notes'") }
    expect(.damaged) { try count("count(*) FROM documents WHERE collection = 'notes' AND title IS NULL") }
  }

  @Test func countsOrRejectsNumericNames() throws {
    try withTestStore { test in
      try fill(test)
      func count(_ value: any SQLiteValueConvertible) throws -> SQLiteValue {
        try test.store.read { try $0.query("SELECT count(*) FROM documents WHERE collection = ?", value) }.rows[0][0]
      }
      #expect(try [count(5), count(5.5), count(0), count([UInt8]("5".utf8)), count("5")] == [10, 0, 0, 0, 10])
      #expect(try count(SQLiteValue.null) == 0)
      let sql = "SELECT count(*) FROM documents WHERE collection = (SELECT CAST(5 AS INTEGER))"
      #expect(try test.store.read { try $0.query(sql) }.rows[0][0] == 10)
      try test.store.write { _ = try $0.insert(Document(text: "x"), into: DocumentCollection("5x")) }
      #expect(try count(5) == 10)
      try test.store.write { _ = try $0.insert(Document(text: "x"), into: DocumentCollection("05")) }
      #expect(try [count(6), count("5"), count("05")] == [0, 10, 1])
      expect(.queryFailed) { try count(5) }
    }
  }

  @Test func writerCountsIncludeOwnWrites() throws {
    try withTestStore { test in
      try fill(test)
      try test.store.write { tx in
        let count = "SELECT count(*) FROM documents WHERE collection = 'third'"
        #expect(try tx.query(count)[0][0] == 1)
        try tx.insert(Document(text: "new", key: "new"), into: DocumentCollection("third"))
        #expect(try tx.query(count)[0][0] == 2)
        #expect(try tx.query("SELECT text FROM documents WHERE \"key\" = 'new'")[0][0] == "new")
        #expect(try tx.query("SELECT id FROM documents WHERE id > 33")[0][0] == 34)
      }
    }
  }

  @Test func rejectsRowID() throws {
    try withTestStore { test in
      expect(.invalidArgument) { try test.store.read { try $0.query("SELECT rowid FROM documents") } }
    }
  }

  // MARK: Shared connection

  @Test func nestedQueriesAreIndependent() throws {
    try withTestStore { test in
      try fill(test)
      try test.store.read { reader in
        let sql = "SELECT id FROM documents WHERE id > ? ORDER BY id LIMIT 3"
        try reader.withQuery(sql, parameters: [0]) { outer in
          var pairs: [[SQLiteValue]] = []
          while let row = try outer.next() {
            pairs.append(try reader.query(sql, row[0]).map { $0[0] })
            #expect(throws: StoreError.self) { try reader.query("SELECT text ->> '$' FROM documents") }
          }
          #expect(pairs == [[2, 3, 4], [3, 4, 5], [4, 5, 6]])
        }
      }
    }
  }

  @Test func laterScopesSeeNewCommits() throws {
    try withTestStore { test in
      try fill(test)
      let sql = "SELECT count(*), max(id) FROM documents WHERE id > 30"
      for number in 1...5 {
        #expect(
          try test.store.read { try $0.query(sql) }[0].values == [
            .integer(Int64(number + 2)), .integer(Int64(number + 32)),
          ])
        try test.store.write { _ = try $0.insert(Document(text: "x"), into: test.notes) }
      }
    }
  }

  @Test func timeLimitAppliesToSingleQuery() throws {
    let store = try TestStore().store
    let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n"
    try store.read { reader in
      _ = try reader.query("SELECT 1", parameters: [], timeLimit: .zero)
      let rows = try reader.query("\(endless) LIMIT 200000")
      #expect(rows.count == 200_000)
    }
  }
}
