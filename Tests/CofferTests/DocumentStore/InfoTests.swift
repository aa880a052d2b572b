import Coffer
import CofferEngine
import CofferRecords
import CofferSQLite
import Foundation
import Testing

@testable import CofferStoreTestSupport

/// Reading information about a store without a key.
struct InfoTests {
  private func filled(_ change: (inout CreateOptions) -> Void = { _ in }) throws -> TestStore {
    let test = try TestStore(keys: [.published("primary"), .words("words")], change)
    try test.store.write { writer in
      for title in ["b", "a", nil] { try writer.insert(Document(title: title, text: "x"), into: test.notes, at: .top) }
      try writer.create(DocumentCollection("empty"))
    }
    return test
  }

  @Test func reportsHeaderFieldsSlotsAndCounts() throws {
    let test = try filled { $0.labels = ["one", "two"] }
    let info = try DocumentStore.info(at: test.url)
    #expect(info.storeID == test.store.storeID && info.pin == test.store.pin)
    #expect(info.documents == 3 && info.collections.map(\.count) == [3, 0])
    #expect(info.slots.map(\.label) == ["one", "two"] && info.slots.map(\.opened) == [false, false])
    #expect(info.epochs.map(\.epoch) == [1] && info.epochs.map(\.count) == [3])
    #expect(info.isTest && info.isPadded && info.format == 3 && info.titles == .sealed && info.journal == "rollback")
    #expect(info.sqliteVersion.hasPrefix("3."))
    #expect(info.fileBytes == Int64(info.pageSize * info.pageCount) && info.pageSize == StoreFormat.pageSize)
  }

  @Test func countsDocumentsPerEpoch() throws {
    let test = try TestStore()
    #expect(try DocumentStore.info(at: test.url).epochs.isEmpty)
    try test.fillForRekey()
    let count = try test.store.read { $0.documentCount }
    // The rekey skips two damaged documents, so they remain in epoch 1.
    try test.raw().execute("UPDATE coffer_record SET body = zeroblob(length(body)) WHERE id IN (1, 11)")
    _ = try test.store.rekey(options: .batched) { _ in }
    let epochs = try DocumentStore.info(at: test.url).epochs
    #expect(epochs.map(\.epoch) == [1, 2] && epochs.map(\.count) == [2, count - 2])
    // The newest document can belong to the older epoch.
    try test.raw().execute("UPDATE coffer_record SET epoch = 3 - epoch")
    #expect(try DocumentStore.info(at: test.url).epochs.map(\.count) == [count - 2, 2])
  }

  @Test func infoAndCheckLeaveFileUnchanged() throws {
    let test = try filled()
    let before = try Data(contentsOf: test.url)
    _ = try DocumentStore.info(at: test.url)
    #expect(try DocumentStore.check(at: test.url).isSound)
    #expect(try Data(contentsOf: test.url) == before)
    #expect(try FileManager.default.contentsOfDirectory(atPath: test.place.url.path) == ["test.coffer"])
  }

