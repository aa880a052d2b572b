import Coffer
import CofferDocuments
import CofferRecords
import CofferSQLite
import CofferTestSupport
import Foundation
import Testing

@testable import CofferStoreTestSupport

/// Queries using field and word indexes, compared with plain SQLite tables.
@Suite struct IndexedQueryTests {
  private struct Order: Codable {
    var price: Double?
    var count: Int64?
    var name: String?
    var date: String?
    var customer: Int64
  }

  private static func order(_ random: inout Pseudorandom) -> Order {
    Order(
      price: random.number(below: 5) == 0 ? nil : Double(random.number(below: 4000)) / 8,
      count: random.number(below: 7) == 0 ? nil : Int64(random.number(below: 50)) + (1 << 60),
      name: ["Öl", "oel", "ÖL", "öl", "Straße", "x", ""][random.number(below: 7)],
      date: random.number(below: 6) == 0
        ? "no date"
        : "2026-0\(1 + random.number(below: 9))-1\(random.number(below: 10))T10:00:00+0\(random.number(below: 3)):00",
      customer: Int64(random.number(below: 10)) + 1)
  }

  private static let fields: [DocumentIndex] = [
    .field("price", "$.price", as: .number), .field("count", "$.count", as: .number),
    .field("name", "$.name", as: .folded), .field("date", "$.date", as: .date),
    .field("customer", "$.customer", as: .number), .fields(["customer", "date"]), .fields(["name", "price", "count"]),
  ]

  /// Returns a store with orders and customers, and a plain database with the same rows.
  private func filled(_ count: Int = 300) throws -> (TestStore, Database) {
    let test = try TestStore()
    var random = Pseudorandom(seed: 81)
    try test.store.write { scope in
      for _ in 0..<count { _ = try scope.insert(Self.order(&random), into: "orders") }
      for number in 1...10 { _ = try scope.insert(["number": number], into: "customers", title: "customer \(number)") }
    }
    try test.store.index("orders", Self.fields)
    try test.store.index("customers", .field("number", "$.number", as: .number), .words())
    return (test, try plain(test.store))
  }

  private func plain(_ store: DocumentStore) throws -> Database {
    let plain = try Database(":memory:", mode: .create)
    try plain.execute(
      "CREATE TABLE orders(id INTEGER PRIMARY KEY, price, count, name, date, customer, title, size, position)")
    try plain.execute("CREATE TABLE customers(id INTEGER PRIMARY KEY, number, title)")
    try store.read { scope in
      try scope.forEach(in: "orders") { opened in
        let order = try JSONDecoder().decode(Order.self, from: Data(opened.text.utf8))
        let name = order.name.map { String(decoding: KeyFolding.fold($0), as: UTF8.self) }
        let date = order.date.flatMap { Timestamp(iso8601: $0) }?.description
        try plain.execute(
          "INSERT INTO orders VALUES(?,?,?,?,?,?,?,?,?)", opened.header.id.rawValue,
          // SQLite stores a JSON integer as an integer.
          order.price.map { $0 == $0.rounded() ? SQLiteValue.integer(Int64($0)) : .real($0) }, order.count, name, date,
          order.customer, opened.header.title, opened.header.byteCount, "\(opened.header.position)")
      }
      try scope.forEach(in: "customers") { opened in
        let number = try JSONDecoder().decode([String: Int64].self, from: Data(opened.text.utf8))["number"]
        try plain.execute("INSERT INTO customers VALUES(?,?,?)", opened.header.id.rawValue, number, opened.header.title)
      }
    }
    return plain
  }

  private static let queries = [
    "SELECT id, price FROM orders WHERE price < 10 ORDER BY id",
    "SELECT id FROM orders WHERE price BETWEEN 100 AND 120.5 ORDER BY price, id",
    "SELECT name, count(*), sum(price), max(date) FROM orders GROUP BY name ORDER BY name",
    "SELECT id, date FROM orders WHERE date IS NOT NULL ORDER BY date DESC, id LIMIT 50",
    "SELECT id, count FROM orders WHERE count = 1152921504606846983 ORDER BY id",
    "SELECT o.id, c.title, o.price FROM orders o JOIN customers c ON c.number = o.customer WHERE o.price > 450 ORDER BY o.id",
    "SELECT id, size, position FROM orders WHERE name = 'öl' ORDER BY position, id",
    "SELECT count(*) FROM orders WHERE price IS NULL", "SELECT total(price) FROM orders",
    "SELECT DISTINCT customer FROM orders ORDER BY customer",
    "SELECT id FROM orders WHERE date > '2026-05' AND date < '2026-07' ORDER BY id",
    "SELECT id FROM orders WHERE title IS NULL AND price > 100 ORDER BY id LIMIT 5",
    "SELECT typeof(price), typeof(count), typeof(name), typeof(date) FROM orders GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4",
  ]

