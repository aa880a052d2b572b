import Coffer
import Foundation
import Testing

@testable import CofferStoreTestSupport

/// Bulk insertion with conflicting documents.
struct MergeTests {
  private func insert(
    _ test: TestStore, _ items: [ListSource.Item], _ change: (inout BulkOptions) -> Void
  ) throws -> BulkReport {
    try test.store.write {
      try $0.insert(contentsOf: ListSource(items), into: test.notes, options: bulkOptions(change))
    }
  }

  private func texts(_ test: TestStore) throws -> [String] {
    try test.store.everything()["notes"]?.map(\.text) ?? []
  }

  @Test func updatesOrSkipsExistingKey() throws {
    try withTestStore { test in
      _ = try insert(test, [.init(title: "A", text: "a", key: "1"), .init(text: "b", key: "2")]) { _ in }
      let again: [ListSource.Item] = [
        .init(text: "A2", key: "1"), .init(text: "b", key: "2"), .init(text: "c", key: "3"),
      ]
      let skipped = try insert(test, again) { $0.onConflict = .skip }
      #expect(skipped.skipped == 2 && skipped.created == 1 && skipped.firstID == 3)
      let updated = try insert(test, again) { $0.onConflict = .update }
      #expect(updated.updated == 1 && updated.unchanged == 2 && updated.created == 0)
      #expect(try texts(test) == ["A2", "b", "c"])
      // The input omits the title, so the update keeps the old title.
      #expect(try test.store.read { try $0.header(of: 1).title } == "A")
    }
  }

  @Test func updatesOrSkipsExistingID() throws {
    try withTestStore { test in
      _ = try insert(test, [.init(text: "a", id: 7)]) { $0.keepsIDs = true }
      let again: [ListSource.Item] = [.init(text: "new", id: 7), .init(text: "b", id: 9), .init(text: "c")]
      let skipped = try insert(test, again) {
        $0.keepsIDs = true
        $0.onConflict = .skip
      }
      #expect(skipped.skipped == 1 && skipped.firstID == 9 && skipped.lastID == 10)
      let updated = try insert(test, Array(again.prefix(2))) {
        $0.keepsIDs = true
        $0.onConflict = .update
      }
      #expect(updated.updated == 1 && updated.unchanged == 1)
      #expect(try texts(test) == ["new", "b", "c"])
    }
  }

  @Test func leavesDocumentsUnchangedInStoreWithoutTitles() throws {
    try withTestStore({ $0.titles = .none }) { test in
      let items: [ListSource.Item] = [.init(title: "A", text: "a", key: "1"), .init(text: "b", key: "2")]
      _ = try insert(test, items) { $0.titleRule = .derived }
      let updated = try insert(test, items) {
        $0.titleRule = .derived
        $0.onConflict = .update
      }
      #expect(updated.unchanged == 2)
      #expect(try test.store.write { try $0.synchronize(test.notes, with: ListSource(items)) }.unchanged.count == 2)
      let before = try Data(contentsOf: test.url)
      try test.store.write { tx in _ = try tx.update(1) { $0.title = "B" } }
      #expect(try Data(contentsOf: test.url) == before)
    }
  }

  @Test func laterRecordWithSameKeyWins() throws {
    try withTestStore { test in
      let report = try insert(test, [.init(text: "1", key: "k"), .init(text: "2", key: "k")]) {
        $0.onConflict = .update
      }
      #expect(report.created == 1 && report.updated == 1)
      #expect(try texts(test) == ["2"])
    }
  }

  @Test func insertsAtTopInSourceOrder() throws {
    try withTestStore { test in
      _ = try insert(test, [.init(text: "old", key: "o")]) { _ in }
      _ = try insert(test, (1...100).map { .init(text: "\($0)", key: "\($0)") }) {
        $0.onConflict = .skip
        $0.atTop = true
      }
      #expect(try texts(test) == (1...100).map(String.init) + ["old"])
    }
  }

  @Test func acceptsParentAfterChild() throws {
    try withTestStore { test in
      _ = try insert(test, [.init(text: "child", id: 1, parent: 2), .init(text: "parent", id: 2)]) {
        $0.keepsIDs = true
        $0.onConflict = .update
      }
      #expect(try test.store.read { try $0.header(of: 1).parent } == 2)
    }
  }

  @Test func rejectsIDFromAnotherCollection() throws {
    try withTestStore { test in
      try test.store.write { try $0.insert(Document(text: "other"), into: DocumentCollection("other")) }
      let before = try Data(contentsOf: test.url)
      for mode in [BulkOptions.Conflict.update, .skip] {
        expect(.alreadyExists) {
          try insert(test, [.init(text: "fine"), .init(text: "x", id: 1)]) {
            $0.keepsIDs = true
            $0.onConflict = mode
          }
        }
      }
      #expect(try Data(contentsOf: test.url) == before)
    }
  }

  @Test func insertsDocumentsIntoTheirCollections() throws {
    try withTestStore { test in
      let items = ListSource.items(9) {
        $1.key = "k\($0)"
        $1.collection = [nil, "a", "b"][$0 % 3]
      }
      for created in [9, 0] {
        let report = try test.store.write {
          try $0.insert(contentsOf: ListSource(items), into: nil, options: bulkOptions { $0.onConflict = .skip })
        }
        #expect(report.created == created)
      }
      #expect(try test.store.everything().mapValues(\.count) == ["documents": 3, "a": 3, "b": 3])
    }
  }
}
