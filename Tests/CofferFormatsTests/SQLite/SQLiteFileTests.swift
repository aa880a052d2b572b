import CofferDocuments
import CofferSQLite
import Foundation
import Testing

@testable import CofferFormats

/// Journals, logs and other files next to a database. Reading must not change any file.
struct SQLiteFileTests {
  /// Reads a database and checks that its private copies are already deleted while the source is open.
  private func read(_ path: String, in directory: TemporaryDirectory) throws -> (texts: [String], report: ReadingReport)
  {
    let before = try directory.everything()
    let copies = try TemporaryDirectory()
    var options = ReadingOptions()
    options.temporaryDirectory = copies.path
    var source = SQLiteSource(path: path, options: options)
    var batch = DraftBatch()
    var texts: [String] = []
    while try source.read(into: &batch) {
      #expect(try copies.names() == [])
      texts += batch.drafts.compactMap(\.text).map { String(decoding: batch.bytes[$0], as: UTF8.self) }
    }
    #expect(try directory.everything() == before)
    return (texts, source.report)
  }

  @Test func rollsBackUnfinishedTransactionInCopy() throws {
    let directory = try TemporaryDirectory()
    let (texts, report) = try read(try directory.killedWriter(), in: directory)
    #expect(texts == [String](repeating: String(repeating: "x", count: 300), count: 200))
    #expect(report.privateCopy?.contains("unfinished") == true)
  }

