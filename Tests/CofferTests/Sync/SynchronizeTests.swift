import Coffer
import Foundation
import Testing

@testable import CofferStoreTestSupport

/// Synchronizing a collection with a source of truth.
struct SynchronizeTests {
  private func item(_ key: String, _ text: String = "", children: [SyncItem]? = nil) -> SyncItem {
    SyncItem(Document(title: key, text: text), identity: .key(DocumentKey(key)), children: children)
  }

  private func settings(_ text: String) -> SyncItem {
    SyncItem(Document(text: text), identity: .singleton)
  }

  private func book(_ image: String) -> SyncItem {
    item("book", children: [item("page1", children: [item("image", image)]), item("page2", children: [])])
  }

  private func keys(_ test: TestStore) throws -> [String] {
    try test.store.read { try $0.headers(in: test.notes).map { $0.key?.text ?? "" } }
  }

  private func synchronize(
    _ test: TestStore, _ items: [SyncItem], _ change: (inout SyncOptions) -> Void = { _ in }
  ) throws -> SyncReport {
    var options = SyncOptions()
    change(&options)
    return try test.store.write { try $0.synchronize(test.notes, with: items, options: options) }
  }

  @Test func reportsDocumentIDsByOutcome() throws {
    try withTestStore { test in
      let first = try synchronize(test, [item("a", "1"), item("b", "2"), item("c", "3")])
      #expect(first.created == [1, 2, 3])
      let second = try synchronize(test, [item("b", "2"), item("c", "changed"), item("d")])
      #expect(second.created == [4] && second.updated == [3] && second.unchanged == [2])
      #expect(second.stale == [1] && second.deleted.isEmpty && second.invalid.isEmpty)
      #expect(try keys(test) == ["a", "b", "c", "d"])
      #expect(try test.store.read { try $0.text(of: 3) } == "changed")
    }
  }

  @Test func leavesUnchangedDocumentUntouched() throws {
    try withTestStore { test in
      _ = try synchronize(test, [item("a", "1")])
      let before = try test.store.read { try $0.header(of: 1) }
      #expect(try synchronize(test, [item("a", "1")]).unchanged == [1])
      #expect(try test.store.read { try $0.header(of: 1) } == before)
    }
  }

  @Test(arguments: ["title", "text", "attributes"])
  func updatesDocumentIfAnyPartDiffers(part: String) throws {
    try withTestStore { test in
      var document = Document(title: "e\u{301}", text: "e\u{301}", key: "a", attributes: ["x": 1])
      _ = try synchronize(test, [SyncItem(document)])
      switch part {
      // The composed form is an equal String but a different text.
      case "title": document.title = "\u{E9}"
      case "text": document.text = "\u{E9}"
      default: document.attributes = Attributes()
      }
      #expect(try synchronize(test, [SyncItem(document)]).updated == [1])
      let stored = try test.store.read { try $0.document(1) }
      #expect(stored.title?.unicodeScalars.count == document.title?.unicodeScalars.count)
      #expect(stored.text.unicodeScalars.count == document.text.unicodeScalars.count)
      #expect(stored.attributes == document.attributes)
    }
  }

  @Test func deletesStaleDocumentsOnRequest() throws {
    try withTestStore { test in
      _ = try synchronize(test, ["a", "b", "c", "d"].map { item($0) })
      let report = try synchronize(test, [item("b"), item("d")]) { $0.stale = .remove(atMost: 0.5) }
      #expect(report.deleted.map(\.id) == [1, 3])
      #expect(report.deleted.allSatisfy { $0.reason == .stale })
      #expect(try keys(test) == ["b", "d"])
    }
  }

  @Test func exceedingRemovalLimitLeavesStoreUnchanged() throws {
    try withTestStore { test in
      _ = try synchronize(test, ["a", "b", "c"].map { item($0) })
      let before = try Data(contentsOf: test.url)
      expect(.removalRefused) { try synchronize(test, [item("a", "new")]) { $0.stale = .remove(atMost: 0.5) } }
      #expect(try Data(contentsOf: test.url) == before)
      expect(.removalRefused) { try synchronize(test, []) { $0.stale = .remove(atMost: 0.99) } }
      #expect(try synchronize(test, []) { $0.stale = .remove(atMost: 1) }.deleted.count == 3)
    }
  }

