import Coffer
import CofferRecords
import Foundation
import Testing

@testable import CofferStoreTestSupport

/// Documents whose sealed dates no writer of this format writes. Readers take the nearest date.
struct HostileDatesTests {
  private static let created: [Int64] = [.min, .min + 1, .max, Timestamp.earliest.millisecondsSince1970 - 1]

  /// A store whose documents have these dates.
  private func hostile() throws -> TestStore {
    let test = try TestStore()
    try test.store.write { writer in
      for (index, date) in Self.created.enumerated() {
        let id = try writer.insert(
          Document(title: "t\(index)", text: "text", key: DocumentKey("k\(index)")), into: test.notes)
        try writer.transaction.writer.rewrite(id, changing: [], as: .dates) { content, _ in
          (content.created, content.modified) = (date, Self.created[Self.created.count - 1 - index])
        }
      }
    }
    return test
  }

  private static var clamped: [Timestamp] { created.map { Timestamp(clampingMilliseconds: $0) } }

  @Test func readsNearestDates() throws {
    let test = try hostile()
    try test.store.read { reader throws in
      let headers = try reader.headers(in: test.notes)
      #expect(headers.map(\.created) == Self.clamped)
      #expect(headers.map(\.modified) == Self.clamped.reversed())
      let rows = try reader.query("SELECT created FROM documents ORDER BY id").rows
      #expect(rows.map { $0[0].text } == Self.clamped.map(\.description))
      for header in headers { #expect(Date(header.created).timeIntervalSince1970.isFinite) }
    }
    try test.expectSound()
  }

  @Test func copiesAndMerges() throws {
    let test = try hostile()
    let original = test.store
    let copy = try DocumentStore.openEditableCopy(
      of: test.url, at: test.place.file("copy.coffer"), key: .published("primary"), options: .testing)
    try copy.write { try $0.update(1) { $0.text = "edited" } }
    try original.write { writer in
      try writer.update(2) { $0.title = "other" }
      try writer.move(3, to: .top)
    }
    _ = try copy.merge(original)
    _ = try original.merge(copy)
    for store in [copy, original] {
      let dates = try store.read { try $0.headers(in: test.notes).map(\.created) }
      #expect(Set(dates) == Set(Self.clamped))
      #expect(try store.verify().isSound)
      try store.close()
    }
  }

  /// A changed document is written with the nearest dates.
  @Test func updatesDocuments() throws {
    let test = try hostile()
    try test.store.write { writer in
      try writer.update(1, keepingDate: true) { $0.text = "new" }
      _ = try writer.sort(test.notes, by: .created)
    }
    let headers = try test.store.read { try $0.headers(in: test.notes) }
    #expect(headers.map(\.created) == Self.clamped.sorted())
    try test.expectSound()
  }
}
