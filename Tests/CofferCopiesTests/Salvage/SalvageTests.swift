import Coffer
import CofferRecords
import CofferSQLite
import CofferTestSupport
import Foundation
import Testing

@testable import CofferStoreTestSupport

/// Copies the readable documents of a damaged store into a new store and lists the others.
struct SalvageTests {
  private let place: Workplace
  private let target: URL

  init() throws {
    place = try Workplace()
    target = place.file("saved.coffer")
  }

  /// Returns a closed store with many pages and all documents up to `count` except 5.
  ///
  /// The documents are in two collections and include keys, parents and long texts.
  private func closedStore(_ count: Int = 300, _ change: (inout CreateOptions) -> Void = { _ in }) throws
    -> (test: TestStore, documents: [DocumentID: SeenDocument])
  {
    let test = try TestStore(change)
    try test.fillForRekey(count)
    let documents = try all(test.store)
    try test.store.close()
    return (test, documents)
  }

  private func all(_ store: DocumentStore) throws -> [DocumentID: SeenDocument] {
    let documents = try store.everything().values.flatMap { $0 }
    return Dictionary(uniqueKeysWithValues: documents.map { ($0.header.id, $0) })
  }

  private func edit(_ test: TestStore, _ sql: String...) throws {
    let database = try test.raw()
    for sql in sql { try database.execute(sql) }
    try database.close()
  }