  @Test func withholdsRemovalForIncompleteSource() throws {
    try withTestStore { test in
      _ = try synchronize(test, ["a", "b"].map { item($0) })
      let report = try synchronize(test, [item("a")]) {
        $0.stale = .remove(atMost: 1)
        $0.isSourceWhole = { false }
      }
      #expect(report.stale == [2] && report.removalWasWithheld && report.deleted.isEmpty)
      let unknown = try synchronize(test, [item("a"), SyncItem(Document(text: "which?"))]) {
        $0.stale = .remove(atMost: 1)
      }
      #expect(unknown.stale == [2] && unknown.removalWasWithheld)
      #expect(unknown.invalid.map(\.record) == [2])
    }
  }

  @Test func dryRunLeavesStoreUnchanged() throws {
    try withTestStore { test in
      _ = try synchronize(test, ["a", "b", "c"].map { item($0) })
      let before = try test.store.read { ($0.generation, $0.documentCount) }
      let report = try synchronize(test, [item("a", "new"), item("b"), item("d")]) {
        $0.stale = .remove(atMost: 1)
        $0.isDryRun = true
      }
      #expect(report.updated == [1] && report.unchanged == [2] && report.created.count == 1)
      #expect(report.deleted.map(\.id) == [3])
      #expect(try test.store.read { ($0.generation, $0.documentCount) } == before)
      #expect(try keys(test) == ["a", "b", "c"])
      // A dry run also works inside a transaction that continues afterwards.
      try test.store.write { writer in
        try writer.insert(Document(text: "kept"), into: test.notes)
        var options = SyncOptions(stale: .remove(atMost: 1), isDryRun: true)
        options.titleRule = .derived
        try writer.synchronize(test.notes, with: [item("z")], options: options)
        try writer.synchronize(DocumentCollection("made"), with: [item("z")], options: options)
        try writer.insert(Document(text: "too"), into: test.notes)
      }
      #expect(try test.store.everything().mapValues(\.count) == ["notes": 5])
    }
  }

  // MARK: Identity

  @Test func reusesSingletonDocument() throws {
    try withTestStore { test in
      let first = try synchronize(test, [settings("1")])
      #expect(first.created == [1])
      #expect(try synchronize(test, [settings("2")]).updated == [1])
      #expect(try synchronize(test, [settings("2")]).unchanged == [1])
      #expect(try synchronize(test, [settings("2"), settings("3")]).invalid.map(\.id) == [1])
    }
  }

  @Test func insertsAlwaysNewItems() throws {
    try withTestStore { test in
      let event = SyncItem(Document(text: "e"), identity: .alwaysNew)
      let both = try synchronize(test, [event, event])
      #expect(both.created == [1, 2])
      #expect(try synchronize(test, [event]).created == [3])
    }
  }

  @Test func foldsKeysOnRequest() throws {
    try withTestStore { test in
      _ = try synchronize(test, [item("Straße")]) { $0.foldsKeys = true }
      let report = try synchronize(test, [item("STRASSE", "new")])
      #expect(report.updated == [1] && report.created.isEmpty)
      let exact = DocumentCollection("exact")
      let both = try test.store.write { try $0.synchronize(exact, with: [item("A"), item("a")]) }
      #expect(both.created.count == 2)
    }
  }

  // MARK: Invalid documents

  @Test func skipsInvalidDocuments() throws {
    try withTestStore { test in
      let long = SyncItem(Document(text: "x", key: DocumentKey(String(repeating: "k", count: 2000))))
      let report = try synchronize(test, [item("a"), long, item("b"), item("a"), SyncItem(Document(text: ""))])
      #expect(report.created.count == 2)
      #expect(report.invalid.map(\.record) == [2, 4, 5])
      #expect(try keys(test) == ["a", "b"])
    }
  }

