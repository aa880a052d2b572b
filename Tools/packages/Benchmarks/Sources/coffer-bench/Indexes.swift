import Coffer
import CofferSQLite
import FoundationEssentials
import Glibc

/// Indexes beside plain SQLite with the same FTS5 table, index or list, in one process and in turn.
///
/// Does: fills a store and a plain database with the same documents, and measures each work on both, round after round.
/// Prints a line for each work: its name, the ratio to hold, and the median seconds of plain SQLite and of the store.
struct IndexBench {
  let folder: URL
  let documents: Int
  let rows: Int
  let rounds: Int

  private var random = SplitMix64(state: 18)
  private var words: [String] = []

  init(folder: URL, documents: Int, rows: Int, rounds: Int) {
    (self.folder, self.documents, self.rows, self.rounds) = (folder, documents, rows, rounds)
    for _ in 0..<20_000 {
      words.append(
        String((0..<Int(3 + random.next() % 8)).map { _ in Character(Unicode.Scalar(UInt8(97 + random.next() % 26))) }))
    }
  }

  private mutating func number(below bound: Int) -> Int { Int(random.next() % UInt64(bound)) }

  /// Frequent words have low numbers, as in languages.
  private mutating func word() -> String {
    let share = Double(random.next() >> 11) / Double(1 << 53)
    return words[min(Int(exp(share * log(Double(words.count)))) - 1, words.count - 1)]
  }

  private mutating func text(_ count: Int) -> String { (0..<count).map { _ in word() }.joined(separator: " ") }

  private func plain(_ name: String) throws -> Database {
    let plain = try Database(folder.appending(path: name).path, mode: .create)
    try plain.execute("PRAGMA page_size=8192; PRAGMA synchronous=EXTRA; PRAGMA cache_size=-16384")
    return plain
  }

  private func measured(_ work: () throws -> Void) rethrows -> Double {
    let start = seconds(CLOCK_MONOTONIC)
    try work()
    return seconds(CLOCK_MONOTONIC) - start
  }

  private static func median(_ times: [Double]) -> Double { times.sorted()[times.count / 2] }

  private static func show(_ what: String, _ limit: Double?, _ plain: [Double], _ ours: [Double]) {
    print("\(what)|\(limit.map { "\($0)" } ?? "")|\(median(plain))|\(median(ours))")
  }

  /// Measures both sides in turn, and prints their medians. `plain` and `ours` return the seconds of a round.
  private static func compare(
    _ what: String, _ limit: Double?, rounds: Int, plain: (Int) throws -> Double, ours: (Int) throws -> Double
  ) rethrows {
    var (theirs, mine): ([Double], [Double]) = ([], [])
    for round in 0..<rounds {
      theirs.append(try plain(round))
      mine.append(try ours(round))
    }
    Self.show(what, limit, theirs, mine)
  }

  private func size(_ name: String) -> Double {
    var status = stat()
    return stat(folder.appending(path: name).path, &status) == 0 ? Double(status.st_size) : 0
  }

  mutating func run() throws {
    try runTexts()
    try runOrders()
  }

  // MARK: Words and titles