  /// Salvages a store, and checks that the source is unchanged and the result is sound.
  private func salvage(
    _ test: TestStore, key: StoreKey = .published("primary"), location: SourceLocation = #_sourceLocation
  ) throws -> (report: CopyReport, documents: [DocumentID: SeenDocument]) {
    let before = try test.bytesOnDisk()
    try? FileManager.default.removeItem(at: target)
    let report = try DocumentStore.salvage(
      at: test.url, key: key, to: target, keys: [.published("next")], options: .testing)
    #expect(try test.bytesOnDisk() == before, "the source has changed", sourceLocation: location)
    let saved = try DocumentStore.open(at: target, key: .published("next"), options: .testing)
    #expect(try saved.verify().isSound, sourceLocation: location)
    #expect(saved.pin == report.pin && saved.storeID == report.storeID, sourceLocation: location)
    let documents = try all(saved)
    #expect(documents.count == report.documents, sourceLocation: location)
    // A new document gets an unused ID.
    let known = report.leftOut.map(\.id.rawValue) + documents.keys.map(\.rawValue)
    let next = try saved.write { try $0.insert(Document(text: "new"), into: DocumentCollection("new")) }
    if report.setMatches != nil { #expect(next.rawValue > known.max() ?? 0, sourceLocation: location) }
    try saved.close()
    return (report, documents)
  }

  private func expectRefused(
    _ test: TestStore, _ code: StoreError.Code, key: StoreKey = .published("primary"),
    options: OpenOptions = .testing, location: SourceLocation = #_sourceLocation
  ) throws {
    let before = try test.bytesOnDisk()
    expect(code, location: location) {
      try DocumentStore.salvage(at: test.url, key: key, to: target, keys: [.published("next")], options: options)
    }
    #expect(try test.bytesOnDisk() == before, sourceLocation: location)
    #expect(place.names == [], sourceLocation: location)
  }

  // MARK: Sound stores

  @Test(arguments: CreateOptions.Titles.allCases)
  func salvagesSoundStoreCompletely(_ mode: CreateOptions.Titles) throws {
    let (test, documents) = try closedStore(40) { $0.titles = mode }
    let (report, saved) = try salvage(test)
    #expect(report.isComplete && report.expected == 39 && report.problems == [] && saved == documents)
    let info = try DocumentStore.info(at: target)
    #expect(info.titles == mode)
  }

  @Test func keepsKeyUnlessOthersAreGiven() throws {
    let (test, documents) = try closedStore(5)
    let report = try DocumentStore.salvage(at: test.url, key: .published("primary"), to: target, options: .testing)
    #expect(report.isComplete)
    let saved = try DocumentStore.open(at: target, key: .published("primary"), options: .testing)
    #expect(try all(saved) == documents)
    try saved.close()
  }

  @Test func salvagesUnfinishedRekey() throws {
    let test = try TestStore()
    try test.fillForRekey()
    let documents = try all(test.store)
    expect(.cancelled) {
      try test.store.rekey(options: .batched) { if $0.done > 0 { throw Interruption() } }
    }
    #expect(try !test.store.rekeyStatus().isFinished)
    try test.store.close()
    let (report, saved) = try salvage(test)
    #expect(report.isComplete && saved == documents)
    #expect(report.problems.contains { $0.contains("rekey") })
  }

  @Test func readsOpenWriteAheadLog() throws {
    let test = try TestStore { $0.journal = .writeAheadLog }
    try test.fillForRekey()
    let documents = try all(test.store)
    // The store remains open, so its log hasn't been copied into the file.
    let report = try DocumentStore.salvage(
      at: test.url, key: .published("primary"), to: target, keys: [.published("next")], options: .testing)
    #expect(report.isComplete && report.documents == documents.count)
    try test.expectSound()
  }

  // MARK: Refusals

  @Test func reportsWrongKey() throws {
    try expectRefused(try closedStore(5).test, .cannotUnlock, key: .published("wrong"))
  }

  @Test func rejectsTestStoreUnlessAllowed() throws {
    try expectRefused(try closedStore(5).test, .testKeyRefused, options: OpenOptions())
  }

  @Test func rejectsOtherPin() throws {
    var options = OpenOptions.testing
    options.pin = StorePin("coffer-pin-3-" + String(repeating: "1", count: 128))
    try expectRefused(try closedStore(5).test, .pinMismatch, options: options)
  }

  @Test func rejectsUnsupportedFormat() throws {
    let test = try closedStore(5).test
    try edit(test, "UPDATE coffer_header SET incompat = incompat | 64")
    try expectRefused(test, .otherFormat)
  }

  @Test func reportsLockedStore() throws {
    let test = try closedStore(5).test
    let database = try test.raw()
    try database.execute("BEGIN EXCLUSIVE")
    var options = OpenOptions.testing
    options.wait = .zero
    expect(.locked) {
      try DocumentStore.salvage(
        at: test.url, key: .published("primary"), to: target, keys: [.published("next")], options: options)
    }
    try database.execute("ROLLBACK")
  }

  @Test(arguments: [
    "DELETE FROM coffer_header", "UPDATE coffer_header SET keyring = zeroblob(length(keyring))",
    "UPDATE coffer_header SET rk_generation = rk_generation + 1", "UPDATE coffer_header SET mac = x'00'",
    "UPDATE coffer_slot SET params = x'00'", "DELETE FROM coffer_slot",
  ])
  func readsSpareCopyOfLostHeader(_ sql: String) throws {
    let (test, documents) = try closedStore(5)
    try edit(test, sql)
    let (report, saved) = try salvage(test)
    #expect(saved == documents && report.isComplete)
    #expect(report.problems.contains { $0.contains("spare copy") })
    try FileManager.default.removeItem(at: target)
    // Without the spare copy, the keys are lost, which isn't a wrong key.
    try edit(test, "UPDATE coffer_spare SET copy = zeroblob(length(copy))")
    do {
      _ = try DocumentStore.salvage(
        at: test.url, key: .published("primary"), to: target, keys: [.published("next")], options: .testing)
      Issue.record("nothing was thrown")
    } catch let error as StoreError {
      // A slot opens only with the root key's number in the header.
      let isDamage = error.code == .damaged && error.message.contains("nothing can be salvaged")
      #expect(isDamage || error.code == .cannotUnlock && sql.contains("rk_generation"), "\(error)")
    }
    #expect(!FileManager.default.fileExists(atPath: target.path))
  }

  @Test func rejectsOtherFiles() throws {
    let test = try closedStore(5).test
    try Data(repeating: 7, count: 20_000).write(to: test.url)
    try expectRefused(test, .notAStore)
  }

  // MARK: Damaged parts

  @Test func listsDamagedDocumentsAndSalvagesOthers() throws {
    let (test, documents) = try closedStore(40)
    try edit(
      test, "UPDATE coffer_record SET body = zeroblob(length(body)) WHERE id = 7",
      "UPDATE coffer_record SET body = NULL WHERE id = 8",
      "UPDATE coffer_record SET head = zeroblob(length(head)) WHERE id = 9",
      "UPDATE coffer_record SET pos = CAST(pos || x'01' AS BLOB) WHERE id = 10",
      "UPDATE coffer_record SET epoch = 9 WHERE id = 11",
      "DELETE FROM coffer_record WHERE id = 12")
    let (report, saved) = try salvage(test)
    #expect(report.leftOut.map(\.id) == [7, 8, 9, 10, 11])
    #expect(report.setMatches == false && !report.isComplete && report.expected == 39)
    #expect(saved == documents.filter { !(7...12).contains($0.key.rawValue) })
  }

  @Test(arguments: [
    "DELETE FROM coffer_state", "UPDATE coffer_state SET sealed = zeroblob(length(sealed))",
    "UPDATE coffer_state SET sealed = x'00'",
  ])
  func salvagesStoreWithoutState(_ sql: String) throws {
    let (test, documents) = try closedStore(40)
    try edit(test, sql)
    expect(.damaged) { try test.reopened() }
    let (report, saved) = try salvage(test)
    #expect(saved == documents && report.leftOut == [] && report.setMatches == nil && !report.isComplete)
    #expect(report.expected == nil)
  }

  @Test func salvagesStoreWithOldState() throws {
    let (test, _) = try closedStore(40)
    let database = try test.raw()
    let old = try database.query("SELECT sealed FROM coffer_state").rows[0][0]
    try database.close()
    let store = try test.reopened()
    try store.write { try $0.insert(Document(text: "later"), into: test.notes) }
    let documents = try all(store)
    try store.close()
    let edited = try test.raw()
    try edited.execute("UPDATE coffer_state SET sealed = ?", parameters: [old])
    try edited.close()
    let (report, saved) = try salvage(test)
    #expect(saved == documents && report.setMatches == false)
  }

  @Test func salvagesStoreWithOldHeader() throws {
    let (test, documents) = try closedStore(40)
    let old = try Data(contentsOf: test.url)
    try old.write(to: place.file("old"))
    let store = try test.reopened()
    try store.keys.add(.published("next"))
    try store.close()
    try edit(
      test, "ATTACH '\(place.file("old").path)' AS o", "DELETE FROM coffer_header", "DELETE FROM coffer_slot",
      "INSERT INTO coffer_header SELECT * FROM o.coffer_header", "INSERT INTO coffer_slot SELECT * FROM o.coffer_slot")
    expect(.rolledBack) { try test.reopened() }
    try FileManager.default.removeItem(at: place.file("old"))
    let (report, saved) = try salvage(test)
    #expect(saved == documents && report.isComplete)
    #expect(report.problems.contains { $0.contains("older one was put back") })
  }

  @Test func toleratesDamageInOtherSlots() throws {
    let test = try TestStore(keys: [.published("primary"), .published("next"), .words("words")])
    try test.fillForRekey()
    let documents = try all(test.store)
    try test.store.close()
    try edit(
      test, "UPDATE coffer_slot SET params = x'00' WHERE slot = 2",
      "UPDATE coffer_slot SET params = CAST(x'FF' || substr(params, 2) AS BLOB) WHERE slot = 3")
    expect(.damaged) { try test.reopened() }
    let (report, saved) = try salvage(test)
    // The spare copy still has the undamaged slots.
    #expect(saved == documents && report.problems.count == 1)
    try FileManager.default.removeItem(at: target)
    try edit(test, "UPDATE coffer_spare SET copy = x'00'")
    let (bare, kept) = try salvage(test)
    #expect(kept == documents && bare.problems.count == 2)
    // Without the spare copy, the key of a damaged slot can't open the store.
    try expectSalvageRefused(test, .published("next"))
  }

  private func expectSalvageRefused(_ test: TestStore, _ key: StoreKey) throws {
    expect(.cannotUnlock) {
      try DocumentStore.salvage(
        at: test.url, key: key, to: place.file("no.coffer"), keys: [.published("next")], options: .testing)
    }
  }

  @Test func unverifiedHeaderKeepsTitlesEncrypted() throws {
    let (test, documents) = try closedStore(40)
    try edit(test, "UPDATE coffer_header SET titles = 1")
    let (report, saved) = try salvage(test)
    #expect(saved == documents && !report.problems.isEmpty)
    #expect(try DocumentStore.info(at: target).titles == .sealed)
  }

  @Test func replacesLostCollectionName() throws {
    let (test, documents) = try closedStore(40)
    try edit(test, "UPDATE coffer_collection SET sealed = zeroblob(length(sealed)) WHERE coll = 2")
    let (report, saved) = try salvage(test)
    #expect(report.namedByNumber == [CollectionID(2)] && !report.isComplete && saved == documents)
    let store = try DocumentStore.open(at: target, key: .published("next"), options: .testing)
    #expect(try store.read { try $0.count(in: DocumentCollection("collection 2")) } > 0)
  }

  @Test func distinguishesComposedAndDecomposedNames() throws {
    let test = try TestStore()
    try test.store.write { writer in
      for name in ["a\u{30A}", "\u{E5}"] { try writer.insert(Document(text: name), into: DocumentCollection(name)) }
    }
    try test.store.close()
    let report = try DocumentStore.salvage(
      at: test.url, key: .published("primary"), to: target, keys: [.published("next")], options: .testing)
    #expect(report.isComplete && report.namedByNumber == [] && report.documents == 2)
  }

  @Test func choosesUnusedNameForLostName() throws {
    let test = try TestStore()
    try test.store.write { writer in
      for name in ["collection 2", "b"] {
        try writer.insert(Document(text: name), into: DocumentCollection(name))
      }
    }
    try test.store.close()
    try edit(test, "DELETE FROM coffer_collection WHERE coll = 2")
    _ = try salvage(test)
    let store = try DocumentStore.open(at: target, key: .published("next"), options: .testing)
    #expect(try store.read { try $0.collections().map(\.name) } == ["collection 2", "collection 2*", "new"])
  }

  @Test(arguments: ["coffer_record_pos", "coffer_record_lookup", "coffer_record_parent"])
  func toleratesMissingIndex(_ name: String) throws {
    let (test, documents) = try closedStore(40)
    try edit(test, "DROP INDEX \(name)")
    expect(.damaged) { try test.reopened() }
    let (report, saved) = try salvage(test)
    #expect(report.isComplete && saved == documents)
  }

  @Test func ignoresForeignTriggers() throws {
    let (test, documents) = try closedStore(40)
    try edit(
      test, "CREATE TRIGGER t AFTER INSERT ON coffer_record BEGIN DELETE FROM coffer_body; END",
      "CREATE VIEW v AS SELECT * FROM coffer_record")
    expect(.damaged) { try test.reopened() }
    let (report, saved) = try salvage(test)
    #expect(report.isComplete && saved == documents)
  }

  @Test func keepsDuplicateKeyOnce() throws {
    let test = try TestStore()
    try test.store.write { try $0.insert(Document(text: "a", key: DocumentKey("k")), into: test.notes) }
    try test.store.close()
    try Data(contentsOf: test.url).write(to: place.file("old"))
    let store = try test.reopened()
    try store.write { writer in
      try writer.update(1) { $0.key = nil }
      try writer.insert(Document(text: "b", key: DocumentKey("k")), into: test.notes)
    }
    try store.close()
    try edit(
      test, "DROP INDEX coffer_record_lookup", "ATTACH '\(place.file("old").path)' AS o",
      "DELETE FROM coffer_record WHERE id = 1", "DELETE FROM coffer_body WHERE id = 1",
      "INSERT INTO coffer_record SELECT * FROM o.coffer_record", "INSERT INTO coffer_body SELECT * FROM o.coffer_body")
    let (report, saved) = try salvage(test)
    #expect(report.setMatches == false && saved.count == 1 && report.leftOut.map(\.id) == [2])
  }

  // MARK: Without the first page

  enum FirstPage: CaseIterable {
    case zeroed, noise, otherDatabase, otherPageSize, headerOnly
  }

  @Test(arguments: FirstPage.allCases, [512, 8192])
  func salvagesStoreWithoutFirstPage(_ first: FirstPage, _ pageSize: Int) throws {
    let (test, documents) = try closedStore(40)
    let store = try test.reopened()
    try store.write { try $0.insert(Document(text: String(repeating: "x", count: 100_000)), into: test.notes) }
    let all = try all(store)
    try store.close()
    #expect(all.count == documents.count + 1)
    if pageSize != 8192 { try edit(test, "PRAGMA page_size = \(pageSize)", "VACUUM") }
    var bytes = try Data(contentsOf: test.url)
    let count = first == .headerOnly ? 100 : pageSize
    bytes.replaceSubrange(..<count, with: try self.first(count, first, of: bytes))
    try bytes.write(to: test.url)
    #expect(throws: StoreError.self) { try test.reopened() }
    let (report, saved) = try salvage(test)
    #expect(saved == all && report.isComplete && report.expected == all.count && report.namedByNumber == [])
    #expect(report.problems.contains { $0.contains("first pages can't be read") })
    try FileManager.default.removeItem(at: target)
    try expectRefused(test, .cannotUnlock, key: .published("wrong"))
    var options = OpenOptions.testing
    options.pin = StorePin("coffer-pin-3-" + String(repeating: "1", count: 128))
    try expectRefused(test, .pinMismatch, options: options)
    try expectRefused(test, .testKeyRefused, options: OpenOptions())
  }

  /// Returns a replacement for the first bytes of a store.
  private func first(_ count: Int, _ first: FirstPage, of bytes: Data) throws -> Data {
    switch first {
    case .zeroed, .headerOnly: return Data(count: count)
    case .noise:
      var generator = Pseudorandom(seed: 3)
      return Data((0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) })
    case .otherDatabase, .otherPageSize:
      let file = place.file("other.db")
      let database = try Database(file.path, mode: .createNew)
      if first == .otherPageSize {
        let size = Int(bytes[16]) << 8 | Int(bytes[17])
        _ = try database.query("PRAGMA page_size = \(size == 4096 ? 1024 : 4096)")
        for pragma in ["application_id = 0x434F4652", "user_version = \(StoreFormat.version)"] {
          try database.execute("PRAGMA \(pragma)")
        }
        for (_, sql) in Schema.objects { try database.execute(sql) }
      } else {
        try database.execute("CREATE TABLE coffer_record(a)")
      }
      try database.close()
      let other = try Data(contentsOf: file)
      try FileManager.default.removeItem(at: file)
      return other.prefix(count) + Data(count: max(0, count - other.count))
    }
  }

