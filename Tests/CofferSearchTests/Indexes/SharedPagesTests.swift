import Coffer
import CofferSQLite
import Foundation
import Testing

@testable import CofferEngine
@testable import CofferRecords
@testable import CofferSearch
@testable import CofferStoreTestSupport

/// The pages in memory that the readers of an outdated index share.
struct SharedPagesTests {
  private let test: TestStore

  /// A closed store whose index lacks so many documents that readers share their pages.
  init() throws {
    test = try TestStore()
    let notes = test.notes
    try test.store.write { tx in
      for number in 0..<400 { try tx.insert(Document(text: "needle \(number) in the hay \(number % 17)"), into: notes) }
    }
    try test.store.index(notes, .words())
    try test.store.write { tx in for number in 0..<40 { try tx.insert(Document(text: "late \(number)"), into: notes) } }
    try test.store.close()
  }

  private func reader(of url: URL, memory: Int = 8 << 20) throws -> DocumentStore {
    var options = OpenOptions.testing
    (options.isReadOnly, options.indexMemoryBytes) = (true, memory)
    return try DocumentStore.open(at: url, key: .published("primary"), options: options)
  }

  private func count(_ word: String, in store: DocumentStore) throws -> Int {
    try store.read { try $0.search(ranked: word, in: test.notes) }.total
  }

  /// A reader that finds a damaged page has shared its pages before, if its update didn't need that page.
  @Test func damagedIndexIsMadeAgain() throws {
    let places = try test.raw().query("SELECT place FROM coffer_x_index_page WHERE place>>32=?", IndexPart.contents)
    #expect(places.rows.count > 10)
    for place in places.rows.map({ $0[0] }) {
      let copy = test.place.file("copy.coffer")
      try FileManager.default.copyItem(at: test.url, to: copy)
      let raw = try Database(copy.path, mode: .readWrite)
      try raw.execute("UPDATE coffer_x_index_page SET sealed=zeroblob(length(sealed)) WHERE place=?", place)
      try raw.close()
      let store = try reader(of: copy)
      for _ in 0..<2 {
        #expect(try count("needle", in: store) == 400 && count("late", in: store) == 40, "\(place)")
        let matches = try store.read { try $0.query(#"SELECT count(*) FROM "notes.match"('hay')"#) }
        #expect(matches.rows[0][0] == .integer(400), "\(place)")
      }
      try store.close()
      try FileManager.default.removeItem(at: copy)
    }
  }

  enum Replacement: CaseIterable {
    case update, step, otherDeclaration, noDeclaration, keys
  }

  /// Nobody continues from pages of a root that isn't in the file. After a rekey, they would outlive their keys.
  @Test(arguments: Replacement.allCases) func newRootReleasesPages(_ replacement: Replacement) throws {
    let store = try test.reopened()
    let memory = store.engine.session.companion(IndexMemory.self)
    #expect(try count("late", in: store) == 40)
    #expect(memory[IndexPart.contents] != nil)
    switch replacement {
    case .update: try store.updateIndexes()
    case .step:
      try store.engine.writing { transaction throws(StoreError) in
        try StoreIndexes(transaction).write(IndexPart.contents, in: IndexSteps())
        try transaction.commit()
      }
    case .otherDeclaration: try store.index(test.notes, .field("bytes", "@size", as: .number))
    case .noDeclaration: try store.dropIndexes(test.notes)
    case .keys:
      var options = RekeyOptions()
      options.isKeysOnly = true
      try store.rekey(to: [.published("next")], options: options) { _ in }
    }
    #expect(memory[IndexPart.contents] == nil)
  }

  /// Another process has replaced the root, and the memory doesn't suffice for the former pages and the new ones.
  @Test func updateReleasesPagesOfFormerRoot() throws {
    let first = try reader(of: test.url)
    #expect(try count("late", in: first) == 40)
    var former = first.engine.session.companion(IndexMemory.self)[IndexPart.contents]
    var byteCount = 0
    former?.pages.forEachPage { byteCount += $1.count }
    let writer = try StoreEngine(at: test.url.path, key: .published("primary"), options: .testing)
    try writer.writing { transaction throws(StoreError) in
      try StoreIndexes(transaction).write(IndexPart.contents)
      try transaction.commit()
    }
    try writer.write { transaction in
      let tx = WriteTransaction(transaction)
      for number in 0..<40 { try tx.insert(Document(text: "later \(number)"), into: test.notes) }
    }
    try writer.connections.close()
    let second = try reader(of: test.url, memory: byteCount * 3 / 2)
    // The writer of this process has released them.
    let memory = second.engine.session.companion(IndexMemory.self)
    memory[IndexPart.contents] = former
    former = nil
    try first.close()
    #expect(memory.budget.isScarce)
    #expect(try count("later", in: second) == 40)
  }
}
