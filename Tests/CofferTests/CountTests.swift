import Coffer
import CofferSQLite
import Foundation
import Testing

/// A row deleted without a key leaves a count that no longer fits; the other documents must stay readable.
@Suite struct CountTests {
  @Test func writesAfterADeletedRowLeaveTheRestReadable() throws {
    let place = try Workplace()
    let url = place.file("count.coffer")
    let key = place.file("count.key")
    try KeyLine.generate(.key).write(toNewFile: key.path)
    let store = try DocumentStore.open(at: url, key: .keyFile(key), creatingIfMissing: true)
    let notes = store.collection("notes")
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
