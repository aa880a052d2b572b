import Coffer
import CofferSQLite
import Foundation
import Testing

@testable import CofferStoreTestSupport

/// A row deleted without a key makes the count wrong, but the other documents must remain readable.
@Suite struct CountTests {
  @Test func writesAfterDeletedRowKeepRestReadable() throws {
    let place = try Workplace()
    let url = place.file("count.coffer")
    let key = place.file("count.key")
    _ = try StoreKey.generate(at: key)
    let store = try DocumentStore.open(at: url, key: .keyFile(key), creatingIfMissing: true)
    let notes = DocumentCollection("notes")
    try store.write { tx in
      for number in 1...10 { try tx.insert(Document(text: "text \(number)"), into: notes) }
    }
    let database = try Database(url.path)
    try database.execute("DELETE FROM coffer_record WHERE id = 5")
    try database.execute("UPDATE coffer_record SET body = NULL WHERE id = 5")
    try database.close()
    #expect(try store.verify().error?.code == .setMismatch)

    try store.write { try $0.insert(Document(text: "again"), into: notes, id: 5) }
    for number in [1, 5, 10] {
      let text = try store.read { try $0.text(of: DocumentID(number)) }
      #expect(text == (number == 5 ? "again" : "text \(number)"))
    }
    let verdict = try store.verify()
    #expect(verdict.error?.code == .setMismatch)
    #expect(verdict.damaged.isEmpty)
  }

  /// A walk over a whole collection, and whether it compares the row count at its end.
  static let walks: [(name: String, walk: @Sendable (borrowing ReadTransaction, DocumentCollection) throws -> Void)] = [
    ("headers", { _ = try $0.headers(in: $1) }),
    ("forEachHeader", { try $0.forEachHeader(in: $1) { _ in } }),
    ("forEach", { try $0.forEach(in: $1) { _ in } }),
    ("search", { _ = try $0.search(for: .text("text"), in: $1) }),
    ("count(*)", { reader, _ in _ = try reader.query("SELECT count(*) FROM documents") }),
    ("rows", { reader, _ in _ = try reader.query("SELECT title FROM documents") }),
    (
      "rows of a collection", { reader, _ in _ = try reader.query("SELECT id FROM documents WHERE collection='notes'") }
    ),
    ("rows by id", { reader, _ in _ = try reader.query("SELECT text FROM documents ORDER BY id DESC") }),
  ]

  /// A copy of an old row replaces the current one, and another row disappears, so every remaining row authenticates.
  @Test(arguments: walks.indices, [1, 200]) func wholeWalkDetectsMissingRow(_ index: Int, documents: Int) throws {
    let test = try TestStore()
    try test.store.write { tx in
      for number in 1...(documents + 1) { try tx.insert(Document(text: "text \(number)"), into: test.notes) }
    }
    let (_, walk) = Self.walks[index]
    try test.store.read { try walk($0, test.notes) }
    try test.raw().execute("DELETE FROM coffer_record WHERE id = 1")
    expect(.setMismatch) { try test.store.read { try walk($0, test.notes) } }
    expect(.setMismatch) { try test.store.anchor() }
    // A page and a single document don't list the whole collection.
    #expect(try test.store.read { try $0.headers(in: test.notes, limit: 1) }.count == 1)
    #expect(try test.store.read { try $0.text(of: 2) } == "text 2")
  }
}