  private mutating func runTexts() throws {
    let plain = try plain("words.db")
    var store = try openStore(folder.appending(path: "words.coffer").path, titles: .sealed, cache: "default")
    // The same documents and updates, and no index.
    var bare = try openStore(folder.appending(path: "bare.coffer").path, titles: .sealed, cache: "default")
    let notes = DocumentCollection("notes")
    var texts: [(title: String, text: String)] = []
    for _ in 0..<documents { texts.append((text(4), text(120))) }
    try plain.execute(
      "CREATE TABLE t(id INTEGER PRIMARY KEY, pos, title, text, created, modified, size); CREATE INDEX t_pos ON t(pos,id)"
    )
    try plain.transaction(.immediate) {
      for (index, document) in texts.enumerated() {
        try plain.execute(
          "INSERT INTO t VALUES(?,?,?,?,?,?,?)", Int64(index + 1), Int64(index) << 32, document.title, document.text,
          "2026-11-23T10:00:00.000Z", "2026-11-23T10:00:00.000Z", document.text.utf8.count)
      }
    }
    for each in [store, bare] {
      try each.write { tx in
        _ = try tx.insert(contentsOf: texts.map { Document(title: $0.title, text: $0.text) }, into: notes)
      }
    }
    let make = """
      CREATE VIRTUAL TABLE f
      USING fts5(title, text, content='t', content_rowid='id', tokenize='unicode61 remove_diacritics 2')
      """
    try Self.compare("build an index of words", 1.3, rounds: min(rounds, 3)) { round in
      if round > 0 {
        try plain.execute("DROP TABLE f")
        try store.write { _ = try $0.setIndexes([], of: notes) }
      }
      return try measured {
        try plain.transaction(.immediate) {
          try plain.execute(make)
          try plain.execute("INSERT INTO f(f) VALUES('rebuild')")
        }
      }
    } ours: { _ in
      try measured { try store.write { _ = try $0.setIndexes([.words()], of: notes) } }
    }
    Self.show("file with an index of words (bytes)", 1.4, [size("words.db")], [size("words.coffer")])

    var pairs: [String] = []
    for _ in 0..<200 { pairs.append(words[number(below: 300)] + " " + words[number(below: 1000)]) }
    for withSnippets in [false, true] {
      let snippet = withSnippets ? ", snippet(f, 1, '[', ']', '…', 16)" : ""
      let (what, limit) = withSnippets ? (", with snippets", nil) : ("", 1.6)
      try Self.compare("two words, the best 20\(what)", limit, rounds: pairs.count) { round in
        try measured {
          for row in try plain.query(
            "SELECT f.rowid, t.title\(snippet) FROM f JOIN t ON t.id = f.rowid WHERE f MATCH ? ORDER BY f.rank LIMIT 20",
            pairs[round]
          ).rows { BenchFiles.touched &+= row.values.count }
        }
      } ours: { round in
        try measured {
          let found = try store.read {
            try $0.search(ranked: pairs[round], in: notes, limit: 20, withSnippets: withSnippets)
          }
          BenchFiles.touched &+= found.matches.count
        }
      }
    }

    var changed: [(Int, String)] = []
    func update(_ store: DocumentStore) throws {
      try store.write { tx in
        for (index, text) in changed { _ = try tx.update(DocumentID(Int64(index + 1))) { $0.text = text } }
      }
    }
    try Self.compare("catch up with 100 changes", 1.6, rounds: max(rounds, 5)) { _ in
      changed = (0..<100).map { _ in (number(below: documents), text(120)) }
      return try measured {
        try plain.transaction(.immediate) {
          for (index, text) in changed {
            let id = Int64(index + 1)
            try plain.execute(
              "INSERT INTO f(f, rowid, title, text) VALUES('delete', ?, ?, ?)", id, texts[index].title,
              texts[index].text)
            try plain.execute("INSERT INTO f(rowid, title, text) VALUES(?, ?, ?)", id, texts[index].title, text)
            texts[index].text = text
          }
        }
      }
    } ours: { _ in
      try plain.transaction(.immediate) {
        for (index, text) in changed { try plain.execute("UPDATE t SET text=? WHERE id=?", text, Int64(index + 1)) }
      }
      for each in [store, bare] { try update(each) }
      return try measured { _ = try store.read { try $0.search(ranked: "nowhere", in: notes) } }
    }

    try store.write { _ = try $0.setIndexes([.words(), .titles], of: notes) }
    try Self.compare("list every title from the index", 0.6, rounds: max(rounds, 5)) { _ in
      try measured {
        let list = try plain.statement("SELECT id, title, created, modified, size FROM t ORDER BY pos, id")
        while try list.step() {
          BenchFiles.touched &+=
            try list.text(at: 1)!.utf8.count + list.text(at: 2)!.utf8.count + list.text(at: 3)!.utf8.count
        }
        list.reset()
      }
    } ours: { _ in
      try measured {
        try store.read { tx in
          try tx.forEachHeader(in: notes) { BenchFiles.touched &+= $0.title!.utf8.count }
        }
      }
    }

    // Both with empty caches.
    for each in [store, bare] { try each.close() }
    store = try openStore(folder.appending(path: "words.coffer").path, titles: .sealed, cache: "default")
    bare = try openStore(folder.appending(path: "bare.coffer").path, titles: .sealed, cache: "default")
    var (theirs, mine): ([Double], [Double]) = ([], [])
    for _ in 0..<max(rounds, 5) {
      changed = (0..<2000).map { _ in (number(below: documents), text(120)) }
      for store in mine.count % 2 == 0 ? [bare, store] : [store, bare] {
        let time = try measured { try update(store) }
        if store === bare { theirs.append(time) } else { mine.append(time) }
      }
    }
    Self.show("2,000 updates with indexes (beside a store without)", 1.1, theirs, mine)
    for each in [store, bare] { try each.close() }
    try plain.close()
    for name in ["words.coffer", "bare.coffer", "words.db"] { unlink(folder.appending(path: name).path) }
  }

