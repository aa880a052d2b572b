import CofferSQLite
import Foundation
import Testing

@testable import Coffer
@testable import CofferRecords

/// Files that are no store, or none of this version: each has its error code and stays unchanged.
struct OpeningErrorTests: OpeningSuite {
  let place: Workplace
  let url: URL

  init() throws {
    place = try Workplace()
    url = place.file("some.coffer")
  }

  @Test func missingFileIsNoSuchFile() throws {
    try expectRefused(.noSuchFile)
    expect(.noSuchFile) { _ = try DocumentStore.info(at: url) }
    expect(.noSuchFile) { _ = try DocumentStore.check(at: url) }
  }

  @Test func missingFileIsNotMadeForReadingOnly() throws {
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
  func otherFileIsNotAStore(_ content: String) throws {
    try Data(content.utf8).write(to: url)
    try expectRefused(.notAStore)
    expect(.notAStore) { _ = try DocumentStore.info(at: url) }
    expect(.notAStore) { _ = try DocumentStore.check(at: url) }
  }

  @Test func directoryIsNotAStore() throws {
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: false)
    try expectRefused(.notAStore)
  }

  @Test func pipeIsNotAStore() throws {
    #expect(mkfifo(url.path, 0o600) == 0)
    expect(.notAStore) { _ = try DocumentStore.info(at: url) }
    expect(.notAStore) { _ = try DocumentStore.open(at: url, key: .published("primary"), options: .testing) }
  }

  @Test func plainDatabaseIsNotAStore() throws {
    let database = try Database(url.path, mode: .createNew)
    try database.execute("CREATE TABLE coffer_header(one INTEGER PRIMARY KEY)")
    try database.close()
    try expectRefused(.notAStore)
  }

  @Test func storeCutShortIsNoStoreInItsFirstPageAndDamagedBehindIt() throws {
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
        // A page of bodies may be missed only when it is read.
        expect(.damaged) {
          let store = try DocumentStore.open(at: url, key: .published("primary"), options: .testing)
          _ = try store.everything()
          if let error = try store.verify().error { throw error }
        }
        #expect(try Data(contentsOf: url) == whole.prefix(length))
      }
    }
  }

  @Test func otherFormatIsNamedBeforeAnythingElse() throws {
    try makeStore(documents: 0, "PRAGMA user_version = 3; CREATE TABLE of_the_future(x)")
    try expectRefused(.otherFormat)
    expect(.otherFormat) { _ = try DocumentStore.info(at: url) }
  }

  @Test(arguments: ["format = 3", "incompat = incompat | 4", "incompat = incompat | (1 << 40)"])
  func newerHeaderIsNewerFormat(_ change: String) throws {
    try makeStore(documents: 0, "UPDATE coffer_header SET \(change)")
    try expectRefused(.otherFormat)
  }

  @Test func unknownReadOnlyFeatureIsUnderTheMAC() throws {
    try makeStore(documents: 0, "UPDATE coffer_header SET ro_compat = 1")
    try expectRefused(.damaged)
  }

  @Test(arguments: [
    "CREATE TABLE mine(x)", "CREATE VIEW mine AS SELECT 1", "CREATE INDEX mine ON coffer_record(epoch)",
    "CREATE TRIGGER mine AFTER INSERT ON coffer_record BEGIN DELETE FROM coffer_body; END",
    "DROP INDEX coffer_record_pos", "CREATE VIRTUAL TABLE coffer_x_mine USING fts5(x)",
    "ALTER TABLE coffer_body ADD COLUMN x INTEGER",
  ])
  func foreignSchemaIsDamage(_ edit: String) throws {
    try makeStore(documents: 1, edit)
    try expectRefused(.damaged)
    expect(.damaged) { _ = try DocumentStore.info(at: url) }
  }

  @Test func tablesOfKnownToolsAreTolerated() throws {
    try makeStore(
      documents: 1,
      """
      CREATE TABLE _litestream_seq (id INTEGER PRIMARY KEY, seq INTEGER);
      CREATE TABLE _litestream_lock (id INTEGER UNIQUE); ANALYZE;
      CREATE TABLE coffer_x_search(x); CREATE INDEX coffer_x_search_x ON coffer_x_search(x)
      """)
    let store = try DocumentStore.open(at: url, key: .published("primary"), options: .testing)
    #expect(try store.verify().isSound)
  }
}
