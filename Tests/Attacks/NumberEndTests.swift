import Coffer
import CofferRecords
import Foundation
import Testing

@testable import CofferStoreTestSupport

/// Behavior after the highest ID is used. Insertions fail, and all other changes succeed.
struct NumberEndTests {
  private let last = DocumentID(Int64.max - 1)

  @Test func rejectsInsertionAfterHighestID() throws {
    try withTestStore { test in
      try test.store.write { try $0.insert(Document(text: "last"), into: test.notes, id: last) }
      let store = try test.reopened()
      #expect(try store.read { $0.highestID } == last)
      expect(.noNumberLeft) { try store.write { try $0.insert(Document(text: "x"), into: test.notes) } }
      expect(.noNumberLeft) { try store.write { try $0.put(Document(text: "x"), into: test.notes, key: "k") } }
      expect(.noNumberLeft) { try store.write { try $0.duplicate(last) } }
      expect(.noNumberLeft) {
        try store.write { _ = try $0.insert(contentsOf: ListSource(ListSource.items(2)), into: test.notes) }
      }
      #expect(try store.everything()["notes"]?.map(\.text) == ["last"])
      try store.close()
    }
  }

  @Test func allowsOtherChangesAfterHighestID() throws {
    try withTestStore { test in
      try test.store.write { writer in
        try writer.insert(Document(text: "last"), into: test.notes, id: last)
        expect(.noNumberLeft) { try writer.insert(Document(text: "x"), into: test.notes) }
        try writer.insert(Document(text: "free"), into: test.notes, id: 5)
        try writer.update(last) { $0.text = "changed" }
        try writer.move(last, to: .bottom)
      }
      #expect(try test.store.everything()["notes"]?.map(\.text) == ["free", "changed"])
      try test.store.write { writer in
        try writer.truncate(test.notes, restartingIDs: true)
        #expect(try writer.insert(Document(text: "first"), into: test.notes) == 1)
      }
    }
  }

  @Test func bulkInsertionReportsFailingRecord() throws {
    try withTestStore { test in
      try test.store.write { try $0.reserveIDs(through: DocumentID(Int64.max - 3)) }
      do {
        try test.store.write { _ = try $0.insert(contentsOf: ListSource(ListSource.items(5)), into: test.notes) }
        Issue.record("gave more numbers than there are")
      } catch let error as StoreError {
        #expect(error.code == .noNumberLeft)
        #expect(error.message.hasPrefix("record 3: "))
      }
      #expect(try test.store.everything().isEmpty)
      #expect(try test.store.write { try $0.insert(Document(text: ""), into: test.notes) }.rawValue == Int64.max - 2)
    }
  }

  /// The record is valid, so the synchronization ends instead of skipping it.
  @Test func synchronizationStopsAfterHighestID() throws {
    try withTestStore { test in
      try test.store.write { try $0.insert(Document(text: "last"), into: test.notes, id: last) }
      var options = SyncOptions()
      options.skipsInvalid = true
      let items = [SyncItem(Document(text: "x", key: "k"))]
      expect(.noNumberLeft) { try test.store.write { try $0.synchronize(test.notes, with: items, options: options) } }
      #expect(try test.store.everything()["notes"]?.map(\.text) == ["last"])
    }
  }
}
