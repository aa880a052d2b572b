import Coffer
import CofferRecords
import Testing

@testable import CofferStoreTestSupport

/// Documents whose sealed dates are at the ends of their range, or beyond it.
struct HostileDatesTests {
  /// Returns a store in which the first document has these dates, which only a holder of the key can write.
  private func store(created: Int64, modified: Int64) throws -> TestStore {
    let test = try TestStore()
    try test.store.write { writer in
      let id = try writer.insert(Document(title: "t", text: "text"), into: test.notes)
      try writer.insert(Document(text: "other"), into: test.notes)
      try writer.transaction.writer.rewrite(id, changing: [], [], as: .dates) { content, _ in
        (content.created, content.modified) = (created, modified)
      }
    }
    return test
  }

  @Test func acceptsFirstAndLastDate() throws {
    let (first, last) = (Timestamp.earliest, Timestamp.latest)
    let test = try store(created: first.millisecondsSince1970, modified: last.millisecondsSince1970)
    let header = try test.store.read { try $0.header(of: 1) }
    #expect(header.created == first && header.modified == last)
    let rows = try test.store.read { try $0.query("SELECT created, modified FROM documents WHERE id = 1").rows }
    #expect(rows[0][0].text == first.description && rows[0][1].text == last.description)
    try test.expectSound()
  }

  @Test(arguments: [
    Int64.min, Timestamp.earliest.millisecondsSince1970 - 1, Timestamp.latest.millisecondsSince1970 + 1, .max,
  ])
  func refusesOtherDates(_ date: Int64) throws {
    for (created, modified) in [(date, Int64(0)), (0, date)] {
      let test = try store(created: created, modified: modified)
      #expect(throws: StoreError(.damaged, "")) { try test.store.read { try $0.header(of: 1) } }
      #expect(throws: StoreError(.damaged, "")) { try test.store.read { try $0.headers(in: test.notes) } }
      let text = try test.store.read { try $0.text(of: 2) }
      #expect(text == "other")
      #expect(try test.store.verify().damaged.map(\.id) == [1])
    }
  }
}
