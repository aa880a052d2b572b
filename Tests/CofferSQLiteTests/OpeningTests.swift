import Foundation
import Testing

@testable import CofferSQLite

@Suite struct OpeningTests {
  let scratch: Scratch

  init() throws { scratch = try Scratch() }

  @Test(arguments: [Database.Mode.readOnly, .readWrite])
  func reportsMissingFile(mode: Database.Mode) throws {
    #expect(throws: error(.noSuchFile)) { try Database(scratch.file("none.db"), mode: mode) }
    #expect(try scratch.names() == [])
  }

  @Test func reportsMissingDirectory() throws {
    #expect(throws: error(.cantOpen)) { try Database(scratch.file("none/file.db"), mode: .create) }
    #expect(throws: error(.cantOpen)) { try Database(scratch.file("none/file.db"), mode: .createNew) }
  }

  @Test(arguments: [Database.Mode.readOnly, .readWrite, .create])
  func reportsDirectory(mode: Database.Mode) {
    #expect(throws: error(.isDirectory)) { try Database(scratch.path, mode: mode) }
  }

  @Test(arguments: ["", "a\u{0}b"])
  func rejectsEmptyPath(path: String) {
    #expect(throws: error(.cantOpen)) { try Database(path, mode: .create) }
  }

  @Test func createNewKeepsExistingFile() throws {
    let path = scratch.file("file.db")
    try Data().write(to: URL(fileURLWithPath: path))
    #expect(throws: error(.fileExists)) { try Database(path, mode: .createNew) }
    #expect(try scratch.names() == ["file.db"])
  }

  @Test func createNewRejectsDanglingLink() throws {
    try FileManager.default.createSymbolicLink(
      atPath: scratch.file("link.db"), withDestinationPath: scratch.file("target.db"))
    #expect(throws: error(.fileExists)) { try Database(scratch.file("link.db"), mode: .createNew) }
    #expect(try scratch.names() == ["link.db"])
  }

  @Test(arguments: [Database.Mode.create, .createNew])
  func createsFileAndKeepsWrites(mode: Database.Mode) throws {
    let path = scratch.file("file.db")
    let database = try Database(path, mode: mode)
    try database.execute("CREATE TABLE t(a); INSERT INTO t VALUES(7)")
    try database.close()
    #expect(try Database(path, mode: .readOnly).query("SELECT a FROM t").rows.map { $0[0] } == [7])
    #expect(try scratch.names() == ["file.db"])
  }

  @Test(arguments: [false, true])
  func firstStatementReportsNonDatabase(isHardened: Bool) throws {
    let path = scratch.file("file.db")
    try Data(repeating: 0x41, count: 4096).write(to: URL(fileURLWithPath: path))
    let database = try Database(path, configuration: .init(isHardened: isHardened))
    #expect(throws: error(.notADatabase)) { try database.query("SELECT * FROM sqlite_schema") }
  }

  @Test func reportsTruncatedDatabaseAsCorrupt() throws {
    let path = scratch.file("file.db")
    try Database(path, mode: .create).execute("CREATE TABLE t(a); INSERT INTO t VALUES(zeroblob(100000))")
    let whole = try Data(contentsOf: URL(fileURLWithPath: path))
    try whole.prefix(whole.count / 2).write(to: URL(fileURLWithPath: path))
    #expect(throws: error(.corrupt)) { try Database(path).query("SELECT hex(a) FROM t") }
  }

  @Test func readOnlyConnectionRejectsWrites() throws {
    let path = scratch.file("file.db")
    try Database(path, mode: .create).execute("CREATE TABLE t(a)")
    let database = try Database(path, mode: .readOnly)
    #expect(database.isReadOnly)
    #expect(throws: error(.readOnly)) { try database.execute("INSERT INTO t VALUES(1)") }
  }

  @Test func reportsJournalModeThatDatabaseCannotHave() throws {
    let database = try emptyDatabase()
    try database.setJournalMode("MEMORY")
    #expect(thrown { try database.setJournalMode("WAL") } == error(.notAllowed))
  }

  @Test func reportsWritableConnection() throws {
    #expect(try !Database(scratch.file("file.db"), mode: .create).isReadOnly)
  }

  @Test func treatsURILikeNameAsPath() throws {
    #expect(try DatabaseFile(path: "file:a?mode=memory", mode: .create).name == "./file:a?mode=memory")
  }

  @Test func closedDatabaseThrowsMisuse() throws {
    let database = try emptyDatabase()
    try database.close()
    try database.close()
    #expect(throws: error(.misuse)) { try database.execute("SELECT 1") }
    #expect(throws: error(.misuse)) { try database.execute("SELECT 1; SELECT 2") }
    #expect(throws: error(.misuse)) { try database.transaction {} }
    #expect(!database.isInTransaction)
    database.interrupt()
  }

  @Test func statementOfAClosedDatabaseThrowsMisuse() throws {
    let database = try emptyDatabase()
    let statement = try database.statement("VALUES(1), (2)")
    try statement.step()
    try database.close()
    #expect(throws: error(.misuse)) { try statement.step() }
    #expect(throws: error(.misuse)) { try statement.bind(1, at: 1) }
    #expect(statement.isNull(at: 0) && statement.columnCount == 0)
  }

  @Test func closingReleasesFileDuringRead() throws {
    let path = scratch.file("file.db")
    let reader = try Database(path, mode: .create)
    try reader.execute("CREATE TABLE t(a); INSERT INTO t VALUES(1), (2)")
    let statement = try reader.statement("SELECT a FROM t")
    try statement.step()
    try reader.close()
    let writer = try Database(path, configuration: .init(busyTimeout: .zero))
    try writer.execute("INSERT INTO t VALUES(3)")
    withExtendedLifetime(statement) {}
  }

  @Test func statementKeepsItsConnectionOpen() throws {
    let statement = try emptyDatabase().statement("SELECT 5")
    #expect(try statement.step() && statement.int64(at: 0) == 5)
  }

  @Test func releasesResourcesWithDatabase() throws {
    weak var connection: Connection?
    do {
      let database = try emptyDatabase()
      connection = database.connection
      try database.execute("CREATE TABLE t(a)")
      _ = try database.query("SELECT * FROM t")
      #expect(throws: error(.sqlLogic)) { try database.execute("nonsense") }
    }
    #expect(connection == nil)
  }
}
