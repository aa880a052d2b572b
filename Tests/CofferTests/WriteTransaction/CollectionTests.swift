import Coffer
import CofferRecords
import CofferSQLite
import Foundation
import Testing

@testable import CofferEngine
@testable import CofferStoreTestSupport

struct CollectionTests {
  @Test func numbersCollectionsInCreationOrder() throws {
    try withTestStore { test in
      try test.store.write { writer in
        for name in ["a", "b", "a\u{30A}", "\u{E5}", "\0", String(repeating: "n", count: 1024)] {
          try writer.insert(Document(title: name.debugDescription, text: ""), into: DocumentCollection(name))
        }
        #expect(try writer.collections().map(\.id.rawValue) == [1, 2, 3, 4, 5, 6])
        #expect(try writer.collections().map(\.count) == [1, 1, 1, 1, 1, 1])
        for wrong in ["", String(repeating: "n", count: 1025)] {
          expect(.invalidArgument) { try writer.create(DocumentCollection(wrong)) }
        }
        expect(.alreadyExists) { try writer.create(DocumentCollection("b")) }
        expect(.alreadyExists) { try writer.rename(DocumentCollection("a"), to: "b") }
      }
      // Composed and decomposed names are different.
      #expect(try test.store.titles(in: DocumentCollection("\u{E5}")) == ["\u{E5}".debugDescription])
    }
  }

  /// Otherwise, a rekey takes time with the square of the number of collections.
  @Test func changesCollectionWithoutReadingOthers() throws {
    let test = try TestStore()
    try test.store.write { writer in
      try writer.create("first")
      try writer.create("second")
    }
    try test.store.engine.writing { transaction throws(StoreError) in
      let first = try transaction.collections()[0]
      try transaction.database.execute("UPDATE coffer_collection SET rev=0 WHERE coll<>?", Int64(first.id))
      try transaction.writer.replaceCollection(with: first)
      // Not committed.
    }
  }

  @Test func renamingPreservesDocuments() throws {
    try withTestStore { test in
      try test.store.write { writer in
        try writer.insert(Document(title: "t", text: "x", key: "k"), into: test.notes)
        let memos = try writer.rename(test.notes, to: "memos")
        #expect(try writer.exists(test.notes) == false)
        #expect(try writer.headers(in: memos).map(\.title) == ["t"])
        #expect(try writer.collections().map(\.handle) == [memos])
        try writer.rename(memos, to: "memoirs")
      }
      let memoirs = DocumentCollection("memoirs")
      #expect(try test.store.read { try $0.id(forKey: "k", in: memoirs) } == 1)
      #expect(try test.reopened().titles(in: memoirs) == ["t"])
    }
  }

  @Test func dropDeletesOnlyCollectionDocuments() throws {
    try withTestStore { test in
      let kept = try test.store.write { writer in
        for number in 0..<20 {
          try writer.insert(Document(text: "\(number)", key: DocumentKey("k\(number)")), into: test.notes)
        }
        return try writer.insert(Document(text: "kept", key: "k1"), into: DocumentCollection("other"))
      }
      try test.store.write { try $0.drop(test.notes) }
      #expect(try test.store.everything().mapValues { $0.map(\.header.id) } == ["other": [kept]])
      #expect(try test.raw().query("SELECT count(body) FROM coffer_record").rows[0][0] == 1)
      #expect(try test.store.read { $0.documentCount } == 1)
    }
  }

  @Test func derivesTitlesByRule() throws {
    try withTestStore { test in
      try test.store.write { writer in
        try writer.create(DocumentCollection("derived"), titleRule: .derived)
        for collection in [DocumentCollection("derived"), test.notes] {
          try writer.insert(Document(text: "\n\nfirst line\nsecond"), into: collection)
          try writer.insert(Document(title: "given", text: "first"), into: collection)
          try writer.insert(Document(title: "", text: "first"), into: collection)
          try writer.insert(Document(text: "\n"), into: collection)
        }
      }
      #expect(try test.store.titles(in: DocumentCollection("derived")) == ["first line", "given", "", nil])
      #expect(try test.store.titles(in: test.notes) == [nil, "given", "", nil])
    }
  }

  @Test func createsDroppedCollectionAgainInOneTransaction() throws {
    try withTestStore { test in
      try test.store.write { tx in
        try tx.create("new")
        try tx.drop("new")
        try tx.create("new")
        try tx.insert(Document(text: "kept"), into: "new")
        try tx.insert(Document(text: "lost"), into: "other")
        try tx.drop("other")
        try tx.insert(Document(text: "other"), into: "other")
      }
      #expect(try test.store.read { try $0.collections().map(\.name) } == ["new", "other"])
      #expect(try test.store.verify().isSound)
    }
  }
}
