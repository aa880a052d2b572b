import Coffer
import CofferDocuments
import CofferRecords
import CofferSQLite
import CofferTestSupport
import Foundation
import Testing

@testable import CofferSearch
@testable import CofferStoreTestSupport

/// Compares lists from the title index with the documents.
@Suite struct TitleIndexTests {
  private static func document(_ random: inout Pseudorandom) -> Document {
    var document = Document(text: String(repeating: "text ", count: random.number(below: 9)))
    if random.number(below: 4) > 0 { document.title = "Öl \(random.number(below: 1000))" }
    if random.number(below: 3) == 0 { document.key = DocumentKey("key \(random.number(below: 1 << 30))") }
    if random.number(below: 3) == 0 { document.attributes = ["color": "red", "n": 3] }
    return document
  }

  /// Returns headers from the rows, because a list with a limit never uses the index.
  private func rows(_ store: DocumentStore, _ collection: DocumentCollection) throws -> [DocumentHeader] {
    try store.read { scope in try scope.headers(in: collection, limit: .max - 1) }
  }

  private func titles(_ store: DocumentStore, _ collection: DocumentCollection) throws -> [DocumentHeader] {
    try store.read { scope in try scope.headers(in: collection) }
  }

  private func filled(_ count: Int = 300) throws -> TestStore {
    let test = try TestStore()
    var random = Pseudorandom(seed: 5)
    try test.store.write { scope in
      for _ in 0..<count { _ = try scope.insert(Self.document(&random), into: test.notes, at: .bottom) }
      for _ in 0..<20 { _ = try scope.insert(Self.document(&random), into: "other", at: .bottom) }
      _ = try scope.insert(["value": 1], into: test.notes)
    }
    try test.store.index(test.notes, .titles)
    return test
  }

