import Coffer
import CofferRecords
import Foundation
import Testing

@testable import CofferStoreTestSupport

/// Bulk insertion from a source.
struct BulkTests {
  @Test func insertsDocumentsIntoTheirCollectionsInOrder() throws {
    try withTestStore { test in
      try test.store.write { try $0.insert(Document(title: "old", text: ""), into: DocumentCollection("b")) }
      let source = ListSource(ListSource.items(99) { $1.collection = [nil, "a", "b"][$0 % 3] })
      let report = try test.store.write { try $0.insert(contentsOf: source, into: nil) }
      #expect(report.created == 99 && report.firstID == 2 && report.lastID == 100)
      #expect(report.collections == ["a": 33, "b": 33, "documents": 33])
      func expected(_ rest: Int) -> [String] { (1...99).filter { $0 % 3 == rest }.map(String.init) }
      let found = try test.store.everything().mapValues { $0.map { $0.header.title ?? "" } }
      #expect(found == ["a": expected(1), "b": ["old"] + expected(2), "documents": expected(0)])
      #expect(try test.store.everything()["a"]?.map(\.text) == expected(1).map { "text \($0)" })
    }
  }

  @Test func insertsAllIntoNamedCollection() throws {
    try withTestStore { test in
      let source = ListSource(ListSource.items(9) { $1.collection = ["x", "y"][$0 % 2] })
      let report = try test.store.write { try $0.insert(contentsOf: source, into: test.notes) }
      #expect(report.collections == ["notes": 9])
      #expect(try test.store.everything().keys.sorted() == ["notes"])
    }
  }

  @Test func emptySourceCreatesNamedCollection() throws {
    try withTestStore { test in
      let report = try test.store.write { try $0.insert(contentsOf: ListSource([]), into: test.notes) }
      #expect(report.created == 0 && report.firstID == nil && report.collections.isEmpty)
      #expect(try test.store.everything() == ["notes": []])
      try test.store.write { _ = try $0.insert(contentsOf: ListSource([]), into: nil) }
      #expect(try test.store.everything().count == 1)
    }
  }

  @Test func insertsAtTopInSourceOrder() throws {
    try withTestStore { test in
      let top = bulkOptions { $0.atTop = true }
      try test.store.write { writer in
        try writer.insert(Document(title: "old", text: ""), into: test.notes)
        _ = try writer.insert(contentsOf: titlesOnly(["c", "d"]), into: test.notes, options: top)
        _ = try writer.insert(contentsOf: titlesOnly(["a", "b"]), into: test.notes, options: top)
        try writer.insert(Document(title: "first", text: ""), into: test.notes, at: .top)
        _ = try writer.insert(contentsOf: titlesOnly(["y", "z"]), into: test.notes)
      }
      #expect(try test.store.titles(in: test.notes) == ["first", "a", "b", "c", "d", "old", "y", "z"])
    }
  }

  @Test func keepsIDsAndParents() throws {
    try withTestStore { test in
      let kept = bulkOptions { $0.keepsIDs = true }
      let source = ListSource([
        .init(title: "a", id: 50), .init(title: "b", parent: 50), .init(title: "c", id: 3, parent: 51),
      ])
      let report = try test.store.write { try $0.insert(contentsOf: source, into: test.notes, options: kept) }
      #expect(report.parentsDropped == 0 && report.firstID == 50 && report.lastID == 3)
      let headers = try test.store.read { try $0.headers(in: test.notes) }
      #expect(headers.map(\.id) == [50, 51, 3] && headers.map(\.parent) == [nil, 50, 51])
      #expect(try test.store.write { try $0.insert(Document(text: ""), into: test.notes) } == 52)

      let dropped = try test.store.write { try $0.insert(contentsOf: source, into: DocumentCollection("new")) }
      #expect(dropped.parentsDropped == 2 && dropped.firstID == 53)
    }
  }

  @Test func appliesTitleRules() throws {
    try withTestStore { test in
      let source = ListSource([
        .init(text: "first line\nmore"), .init(title: "given", text: "x"),
        .init(text: "whole record", isComplete: true),
        .init(text: "\n\n"),
      ])
      let derived = bulkOptions { $0.titleRule = .derived }
      try test.store.write { writer in
        _ = try writer.insert(contentsOf: source, into: test.notes)
        _ = try writer.insert(contentsOf: source, into: DocumentCollection("derived"), options: derived)
      }
      #expect(try test.store.titles(in: test.notes) == [nil, "given", nil, nil])
      #expect(try test.store.titles(in: DocumentCollection("derived")) == ["first line", "given", nil, nil])
      let info = try test.store.read { try $0.info(of: DocumentCollection("derived")) }
      #expect(info.titleRule == .derived)
    }
  }

  @Test func reportsEachBatchAndID() throws {
    try withTestStore { test in
      var ids: [DocumentID] = []
      var steps: [Int] = []
      let options = bulkOptions {
        $0.onInsert = { ids.append($0) }
        $0.progress = { steps.append($0.done) }
      }
      try test.store.write {
        _ = try $0.insert(contentsOf: ListSource(ListSource.items(10)), into: test.notes, options: options)
      }
      #expect(ids == (1...10).map { DocumentID($0) })
      #expect(steps == [4, 8, 10])
    }
  }

  @Test func mixesBulkAndSingleWrites() throws {
    try withTestStore { test in
      try test.store.write { writer in
        let first = try writer.insert(Document(text: "x", key: "k"), into: test.notes)
        _ = try writer.insert(contentsOf: ListSource(ListSource.items(30) { $1.key = "\($0)" }), into: test.notes)
        let id = try writer.id(forKey: "17", in: test.notes)
        try writer.update(try #require(id)) { $0.text = "changed" }
        try writer.delete(first)
        _ = try writer.insert(contentsOf: ListSource(ListSource.items(3)), into: DocumentCollection("new"))
        try writer.drop(DocumentCollection("new"))
      }
      let documents = try #require(try test.store.everything()["notes"])
      #expect(documents.count == 30 && documents[16].text == "changed")
    }
  }

  @Test func rejectsDuplicateKeyOfOlderEpoch() throws {
    try withTestStore { test in
      try test.store.write {
        _ = try $0.insert(contentsOf: ListSource(ListSource.items(20) { $1.key = "\($0)" }), into: test.notes)
      }
      var keysOnly = RekeyOptions()
      keysOnly.isKeysOnly = true
      try test.store.rekey(options: keysOnly) { _ in }

      do {
        try test.store.write {
          _ = try $0.insert(contentsOf: ListSource([.init(key: "new"), .init(key: "13")]), into: test.notes)
        }
        Issue.record("stored twice")
      } catch let error as StoreError {
        #expect(error.code == .duplicateKey && error.documentID == 13 && error.message.contains("record 2"))
      }
      expect(.duplicateKey) { try test.store.write { try $0.insert(Document(text: "", key: "7"), into: test.notes) } }
      try test.store.write { writer in
        try writer.insert(Document(text: "first"), into: test.notes)
        expect(.duplicateKey) { try writer.insert(Document(text: "", key: "7"), into: test.notes) }
      }
      #expect(try test.store.read { try $0.id(forKey: "7", in: test.notes) } == 7)
      #expect(try test.store.write { try $0.put(Document(text: "put"), into: test.notes, key: "8").id } == 8)
      try test.store.write { _ = try $0.insert(contentsOf: ListSource([.init(key: "new")]), into: test.notes) }
      expect(.duplicateKey) { try test.store.write { try $0.insert(Document(text: "", key: "new"), into: test.notes) } }
    }
  }
}