  @Test(arguments: [
    "UPDATE coffer_record SET body = NULL WHERE id = 2", "INSERT INTO coffer_body VALUES(9, zeroblob(64))",
    "DELETE FROM coffer_collection WHERE coll = 1", "UPDATE coffer_record SET head = zeroblob(3) WHERE id = 1",
    "UPDATE coffer_record SET flags = 4 WHERE id = 1", "UPDATE coffer_record SET parent = 0 WHERE id = 1",
    "UPDATE coffer_slot SET params = zeroblob(3) WHERE slot = 2",
    "UPDATE coffer_state SET sealed = zeroblob(163)", "UPDATE coffer_header SET keyring = zeroblob(44)",
    "UPDATE coffer_collection SET sealed = zeroblob(39)", "UPDATE coffer_collection SET rev = -1",
    "UPDATE coffer_replica SET sealed = zeroblob(3)", "UPDATE coffer_replica SET restored = 2",
    "DELETE FROM coffer_replica", "UPDATE coffer_gone SET sealed = zeroblob(3)", "UPDATE coffer_gone SET rev = 0",
    "UPDATE coffer_attachment SET sealed = zeroblob(3)", "UPDATE coffer_attachment SET rev = -1",
    "UPDATE coffer_attachment SET id = 99", "UPDATE coffer_chunk SET ct = zeroblob(39)",
    "UPDATE coffer_chunk SET chunk = 1", "DELETE FROM coffer_chunk",
    "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET rootpage = 2 WHERE name = 'coffer_record_pos'",
  ])
  func checkFindsDamageWithoutKey(_ edit: String) throws {
    let test = try filled()
    try test.store.write { writer in
      try writer.attach([1, 2, 3], to: 1, name: "attached")
      try writer.delete(try writer.insert(Document(text: ""), into: test.notes))
    }
    try test.store.close()
    #expect(try DocumentStore.check(at: test.url).problems == [])
    let database = try test.raw()
    try database.execute(edit)
    try database.close()
    // A wrong root page can also prevent SQLite from opening the file.
    if let report = try? DocumentStore.check(at: test.url) { #expect(!report.isSound, "\(report)") }
  }

  @Test func listsPlaintextTitlesWithoutKey() throws {
    let test = try filled { $0.titles = .clear }
    let found = try DocumentStore.clearHeaders(at: test.url, collection: CollectionID(1))
    #expect(found.map(\.title) == [nil, "a", "b"] && found.map(\.id) == [3, 2, 1])
    #expect(try DocumentStore.clearHeaders(at: test.url) == found)
    let page = try DocumentStore.clearHeaders(at: test.url, collection: CollectionID(1), offset: 1, limit: 1)
    #expect(page.map(\.title) == ["a"])
    #expect(try DocumentStore.clearHeaders(at: test.url, collection: CollectionID(2)).isEmpty)
    expect(.noSuchCollection) { try DocumentStore.clearHeaders(at: test.url, collection: CollectionID(3)) }
  }

  @Test(arguments: [CreateOptions.Titles.sealed, .none])
  func requiresKeyForSealedTitles(_ mode: CreateOptions.Titles) throws {
    let test = try filled { $0.titles = mode }
    expect(.invalidArgument) { try DocumentStore.clearHeaders(at: test.url, collection: CollectionID(1)) }
  }

  @Test func omitsSecretsFromErrorsAndDescriptions() throws {
    let test = try TestStore()
    let secret = "SECRET-\(UUID().uuidString)"
    var said: [String] = []
    func note(_ work: () throws -> Void) {
      do { try work() } catch { said.append("\(error) \(String(reflecting: error)) \(error.localizedDescription)") }
    }
    let document = Document(title: secret, text: secret, key: DocumentKey(secret))
    let longName = secret + String(repeating: "x", count: 1024)
    let source = ListSource([.init(title: secret, text: secret, key: secret)])
    _ = try test.store.write { try $0.insert(document, into: test.notes) }
    note { _ = try test.store.write { try $0.insert(document, into: test.notes) } }
    note { _ = try test.store.write { try $0.create(DocumentCollection(longName)) } }
    note { _ = try test.store.read { try $0.info(of: DocumentCollection(secret)) } }
    note { _ = try test.reopened(.words(secret)) }
    note { _ = try test.reopened(.keyMaterial { .text("coffer-key-1-\(secret)") }) }
    note { _ = try test.store.write { try $0.insert(contentsOf: source, into: test.notes) } }
    try test.raw().execute("UPDATE coffer_record SET body = zeroblob(length(body))")
    note { _ = try test.store.read { try $0.text(of: 1) } }
    #expect(said.count == 7)
    for text in said + ["\(Secret.text(secret))", String(reflecting: Secret.text(secret)), "\(test.store)"] {
      #expect(!text.contains(secret), "\(text)")
    }
  }
}