  @Test func countsLostDocumentsWithoutFirstPage() throws {
    let (test, documents) = try closedStore()
    try edit(test, "PRAGMA page_size = 512", "VACUUM")
    let leaf = try pages(of: ["coffer_record"], test, "AND pagetype = 'leaf' LIMIT 1")
    var bytes = try Data(contentsOf: test.url)
    for page in leaf.union([1]) { bytes.replaceSubrange((page - 1) * 512..<page * 512, with: Data(count: 512)) }
    try bytes.write(to: test.url)
    let (report, saved) = try salvage(test)
    #expect(report.setMatches == false && !report.isComplete && report.expected == documents.count)
    #expect(saved.count < documents.count && saved.count > documents.count - 16)
    #expect(saved.allSatisfy { documents[$0.key] == $0.value })
  }

  /// Older rows remain in tables that writers ignore.
  @Test func usesLatestRowsWithoutFirstPage() throws {
    let (test, _) = try closedStore(5)
    try edit(
      test, "CREATE TABLE _litestream_a(id INTEGER PRIMARY KEY,a,b)",
      "CREATE TABLE _litestream_b(id INTEGER PRIMARY KEY,a)",
      "INSERT INTO _litestream_a SELECT * FROM coffer_collection",
      "INSERT INTO _litestream_b SELECT * FROM coffer_state")
    let store = try test.reopened()
    try store.write { try $0.rename(test.notes, to: "new name") }
    let documents = try all(store)
    try store.close()
    var bytes = try Data(contentsOf: test.url)
    bytes.replaceSubrange(..<8192, with: Data(count: 8192))
    try bytes.write(to: test.url)
    let (report, saved) = try salvage(test)
    #expect(saved == documents && report.isComplete)
    let opened = try DocumentStore.open(at: target, key: .published("next"), options: .testing)
    #expect(try opened.read { try $0.collections().map(\.name) }.contains("new name"))
  }