  @Test func matchesPlainTables() throws {
    let (test, first) = try filled()
    var plain = first
    for round in 0..<3 {
      for sql in Self.queries {
        let found = try test.store.read { try $0.query(sql) }.rows.map(\.values)
        #expect(try found == plain.query(sql).rows.map(\.values), "\(sql)")
      }
      var random = Pseudorandom(seed: UInt64(round))
      try test.store.write { scope in
        for id in try scope.ids(in: "orders", sortedBy: .id).prefix(20) {
          _ = try scope.update(id, as: Order.self) { $0 = Self.order(&random) }
        }
        _ = try scope.insert(Self.order(&random), into: "orders")
        try scope.delete(try scope.ids(in: "orders", sortedBy: .id)[30])
      }
      plain = try self.plain(test.store)
    }
    try test.expectSound()
  }

  /// Returns a random statement over both collections with a total row order.
  private static func statement(_ random: inout Pseudorandom) -> String {
    func pick(_ choices: [String]) -> String { choices[random.number(below: choices.count)] }
    func condition(_ depth: Int) -> String {
      let number = pick(["o.price", "o.customer", "o.count", "o.size", "o.id"])
      let value =
        number == "o.count"
        ? "\((1 << 60) + random.number(below: 50))"
        : pick(["\(random.number(below: 500))", "\(random.number(below: 40)).5", "-1"])
      switch random.number(below: depth > 2 ? 7 : 10) {
      case 0, 1: return "\(number) \(pick(["<", "<=", "=", ">", ">=", "<>"])) \(value)"
      case 2: return "\(number) BETWEEN \(value) AND \(value) + \(random.number(below: 60))"
      case 3: return "\(pick(["o.price", "o.count", "o.name", "o.date", "o.title"])) IS \(pick(["", "NOT "]))NULL"
      case 4: return "o.name \(pick(["=", "<", ">", "<>"])) \(pick(["'öl'", "'oel'", "'strasse'", "''", "'x'"]))"
      case 5: return "o.date \(pick(["<", ">"])) '2026-0\(1 + random.number(below: 9))'"
      case 6: return "o.customer IN (\(random.number(below: 11)), \(random.number(below: 11)))"
      case 7: return "NOT (\(condition(depth + 1)))"
      default: return "(\(condition(depth + 1)) \(pick(["AND", "OR"])) \(condition(depth + 1)))"
      }
    }
    let filter = "WHERE \(condition(0)) AND \(condition(1))"
    let page =
      random.number(below: 3) == 0 ? " LIMIT \(random.number(below: 20)) OFFSET \(random.number(below: 9))" : ""
    switch random.number(below: 5) {
    case 0:
      let group = pick(["o.name", "o.customer", "o.date IS NULL", "o.count"])
      return
        "SELECT \(group), count(*), total(o.price), min(o.date), max(o.id) FROM orders o \(filter) GROUP BY 1 HAVING count(*) > \(random.number(below: 3)) ORDER BY 1\(page)"
    case 1:
      let join = pick(["JOIN", "LEFT JOIN"])
      return
        "SELECT o.id, c.title, o.price FROM orders o \(join) customers c ON c.number = o.customer AND c.number > \(random.number(below: 8)) \(filter) ORDER BY o.id, c.id\(page)"
    case 2:
      return
        "SELECT id, price FROM orders WHERE id IN (SELECT max(o.id) FROM orders o \(filter) GROUP BY o.customer) ORDER BY price DESC, id\(page)"
    default:
      let order = pick(["o.price", "o.date DESC", "o.name", "o.count DESC", "o.position", "o.customer, o.price DESC"])
      return "SELECT o.id, o.name, o.date, o.count, o.size FROM orders o \(filter) ORDER BY \(order), o.id\(page)"
    }
  }

