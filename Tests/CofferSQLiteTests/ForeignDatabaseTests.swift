import CofferTestSupport
import Foundation
import Testing

@testable import CofferSQLite

/// Tests databases from other programs.
@Suite struct ForeignDatabaseTests {
  private struct Record: Decodable, Equatable {
    var id: Int64
    var title: String?
    var txt: String?
  }

  @Test(
    .corpora("sqlite-made"),
    arguments: ["utf-8", "utf-16le", "utf-16be"], [512, 4096, 65536])
  func readsEveryTextEncoding(encoding: String, pageSize: Int) throws {
    let rows = try Data(contentsOf: URL(fileURLWithPath: Corpora.path("sqlite-made/rows.json")))
    let path = Corpora.path("sqlite-made/records-\(encoding)-\(pageSize).db")
    let result = try Database(path, mode: .readOnly).query("SELECT id, title, txt FROM records ORDER BY id")
    let records = result.rows.map { Record(id: $0[0].integer ?? 0, title: $0[1].text, txt: $0[2].text) }
    #expect(try records == JSONDecoder().decode([Record].self, from: rows))
  }

  @Test(arguments: ["UTF-16le", "UTF-16be"])
  func readsWellFormedUTF16(encoding: String) throws {
    let database = try emptyDatabase()
    try database.execute("PRAGMA encoding = '\(encoding)'; CREATE TABLE t(a)")
    for text in ["", "a\u{0}b", "Grüße", "世界", "👩‍👩‍👧\u{10FFFD}\u{FEFF}"] {
      try database.execute("DELETE FROM t")
      try database.execute("INSERT INTO t VALUES(?)", text)
      #expect(try database.query("SELECT a FROM t").rows[0][0].text.map { Array($0.utf8) } == Array(text.utf8))
    }
  }

  @Test(arguments: ["3DD8", "3DD86100", "00DE", "610000DE", "3DD83DD8", "3DD800DE00DE"])
  func rejectsUnpairedSurrogates(littleEndian hex: String) throws {
    let database = try emptyDatabase()
    try database.execute("PRAGMA encoding = 'UTF-16le'; CREATE TABLE t(a)")
    try database.execute("INSERT INTO t VALUES(CAST(x'\(hex)' AS TEXT))")
    #expect(throws: error(.invalidText)) { try database.query("SELECT a FROM t") }
    let statement = try database.statement("SELECT a FROM t")
    try statement.step()
    #expect(!statement.isWellFormed(at: 0))
  }

  /// Malformed databases must not cause a crash or endless loop. SQLite decides about rows and errors.
  @Test(.corpora("sqlite-malformed.tar.xz"))
  func readsOrRejectsMalformedDatabases() throws {
    let scratch = try Scratch()
    let tar = Process()
    tar.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    tar.arguments = ["tar", "xJf", Corpora.path("sqlite-malformed.tar.xz"), "-C", scratch.path]
    try tar.run()
    tar.waitUntilExit()
    let names = try FileManager.default.contentsOfDirectory(atPath: scratch.file("sqlite-malformed"))
      .filter { $0.hasSuffix(".db") }
    #expect(names.count > 600)
    var refused = 0
    for name in names {
      let database = try Database(
        scratch.file("sqlite-malformed/\(name)"), configuration: .init(isHardened: true, lengthLimit: 1 << 20))
      do {
        let tables = try database.query("SELECT name FROM sqlite_schema WHERE type = 'table'")
        for table in tables.rows {
          let name = (table[0].text ?? "").replacing("\"", with: "\"\"")
          let statement = try database.statement("SELECT * FROM \"\(name)\" LIMIT 1000")
          while try statement.step() { _ = try statement.values() }
        }
      } catch {
        refused += 1
      }
      try database.close()
    }
    #expect(refused > 0)
  }
}
