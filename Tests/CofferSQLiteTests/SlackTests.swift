import Foundation
import Testing

@testable import CofferSQLite

/// Tests clearing old data of moved rows.
@Suite struct SlackTests {
  /// Creates a database with growing rows that move between pages and leave traces of old texts.
  private func worn(_ scratch: Scratch, _ setUp: String...) throws -> Database {
    let database = try Database(scratch.file("worn"), mode: .createNew)
    for pragma in setUp + ["secure_delete = ON"] { _ = try database.query("PRAGMA \(pragma)") }
    try database.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT); CREATE INDEX i ON t(a)")
    for round in 0..<4 {
      try database.transaction {
        for id in 1...300 {
          try database.execute("DELETE FROM t WHERE id = ?", (id * 7 + round) % 300)
          try database.execute(
            "INSERT OR REPLACE INTO t VALUES(?, ?)", id,
            "Former\(round) " + String(repeating: "x", count: (id * 31 + round * 97) % 200))
        }
      }
    }
    try database.transaction {
      for id in 1...300 {
        try database.execute("UPDATE t SET a = ? WHERE id = ?", String(repeating: "y", count: (id * 53) % 260), id)
      }
    }
    return database
  }

  private func traces(_ scratch: Scratch) throws -> Int {
    let text = String(decoding: try Data(contentsOf: URL(filePath: scratch.file("worn"))), as: UTF8.self)
    return text.components(separatedBy: "Former").count - 1
  }

  @Test(arguments: ["page_size = 512", "page_size = 4096", "page_size = 65536", "auto_vacuum = FULL"])
  func clearsSlackAndKeepsRows(_ setUp: String) throws {
    let scratch = try Scratch()
    let database = try worn(scratch, setUp)
    let rows = try database.query("SELECT * FROM t").rows
    let before = try traces(scratch)
    try database.begin(.immediate)
    let cleared = try database.clearSlack(ofPages: 1..<1 << 40)
    try database.rollback()
    #expect(try traces(scratch) == 0)
    #expect(before == 0 || cleared > 0)
    try database.close()
    let again = try Database(scratch.file("worn"))
    #expect(try again.query("SELECT * FROM t").rows == rows)
    #expect(try again.query("PRAGMA integrity_check").rows[0][0] == .text("ok"))
    #expect(try again.clearSlack(ofPages: 1..<1 << 40) == 0)
  }

  @Test func clearsOnlyGivenPages() throws {
    let scratch = try Scratch()
    let database = try worn(scratch, "page_size = 1024")
    let whole = try Data(contentsOf: URL(filePath: scratch.file("worn")))
    #expect(try database.clearSlack(ofPages: 3..<3) == 0)
    #expect(try database.clearSlack(ofPages: 100_000..<100_001) == 0)
    var cleared = 0
    for page in stride(from: Int64(1), to: 400, by: 1) { cleared += try database.clearSlack(ofPages: page..<page + 1) }
    #expect(cleared > 0)
    #expect(try traces(scratch) == 0)
    #expect(try Data(contentsOf: URL(filePath: scratch.file("worn"))).count == whole.count)
  }

  /// A connection with cached pages must not restore the cleared data.
  @Test func otherConnectionKeepsClearedPages() throws {
    let scratch = try Scratch()
    let database = try worn(scratch, "page_size = 4096")
    let other = try Database(scratch.file("worn"))
    _ = try other.query("SELECT sum(length(a)) FROM t")
    #expect(try traces(scratch) > 0)
    try database.begin(.immediate)
    _ = try database.clearSlack(ofPages: 1..<1 << 40)
    try database.releaseCache()
    try database.execute("UPDATE t SET a = a || 'z' WHERE id = (SELECT max(id) FROM t)")
    try database.commit()
    #expect(try traces(scratch) == 0)
    for connection in [other, database] {
      for id in stride(from: 1, to: 300, by: 3) {
        try connection.execute("UPDATE t SET a = replace(a, 'y', 'w') WHERE id = ?", id)
      }
    }
    #expect(try traces(scratch) == 0)
    #expect(try other.query("PRAGMA integrity_check").rows[0][0] == .text("ok"))
  }

  @Test func clearsSlackBelow33554432Pages() {
    #expect(Database.canClearSlack(pageCount: 0x01FF_FFFF) && !Database.canClearSlack(pageCount: 0x0200_0000))
  }

  @Test func clearSlackSkipsEmptyFilesAndMalformedPages() throws {
    let scratch = try Scratch()
    let database = try Database(scratch.file("empty"), mode: .create)
    #expect(try database.clearSlack(ofPages: 1..<10) == 0)
    try database.execute("CREATE TABLE t(a)")
    var bytes = try Data(contentsOf: URL(filePath: scratch.file("empty")))
    // Make the cell list overlap the cells, and start cells past the page.
    for (offset, value) in [(4096 + 3, UInt8(0xFF)), (4096 + 5, 0xFF)] { bytes[offset] = value }
    try bytes.write(to: URL(filePath: scratch.file("empty")))
    #expect(try Database(scratch.file("empty")).clearSlack(ofPages: 2..<3) == 0)
    #expect(try Data(contentsOf: URL(filePath: scratch.file("empty"))) == bytes)
  }
}
