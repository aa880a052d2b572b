import Coffer
import CofferRecords
import CofferSQLite
import Foundation
import Testing

@testable import CofferStoreTestSupport

/// Files that aren't stores of this version, which are rejected with an error code and remain unchanged.
struct OpeningErrorTests: OpeningSuite {
  let place: Workplace
  let url: URL

  init() throws {
    place = try Workplace()
    url = place.file("some.coffer")
  }

  @Test func reportsMissingFile() throws {
    try expectRefused(.noSuchFile)
    expect(.noSuchFile) { _ = try DocumentStore.info(at: url) }
    expect(.noSuchFile) { _ = try DocumentStore.check(at: url) }
  }

  @Test func readOnlyOpeningRejectsMissingFile() throws {
    var options = OpenOptions.testing
    options.isReadOnly = true
    expect(.noSuchFile) {
      _ = try DocumentStore.open(at: url, key: .published("primary"), creatingIfMissing: true, options: options)
    }
    #expect(!FileManager.default.fileExists(atPath: url.path))
  }

  @Test(arguments: [
    "", "plain text\n", String(repeating: "text that is long enough ", count: 400), "SQLite format 3\0",
  ])
  func rejectsOtherFile(_ content: String) throws {
    try Data(content.utf8).write(to: url)
    try expectRefused(.notAStore)
    expect(.notAStore) { _ = try DocumentStore.info(at: url) }
    expect(.notAStore) { _ = try DocumentStore.check(at: url) }
  }

  @Test func rejectsDirectory() throws {
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: false)
    try expectRefused(.notAStore)
  }

  @Test func rejectsPipe() throws {
    #expect(mkfifo(url.path, 0o600) == 0)
    expect(.notAStore) { _ = try DocumentStore.info(at: url) }
    expect(.notAStore) { _ = try DocumentStore.open(at: url, key: .published("primary"), options: .testing) }
  }

  @Test func rejectsPlainDatabase() throws {
    let database = try Database(url.path, mode: .createNew)
    try database.execute("CREATE TABLE coffer_header(one INTEGER PRIMARY KEY)")
    try database.close()
    try expectRefused(.notAStore)
  }

  @Test func rejectsTruncatedFile() throws {
    try makeStore(documents: 12)
    let whole = try Data(contentsOf: url)
    let pages = whole.count / StoreFormat.pageSize
    #expect(pages > 9)
    for length in [1, 16, 99, 100, 1000, StoreFormat.pageSize - 1] {
      try whole.prefix(length).write(to: url)
      try expectRefused(.notAStore)
    }
    for page in 1..<pages {
      for length in [page * StoreFormat.pageSize, page * StoreFormat.pageSize + 17] {
        try whole.prefix(length).write(to: url)
        // A missing page of bodies may only be noticed when it is read.
        expect(.damaged) {
          let store = try DocumentStore.open(at: url, key: .published("primary"), options: .testing)
          _ = try store.everything()
          if let error = try store.verify().error { throw error }
        }
        #expect(try Data(contentsOf: url) == whole.prefix(length))
      }
    }
  }

  @Test(arguments: [1, 2, StoreFormat.version + 1])
  func reportsOtherFormatFirst(version: UInt32) throws {
    try makeStore(documents: 0, "PRAGMA user_version = \(version); CREATE TABLE of_another_format(x)")
    try expectRefused(.otherFormat)
    expect(.otherFormat) { _ = try DocumentStore.info(at: url) }
  }

  @Test(arguments: [
    "format = \(StoreFormat.version + 1)", "incompat = incompat | 8", "incompat = incompat | (1 << 40)",
    "incompat = incompat | (1 << 40); CREATE TABLE coffer_later(x)",
  ])
  func rejectsNewerHeader(_ change: String) throws {
    try makeStore(documents: 0, "UPDATE coffer_header SET \(change)")
    try expectRefused(.otherFormat)
  }

  @Test func detectsForgedReadOnlyFeature() throws {
    try makeStore(documents: 0, "UPDATE coffer_header SET ro_compat = 1")
    try expectRefused(.damaged)
  }

  @Test(arguments: [
    "CREATE TABLE mine(x)", "CREATE VIEW mine AS SELECT 1", "CREATE INDEX mine ON coffer_record(epoch)",
    "CREATE TRIGGER mine AFTER INSERT ON coffer_record BEGIN DELETE FROM coffer_body; END",
    "DROP INDEX coffer_record_pos", "CREATE VIRTUAL TABLE coffer_x_mine USING fts5(x)",
    "ALTER TABLE coffer_body ADD COLUMN x INTEGER", "CREATE TABLE coffer_x_mine(x CHECK(length(x) < 9))",
    "CREATE TABLE coffer_x_mine(x, y AS (hex(x)))", "CREATE TABLE _litestream_seq(id INTEGER, seq DEFAULT (1))",
    "CREATE TABLE coffer_x_mine(x); CREATE INDEX coffer_x_i ON coffer_x_mine(hex(x))",
    "CREATE TABLE coffer_x_mine(x); CREATE INDEX coffer_x_i ON coffer_x_mine(x) WHERE x > 1",
    "CREATE TABLE coffer_x_mine(x /* y */)", "CREATE TABLE COFFER_X_mine(x)",
    "CREATE TABLE coffer_x_mine(\"x\"\u{301}, y AS (hex(z)), z, \"\u{301}a\")",
  ])
  func reportsForeignSchemaAsDamage(_ edit: String) throws {
    try makeStore(documents: 1, edit)
    try expectRefused(.damaged)
    expect(.damaged) { _ = try DocumentStore.info(at: url) }
  }

  @Test func toleratesTablesOfKnownTools() throws {
    try makeStore(
      documents: 1,
      """
      CREATE TABLE _litestream_seq (id INTEGER PRIMARY KEY, seq INTEGER);
      CREATE TABLE _litestream_lock (id INTEGER UNIQUE); ANALYZE;
      CREATE TABLE coffer_x_count(n INTEGER PRIMARY KEY AUTOINCREMENT, "check" VARCHAR(9), UNIQUE(n, "check"));
      CREATE TABLE coffer_x_search(x); CREATE INDEX coffer_x_search_x ON coffer_x_search(x)
      """)
    let store = try DocumentStore.open(at: url, key: .published("primary"), options: .testing)
    #expect(try store.verify().isSound)
  }
}
