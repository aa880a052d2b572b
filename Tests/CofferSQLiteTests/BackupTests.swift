import Foundation
import Testing

@testable import CofferSQLite

@Suite struct BackupTests {
  let scratch: Scratch
  let database: Database

  init() throws {
    scratch = try Scratch()
    database = try Database(scratch.file("file.db"), mode: .create)
    try database.execute("CREATE TABLE t(a)")
    for n in 1...100 { try database.execute("INSERT INTO t VALUES(zeroblob(?))", n * 100) }
  }

  private func sum(_ database: Database) throws -> SQLiteValue? {
    try database.firstValue("SELECT sum(length(a)) FROM t")
  }

  @Test func copiesDatabase() throws {
    try database.backup(to: scratch.file("copy.db"), pagesPerStep: 7)
    let files = try ["file.db", "copy.db"].map { try Data(contentsOf: URL(fileURLWithPath: scratch.file($0))) }
    #expect(files[0].dropFirst(100) == files[1].dropFirst(100))
    #expect(try sum(Database(scratch.file("copy.db"))) == 505_000)
    #expect(try scratch.names() == ["copy.db", "file.db"] && !database.isInTransaction)
  }

  @Test func rejectsExistingFile() throws {
    try Data([1]).write(to: URL(fileURLWithPath: scratch.file("copy.db")))
    #expect(throws: error(.fileExists)) { try database.backup(to: scratch.file("copy.db")) }
    #expect(try Data(contentsOf: URL(fileURLWithPath: scratch.file("copy.db"))) == Data([1]))
  }

  @Test func stoppedBackupLeavesNoFile() throws {
    #expect(throws: error(.interrupted)) {
      try database.backup(to: scratch.file("copy.db"), pagesPerStep: 1) { remaining, total in remaining > total / 2 }
    }
    #expect(try scratch.names() == ["file.db"] && !database.isInTransaction)
  }

  @Test func interruptedBackupLeavesNoFile() throws {
    #expect(throws: error(.interrupted)) {
      try database.backup(to: scratch.file("copy.db"), pagesPerStep: 1) { _, _ in
        database.interrupt()
        return true
      }
    }
    #expect(try scratch.names() == ["file.db"])
  }

  @Test func stoppedBackupLeavesTargetUnchanged() throws {
    let other = try emptyDatabase()
    try other.execute("CREATE TABLE mine(a)")
    #expect(throws: error(.interrupted)) { try database.backup(to: other, pagesPerStep: 1) { _, _ in false } }
    #expect(try other.query("SELECT name FROM sqlite_schema").rows.map { $0[0] } == ["mine"])
  }

  @Test func reportsProgress() throws {
    var steps: [Int] = []
    let pages = try #require(try database.integerPragma("page_count"))
    try database.backup(to: emptyDatabase(), pagesPerStep: 50) { remaining, total in
      #expect(total == Int(pages))
      steps.append(remaining)
      return true
    }
    #expect(steps == stride(from: Int(pages) - 50, to: 0, by: -50) + [])
  }

  @Test func copiesConsistentSnapshotDuringWrites() throws {
    _ = try database.textPragma("journal_mode = WAL")
    let writer = try Database(scratch.file("file.db"))
    let copy = try emptyDatabase()
    var steps = 0
    try database.backup(to: copy, pagesPerStep: 20) { _, _ in
      steps += 1
      if steps == 1 { #expect(thrown { try writer.execute("INSERT INTO t VALUES(zeroblob(5000))") } == nil) }
      return true
    }
    #expect(try sum(copy) == 505_000)
    #expect(try sum(database) != 505_000)
  }

  @Test func rejectsBackupInTransaction() throws {
    try database.begin(.immediate)
    #expect(throws: error(.misuse)) { try database.backup(to: scratch.file("copy.db")) }
    #expect(try scratch.names().contains("copy.db") == false)
    try database.rollback()
  }

  @Test func backupKeepsReadTransactionOpen() throws {
    try database.begin(.deferred)
    #expect(try sum(database) == 505_000)
    try database.backup(to: emptyDatabase())
    #expect(database.isInTransaction)
    try database.commit()
  }

  @Test func rejectsReadOnlyTarget() throws {
    try Database(scratch.file("copy.db"), mode: .create).execute("CREATE TABLE mine(a)")
    let other = try Database(scratch.file("copy.db"), mode: .readOnly)
    #expect(throws: error(.readOnly)) { try database.backup(to: other) }
  }
}
