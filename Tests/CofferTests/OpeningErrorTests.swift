import CofferSQLite
import Foundation
import Testing

@testable import Coffer

/// What is not a store, or not one to be opened here: each with its own code, the file as it was.
struct OpeningErrorTests {
  let place: Workplace
  let url: URL

  init() throws {
    place = try Workplace()
    url = place.file("some.coffer")
  }

  private func expectRefused(
    _ code: StoreError.Code, key: StoreKey = .published("primary"), options: OpenOptions = .testing,
    location: SourceLocation = #_sourceLocation
  ) throws {
    let before = try? Data(contentsOf: url)
    let names = try FileManager.default.contentsOfDirectory(atPath: place.url.path)
    expect(code, location: location) { _ = try DocumentStore.open(at: url, key: key, options: options) }
    let after = try? Data(contentsOf: url)
    #expect(after == before, sourceLocation: location)
    #expect(try FileManager.default.contentsOfDirectory(atPath: place.url.path) == names, sourceLocation: location)
  }

  private func makeStore(
    keys: [NewKey] = [.published("primary")], documents: Int = 3, _ edit: String? = nil
  ) throws {
    let test = try TestStore(keys: keys)
    try test.store.write { writer in
      for number in 0..<documents {
        try writer.insert(Document(title: "\(number)", text: String(repeating: "x", count: 2000)), into: test.notes)
      }
    }
    try test.store.close()
    if let edit {
      let database = try test.raw()
      try database.execute(edit)
      try database.close()
    }
    try FileManager.default.moveItem(at: test.url, to: url)
  }

  // MARK: Not a store

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

  // MARK: Newer and foreign

  @Test func newerFormatIsNamedBeforeAnythingElse() throws {
    try makeStore(documents: 0, "PRAGMA user_version = 2; CREATE TABLE of_the_future(x)")
    try expectRefused(.newerFormat)
    expect(.newerFormat) { _ = try DocumentStore.info(at: url) }
  }

