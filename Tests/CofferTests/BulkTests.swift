import Coffer
import Foundation
import Testing

/// Documents by the batch. Sources have many small batches, so that several are under way at once.
struct BulkTests {
  private func items(_ count: Int, _ change: (Int, inout ListSource.Item) -> Void = { _, _ in }) -> [ListSource.Item] {
    (1...count).map { number in
      var item = ListSource.Item(title: "\(number)", text: "text \(number)")
      change(number, &item)
      return item
    }
  }

  private func options(_ change: (inout BulkOptions) -> Void) -> BulkOptions {
    var options = BulkOptions()
    change(&options)
    return options
  }

  private func expectNothing(_ test: TestStore, before: Data, location: SourceLocation = #_sourceLocation) throws {
    #expect(try Data(contentsOf: test.url) == before, sourceLocation: location)
    #expect(try test.store.everything().isEmpty, sourceLocation: location)
  }

  // MARK: Broken

  @Test(arguments: [0, 1, 37, 99])
  func sourceThatThrowsStoresNothing(_ record: Int) throws {
    try withTestStore { test in
      let before = try Data(contentsOf: test.url)
      #expect(throws: Interruption(number: record)) {
        try test.store.write {
          _ = try $0.insert(contentsOf: ListSource(items(100), failsAt: record), into: test.notes)
        }
      }
      try expectNothing(test, before: before)
    }
  }

  @Test func progressThatThrowsStoresNothing() throws {
    try withTestStore { test in
      let before = try Data(contentsOf: test.url)
      let options = options { $0.progress = { if $0 > 8 { throw Interruption(number: $0) } } }
      #expect(throws: Interruption(number: 12)) {
        try test.store.write {
          _ = try $0.insert(contentsOf: ListSource(items(400)), into: test.notes, options: options)
        }
      }
      try expectNothing(test, before: before)
    }
  }

  @Test func caughtBulkErrorCanNotBeCommitted() throws {
    try withTestStore { test in
      let before = try Data(contentsOf: test.url)
      #expect(throws: (any Error).self) {
        try test.store.write { writer in
          _ = try? writer.insert(contentsOf: ListSource(items(100), failsAt: 50), into: test.notes)
        }
      }
      try expectNothing(test, before: before)
    }
  }

  @Test func failedSavepointDoesNotWhitewashAnEarlierFailure() throws {
    try withTestStore { test in
      let before = try Data(contentsOf: test.url)
      #expect(throws: (any Error).self) {
        try test.store.write { writer in
          _ = try? writer.insert(contentsOf: ListSource(items(100), failsAt: 50), into: test.notes)
          _ = try? writer.savepoint { _ in throw Interruption() }
        }
      }
      try expectNothing(test, before: before)
    }
  }

  @Test func bulkErrorWithinASavepointIsUndoneAlone() throws {
    try withTestStore { test in
      try test.store.write { writer in
        try writer.insert(Document(title: "before", text: ""), into: test.notes)
        #expect(throws: Interruption(number: 50)) {
          try writer.savepoint { _ = try $0.insert(contentsOf: ListSource(items(100), failsAt: 50), into: nil) }
        }
        try writer.insert(Document(title: "after", text: ""), into: test.notes)
      }
      #expect(try test.store.titles(in: test.notes) == ["before", "after"])
      #expect(try test.store.everything().keys.sorted() == ["notes"])
    }
  }

  @Test func duplicateKeyNamesItsRecord() throws {
    try withTestStore { test in
      let source = ListSource(items(400) { $1.key = $0 == 33 ? "k7" : "k\($0)" }, batch: 1)
      let before = try Data(contentsOf: test.url)
      do {
        try test.store.write { _ = try $0.insert(contentsOf: source, into: test.notes) }
        Issue.record("stored twice")
      } catch let error as StoreError {
        #expect(error.code == .duplicateKey && error.documentID == 7)
        #expect(error.message.contains("record 33"))
      }
      try expectNothing(test, before: before)
    }
  }

  @Test func keyThatIsThereAlreadyIsADuplicate() throws {
    try withTestStore { test in
      try test.store.write { try $0.insert(Document(text: "x", key: "k5"), into: test.notes) }
      expect(.duplicateKey) {
        try test.store.write {
          _ = try $0.insert(contentsOf: ListSource(items(10) { $1.key = "k\($0)" }), into: test.notes)
        }
      }
      #expect(try test.store.everything()["notes"]?.map(\.text) == ["x"])
    }
  }

  @Test(arguments: [1, 60])
  func keptNumberThatIsTakenNamesItsRecord(_ taken: Int64) throws {
    try withTestStore { test in
      try test.store.write { try $0.insert(Document(text: "x"), into: test.notes, id: DocumentID(taken)) }
      let options = options { $0.keepsIDs = true }
      do {
        try test.store.write {
          _ = try $0.insert(
            contentsOf: ListSource(items(100) { $1.id = DocumentID(Int64($0)) }), into: test.notes, options: options)
        }
        Issue.record("stored over a document")
      } catch let error as StoreError {
        #expect(error.code == .alreadyExists && error.documentID == DocumentID(taken))
        #expect(error.message.contains("record \(taken)"))
      }
      #expect(try test.store.everything()["notes"]?.map(\.text) == ["x"])
    }
  }

  @Test func numberThatTheSourceGivesTwiceIsTaken() throws {
    try withTestStore { test in
      let before = try Data(contentsOf: test.url)
      let options = options { $0.keepsIDs = true }
      expect(.alreadyExists) {
        try test.store.write {
          _ = try $0.insert(
            contentsOf: ListSource(items(20) { $1.id = $0 == 15 ? 3 : DocumentID(Int64($0)) }), into: test.notes,
            options: options)
        }
      }
      try expectNothing(test, before: before)
    }
  }

  @Test(arguments: [0, -1, Int64.max])
  func numbersOutOfRangeAreRefused(_ id: Int64) throws {
    try withTestStore { test in
      let options = options { $0.keepsIDs = true }
      expect(.invalidArgument) {
        try test.store.write {
          _ = try $0.insert(
            contentsOf: ListSource([.init(id: DocumentID(id))]), into: test.notes, options: options)
        }
      }
    }
  }

  @Test func invalidTextIsRefusedAndNeverStoredUnreadable() throws {
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
      for mode in TitleMode.allCases {
        try withTestStore({ $0.titles = mode }) { test in
          expect(.invalidArgument) { try test.store.write { try $0.insert(contentsOf: Broken(part: part), into: nil) } }
        }
      }
    }
  }

  // MARK: Sound

  @Test func everyDocumentStandsInItsOwnCollectionInOrder() throws {
    try withTestStore { test in
      try test.store.write { try $0.insert(Document(title: "old", text: ""), into: DocumentCollection("b")) }
      let source = ListSource(items(99) { $1.collection = [nil, "a", "b"][$0 % 3] })
      let report = try test.store.write { try $0.insert(contentsOf: source, into: nil) }
      #expect(report.created == 99 && report.firstID == 2 && report.lastID == 100)
      #expect(report.collections == ["a": 33, "b": 33, "documents": 33])
      func expected(_ rest: Int) -> [String] { (1...99).filter { $0 % 3 == rest }.map(String.init) }
      let found = try test.store.everything().mapValues { $0.map { $0.header.title ?? "" } }
      #expect(found == ["a": expected(1), "b": ["old"] + expected(2), "documents": expected(0)])
      #expect(try test.store.everything()["a"]?.map(\.text) == expected(1).map { "text \($0)" })
    }
  }

  @Test func namedCollectionTakesAll() throws {
    try withTestStore { test in
      let source = ListSource(items(9) { $1.collection = ["x", "y"][$0 % 2] })
      let report = try test.store.write { try $0.insert(contentsOf: source, into: test.notes) }
      #expect(report.collections == ["notes": 9])
      #expect(try test.store.everything().keys.sorted() == ["notes"])
    }
  }

  @Test func emptySourceMakesTheNamedCollectionOnly() throws {
    try withTestStore { test in
      let report = try test.store.write { try $0.insert(contentsOf: ListSource([]), into: test.notes) }
      #expect(report.created == 0 && report.firstID == nil && report.collections.isEmpty)
      #expect(try test.store.everything() == ["notes": []])
      try test.store.write { _ = try $0.insert(contentsOf: ListSource([]), into: nil) }
      #expect(try test.store.everything().count == 1)
    }
  }

  @Test func atTopKeepsTheSourcesOrder() throws {
    try withTestStore { test in
      let top = options { $0.atTop = true }
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

  @Test func keptNumbersAndParentsComeBack() throws {
    try withTestStore { test in
      let kept = options { $0.keepsIDs = true }
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

  @Test func titleRulesHoldInBulk() throws {
    try withTestStore { test in
      let source = ListSource([
        .init(text: "first line\nmore"), .init(title: "given", text: "x"),
        .init(text: "whole record", isComplete: true),
        .init(text: "\n\n"),
      ])
      let derived = options { $0.titleRule = .derived }
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

  @Test func reportsEachBatchAndNumber() throws {
    try withTestStore { test in
      var ids: [DocumentID] = []
      var steps: [Int] = []
      let options = options {
        $0.onInsert = { ids.append($0) }
        $0.progress = { steps.append($0) }
      }
      try test.store.write { _ = try $0.insert(contentsOf: ListSource(items(10)), into: test.notes, options: options) }
      #expect(ids == (1...10).map { DocumentID($0) })
      #expect(steps == [4, 8, 10])
    }
  }

  @Test func bulkAndSingleWritesMixInOneTransaction() throws {
    try withTestStore { test in
      try test.store.write { writer in
        let first = try writer.insert(Document(text: "x", key: "k"), into: test.notes)
        _ = try writer.insert(contentsOf: ListSource(items(30) { $1.key = "\($0)" }), into: test.notes)
        let id = try writer.id(forKey: "17", in: test.notes)
        try writer.update(try #require(id)) { $0.text = "changed" }
        try writer.delete(first)
        _ = try writer.insert(contentsOf: ListSource(items(3)), into: DocumentCollection("new"))
        try writer.dropCollection("new")
      }
      let documents = try #require(try test.store.everything()["notes"])
      #expect(documents.count == 30 && documents[16].text == "changed")
    }
  }

  @Test func keyUnderAnOlderEpochIsADuplicateToo() throws {
    try withTestStore { test in
      try test.store.write {
        _ = try $0.insert(contentsOf: ListSource(items(20) { $1.key = "\($0)" }), into: test.notes)
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
      #expect(try test.store.read { try $0.id(forKey: "7", in: test.notes) } == 7)
      #expect(try test.store.write { try $0.put(Document(text: "put"), into: test.notes, key: "8") } == 8)
      try test.store.write { _ = try $0.insert(contentsOf: ListSource([.init(key: "new")]), into: test.notes) }
      expect(.duplicateKey) { try test.store.write { try $0.insert(Document(text: "", key: "new"), into: test.notes) } }
    }
  }
}