  @Test func reportsCallerReasonForInvalidDocuments() throws {
    try withTestStore { test in
      _ = try synchronize(test, [item("a"), item("b")])
      let report = try synchronize(test, [item("a", "bad"), item("b", "good"), item("c", "bad")]) {
        $0.stale = .remove(atMost: 1)
        $0.invalidReason = { $0.text == "bad" ? "not good enough" : nil }
      }
      #expect(report.invalid.map(\.reason) == ["not good enough", "not good enough"])
      #expect(report.invalid.map(\.id) == [1, nil])
      #expect(report.updated == [2] && report.deleted.isEmpty)
      #expect(try test.store.read { try $0.text(of: 1) } == "")
    }
  }

  @Test func deletesInvalidDocumentsWithDescendants() throws {
    try withTestStore { test in
      _ = try synchronize(test, [item("a", children: [item("a1", children: [item("a11")])]), item("b")])
      let report = try synchronize(test, [item("a", "bad"), item("b")]) {
        $0.invalidReason = { $0.text == "bad" ? "worn out" : nil }
        $0.removesInvalid = true
      }
      #expect(Set(report.deleted.map(\.id)) == [1, 2, 3])
      #expect(report.deleted.first { $0.id == 1 }?.reason == .invalid("worn out"))
      #expect(report.deleted.first { $0.id == 3 }?.reason == .parentDeleted)
      #expect(try keys(test) == ["b"])
    }
  }

  @Test func keepsChildOfDeletedInvalidParent() throws {
    try withTestStore { test in
      _ = try synchronize(test, [item("a", children: [item("a1", children: [item("a11")])])])
      let report = try synchronize(test, [item("a1"), item("a", "bad")]) {
        $0.isUnchanged = { header, _ in header.key == DocumentKey("a1") }
        $0.invalidReason = { $0.text == "bad" ? "worn out" : nil }
        $0.removesInvalid = true
      }
      #expect(report.deleted.map(\.id) == [1])
      #expect(try keys(test) == ["a1", "a11"])
      #expect(try test.store.read { try $0.header(of: 2).parent } == nil)
    }
  }

  @Test func stopsAtInvalidDocumentUnlessSkipping() throws {
    try withTestStore { test in
      let before = try Data(contentsOf: test.url)
      expect(.invalidArgument) {
        try synchronize(test, [item("a"), SyncItem(Document(text: ""))]) { $0.skipsInvalid = false }
      }
      #expect(try Data(contentsOf: test.url) == before)
    }
  }

  @Test func failureRollsBackTransaction() throws {
    try withTestStore { test in
      expect(.cancelled) {
        try test.store.write { writer in
          var options = SyncOptions()
          options.progress = { if $0.done > 500 { throw Interruption() } }
          let items = (0..<2000).map { item("\($0)") }
          #expect(throws: Interruption.self) { try writer.synchronize(test.notes, with: items, options: options) }
        }
      }
      let left = try test.store.everything()
      #expect(left.isEmpty)
    }
  }

  // MARK: Trees

  @Test func storesChildrenAtAnyDepth() throws {
    try withTestStore { test in
      let made = try synchronize(test, [book("old")])
      #expect(made.created == [1, 2, 3, 4])
      let parents = try test.store.read { try $0.headers(in: test.notes).map(\.parent) }
      #expect(parents == [nil, 1, 2, 1])
      let report = try synchronize(test, [book("new")]) { $0.stale = .remove(atMost: 0) }
      #expect(report.updated == [3] && report.unchanged == [1, 2, 4])
    }
  }

  @Test func keepsChildrenOfUnchangedParent() throws {
    try withTestStore { test in
      _ = try synchronize(test, [item("a", children: [item("a1"), item("a2")]), item("b", children: [item("b1")])])
      // The input omits the children of a, and specifies an empty list for b.
      let report = try synchronize(test, [item("a"), item("b", children: [])]) { $0.stale = .remove(atMost: 1) }
      #expect(report.deleted.map(\.id) == [5])
      #expect(try keys(test) == ["a", "a1", "a2", "b"])
    }
  }