  @Test func ignoresForgedRevisionsWithoutFirstPage() throws {
    let (test, documents) = try closedStore(5)
    for number in 1...3 {
      try edit(
        test, "CREATE TABLE _litestream_\(number)(id INTEGER PRIMARY KEY,a,b)",
        "INSERT INTO _litestream_\(number) SELECT coll,rev+\(number)000,randomblob(80) FROM coffer_collection")
    }
    var bytes = try Data(contentsOf: test.url)
    bytes.replaceSubrange(..<8192, with: Data(count: 8192))
    try bytes.write(to: test.url)
    let (report, saved) = try salvage(test)
    #expect(saved == documents && report.isComplete && report.namedByNumber == [])
  }

  @Test func reportsLogWithoutFirstPage() throws {
    let test = try TestStore { $0.journal = .writeAheadLog }
    try test.fillForRekey(20)
    let documents = try all(test.store)
    try test.store.close()
    var bytes = try Data(contentsOf: test.url)
    bytes.replaceSubrange(..<8192, with: Data(count: 8192))
    try bytes.write(to: test.url)
    try Data(count: 32).write(to: URL(filePath: test.url.path + "-wal"))
    let (report, saved) = try salvage(test)
    #expect(saved == documents && report.setMatches == nil && !report.isComplete)
    #expect(report.problems.contains { $0.contains("log or journal") })
  }

