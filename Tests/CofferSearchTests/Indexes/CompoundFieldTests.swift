import Coffer
import CofferSQLite
import CofferTestSupport
import Foundation
import Testing

@testable import CofferEngine
@testable import CofferSearch
@testable import CofferStoreTestSupport

/// Indexes of several fields together.
struct CompoundFieldTests {
  private struct Mail: Codable {
    var thread: String
    var date: Date
  }

  private static let thread: DocumentIndex = .field("thread", "$.thread", as: .text)
  private static let date: DocumentIndex = .field("date", "$.date", as: .date)
  private static let both: DocumentIndex = .fields(["thread", "date"])
  private static let mails: DocumentCollection = "mails"

  private func fill(_ test: TestStore, count: Int = 600) throws {
    try test.store.write { tx in
      for number in 0..<count {
        let date = Date(timeIntervalSinceReferenceDate: Double(number * 7919 % count) * 60)
        try tx.insert(Mail(thread: "thread \(number % 3)", date: date), into: Self.mails)
      }
    }
  }

  /// Returns how SQLite runs a query over the tables of the index.
  private func plan(_ store: DocumentStore, _ sql: String) throws -> [String] {
    try store.engine.reading { transaction throws(StoreError) in
      try StoreIndexes(transaction).withIndex(IndexPart.contents) { file throws(StoreError) in
        try file!.run { database throws(SQLiteError) in
          try database.query("EXPLAIN QUERY PLAN " + sql).rows.map { $0[3].text ?? "" }
        }
      }
    }
  }

  @Test func readsPageOfThreadInOrder() throws {
    try withTestStore { test in
      try fill(test)
      let fields = try test.store.index(Self.mails, Self.both, Self.date, Self.thread)
      #expect(fields.map(\.values) == [600, 600])
      let end = Date(timeIntervalSinceReferenceDate: 300 * 60)
      let page = try test.store.read {
        try $0.query(
          "SELECT id, text FROM mails WHERE thread = ? AND date < ? ORDER BY date DESC LIMIT 5", "thread 1", end)
      }
      let mails = try test.store.read { try $0.values(Mail.self, in: Self.mails) }
        .filter { $0.thread == "thread 1" && $0.date < end }.sorted { $0.date > $1.date }
      #expect(page.rows.map { $0[0].integer } == mails.prefix(5).map(\.id.rawValue))
      let steps = try plan(
        test.store, "SELECT id FROM main.fields_1 WHERE f1='thread 1' AND f0<'2001-02' ORDER BY f0 DESC LIMIT 5")
      #expect(steps.count == 1 && steps[0].contains("fields_1_1_0 (f1=? AND f0<?)"), "\(steps)")
      // The next page after one of several mails with the same date.
      let next = try plan(
        test.store,
        "SELECT id FROM main.fields_1 WHERE f1='thread 1' AND (f0,id)<('2001-02',9) ORDER BY f0 DESC, id DESC LIMIT 5")
      #expect(next.count == 1 && next[0].contains("fields_1_1_0 (f1=? AND f0<?)"), "\(next)")
    }
  }

  @Test func declaresFieldsInAnyOrderOfTheList() throws {
    try withTestStore { test in
      try fill(test, count: 10)
      let indexes = [Self.both, Self.thread, .words(), Self.date, .fields(["date", "thread"])]
      for _ in 0..<2 { try test.store.write { try $0.setIndexes(indexes, of: Self.mails) } }
      let declared: [DocumentIndex] = [.words(), Self.thread, Self.date, Self.both, .fields(["date", "thread"])]
      #expect(try test.store.read { try $0.indexes(of: Self.mails) } == declared)
      let anchor = try test.store.anchor()
      try test.store.write { try $0.setIndexes(declared.reversed(), of: Self.mails) }
      #expect(try test.store.anchor() == anchor)
      // A field that is replaced by another kind stays in the compound.
      let changed: [DocumentIndex] = [Self.both, .field("thread", "$.thread", as: .folded), Self.date]
      try test.store.write { try $0.setIndexes(changed, of: Self.mails) }
      #expect(try Set(test.store.read { try $0.indexes(of: Self.mails) }) == Set(changed))
      #expect(try test.store.verify().indexProblems.isEmpty)
    }
  }