  @Test func skipsSubtreeOfUnchangedParent() throws {
    try withTestStore { test in
      _ = try synchronize(test, [item("a", "v1", children: [item("a1")])])
      let report = try synchronize(test, [item("a", "v2", children: [item("new")])]) {
        $0.stale = .remove(atMost: 1)
        $0.isUnchanged = { header, _ in header.key == "a" }
      }
      #expect(report.unchanged == [1] && report.created.isEmpty && report.deleted.isEmpty)
      #expect(try keys(test) == ["a", "a1"])
      #expect(try test.store.read { try $0.text(of: 1) } == "v1")
    }
  }

  @Test func deletesSubtreeOfStaleParent() throws {
    try withTestStore { test in
      _ = try synchronize(test, [item("a", children: [item("a1", children: [item("a11")])]), item("b"), item("c")])
      let report = try synchronize(test, [item("b"), item("c")]) { $0.stale = .remove(atMost: 0.6) }
      #expect(report.deleted.map(\.id) == [1, 2, 3])
      #expect(report.deleted.map(\.reason) == [.stale, .parentDeleted, .parentDeleted])
    }
  }

  @Test func movesChildToNewParent() throws {
    try withTestStore { test in
      _ = try synchronize(test, [item("a", children: [item("x")]), item("b", children: [])])
      let report = try synchronize(test, [item("b", children: [item("x")])]) { $0.stale = .remove(atMost: 1) }
      #expect(report.updated == [2])
      #expect(report.deleted.map(\.id) == [1])
      #expect(try test.store.read { try $0.header(of: 2).parent } == 3)
    }
  }

  @Test func handlesVeryDeepTree() throws {
    try withTestStore { test in
      var deep = item("leaf")
      for number in 0..<3000 { deep = item("\(number)", children: [deep]) }
      let made = try synchronize(test, [deep])
      #expect(made.created.count == 3001)
      let report = try synchronize(test, []) { $0.stale = .remove(atMost: 1) }
      #expect(report.deleted.count == 3001)
      deep = item("gone")
    }
  }

  // MARK: Flat sources

  @Test func matchesBulkSourceByKeyOrID() throws {
    try withTestStore { test in
      let items = ListSource.items(10) { $1.key = "k\($0)" }
      let made = try test.store.write { try $0.synchronize(test.notes, with: ListSource(items)) }
      #expect(made.created.count == 10)
      var changed = Array(items.dropFirst(2))
      changed[0].text = "new"
      let byKey = try test.store.write {
        try $0.synchronize(test.notes, with: ListSource(changed), options: SyncOptions(stale: .remove(atMost: 0.2)))
      }
      #expect(byKey.updated == [3] && byKey.unchanged.count == 7 && byKey.deleted.map(\.id) == [1, 2])
      var options = SyncOptions(stale: .keep)
      options.keepsIDs = true
      let numbered = [ListSource.Item(title: "t", text: "x", id: 5), .init(title: "n", text: "y", id: 99)]
      let byID = try test.store.write { try $0.synchronize(test.notes, with: ListSource(numbered), options: options) }
      #expect(byID.updated == [5] && byID.created == [99])
      #expect(try test.store.read { try $0.header(of: 5).key } == "k5")
    }
  }

  @Test func flatSourceKeepsExistingParents() throws {
    try withTestStore { test in
      _ = try synchronize(test, [item("a", children: [item("a1")]), item("b")])
      let report = try test.store.write {
        try $0.synchronize(
          test.notes, with: ListSource([.init(title: "a", key: "a")]), options: SyncOptions(stale: .remove(atMost: 0.5))
        )
      }
      #expect(report.unchanged == [1] && report.deleted.map(\.id) == [3])
      #expect(try test.store.read { try $0.header(of: 2).parent } == 1)
    }
  }

  @Test func reportsIDFromOtherCollectionAsInvalid() throws {
    try withTestStore { test in
      try test.store.write { try $0.insert(Document(text: "other"), into: DocumentCollection("other")) }
      var options = SyncOptions()
      options.keepsIDs = true
      let report = try test.store.write {
        try $0.synchronize(test.notes, with: ListSource([.init(text: "x", id: 1)]), options: options)
      }
      #expect(report.invalid.count == 1 && report.created.isEmpty)
      #expect(try test.store.read { try $0.text(of: 1) } == "other")
    }
  }
}