  @Test func listsMatchRows() throws {
    let test = try filled()
    var random = Pseudorandom(seed: 6)
    #expect(try test.store.read { try $0.indexes(of: test.notes) } == [.titles])
    for round in 0..<10 {
      #expect(try titles(test.store, test.notes) == rows(test.store, test.notes))
      #expect(try titles(test.store, "other") == rows(test.store, "other"))
      if round % 3 == 1 { try test.store.updateIndexes() }
      if round % 3 == 2 { #expect(try titles(try test.reopened(), test.notes) == rows(test.store, test.notes)) }
      #expect(try test.store.checkIndexes().problems.isEmpty)
      let ids = try rows(test.store, test.notes).map(\.id)
      try test.store.write { scope in
        for _ in 0..<12 {
          let id = ids[random.number(below: ids.count)]
          guard try scope.exists(id) else { continue }
          switch random.number(below: 6) {
          case 0: _ = try scope.insert(Self.document(&random), into: test.notes, at: .top)
          case 1: try scope.delete(id)
          case 2: try scope.move(id, to: .top)
          case 3: try scope.move(id, into: "other")
          case 4: _ = try scope.update(id) { $0.title = nil }
          default: _ = try scope.update(id) { $0.title = "changed \(round)" }
          }
        }
        // Inside a write, lists read the rows, including the write's own changes.
        _ = try scope.headers(in: test.notes)
      }
    }
  }

  /// A damaged row doesn't affect a list read from the index.
  @Test func readsWholeListsFromIndex() throws {
    let test = try filled()
    let wanted = try rows(test.store, test.notes)
    try test.store.close()
    try test.raw().execute("UPDATE coffer_record SET head=zeroblob(length(head)) WHERE id=\(wanted[50].id.rawValue)")
    let store = try test.reopened()
    #expect(try titles(store, test.notes) == wanted)
    expect(.damaged) { try rows(store, test.notes) }
  }

  @Test(arguments: [
    "UPDATE coffer_x_index_page SET sealed=zeroblob(length(sealed)) WHERE place=(SELECT max(place) FROM coffer_x_index_page)",
    "DELETE FROM coffer_x_index_page WHERE place=(SELECT max(place) FROM coffer_x_index_page)",
    "UPDATE coffer_x_index SET sealed=zeroblob(length(sealed))", "DELETE FROM coffer_x_index",
    "DROP TABLE coffer_x_index_page",
  ])
  func listsTitlesDespiteDamagedPages(_ sql: String) throws {
    let test = try filled()
    let wanted = try rows(test.store, test.notes)
    try test.store.close()
    try test.raw().execute(sql)
    let store = try test.reopened()
    #expect(try titles(store, test.notes) == wanted)
    if try store.read({ try $0.indexes(of: test.notes) }).isEmpty {
      try store.index(test.notes, .titles)
    } else {
      try store.updateIndexes()
    }
    #expect(try store.checkIndexes().problems.isEmpty)
    #expect(try titles(store, test.notes) == wanted)
    #expect(try store.verify().isSound)
  }

  /// The old page opens with a permitted revision, but the sum of all pages doesn't match.
  @Test func rejectsReplayedPage() throws {
    let test = try filled()
    try test.store.close()
    let old = test.place.file("old.coffer")
    try FileManager.default.copyItem(at: test.url, to: old)
    var store = try test.reopened()
    let first = try rows(store, test.notes)[0].id
    try store.write { scope in _ = try scope.update(first) { $0.title = "today" } }
    try store.updateIndexes()
    try store.close()
    let raw = try test.raw()
    try raw.execute("ATTACH '\(old.path)' AS old")
    try raw.execute(
      """
      UPDATE coffer_x_index_page SET sealed=(SELECT sealed FROM old.coffer_x_index_page o WHERE o.place=coffer_x_index_page.place)
      WHERE place=(SELECT n.place FROM coffer_x_index_page n JOIN old.coffer_x_index_page o ON o.place=n.place
        WHERE o.sealed<>n.sealed AND n.place & 0xFFFFFFFF > 0 ORDER BY n.place DESC LIMIT 1)
      """)
    try raw.close()
    store = try test.reopened()
    #expect(try titles(store, test.notes).first?.title == "today")
    #expect(try !store.verify().isSound)
    #expect(try !store.checkIndexes().problems.isEmpty)
    #expect(try store.updateIndexes())
    #expect(try store.checkIndexes().problems.isEmpty)
    #expect(try store.verify().isSound)
  }

  @Test func rekeyAndCopiesKeepTheIndex() throws {
    let test = try filled()
    let wanted = try rows(test.store, test.notes)
    try test.store.rekey()
    #expect(try test.store.checkIndexes().problems.isEmpty)
    #expect(try titles(test.store, test.notes) == wanted)
    let copy = test.place.file("copy.coffer")
    try test.store.copy(.everything, to: copy, keys: [.published("primary")])
    let other = try DocumentStore.open(at: copy, key: .published("primary"), options: .testing)
    #expect(try other.read { try $0.indexes(of: test.notes) } == [.titles])
    #expect(try titles(other, test.notes).map(\.title) == wanted.map(\.title))
    #expect(try other.checkIndexes().problems.isEmpty)
    try test.store.dropIndexes(test.notes)
    #expect(try test.store.read { try $0.indexes(of: test.notes) }.isEmpty)
    #expect(try titles(test.store, test.notes) == wanted)
  }

  // MARK: Index check

  private func contents() throws -> TestStore {
    let test = try TestStore()
    try test.store.write { scope in
      for number in 0..<50 {
        _ = try scope.insert(
          Document(title: "title \(number)", text: #"{"price": \#(number), "name": "Öl \#(number)"}"#),
          into: test.notes,
          at: .bottom)
      }
    }
    try test.store.index(
      test.notes, .words(), .substrings, .titles, .field("price", "$.price", as: .number),
      .field("name", "$.name", as: .folded))
    #expect(try test.store.checkIndexes().problems.isEmpty)
    return test
  }

  /// A key holder or a faulty program changes the inner database.
  @Test(arguments: [
    (1 as UInt32, "UPDATE main.fields_1 SET f0=99 WHERE id=3", 3 as Int64?, "field"),
    (1, "DELETE FROM main.fields_1 WHERE id=3", 3, "field"),
    (1, "UPDATE main.document SET print=print+1 WHERE id=4", 4, "all"),
    (1, "DELETE FROM main.document WHERE id=4", 4, "all"),
    (1, "INSERT INTO main.document SELECT 999,coll,mark,print,row FROM main.document WHERE id=4", nil, "all"),
    (1, "INSERT INTO main.words_1(rowid,title,text) VALUES(5,'','forged')", 5, "words"),
    (1, "INSERT INTO main.parts_1(rowid,title,text) VALUES(6,'','forged')", 6, "substrings"),
    (2, "DELETE FROM main.titles_1 WHERE id=7", 7, "titles"),
    (2, "UPDATE main.titles_1 SET position=CAST(position||x'01' AS BLOB) WHERE id=7", 7, "titles"),
    (
      2, "INSERT INTO main.titles_1 SELECT CAST(position||x'01' AS BLOB),999,header FROM main.titles_1 WHERE id=7", 999,
      "titles"
    ),
    (2, "UPDATE main.titles_1 SET header=(SELECT header FROM main.titles_1 WHERE id=8) WHERE id=7", 7, "titles"),
    (2, "UPDATE main.titles_1 SET header=x'00' WHERE id=7", nil, "page"),
  ])
  func checkFindsForgedEntries(_ part: UInt32, _ sql: String, _ id: Int64?, _ kind: String) throws {
    let test = try contents()
    try test.store.engine.writing { transaction throws(StoreError) in
      let found = try present(try StoreIndexes(transaction).root(part))
      try transaction.keys.beginIndexRun(transaction.connection.nonceSource)
      let file = try IndexFile(found.root, sealed: found.sealed, transaction, .inStore)
      _ = try file.run { database throws(SQLiteError) in try database.execute(sql) }
      try file.write(try StoreIndexes(transaction).contents(), transaction)
      try transaction.commit()
    }
    #expect(try test.store.verify(.quick).isSound, "the pages are those that were written")
    let verdict = try test.store.verify()
    #expect(verdict.error?.code == .damaged)
    let problems = verdict.indexProblems
    #expect(problems.contains { $0.documentID?.rawValue == id }, "\(problems)")
    let found = problems.map { problem in
      switch problem.index {
      case .words: "words"
      case .substrings: "substrings"
      case .titles: "titles"
      case .field, .fields: "field"
      case nil: problem.message.hasPrefix("an index is damaged") ? "page" : "all"
      }
    }
    #expect(found.contains(kind), "\(problems)")
    #expect(problems.count == 1 || sql.contains("position") || kind == "field", "\(problems)")
  }
}

/// `#require` for closures with typed errors.
private func present<T>(_ value: T?) throws(StoreError) -> T {
  guard let value else { throw StoreError(.noIndex, "there is none") }
  return value
}
