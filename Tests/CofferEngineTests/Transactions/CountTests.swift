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
}