  @Test(arguments: ["format = 2", "incompat = incompat | 4", "incompat = incompat | (1 << 40)"])
  func newerHeaderIsNewerFormat(_ change: String) throws {
    try makeStore(documents: 0, "UPDATE coffer_header SET \(change)")
    try expectRefused(.newerFormat)
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

  // MARK: Keys

  @Test(arguments: ["wrong", "next"])
  func wrongKeyIsReportedAsWrongKey(_ name: String) throws {
    try makeStore()
    try expectRefused(.cannotUnlock, key: .published(name))
  }

  @Test func wrongPassphraseIsReportedAsWrongKey() throws {
    try makeStore(keys: [.words("right words"), .published("primary")])
    try expectRefused(.cannotUnlock, key: .words("Right words"))
    try expectRefused(.cannotUnlock, key: .words(""))
    try expectRefused(.cannotUnlock, key: .anyOf([.words("wrong"), .published("wrong")]))
  }

  @Test func recipientOpensNothing() throws {
    try makeStore()
    let line = try PublishedKeys.recipient
    try expectRefused(.keyFileInvalid, key: .keyMaterial { .text(line) })
  }

  @Test func keyFileThatIsNoneIsNamed() throws {
    try makeStore()
    try expectRefused(.keyFileInvalid, key: .keyFile(place.file("absent.key")))
    try expectRefused(.keyFileInvalid, key: .keyMaterial { .text("coffer-test-key-1-00") })
  }

  @Test func keyThatIsNotGivenIsNeeded() throws {
    try makeStore()
    try expectRefused(.keyNeeded, key: .passphrase { throw Interruption() })
  }

  @Test func testStoreNeedsTheAllowance() throws {
    try makeStore(keys: [.published("primary"), .words("words")])
    try expectRefused(.testKeyRefused, options: OpenOptions())
    // Refused before the secret is asked for.
    try expectRefused(
      .testKeyRefused,
      key: .passphrase {
        Issue.record("asked"); return .text("words")
      }, options: .init())
  }

  @Test func testKeyIsRefusedByARealStore() throws {
    let key = place.file("real.key")
    try KeyLine.generate(.key).write(toNewFile: key.path)
    try DocumentStore.create(at: url, keys: [.keyFile(key)]).close()
    for options in [OpenOptions(), .testing] {
      try expectRefused(.testKeyRefused, key: .published("primary"), options: options)
    }
    try DocumentStore.open(at: url, key: .keyFile(key)).close()
  }

  @Test func realKeyOpensNoTestStore() throws {
    try makeStore()
    let key = place.file("real.key")
    try KeyLine.generate(.key).write(toNewFile: key.path)
    try expectRefused(.cannotUnlock, key: .keyFile(key))
  }

  @Test func anotherPinIsRefusedBeforeAnySecret() throws {
    try makeStore()
    let pin = try DocumentStore.info(at: url).pin
    var options = OpenOptions.testing
    options.expectedPin = String(pin.dropLast()) + (pin.hasSuffix("0") ? "1" : "0")
    try expectRefused(
      .pinMismatch,
      key: .passphrase {
        Issue.record("asked"); return .text("x")
      }, options: options)
    options.expectedPin = pin
    #expect(try DocumentStore.open(at: url, key: .published("primary"), options: options).pin == pin)
  }

  // MARK: Bounds

  @Test(arguments: [
    "CAST(x'090801' || substr(params,4) AS BLOB)", "CAST(x'150801' || substr(params,4) AS BLOB)",
    "CAST(x'0a1001' || substr(params,4) AS BLOB)",
    "CAST(x'0a0805' || substr(params,4) AS BLOB)", "CAST(x'0a0800' || substr(params,4) AS BLOB)", "x'0a0801'",
    "CAST(params || x'00' AS BLOB)",
  ])
  func scryptOutOfBoundsIsRefusedBeforeAnySecret(_ parameters: String) throws {
    try makeStore(
      keys: [.published("primary"), .words("words")],
      "UPDATE coffer_slot SET params = \(parameters) WHERE kind = 1")
    try expectRefused(
      .parametersRefused,
      key: .passphrase {
        Issue.record("asked"); return .text("words")
      })
    try expectRefused(.parametersRefused)
    do {
      _ = try DocumentStore.open(at: url, key: .published("primary"), options: .testing)
    } catch {
      #expect("\(error)".contains("slot 2"))
    }
  }

  @Test func scryptOfAllSlotsTogetherIsBounded() throws {
    try makeStore(keys: (1...9).map { .words("words \($0)") } + [.published("primary")])
    let database = try Database(url.path)
    // Each is within its bounds, 2^16; eight of them are the limit.
    try database.execute("UPDATE coffer_slot SET params = CAST(x'0e0804' || substr(params,4) AS BLOB) WHERE kind = 1")
    try database.close()
    try expectRefused(.parametersRefused)
    var options = OpenOptions.testing
    options.slot = 10
    // Naming a slot lifts the sum; now the edited header is seen.
    try expectRefused(.damaged, options: options)
  }

  @Test(arguments: ["DELETE FROM coffer_slot", "DELETE FROM coffer_header", "DELETE FROM coffer_state"])
  func missingRowsAreRefused(_ edit: String) throws {
    try makeStore(documents: 0, edit)
    try expectRefused(edit.contains("slot") ? .parametersRefused : .damaged)
  }

  // MARK: Only reading

  @Test func readOnlyStoreWritesNothing() throws {
    try makeStore()
    var options = OpenOptions.testing
    options.isReadOnly = true
    let before = try Data(contentsOf: url)
    let store = try DocumentStore.open(at: url, key: .published("primary"), options: options)
    #expect(store.isReadOnly)
    #expect(try store.everything()["notes"]?.count == 3)
    #expect(try store.verify().isSound)
    expect(.readOnly) { try store.write { _ in } }
    expect(.readOnly) { try store.keys.add(.published("next")) }
    expect(.readOnly) { try store.keys.remove(slot: 1) }
    expect(.readOnly) { try store.rekey { _ in } }
    #expect(try Data(contentsOf: url) == before)
  }

  @Test func lockedStoreIsLocked() throws {
    try makeStore()
    let database = try Database(url.path)
    try database.execute("BEGIN EXCLUSIVE")
    var options = OpenOptions.testing
    options.wait = .zero
    try expectRefused(.locked, options: options)
    try database.execute("ROLLBACK")
    try DocumentStore.open(at: url, key: .published("primary"), options: options).close()
  }
}