  @Test func reportsGeneratedColumns() throws {
    let directory = try TemporaryDirectory()
    let path = "\(directory.path)/generated.db"
    let database = try Database(path, mode: .createNew)
    try database.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, title, text, size AS (length(text)))")
    try database.execute("INSERT INTO t(id, title, text) VALUES(1, 'a', 'one')")
    try database.close()
    let (texts, report) = try read(path, in: directory)
    #expect(texts == ["one"] && report.generatedColumns == ["size"])
  }

  @Test func readsWriteAheadLogFromCopy() throws {
    let directory = try TemporaryDirectory()
    let (texts, report) = try read(try directory.unfinishedLog(), in: directory)
    #expect(texts == ["in the log"])
    #expect(report.privateCopy?.contains("log") == true)
  }

  /// The rows are in the log, and many more than the database's file has bytes.
  @Test func readsRowsWithoutIDsFromLog() throws {
    let directory = try TemporaryDirectory()
    let database = try Database("\(directory.path)/live.db", mode: .createNew)
    try database.execute("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0")
    try database.execute("CREATE TABLE records(id TEXT PRIMARY KEY, title, txt) WITHOUT ROWID")
    try database.execute(
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<5000) INSERT INTO records SELECT i,'','t' FROM n"
    )
    for suffix in ["", "-wal"] {
      try FileManager.default.copyItem(
        atPath: "\(directory.path)/live.db\(suffix)", toPath: "\(directory.path)/log.db\(suffix)")
    }
    try database.close()
    try FileManager.default.removeItem(atPath: "\(directory.path)/live.db")
    #expect(try read("\(directory.path)/log.db", in: directory).texts.count == 5000)
  }

  @Test func readsDatabaseWithoutLogInPlace() throws {
    let directory = try TemporaryDirectory()
    let path = try directory.database(
      "PRAGMA journal_mode = WAL", "CREATE TABLE records(id, title, txt)", "INSERT INTO records VALUES(1, 'a', 'b')",
      name: "a ?b%20#c.db")
    let (texts, report) = try read(path, in: directory)
    #expect(texts == ["b"])
    #expect(report.privateCopy == nil)
  }

  @Test func findsJournalThroughSymbolicLink() throws {
    let directory = try TemporaryDirectory()
    let folder = try TemporaryDirectory()
    try FileManager.default.createSymbolicLink(
      atPath: "\(folder.path)/link.db", withDestinationPath: try directory.killedWriter())
    #expect(try read("\(folder.path)/link.db", in: directory).texts.first?.first == "x")
  }

  @Test func readsFromReadOnlyFolder() throws {
    let directory = try TemporaryDirectory()
    let path = try directory.killedWriter()
    try FileManager.default.setAttributes([.posixPermissions: 0o500], ofItemAtPath: directory.path)
    defer { try? FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: directory.path) }
    #expect(try read(path, in: directory).texts.count == 200)
  }

  /// A journal contains the name of a multi-file transaction's super-journal, which SQLite deletes afterwards.
  @Test func preservesFileNamedByJournal() throws {
    let directory = try TemporaryDirectory()
    let path = try directory.killedWriter()
    try directory.write("precious".utf8, to: "victim")
    try appendSuperJournal("\(directory.path)/victim", to: "hot.db-journal", in: directory)
    #expect(try read(path, in: directory).texts.first?.first == "x")
    #expect(try directory.bytes(of: "victim") == Array("precious".utf8))
  }

  @Test func missingSuperJournalMeansCommitted() throws {
    let directory = try TemporaryDirectory()
    let path = try directory.killedWriter()
    try appendSuperJournal("\(directory.path)/none", to: "hot.db-journal", in: directory)
    let file = try FileDescriptor(opening: "\(path)-journal")
    #expect(try RollbackJournal.usableByteCount(of: file, byteCount: Int(try file.status().st_size)) == 0)
  }

  private func appendSuperJournal(_ name: String, to journal: String, in directory: TemporaryDirectory) throws {
    func bigEndian(_ number: Int) -> [UInt8] {
      (0..<4).reversed().map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
    }
    var bytes = try directory.bytes(of: journal)
    bytes += bigEndian(0x4000_0000 / 512 + 1) + Array(name.utf8) + bigEndian(name.utf8.count)
    bytes += bigEndian(name.utf8.reduce(0) { $0 + Int($1) }) + [0xD9, 0xD5, 0x05, 0xF9, 0x20, 0xA1, 0x63, 0xD7]
    try directory.write(bytes, to: journal)
  }

  @Test(arguments: ["-journal", "-wal"]) func rejectsPipeAsJournal(suffix: String) throws {
    let directory = try TemporaryDirectory()
    let path = try directory.database("CREATE TABLE records(id, title, txt)")
    #expect(mkfifo(path + suffix, 0o600) == 0)
    let error = failure(SQLiteSource(path: path))
    #expect(error?.code == .malformed && error?.reason.contains(path + suffix) == true)
  }

  @Test(arguments: ["-journal", "-wal"]) func rejectsLinkedJournal(suffix: String) throws {
    for makeLink in [symlink, link] {
      let directory = try TemporaryDirectory()
      let path = try directory.killedWriter()
      try FileManager.default.moveItem(atPath: path + "-journal", toPath: path + "-elsewhere")
      #expect(makeLink(path + "-elsewhere", path + suffix) == 0)
      let before = try directory.everything()
      let error = failure(SQLiteSource(path: path))
      #expect(error?.code == .malformed && error?.reason.contains(path + suffix) == true)
      #expect(try directory.everything() == before)
    }
  }

  /// One or both version fields of the header indicate a database without a log.
  @Test(arguments: [[1, 1], [1, 2], [2, 1]] as [[UInt8]]) func rejectsUnexpectedLog(versions: [UInt8]) throws {
    let directory = try TemporaryDirectory()
    let path = try directory.unfinishedLog()
    var bytes = try directory.bytes(of: "log.db")
    bytes.replaceSubrange(18...19, with: versions)
    try directory.write(bytes, to: "log.db")
    let before = try directory.everything()
    let error = failure(SQLiteSource(path: path))
    #expect(error?.code == .malformed && error?.reason.contains(path + "-wal") == true)
    #expect(try directory.everything() == before)
  }

  @Test func readsStreamThroughCopy() throws {
    let directory = try TemporaryDirectory()
    try directory.database("CREATE TABLE records(id, title, txt)", "INSERT INTO records VALUES(1, 'a', 'b')")
    let bytes = try directory.bytes(of: "source.db")
    var source = try InputSource(MemoryByteSource(bytes, chunk: 1000))
    #expect(source.format == .sqlite)
    #expect(try drafts(&source).map(\.text) == ["b"])
    #expect(source.report.privateCopy != nil)
  }

  @Test func copyingStopsWhenShouldStopReturnsTrue() throws {
    let directory = try TemporaryDirectory()
    var options = ReadingOptions()
    options.shouldStop = { true }
    let path = try directory.killedWriter()
    #expect(failure(SQLiteSource(path: path, options: options))?.code == .unreadable)
  }

  @Test func rejectsEncryptedStore() throws {
    let directory = try TemporaryDirectory()
    let path = try directory.database("CREATE TABLE coffer_header(one)")
    #expect(failure(SQLiteSource(path: path))?.reason.contains("encrypted store") == true)
  }
}
