import CofferTestSupport
import Foundation
import Testing

@testable import CofferSQLite

/// Tests databases with pages stored by the program.
@Suite struct PageStorageTests {
  private struct Failure: Error {}

  private final class Pages: PageStorage {
    let pageSize: Int
    let reservedCount = 96
    var pages: [[UInt8]] = []
    var failsToRead: Int?
    var writesLeft = Int.max
    var reads = 0

    init(pageSize: Int = 4096) { self.pageSize = pageSize }

    var pageCount: Int { pages.count }

    func read(_ page: Int, into bytes: UnsafeMutableRawBufferPointer) throws {
      reads += 1
      if page == failsToRead { throw Failure() }
      bytes.copyBytes(from: pages[page])
    }

    func write(_ page: Int, _ bytes: UnsafeRawBufferPointer) throws {
      guard writesLeft > 0 else { throw Failure() }
      writesLeft -= 1
      while pages.count <= page { pages.append([UInt8](repeating: 0, count: pageSize)) }
      // Overwrite the reserved bytes.
      pages[page] = Array(bytes[..<(pageSize - reservedCount)]) + [UInt8](repeating: 0xEE, count: reservedCount)
    }

    func truncate(to count: Int) throws { pages.removeLast(pages.count - count) }
  }

  @Test(arguments: [1024, 4096, 8192, 65536])
  func keepsDatabaseInPages(pageSize: Int) throws {
    let pages = Pages(pageSize: pageSize)
    let before = try FileManager.default.contentsOfDirectory(atPath: ".").sorted()
    do {
      let database = try Database(pages: pages, cacheBytes: 1 << 16)
      try database.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, text)")
      try database.transaction {
        for id in 1...2000 { try database.execute("INSERT INTO t VALUES(?,?)", id, String(repeating: "x", count: id)) }
      }
      try database.execute("DELETE FROM t WHERE id % 3 = 0")
      let sorted = try database.query("SELECT count(*) FROM (SELECT * FROM t ORDER BY text DESC)")
      #expect(sorted.rows[0][0] == .integer(1334))
    }
    let again = try Database(pages: pages, cacheBytes: 1 << 16)
    #expect(try again.query("SELECT sum(length(text)) FROM t").rows[0][0] == .integer(2_001_000 - 666 * 667 / 2 * 3))
    #expect(try again.query("PRAGMA integrity_check").rows[0][0] == .text("ok"))
    #expect(try again.integerPragma("page_size") == Int64(pageSize))
    try again.execute("DELETE FROM t")
    try again.execute("VACUUM")
    #expect(pages.pages.count < 5)
    #expect(try FileManager.default.contentsOfDirectory(atPath: ".").sorted() == before)
  }

  @Test func rejectsOtherFiles() throws {
    let scratch = try Scratch()
    let database = try Database(pages: Pages(), cacheBytes: 1 << 16)
    try database.execute("CREATE TABLE t(a)")
    #expect(throws: error(.cantOpen)) { try database.execute("ATTACH '\(scratch.file("other"))' AS other") }
    #expect(throws: error(.cantOpen)) { try database.execute("VACUUM INTO '\(scratch.file("other"))'") }
    _ = try database.textPragma("journal_mode = WAL")
    _ = try database.textPragma("journal_mode = DELETE")
    _ = try? database.transaction { try database.execute("INSERT INTO t VALUES(1)") }
    #expect(try scratch.names() == [])
  }

  @Test func failuresRollBackTransaction() throws {
    let pages = Pages()
    let database = try Database(pages: pages, cacheBytes: 1 << 16)
    try database.execute("CREATE TABLE t(a)")
    try database.execute("INSERT INTO t VALUES(zeroblob(100000))")
    // The cache holds all changes until the commit, which writes some pages and fails.
    for writes in 0..<12 {
      pages.writesLeft = writes
      #expect(throws: (any Error).self) {
        try database.transaction {
          try database.execute("UPDATE t SET a = randomblob(50000)")
          try database.execute("INSERT INTO t VALUES(randomblob(60000))")
        }
      }
      pages.writesLeft = .max
    }
    #expect(try database.query("SELECT a = zeroblob(100000) FROM t").rows.map { $0[0] } == [.integer(1)])
    #expect(try database.query("PRAGMA integrity_check").rows[0][0] == .text("ok"))
  }

  @Test func unreadablePageEndsStatement() throws {
    let pages = Pages()
    do {
      let database = try Database(pages: pages, cacheBytes: 1 << 16)
      try database.execute("CREATE TABLE t(a)")
      try database.execute("INSERT INTO t VALUES(zeroblob(100000))")
    }
    pages.failsToRead = pages.pageCount - 1
    let database = try Database(pages: pages, cacheBytes: 1 << 16)
    #expect(throws: error(.ioError)) { try database.query("SELECT a FROM t") }
    pages.failsToRead = nil
    #expect(try database.query("SELECT length(a) FROM t").rows[0][0] == .integer(100_000))
  }

  @Test func shrinksAndGrowsCache() throws {
    let pages = Pages()
    let database = try Database(pages: pages, cacheBytes: 1 << 22)
    try database.execute("CREATE TABLE t(a)")
    for _ in 0..<200 { try database.execute("INSERT INTO t VALUES(zeroblob(3500))") }
    func reads() throws -> Int {
      pages.reads = 0
      _ = try database.query("SELECT sum(length(a)) FROM t")
      return pages.reads
    }
    for _ in 0..<2 {
      try database.setCache(byteCount: 1 << 22)
      _ = try reads()
      #expect(try reads() == 1)
      try database.setCache(byteCount: 1 << 17)
      _ = try reads()
      #expect(try reads() > 100)
    }
  }

  @Test func warmCacheReadsPagesOnce() throws {
    let pages = Pages()
    let database = try Database(pages: pages, cacheBytes: 1 << 20)
    try database.execute("CREATE TABLE t(a)")
    try database.execute("INSERT INTO t VALUES(zeroblob(100000))")
    _ = try database.query("SELECT a FROM t")
    pages.reads = 0
    _ = try database.query("SELECT a FROM t")
    // SQLite reads only the first page, for its change counter.
    #expect(pages.reads == 1)
  }

  // MARK: Rank

  private static let words = ["sealed", "store", "page", "index", "key", "note", "rank", "open"]

  private static func text(_ random: inout Pseudorandom) -> String {
    // Use frequent and rare words.
    (0..<(1 + random.number(below: 30))).map { _ in words[min(random.number(below: 8), random.number(below: 8))] }
      .joined(separator: " ")
  }

  @Test(arguments: [0, 1, 19, 60])
  func rankIgnoresOutdatedRows(percent: Int) throws {
    var random = Pseudorandom(seed: UInt64(percent) + 1)
    let database = try Database(pages: Pages(), cacheBytes: 1 << 20)
    let rank = FullTextRank()
    try database.add(rank)
    try database.execute("CREATE VIRTUAL TABLE t USING fts5(title, text, content='')")
    try database.execute("CREATE VIRTUAL TABLE plain USING fts5(title, text)")
    var current: [Int64: (String, String)] = [:]
    for id in 1...500 {
      let texts = (Self.text(&random), Self.text(&random))
      try database.execute("INSERT INTO t(rowid,title,text) VALUES(?,?,?)", id, texts.0, texts.1)
      current[Int64(id)] = texts
    }
    var outdated: [Int64] = []
    for id in 1...500 where random.number(below: 100) < percent {
      current[Int64(id)] = nil
      outdated.append(Int64(id))
    }
    for (id, texts) in current {
      try database.execute("INSERT INTO plain(rowid,title,text) VALUES(?,?,?)", id, texts.0, texts.1)
    }
    let tokens = current.values.map { ($0.0 + " " + $0.1).split(separator: " ").count }.reduce(0, +)
    rank.set(rows: Int64(current.count), tokens: Int64(tokens), outdated: outdated)
    for query in [
      "sealed", "sealed store", "rank OR open", "\"sealed store\"", "title: page", "NEAR(page index, 3)", "ope*",
      "sealed NOT store", "key AND (note OR rank)", "absent", "absent OR open", "^ sealed",
    ] {
      let found = try database.query(
        "SELECT rowid, r FROM (SELECT rowid, current_rank(t) AS r FROM t WHERE t MATCH ?) WHERE r IS NOT NULL ORDER BY r, rowid",
        query
      ).rows.map { [$0[0], $0[1]] }
      let expected = try database.query(
        "SELECT rowid, bm25(plain) AS r FROM plain WHERE plain MATCH ? ORDER BY r, rowid", query
      ).rows.map { [$0[0], $0[1]] }
      #expect(found == expected, "\(query)")
    }
  }
}
