import Coffer
import Foundation
import Testing

@testable import CofferStoreTestSupport

/// A parent and its children must be in the same collection.
struct ParentElsewhereTests {
  /// A way to give a document in `notes` the parent 2, which is in `other`. Documents 1 and 3 are in `notes`, and 3 has
  /// the key `k`.
  struct Way: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let run: @Sendable (borrowing WriteTransaction) throws -> Void
  }

  static let notes = DocumentCollection("notes")
  static let other = DocumentCollection("other")

  static func source(_ change: (inout ListSource.Item) -> Void) -> ListSource {
    var item = ListSource.Item(text: "child")
    item.parent = 2
    change(&item)
    return ListSource([item])
  }

  static func bulk(_ mode: BulkOptions.Conflict) -> BulkOptions {
    bulkOptions {
      $0.keepsIDs = true
      $0.onConflict = mode
    }
  }

  static let ways = [
    Way(testDescription: "insert") { try $0.insert(Document(text: "", parent: 2), into: notes) },
    Way(testDescription: "insert under an id") { try $0.insert(Document(text: "", parent: 2), into: notes, id: 9) },
    Way(testDescription: "insert a sequence") {
      try $0.insert(contentsOf: [Document(text: "", parent: 2)], into: notes)
    },
    Way(testDescription: "update") { try $0.update(1) { $0.parent = 2 } },
    Way(testDescription: "put by id") { try $0.put(Document(text: "", parent: 2), id: 1, into: notes) },
    Way(testDescription: "put by key") { try $0.put(Document(text: "", parent: 2), into: notes, key: "k") },
    Way(testDescription: "set") { try $0.setParent(of: 1, to: 2) },
    Way(testDescription: "import") {
      try $0.insert(contentsOf: source { $0.id = 9 }, into: notes, options: bulk(.fail))
    },
    Way(testDescription: "import before its parent") { writer in
      var parent = ListSource.Item(text: "parent", id: 20)
      parent.collection = "other"
      var child = ListSource.Item(text: "child", id: 19)
      (child.collection, child.parent) = ("notes", 20)
      try writer.insert(contentsOf: ListSource([child, parent], batch: 1), into: nil, options: bulk(.fail))
    },
    Way(testDescription: "merge a new document") {
      try $0.insert(contentsOf: source { $0.id = 9 }, into: notes, options: bulk(.update))
    },
    Way(testDescription: "merge an existing document") {
      try $0.insert(contentsOf: source { $0.id = 1 }, into: notes, options: bulk(.update))
    },
    Way(testDescription: "merge before its parent") { writer in
      var parent = ListSource.Item(text: "parent", id: 20)
      parent.collection = "other"
      var child = ListSource.Item(text: "child", id: 19)
      (child.collection, child.parent) = ("notes", 20)
      try writer.insert(contentsOf: ListSource([child, parent]), into: nil, options: bulk(.update))
    },
    Way(testDescription: "synchronize") { writer in
      var options = SyncOptions()
      options.keepsIDs = true
      options.skipsInvalid = false
      try writer.synchronize(notes, with: source { $0.id = 1 }, options: options)
    },
  ]

  @Test(arguments: ways) func rejectsParentInAnotherCollection(_ way: Way) throws {
    try withTestStore { test in
      try test.store.write { writer in
        try writer.insert(Document(text: "1"), into: Self.notes)
        try writer.insert(Document(text: "2"), into: Self.other)
        try writer.insert(Document(text: "3", key: "k"), into: Self.notes)
      }
      let before = try test.store.everything()
      expect(.invalidArgument) { try test.store.write { try way.run($0) } }
      #expect(try test.store.everything() == before)
    }
  }

  @Test func findsLaterParent() throws {
    try withTestStore { test in
      var child = ListSource.Item(text: "child", id: 5)
      child.parent = 6
      let items = [child, ListSource.Item(text: "parent", id: 6)]
      for mode in [BulkOptions.Conflict.fail, .update] {
        try test.store.write { writer in
          try writer.truncate(test.notes, restartingIDs: true)
          try writer.insert(contentsOf: ListSource(items, batch: 1), into: test.notes, options: Self.bulk(mode))
          #expect(try writer.children(of: 6).map(\.id) == [5])
          try writer.delete(6)
          #expect(try writer.header(of: 5).parent == 6)
          // Another document with the ID of the deleted one isn't the parent.
          try writer.insert(Document(text: "again"), into: test.notes, id: 6)
          #expect(try writer.children(of: 6).isEmpty && writer.header(of: 5).parent == nil)
        }
      }
    }
  }

  @Test func dropsMissingParent() throws {
    try withTestStore { test in
      var child = ListSource.Item(text: "child", id: 5)
      child.parent = 6
      for mode in [BulkOptions.Conflict.fail, .update] {
        let report = try test.store.write { writer in
          try writer.truncate(test.notes, restartingIDs: true)
          return try writer.insert(contentsOf: ListSource([child]), into: Self.notes, options: Self.bulk(mode))
        }
        #expect(report.parentsDropped == 1)
        #expect(try test.store.read { try $0.header(of: 5).parent } == nil)
      }
    }
  }

  /// The document returns to its former collection, and a child that it got in the other one stays there.
  @Test func restoredDocumentLeavesChildren() throws {
    try withTestStore { test in
      try test.store.write { try $0.insert(Document(text: "parent"), into: Self.notes) }
      let url = test.place.file("backup.coffer")
      try test.store.backup(to: url)
      let backup = try DocumentStore.open(at: url, key: .published("primary"), options: .testing)
      try test.store.write { tx in
        try tx.move(1, into: Self.other)
        try tx.insert(Document(text: "child", parent: 1), into: Self.other)
      }
      #expect(try test.store.restore([1], from: backup) == [.changed])
      #expect(try test.store.read { try $0.header(of: 2).parent } == nil)
      #expect(try test.store.verify().isSound)
    }
  }

  /// The savepoint saw the store without the child.
  @Test func newDocumentDoesNotGetChildrenOfDeletedOne() throws {
    try withTestStore { test in
      try test.store.write { tx in
        try tx.insert(Document(text: "parent"), into: Self.notes, id: 100)
        try tx.insert(Document(text: "child", parent: 100), into: Self.notes, id: 5)
        try tx.delete(100)
      }
      struct Undone: Error {}
      try test.store.write { tx in
        try? tx.savepoint { tx in
          try tx.delete(5)
          try tx.insert(Document(text: "other"), into: Self.notes, id: 101)
          throw Undone()
        }
        try tx.insert(Document(text: "new"), into: Self.notes, id: 100)
      }
      #expect(try test.store.read { try $0.header(of: 5).parent } == nil)
      #expect(try test.store.verify().isSound)
    }
  }
}