  @Test func rejectsFileWithoutFirstPageAndSpare() throws {
    let (test, _) = try closedStore(5)
    try edit(test, "UPDATE coffer_spare SET copy = zeroblob(length(copy))")
    var bytes = try Data(contentsOf: test.url)
    bytes.replaceSubrange(..<8192, with: Data(count: 8192))
    try bytes.write(to: test.url)
    try expectRefused(test, .notAStore)
  }

  // MARK: Damaged pages

  /// Overwrites each page in turn with random bytes, in a sample each fourth. The header has a spare copy, so salvage doesn't require any page.
  @Test(.slow, arguments: [512, 4096])
  func limitsLossToDamagedPage(_ pageSize: Int) throws {
    let (test, documents) = try closedStore(pageSize == 512 ? 24 : 60)
    try edit(test, "PRAGMA page_size = \(pageSize)", "VACUUM")
    let whole = try Data(contentsOf: test.url)
    var generator = Pseudorandom(seed: 7)
    var (complete, lost) = (0, 0)
    for page in CaseSample.one(in: 4, of: Array(0..<whole.count / pageSize)) {
      var bytes = whole
      for offset in 0..<pageSize { bytes[page * pageSize + offset] = UInt8.random(in: 0...255, using: &generator) }
      try bytes.write(to: test.url)
      let (report, saved) = try salvage(test)
      for (id, document) in saved { #expect(document == documents[id], "page \(page + 1)") }
      let gone = Set(documents.keys).subtracting(saved.keys)
      #expect(gone.isSubset(of: report.leftOut.map(\.id)), "page \(page + 1): \(gone) not listed")
      #expect(report.isComplete == gone.isEmpty || !report.namedByNumber.isEmpty || report.setMatches != true)
      if report.isComplete { complete += 1 }
      // Pages below a lost interior page are still found.
      #expect(gone.count <= 16, "page \(page + 1): \(gone.count) lost")
      lost += gone.count
    }
    #expect(complete > 0 && lost > 0)
  }

  @Test(arguments: [["coffer_record"]])
  func salvagesWithoutInteriorPages(_ tables: [String]) throws {
    let (test, documents) = try closedStore()
    try edit(test, "PRAGMA page_size = 512", "VACUUM")
    var bytes = try Data(contentsOf: test.url)
    let lost = try pages(of: tables, test, "AND pagetype = 'internal'")
    #expect(lost.count > tables.count)
    for page in lost { bytes.replaceSubrange((page - 1) * 512..<page * 512, with: Data(repeating: 0xA5, count: 512)) }
    try bytes.write(to: test.url)
    let (report, saved) = try salvage(test)
    #expect(saved == documents && report.setMatches == true && report.isComplete && report.leftOut == [])
    #expect(report.problems.contains { $0.contains("\(documents.count) documents were found on pages") })
  }

  /// Salvage searches a few thousand pages at a time, and the caller can stop it in between.
  @Test func reportsProgressAndSupportsCancellation() throws {
    let (test, documents) = try closedStore()
    let store = try test.reopened()
    let text = String(repeating: "x", count: 6 << 20)
    try store.write { try $0.insert(Document(text: text), into: test.notes) }
    try store.close()
    try edit(test, "PRAGMA page_size = 512", "VACUUM")
    var bytes = try Data(contentsOf: test.url)
    #expect(bytes.count / 512 > 3 * 4096)
    for root in [try roots(of: "coffer_record", test), try roots(of: "coffer_body", test)] {
      let start = (try #require(root) - 1) * 512
      bytes.replaceSubrange(start..<start + 512, with: Data(repeating: 0xA5, count: 512))
    }
    try bytes.write(to: test.url)
    func salvage(_ progress: @escaping (Int) throws -> Void) throws -> CopyReport {
      try DocumentStore.salvage(
        at: test.url, key: .published("primary"), to: target, keys: [.published("next")], options: .testing,
        progress: { try progress($0.done) })
    }
    // Before the first document is found, progress is reported once for the keys and then for the pages.
    var told: [Int] = []
    #expect(try salvage { told.append($0) }.documents == documents.count + 1)
    #expect(told.prefix { $0 == 0 }.count > 4)
    try FileManager.default.removeItem(at: target)
    var calls = 0
    #expect(throws: Interruption()) {
      try salvage { _ in
        calls += 1
        if calls == 3 { throw Interruption() }
      }
    }
    #expect(calls == 3 && place.names == [])
  }

  /// A tree that appears sound after losing its pages, as if a write never reached the disk.
  @Test(arguments: ["coffer_record", "coffer_body"])
  func ignoresMisleadingEmptyTree(_ table: String) throws {
    let (test, documents) = try closedStore()
    try edit(test, "PRAGMA page_size = 512", "VACUUM")
    var bytes = try Data(contentsOf: test.url)
    let root = try #require(try roots(of: table, test))
    // Write a leaf without cells.
    let leaf: [UInt8] = [13, 0, 0, 0, 0, 2, 0, 0] + [UInt8](repeating: 0, count: 504)
    bytes.replaceSubrange((root - 1) * 512..<root * 512, with: leaf)
    try bytes.write(to: test.url)
    let (report, saved) = try salvage(test)
    #expect(saved == documents && report.isComplete && report.leftOut == [])
  }

  /// Document 1 is deleted, and the header's row has its number and as many columns.
  @Test func ignoresRowsOfOtherTables() throws {
    let (test, documents) = try closedStore()
    let store = try test.reopened()
    try store.write { try $0.delete(1) }
    try store.close()
    try edit(test, "PRAGMA page_size = 512", "VACUUM")
    var bytes = try Data(contentsOf: test.url)
    let root = try #require(try roots(of: "coffer_record", test))
    bytes.replaceSubrange((root - 1) * 512..<root * 512, with: Data(repeating: 0xFF, count: 512))
    try bytes.write(to: test.url)
    let (report, saved) = try salvage(test)
    #expect(saved == documents.filter { $0.key != 1 } && report.isComplete && report.leftOut == [])
  }

  private func roots(of table: String, _ test: TestStore) throws -> Int? {
    let database = try test.raw()
    let rows = try database.query("SELECT rootpage FROM sqlite_schema WHERE name = ?", table).rows
    try database.close()
    if case .integer(let root)? = rows.first?[0] { return Int(root) }
    return nil
  }

  private func pages(of names: [String], _ test: TestStore, _ condition: String = "") throws -> Set<Int> {
    let database = try test.raw()
    let list = names.map { "'\($0)'" }.joined(separator: ",")
    let rows = try database.query("SELECT pageno FROM dbstat WHERE name IN (\(list)) \(condition)").rows
    try database.close()
    return Set(rows.compactMap { if case .integer(let page) = $0[0] { Int(page) } else { nil } })
  }

  @Test func salvagesTruncatedFile() throws {
    let (test, documents) = try closedStore()
    let whole = try Data(contentsOf: test.url)
    var found: [Int] = []
    for part in [99, 90, 75, 50, 30] {
      try whole.prefix(whole.count * part / 100).write(to: test.url)
      guard let result = try? salvage(test) else {
        found.append(0)
        continue
      }
      for (id, document) in result.documents { #expect(document == documents[id]) }
      #expect(!result.report.isComplete)
      found.append(result.documents.count)
    }
    #expect(found[0] > 200 && found[2] > 100 && found == found.sorted(by: >))
  }

  /// Child pointers of the row tree form a cycle.
  @Test func salvagesStoreWithPageCycles() throws {
    let (test, documents) = try closedStore()
    try edit(test, "PRAGMA page_size = 512", "VACUUM")
    let database = try test.raw()
    guard
      case .integer(let root) = try database.query(
        "SELECT rootpage FROM sqlite_schema WHERE name = 'coffer_record'"
      ).rows[0][0]
    else { return #expect(Bool(false)) }
    try database.close()
    let whole = try Data(contentsOf: test.url)
    let start = (Int(root) - 1) * 512
    #expect(whole[start] == 5)
    let cells = Int(whole[start + 3]) << 8 | Int(whole[start + 4])
    #expect(cells > 1)
    var bytes = whole
    // Point every cell of the root to its first child.
    func offset(_ index: Int) -> Int {
      start + (Int(whole[start + 12 + 2 * index]) << 8 | Int(whole[start + 13 + 2 * index]))
    }
    let first = whole[offset(0)..<offset(0) + 4]
    for place in (1..<cells).map(offset) + [start + 8] { bytes.replaceSubrange(place..<place + 4, with: first) }
    try bytes.write(to: test.url)
    let result = try salvage(test)
    // Most pages are unreachable from the root but still found.
    #expect(result.documents == documents && result.report.isComplete)
  }

  /// Two copies made collections that a merge brings under one name.
  @Test func keepsCollectionsOfOneName() throws {
    let test = try TestStore()
    let other = test.place.file("other.coffer")
    try test.store.write { try $0.insert(Document(text: "task"), into: "tasks") }
    let fork = try DocumentStore.openEditableCopy(
      of: test.url, at: other, key: .published("primary"), options: .testing)
    try test.store.write { try $0.rename("tasks", to: "todo") }
    try fork.write { try $0.insert(Document(text: "to do"), into: "todo") }
    _ = try test.store.merge(fork)
    let names = try test.store.read { try $0.collections().map(\.name) }
    #expect(names.count == 2 && names.contains { $0.hasPrefix("todo~") })
    let documents = try all(test.store)
    try test.store.close()
    let report = try DocumentStore.salvage(
      at: test.url, key: .published("primary"), to: target, keys: [.published("next")], options: .testing)
    #expect(report.isComplete && report.setMatches == true && report.namedByNumber.isEmpty)
    let copy = try DocumentStore.open(at: target, key: .published("next"), options: .testing)
    #expect(try copy.read { try $0.collections().map(\.name) } == names)
    #expect(try all(copy) == documents && copy.verify().isSound)
  }
}