  @Test func refusesOtherLists() throws {
    try withTestStore { test in
      try fill(test, count: 3)
      let lists = [
        ["thread"], [], ["thread", "thread"], ["thread", "Thread"], ["thread", "missing"], ["thread", "id"],
      ]
      for names in lists {
        expect(.invalidArgument) { try test.store.index(Self.mails, Self.thread, Self.date, .fields(names)) }
      }
      let many = (0..<18).map { DocumentIndex.field("n\($0)", "$.n\($0)", as: .number) }
      let pairs = (1..<18).map { DocumentIndex.fields(["n0", "n\($0)"]) }
      expect(.tooLarge) { try test.store.index(Self.mails, many + pairs) }
      expect(.invalidArgument) { try test.store.index(Self.mails, many + [.fields((0..<9).map { "n\($0)" })]) }
      #expect(try test.store.read { try $0.indexes(of: Self.mails) }.isEmpty)
      try test.store.index(Self.mails, many + pairs.dropLast() + [.fields((0..<8).map { "n\($0)" })].dropLast())
      #expect(try test.store.verify().isSound)
    }
  }

  @Test func dropsCompoundBeforeItsFields() throws {
    try withTestStore { test in
      try fill(test, count: 3)
      try test.store.index(Self.mails, Self.thread, Self.date, .fields(["THREAD", "date"]))
      expect(.invalidArgument) { try test.store.dropIndexes(Self.mails, [Self.date]) }
      try test.store.dropIndexes(Self.mails, [Self.date, Self.both])
      #expect(try test.store.read { try $0.indexes(of: Self.mails) } == [Self.thread])
      try test.store.index(Self.mails, Self.date, Self.both)
      try test.store.dropIndexes(Self.mails)
      #expect(try test.store.read { try $0.indexes(of: Self.mails) }.isEmpty)
    }
  }

  /// Copies, merges and later commits keep the index equal to the documents.
  @Test func followsDocumentsAndCopies() throws {
    try withTestStore { test in
      try fill(test, count: 40)
      try test.store.index(Self.mails, Self.thread, Self.date, Self.both)
      let copy = try DocumentStore.openEditableCopy(
        of: test.url, at: test.place.file("copy.coffer"), key: .published("primary"), options: .testing)
      #expect(try copy.read { try $0.indexes(of: Self.mails) } == [Self.thread, Self.date, Self.both])
      try copy.write { tx in
        for id in try tx.ids(in: Self.mails, sortedBy: .id).prefix(30) {
          try tx.update(id, as: Mail.self) { $0.thread = "thread 9" }
        }
      }
      #expect(try test.store.merge(copy).isMerged)
      for store in [test.store, copy] {
        let count = try store.read {
          try $0.query("SELECT count(*) FROM mails WHERE thread = 'thread 9' AND date > '2001'")
        }
        #expect(count.rows[0][0] == 30)
        #expect(try store.updateIndexes() && store.verify().indexProblems.isEmpty)
      }
    }
  }

  @Test(arguments: [
    #"[["thread"]]"#, #"[["thread","other"]]"#, #"[["thread","date"],["thread","date"]]"#, #"[]"#,
    #"[["date","date"]]"#,
    #"[[0,1]]"#,
  ])
  func rejectsForgedDeclaration(_ compounds: String) throws {
    let text = """
      {"collections":[{"compounds":\(compounds),"fields":[{"kind":"text","name":"thread","path":"$.thread"},\
      {"kind":"text","name":"date","path":"$.date"}],"hasSubstrings":false,"hasTitles":false,"number":1,\
      "uid":"00000000000000000000000000000001"}]}
      """
    let sound = text.replacing(compounds, with: #"[["date","thread"]]"#)
    _ = try IndexDeclaration(Array(sound.utf8))
    expect(.damaged) { try IndexDeclaration(Array(text.utf8)) }
  }
}