  @Test func excludesDeletedDocuments() throws {
    let (test, _) = try filled(50)
    let statements = ["SELECT count(*) FROM orders", "SELECT sum(customer) FROM orders", "SELECT max(id) FROM orders"]
    for sql in statements { _ = try test.store.read { try $0.query(sql) } }
    try test.store.write { scope in
      for id in try scope.ids(in: "orders", sortedBy: .id).suffix(7) { try scope.delete(id) }
    }
    let plain = try plain(test.store)
    for sql in statements {
      #expect(
        try test.store.read { try $0.query(sql) }.rows.map(\.values) == plain.query(sql).rows.map(\.values), "\(sql)")
    }
    #expect(try test.store.checkIndexes().problems.isEmpty)
  }

  @Test(.slow) func generatedStatementsMatchPlainTables() throws {
    let (test, plain) = try filled()
    var random = Pseudorandom(seed: 1000)
    var found = 0
    for _ in 0..<1000 {
      let sql = Self.statement(&random)
      let wanted = try plain.query(sql).rows.map(\.values)
      #expect(try test.store.read { try $0.query(sql) }.rows.map(\.values) == wanted, "\(sql)")
      found += wanted.isEmpty ? 0 : 1
    }
    #expect(found > 400)
  }

  @Test func plansUseFieldIndexes() throws {
    let (test, _) = try filled()
    func plan(_ sql: String) throws -> String {
      try test.store.read { try $0.query("EXPLAIN QUERY PLAN \(sql)") }.rows.map { $0[3].text ?? "" }.joined(
        separator: "; ")
    }
    // The plan reads only the index, without opening documents.
    let range = try plan("SELECT price FROM orders WHERE price < 10 ORDER BY price")
    #expect(range.contains("INDEX fields_1_0 (f0<?)") && !range.contains("VIRTUAL") && !range.contains("TEMP B-TREE"))
    let group = try plan("SELECT customer, count(*) FROM orders GROUP BY customer")
    #expect(group.contains("COVERING INDEX fields_1_4") && !group.contains("VIRTUAL"))
    let titles = try plan("SELECT title FROM orders WHERE price = 10")
    #expect(titles.contains("INDEX fields_1_0 (f0=?)"))
    let join = try plan("SELECT o.id FROM orders o JOIN customers c ON c.number = o.customer WHERE c.number = 3")
    #expect(join.contains("fields_2_0") && join.contains("fields_1_4"))
  }

  @Test func joinsWordMatchesByID() throws {
    let (test, _) = try filled(30)
    let sql = """
      SELECT c.title, m.rank < 0 FROM "customers.match"('customer NOT 3') m JOIN customers c ON c.id = m.id
      ORDER BY m.rank, m.id
      """
    let found = try test.store.read { try $0.query(sql) }.rows
    #expect(found.count == 9 && found.allSatisfy { $0[1] == .integer(1) })
    #expect(
      try test.store.read { try $0.query("SELECT id FROM \"customers.match\" WHERE words = 'customer 7'") }.rows.count
        == 1)
    #expect(
      try test.store.read {
        try $0.query(
          "SELECT count(*) FROM orders WHERE customer IN (SELECT c.number FROM \"customers.match\"('7') m JOIN customers c USING (id))"
        )
      }.rows[0][0].integer! > 0)
    expect(.queryFailed) { try test.store.read { try $0.query("SELECT * FROM \"customers.match\"") } }
    expect(.invalidArgument) { try test.store.read { try $0.query("SELECT * FROM \"customers.match\"('a )')") } }
    expect(.invalidArgument) { try test.store.read { try $0.query("SELECT * FROM \"orders.match\"('a')") } }
  }

  @Test func everyCollectionHasView() throws {
    let test = try TestStore()
    let names = [
      "notes", "Notes", "documents", "sqlite_x", "a\0b", "d\"e", "document", "words_1", "made", "x.match", "x", "#9",
    ]
    try test.store.write { scope in
      for name in names {
        _ = try scope.insert(Document(title: name, text: "in \(name)"), into: DocumentCollection(name))
      }
    }
    func check() throws {
      for (number, name) in names.enumerated() {
        let view = ["notes", "d\"e", "document", "words_1", "made", "x.match"].contains(name) ? name : "#\(number + 1)"
        let quoted = "\"" + view.replacingOccurrences(of: "\"", with: "\"\"") + "\""
        let found = try test.store.read { try $0.query("SELECT title, text, key, parent, json, size FROM \(quoted)") }
          .rows
        #expect(found.count == 1 && found.first?[0] == .text(name), "\(name)")
      }
      #expect(
        try test.store.read { try $0.query("SELECT count(*) FROM documents") }.rows[0][0]
          == .integer(Int64(names.count)))
    }
    try check()
    for name in names {
      try test.store.index(DocumentCollection(name), .field("bytes", "@size", as: .number), .words())
    }
    try check()
    try test.store.write { scope in
      for name in names { _ = try scope.insert(Document(text: "more"), into: DocumentCollection(name)) }
      for name in names { try scope.delete(try scope.ids(in: DocumentCollection(name), sortedBy: .id)[1]) }
    }
    try check()
    try test.store.updateIndexes()
    try check()
    #expect(
      try test.store.read { try $0.query("SELECT bytes, size FROM document") }.rows[0].values == [
        .integer(11), .integer(11),
      ])
  }

  @Test func readsOnlyViews() throws {
    let (test, _) = try filled(10)
    for sql in [
      "SELECT * FROM fields_1", "SELECT * FROM main.fields_1", "SELECT * FROM words_2_data", "SELECT * FROM document",
      "DELETE FROM fields_1", "INSERT INTO words_2(words_2) VALUES('rebuild')", "DROP VIEW orders",
      "PRAGMA writable_schema = 1", "ATTACH 'x' AS y", "CREATE TEMP TABLE t(a)",
    ] {
      // Include the collection's name to open its index.
      expect(.invalidArgument) { try test.store.read { try $0.query(sql + " -- orders") } }
    }
    #expect(try test.store.read { try $0.query("SELECT count(*) FROM orders") }.rows[0][0] == .integer(10))
  }

  /// A WITH name isn't a view, and only views can call `document_value`.
  @Test(arguments: [
    "WITH c AS (SELECT * FROM main.document) SELECT * FROM c -- orders",
    "WITH c AS (SELECT block FROM main.words_2_data) SELECT * FROM c -- orders",
    "WITH orders AS (SELECT * FROM main.document) SELECT * FROM orders",
    "SELECT count(*) FROM main.document -- orders", "SELECT count(*) FROM main.words_2_idx -- orders",
    "SELECT * FROM sqlite_stat1 -- orders", "SELECT id FROM main.extra_row WHERE row=? -- orders",
    "SELECT document_value(3,1,1) -- orders", "WITH c AS (SELECT document_value(3,1,1) AS v) SELECT v FROM c -- orders",
  ])
  func rejectsAccessToInnerTables(_ sql: String) throws {
    let (test, _) = try filled(20)
    expect(.invalidArgument) { try test.store.read { try $0.query(sql) } }
    // The statement remains rejected after the index has run its SQL.
    _ = try test.store.read { try $0.search(ranked: "customer", in: "customers") }
    expect(.invalidArgument) { try test.store.read { try $0.query(sql.replacing(" -- orders", with: "")) } }
    expect(.invalidArgument) { try test.store.read { try $0.query(sql) } }
  }

  /// SQLite reports a statement's tables only when it compiles the statement.
  @Test func frequentStatementRemainsCurrent() throws {
    let (test, _) = try filled(20)
    let hot = "SELECT count(*) FROM orders WHERE customer > 0"
    let store = test.store
    for number in 0..<1100 {
      let found = try store.read { scope in try scope.query(hot).rows[0][0] }
      if number == 0 { #expect(found == .integer(20)) }
      _ = try store.read { scope in try scope.query("SELECT \(number) FROM orders LIMIT 1") }
    }
    _ = try store.write { scope in try scope.insert(Document(text: #"{"customer": 5}"#), into: "orders", at: .bottom) }
    #expect(try store.read { scope in try scope.query(hot).rows[0][0] } == .integer(21))
  }

  @Test func timeLimitAppliesToMatchTables() throws {
    let (test, _) = try filled(20)
    expect(.cancelled) {
      try test.store.read { scope in
        try scope.query(
          """
          WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)
          SELECT count(*) FROM "customers.match"('customer') m, n
          """, parameters: [], timeLimit: .milliseconds(50))
      }
    }
  }

  @Test func findsCollectionsWithUnusualNames() throws {
    let test = try TestStore()
    let names = [
      "fields_1", "words_3", "document", "#words", "\u{301}x", "a\"b", "a\"\u{301}b", "a`b", "it's", "[x]", "made",
      "x.match",
    ]
    for name in names {
      _ = try test.store.write { scope in
        try scope.insert(Document(text: #"{"n": 7, "t": "words"}"#), into: DocumentCollection(name), at: .top)
      }
      try test.store.index(
        DocumentCollection(name), .words(), .field("n", "$.n", as: .number), .field("e\u{301}", "$.t", as: .text),
        .field("é", "$.t", as: .text))
    }
    for name in names {
      let number = try #require(try test.store.read { scope in try scope.collections().first { $0.name == name } }).id
      let view = name.hasPrefix("#") || name == "x.match" && false ? "#\(number.rawValue)" : name
      let quoted = "\"" + view.replacing(ascii: "\"", with: "\"\"") + "\""
      #expect(try test.store.read { try $0.query("SELECT n FROM \(quoted) WHERE n = 7") }.rows.count == 1, "\(name)")
      let match = "\"" + (view + ".match").replacing(ascii: "\"", with: "\"\"") + "\""
      #expect(try test.store.read { try $0.query("SELECT id FROM \(match)('words')") }.rows.count == 1, "\(name)")
      #expect(try test.store.read { try $0.indexes(of: DocumentCollection(name)) }.count == 4, "\(name)")
    }
    #expect(try test.store.checkIndexes().problems.isEmpty)
  }

  /// Composed and decomposed forms are equal Strings, but different names.
  @Test func findsCollectionRenamedToOtherForm() throws {
    let test = try TestStore()
    _ = try test.store.write { scope in try scope.insert(Document(text: "word"), into: "caf\u{E9}") }
    #expect(try test.store.read { try $0.query("SELECT id FROM \"caf\u{E9}\"") }.rows.count == 1)
    _ = try test.store.write { scope in try scope.rename("caf\u{E9}", to: "cafe\u{301}") }
    #expect(try test.store.read { try $0.query("SELECT id FROM \"cafe\u{301}\"") }.rows.count == 1)
  }

  @Test func exposesHeaderAndAttributeFields() throws {
    let test = try TestStore()
    try test.store.write { scope in
      var document = Document(title: "Öl", text: "plain", key: "K1")
      document.attributes = ["color": "red", "n": 3]
      _ = try scope.insert(document, into: test.notes)
      _ = try scope.insert(Document(text: "other"), into: test.notes)
    }
    try test.store.index(
      test.notes, .field("made", "@created", as: .date), .field("changed", "@modified", as: .date),
      .field("bytes", "@size", as: .number), .field("heading", "@title", as: .folded),
      .field("name", "@key", as: .text), .field("color", "@attributes.color", as: .text),
      .field("n", "@attributes.n", as: .number))
    let row = try test.store.read {
      try $0.query(
        "SELECT made = created, changed = modified, bytes = size, heading, name, color, n FROM notes WHERE color = 'red'"
      )
    }
    #expect(
      row.rows.map(\.values) == [
        [.integer(1), .integer(1), .integer(1), .text("öl"), .text("K1"), .text("red"), .integer(3)]
      ])
    #expect(
      try test.store.read { try $0.query("SELECT heading, name, color FROM notes") }.rows[1].values == [
        .null, .null, .null,
      ])
    for (path, kind) in [("@size", DocumentIndex.Kind.text), ("@none", .text), ("$.a[", .text), ("@created", .number)] {
      expect(.invalidArgument) { try test.store.index(test.notes, .field("z", path, as: kind)) }
    }
    expect(.alreadyExists) { try test.store.index(test.notes, .field("Title", "$.a", as: .text)) }
    expect(.alreadyExists) { try test.store.index(test.notes, .field("MADE", "$.a", as: .text)) }
    expect(.noSuchCollection) { try test.store.index("none", .words()) }
  }

  @Test func queriesWithinQueryUseIndexes() throws {
    let test = try TestStore()
    try test.store.write { tx in
      for number in 1...5 { try tx.insert(Document(title: "t\(number)", text: #"{"n":\#(number)}"#), into: test.notes) }
      try tx.setIndexes([.words(), .titles, .field("n", "$.n", as: .number)], of: test.notes)
    }
    try test.store.write { try $0.update(3) { $0.text = #"{"n":33}"# } }
    try test.store.read { reader in
      var found: [String] = []
      try reader.withQuery("SELECT n FROM notes ORDER BY n") { rows in
        while let row = try rows.next() {
          let title = try reader.query("SELECT title FROM notes WHERE n = ?", row[0]).rows[0][0]
          let count = try reader.query("SELECT count(*) FROM documents").rows[0][0]
          found.append("\(title.text ?? "") \(count.integer ?? 0)")
        }
      }
      #expect(found == ["t1 5", "t2 5", "t4 5", "t5 5", "t3 5"])
      #expect(try reader.query("SELECT title FROM notes WHERE n = 33").rows[0][0].text == "t3")
    }
  }

  /// A quotation mark with a combining mark ends a quotation, too.
  @Test func quotesMarksWithCombiningMarks() throws {
    let test = try TestStore()
    try test.store.write { tx in
      try tx.insert(Document(text: "x y"), into: test.notes)
      try tx.setIndexes([.words()], of: test.notes)
    }
    try test.store.read { reader throws in
      for text in ["x\"\u{301} y", "x\"\u{301} OR z\"\u{301}"] {
        let found = try reader.search(ranked: RankedMatches.query(quoting: text), in: test.notes).total
        #expect(found == (text.contains("OR") ? 0 : 1), "\(text)")
      }
      #expect(try reader.search(ranked: "\"x\"\"\u{301}y\"", in: test.notes).total == 1)
    }
  }
}
