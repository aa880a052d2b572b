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

  private func median(_ times: [Double]) -> Double { times.sorted()[times.count / 2] }

  private func show(_ what: String, _ limit: Double?, _ plain: [Double], _ ours: [Double]) {
    let (theirs, mine) = (median(plain), median(ours))
    print("\(what)|\(limit.map { "\($0)" } ?? "")|\(theirs)|\(mine)")
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
    let notes = store.collection("notes")
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
        _ = try tx.insert(
          contentsOf: texts.map { Document(title: $0.title, text: $0.text) }, into: each.collection("notes"))
      }
    }
    let tokenizer = "tokenize='unicode61 remove_diacritics 2'"
    let make = "CREATE VIRTUAL TABLE f USING fts5(title, text, content='t', content_rowid='id', \(tokenizer))"
    var (theirs, mine): ([Double], [Double]) = ([], [])
    for round in 0..<min(rounds, 3) {
      if round > 0 {
        try plain.execute("DROP TABLE f")
        try store.dropIndexes(notes)
      }
      theirs.append(
        try measured {
          try plain.transaction(.immediate) {
            try plain.execute(make)
            try plain.execute("INSERT INTO f(f) VALUES('rebuild')")
          }
        })
      mine.append(try measured { try store.index(notes, .words()) })
    }
    show("build an index of words", 1.3, theirs, mine)
    show("file with an index of words (bytes)", 1.4, [size("words.db")], [size("words.coffer")])

    var pairs: [String] = []
    for _ in 0..<200 { pairs.append(words[number(below: 300)] + " " + words[number(below: 1000)]) }
    for withSnippets in [false, true] {
      let snippet = withSnippets ? ", snippet(f, 1, '[', ']', '…', 16)" : ""
      (theirs, mine) = ([], [])
      for pair in pairs {
        theirs.append(
          try measured {
            for row in try plain.query(
              "SELECT f.rowid, t.title\(snippet) FROM f JOIN t ON t.id = f.rowid WHERE f MATCH ? ORDER BY f.rank LIMIT 20",
              pair
            ).rows { BenchFiles.touched &+= row.values.count }
          })
        mine.append(
          try measured {
            BenchFiles.touched &+= try store.search(ranked: pair, in: notes, limit: 20, withSnippets: withSnippets)
              .matches.count
          })
      }
      show("two words, the best 20\(withSnippets ? ", with snippets" : "")", withSnippets ? nil : 1.6, theirs, mine)
    }

    (theirs, mine) = ([], [])
    for _ in 0..<max(rounds, 5) {
      var changed: [(Int, String)] = []
      for _ in 0..<100 { changed.append((number(below: documents), text(120))) }
      theirs.append(
        try measured {
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
        })
      try plain.transaction(.immediate) {
        for (index, text) in changed { try plain.execute("UPDATE t SET text=? WHERE id=?", text, Int64(index + 1)) }
      }
      for each in [store, bare] {
        try each.write { tx in
          for (index, text) in changed { _ = try tx.update(DocumentID(Int64(index + 1))) { $0.text = text } }
        }
      }
      mine.append(try measured { _ = try store.search(ranked: "nowhere", in: notes) })
    }
    show("catch up with 100 changes", 1.6, theirs, mine)

    try store.index(notes, .titles)
    (theirs, mine) = ([], [])
    for _ in 0..<max(rounds, 5) {
      theirs.append(
        try measured {
          let list = try plain.statement("SELECT id, title, created, modified, size FROM t ORDER BY pos, id")
          while try list.step() {
            BenchFiles.touched &+=
              try list.text(at: 1)!.utf8.count + list.text(at: 2)!.utf8.count + list.text(at: 3)!.utf8.count
          }
          list.reset()
        })
      mine.append(
        try measured {
          try store.read { tx in
            try tx.forEachHeader(in: notes) { BenchFiles.touched &+= $0.title!.utf8.count }
          }
        })
    }
    show("list every title from the index", 0.6, theirs, mine)

    // Both with empty caches.
    for each in [store, bare] { try each.close() }
    store = try openStore(folder.appending(path: "words.coffer").path, titles: .sealed, cache: "default")
    bare = try openStore(folder.appending(path: "bare.coffer").path, titles: .sealed, cache: "default")
    (theirs, mine) = ([], [])
    for _ in 0..<max(rounds, 5) {
      var changed: [(Int, String)] = []
      for _ in 0..<2000 { changed.append((number(below: documents), text(120))) }
      for store in mine.count % 2 == 0 ? [bare, store] : [store, bare] {
        let time = try measured {
          try store.write { tx in
            for (index, text) in changed { _ = try tx.update(DocumentID(Int64(index + 1))) { $0.text = text } }
          }
        }
        if store === bare { theirs.append(time) } else { mine.append(time) }
      }
    }
    show("2,000 updates with indexes (beside a store without)", 1.1, theirs, mine)
    for each in [store, bare] { try each.close() }
    try plain.close()
    for name in ["words.coffer", "bare.coffer", "words.db"] { unlink(folder.appending(path: name).path) }
  }

  // MARK: Fields

  private struct Order: Codable, Sendable {
    var customer: Int
    var price: Int
    var day: String
  }

  private mutating func runOrders() throws {
    let plain = try plain("orders.db")
    let store = try openStore(folder.appending(path: "orders.coffer").path, titles: .sealed, cache: "default")
    let orders = store.collection("orders")
    try plain.execute("CREATE TABLE orders(id INTEGER PRIMARY KEY, title, json, customer, price, day)")
    var made: [Order] = []
    for _ in 0..<rows {
      let (month, day) = (1 + number(below: 9), 10 + number(below: 19))
      made.append(
        Order(customer: number(below: 1000), price: number(below: rows), day: "2026-0\(month)-\(day)T10:00:00.000Z"))
    }
    try plain.transaction(.immediate) {
      for (index, order) in made.enumerated() {
        try plain.execute(
          "INSERT INTO orders VALUES(?,?,?,?,?,?)", Int64(index + 1), "Order \(index + 1)",
          #"{"customer":\#(order.customer),"day":"\#(order.day)","price":\#(order.price)}"#, order.customer,
          order.price,
          order.day)
      }
    }
    try store.write { tx in
      _ = try tx.insert(
        contentsOf: made.enumerated().lazy.map { index, order in
          Document(
            title: "Order \(index + 1)",
            text: #"{"customer":\#(order.customer),"day":"\#(order.day)","price":\#(order.price)}"#)
        }, into: orders)
    }
    // Indexes of values in the JSON, as a store has them.
    let fromJSON = try measured {
      try plain.transaction(.immediate) {
        for field in ["customer", "price", "day"] {
          try plain.execute("CREATE INDEX json_\(field) ON orders(json ->> '$.\(field)')")
        }
        try plain.execute("ANALYZE")
      }
    }
    for field in ["customer", "price", "day"] { try plain.execute("DROP INDEX json_\(field)") }
    let theirs = try measured {
      try plain.transaction(.immediate) {
        for field in ["customer", "price", "day"] {
          try plain.execute("CREATE INDEX orders_\(field) ON orders(\(field))")
        }
        try plain.execute("ANALYZE")
      }
    }
    let mine = try measured {
      try store.index(
        orders, .field("customer", "$.customer", as: .number), .field("price", "$.price", as: .number),
        .field("day", "$.day", as: .date))
    }
    show("build three fields of JSON", nil, [fromJSON], [mine])
    show("build three fields, beside columns", nil, [theirs], [mine])
    var times: [String: (limit: Double?, plain: [Double], ours: [Double])] = [:]
    func both(_ what: String, _ limit: Double?, _ sql: String, _ parameter: Int?) throws {
      let values: [any SQLiteValueConvertible & Sendable] = parameter.map { [$0] } ?? []
      func touch(_ result: QueryResult) {
        for row in result.rows { for value in row.values where value != .null { BenchFiles.touched &+= 1 } }
      }
      let plainTime = try measured { touch(try plain.query(sql, parameters: values)) }
      let ourTime = try measured { touch(try store.read { try $0.query(sql, parameters: values) }) }
      times[what, default: (limit, [], [])].plain.append(plainTime)
      times[what]!.ours.append(ourTime)
    }
    for _ in 0..<max(10 * rounds, 50) {
      let price = number(below: rows - 100)
      try both(
        "50 rows by a range: id, title, price", 3,
        "SELECT id, title, price FROM orders WHERE price BETWEEN ?1 AND ?1 + 49", price)
      try both(
        "50 rows by a range: the field alone", nil, "SELECT id, price FROM orders WHERE price BETWEEN ?1 AND ?1 + 49",
        price)
      try both("one row by equality: title, text", nil, "SELECT title, json FROM orders WHERE price = ?1", price)
    }
    for _ in 0..<max(rounds, 3) {
      try both("group and sum", 2, "SELECT customer, count(*), sum(price) FROM orders GROUP BY customer", nil)
      try both("newest fifty", nil, "SELECT id, title, day FROM orders ORDER BY day DESC LIMIT 50", nil)
    }
    for (what, found) in times.sorted(by: { $0.key < $1.key }) { show(what, found.limit, found.plain, found.ours) }
    show("file with three fields (bytes)", nil, [size("orders.db")], [size("orders.coffer")])
    try store.close()
    try plain.close()
  }
}
