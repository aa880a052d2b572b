import Coffer
import CofferDocuments
import CofferRecords
import Foundation
import Testing

@testable import CofferStoreTestSupport

/// Failing bulk insertions, which must not store any document. Sources use small batches to keep several in progress.
struct BulkErrorTests {
  @Test(arguments: [0, 1, 37, 99])
  func throwingSourceLeavesStoreUnchanged(_ record: Int) throws {
    try withTestStore { test in
      let before = try Data(contentsOf: test.url)
      #expect(throws: Interruption(number: record)) {
        try test.store.write {
          _ = try $0.insert(contentsOf: ListSource(ListSource.items(100), failsAt: record), into: test.notes)
        }
      }
      try test.expectNothing(before: before)
    }
  }

  @Test func throwingProgressLeavesStoreUnchanged() throws {
    try withTestStore { test in
      let before = try Data(contentsOf: test.url)
      let options = bulkOptions { $0.progress = { if $0.done > 8 { throw Interruption(number: $0.done) } } }
      #expect(throws: Interruption(number: 12)) {
        try test.store.write {
          _ = try $0.insert(contentsOf: ListSource(ListSource.items(400)), into: test.notes, options: options)
        }
      }
      try test.expectNothing(before: before)
    }
  }

  @Test func refusesCommitAfterCaughtError() throws {
    try withTestStore { test in
      let before = try Data(contentsOf: test.url)
      #expect(throws: (any Error).self) {
        try test.store.write { writer in
          _ = try? writer.insert(contentsOf: ListSource(ListSource.items(100), failsAt: 50), into: test.notes)
        }
      }
      try test.expectNothing(before: before)
    }
  }

  @Test func refusesCommitDespiteLaterSavepoint() throws {
    try withTestStore { test in
      let before = try Data(contentsOf: test.url)
      #expect(throws: (any Error).self) {
        try test.store.write { writer in
          _ = try? writer.insert(contentsOf: ListSource(ListSource.items(100), failsAt: 50), into: test.notes)
          _ = try? writer.savepoint { _ in throw Interruption() }
        }
      }
      try test.expectNothing(before: before)
    }
  }

  @Test func savepointUndoesFailedInsertion() throws {
    try withTestStore { test in
      try test.store.write { writer in
        try writer.insert(Document(title: "before", text: ""), into: test.notes)
        #expect(throws: Interruption(number: 50)) {
          try writer.savepoint {
            _ = try $0.insert(contentsOf: ListSource(ListSource.items(100), failsAt: 50), into: nil)
          }
        }
        try writer.insert(Document(title: "after", text: ""), into: test.notes)
      }
      #expect(try test.store.titles(in: test.notes) == ["before", "after"])
      #expect(try test.store.everything().keys.sorted() == ["notes"])
    }
  }

  @Test func reportsRecordOfDuplicateKey() throws {
    try withTestStore { test in
      let source = ListSource(ListSource.items(400) { $1.key = $0 == 33 ? "k7" : "k\($0)" }, batch: 1)
      let before = try Data(contentsOf: test.url)
      do {
        try test.store.write { _ = try $0.insert(contentsOf: source, into: test.notes) }
        Issue.record("stored twice")
      } catch let error as StoreError {
        #expect(error.code == .duplicateKey && error.documentID == 7)
        #expect(error.message.contains("record 33"))
      }
      try test.expectNothing(before: before)
    }
  }

  @Test func rejectsExistingKey() throws {
    try withTestStore { test in
      try test.store.write { try $0.insert(Document(text: "x", key: "k5"), into: test.notes) }
      expect(.duplicateKey) {
        try test.store.write {
          _ = try $0.insert(contentsOf: ListSource(ListSource.items(10) { $1.key = "k\($0)" }), into: test.notes)
        }
      }
      #expect(try test.store.everything()["notes"]?.map(\.text) == ["x"])
    }
  }

  @Test(arguments: [1, 60])
  func reportsRecordOfTakenID(_ taken: Int64) throws {
    try withTestStore { test in
      try test.store.write { try $0.insert(Document(text: "x"), into: test.notes, id: DocumentID(taken)) }
      let options = bulkOptions { $0.keepsIDs = true }
      do {
        try test.store.write {
          _ = try $0.insert(
            contentsOf: ListSource(ListSource.items(100) { $1.id = DocumentID($0) }), into: test.notes,
            options: options)
        }
        Issue.record("stored over a document")
      } catch let error as StoreError {
        #expect(error.code == .alreadyExists && error.documentID == DocumentID(taken))
        #expect(error.message.contains("record \(taken)"))
      }
      #expect(try test.store.everything()["notes"]?.map(\.text) == ["x"])
    }
  }

  @Test func rejectsRepeatedIDInSource() throws {
    try withTestStore { test in
      let before = try Data(contentsOf: test.url)
      let options = bulkOptions { $0.keepsIDs = true }
      expect(.alreadyExists) {
        try test.store.write {
          _ = try $0.insert(
            contentsOf: ListSource(ListSource.items(20) { $1.id = $0 == 15 ? 3 : DocumentID($0) }),
            into: test.notes,
            options: options)
        }
      }
      try test.expectNothing(before: before)
    }
  }

  @Test(arguments: [0, -1, Int64.max])
  func rejectsIDsOutOfRange(_ id: Int64) throws {
    try withTestStore { test in
      let options = bulkOptions { $0.keepsIDs = true }
      expect(.invalidArgument) {
        try test.store.write {
          _ = try $0.insert(
            contentsOf: ListSource([.init(id: DocumentID(id))]), into: test.notes, options: options)
        }
      }
    }
  }

  @Test func rejectsInvalidUTF8() throws {
    struct Broken: DraftSource {
      var part: Int
      var isDone = false
      mutating func read(into batch: inout DraftBatch) throws -> Bool {
        guard !isDone else { return false }
        isDone = true
        batch.bytes = [0x61, 0xFF, 0x62]
        var draft = DraftBatch.Draft(text: part == 0 ? 0..<3 : 0..<1, record: 1)
        if part == 1 { draft.title = 0..<3 }
        if part == 2 { draft.attributes = 0..<3 }
        if part == 3 { draft.collection = 0..<3 }
        batch.drafts = [draft]
        return true
      }
    }
    for part in 0..<4 {
      for mode in CreateOptions.Titles.allCases {
        try withTestStore({ $0.titles = mode }) { test in
          let before = try test.bytesOnDisk()
          defer { #expect(try! test.bytesOnDisk() == before) }
          expect(part < 2 ? .notText : .invalidArgument) {
            try test.store.write { try $0.insert(contentsOf: Broken(part: part), into: nil) }
          }
        }
      }
    }
  }
}