  // MARK: Fields

  private struct Order {
    let title: String, customer: Int, price: Int, day: String, shelf: Int

    var json: String { #"{"customer":\#(customer),"day":"\#(day)","price":\#(price),"shelf":\#(shelf)}"# }
  }

  private mutating func runOrders() throws {
    let plain = try plain("orders.db")
    let store = try openStore(folder.appending(path: "orders.coffer").path, titles: .sealed, cache: "default")
    let orders = DocumentCollection("orders")
    try plain.execute("CREATE TABLE orders(id INTEGER PRIMARY KEY, title, json, customer, price, day, shelf)")
    let made = (1...rows).map { row in
      let day = "2026-0\(1 + number(below: 9))-\(10 + number(below: 19))T10:00:00.000Z"
      return Order(
        title: "Order \(row)", customer: number(below: 1000), price: number(below: rows), day: day, shelf: row % 10)
    }
    try plain.transaction(.immediate) {
      for (index, order) in made.enumerated() {
        try plain.execute(
          "INSERT INTO orders VALUES(?,?,?,?,?,?,?)", Int64(index + 1), order.title, order.json, order.customer,
          order.price, order.day, order.shelf)
      }
    }
    try store.write { tx in
      _ = try tx.insert(contentsOf: made.lazy.map { Document(title: $0.title, text: $0.json) }, into: orders)
    }
    func indexed(_ prefix: String, _ column: (String) -> String) throws -> Double {
      try measured {
        try plain.transaction(.immediate) {
          for field in ["customer", "price", "day"] {
            try plain.execute("CREATE INDEX \(prefix)_\(field) ON orders(\(column(field)))")
          }
          try plain.execute("ANALYZE")
        }
      }
    }
    // Indexes of values in the JSON, as a store has them.
    let fromJSON = try indexed("json") { "json ->> '$.\($0)'" }
    for field in ["customer", "price", "day"] { try plain.execute("DROP INDEX json_\(field)") }
    let theirs = try indexed("orders") { $0 }
    let fields: [DocumentIndex] = [
      .field("customer", "$.customer", as: .number), .field("price", "$.price", as: .number),
      .field("day", "$.day", as: .date),
    ]
    let mine = try measured { try store.write { _ = try $0.setIndexes(fields, of: orders) } }
    Self.show("build three fields of JSON", nil, [fromJSON], [mine])
    Self.show("build three fields, beside columns", nil, [theirs], [mine])
    try plain.execute("CREATE INDEX orders_shelf_day ON orders(shelf, day); ANALYZE")
    try store.write { tx in
      _ = try tx.setIndexes(fields + [.field("shelf", "$.shelf", as: .number), .fields(["shelf", "day"])], of: orders)
    }
    func touch(_ result: QueryResult) {
      for row in result.rows { for value in row.values where value != .null { BenchFiles.touched &+= 1 } }
    }
    let (many, few) = (max(10 * rounds, 50), max(rounds, 3))
    for (what, limit, rounds, sql) in [
      (
        "50 rows by a range: id, title, price", 3, many,
        "id, title, price FROM orders WHERE price BETWEEN ?1 AND ?1 + 49"
      ),
      ("50 rows by a range: the field alone", nil, many, "id, price FROM orders WHERE price BETWEEN ?1 AND ?1 + 49"),
      ("one row by equality: title, text", nil, many, "title, json FROM orders WHERE price = ?1"),
      (
        "50 of a tenth of all rows, newest first: title, text", 3, many,
        "id, title, json FROM orders WHERE shelf = ?1 % 10 AND day < '2026-08' ORDER BY day DESC LIMIT 50"
      ),
      ("group and sum", 2, few, "customer, count(*), sum(price) FROM orders GROUP BY customer"),
      ("newest fifty", nil, few, "id, title, day FROM orders ORDER BY day DESC LIMIT 50"),
    ] as [(String, Double?, Int, String)] {
      var values: [any SQLiteValueConvertible & Sendable] = []
      try Self.compare(what, limit, rounds: rounds) { _ in
        if sql.contains("?1") { values = [number(below: rows - 100)] }
        return try measured { touch(try plain.query("SELECT \(sql)", parameters: values)) }
      } ours: { _ in
        try measured { touch(try store.read { try $0.query("SELECT \(sql)", parameters: values) }) }
      }
    }
    Self.show("file with four fields (bytes)", nil, [size("orders.db")], [size("orders.coffer")])
    try store.close()
    try plain.close()
  }
}
