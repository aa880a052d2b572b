import Coffer
import CofferRecords
import CofferSQLite
import Foundation
import Testing

@testable import CofferStoreTestSupport

/// Invalid calls, which throw the expected code without changing the file, or any document if the caller catches the
/// error and commits.
struct CallErrorTests {
  /// A call on a store with documents 1 and 2 in `notes` and 3 in `other`. Document 2 has the key `k` and parent 1.
  struct Call: Sendable, CustomTestStringConvertible {
    let code: StoreError.Code
    let testDescription: String
    let run: @Sendable (borrowing WriteTransaction) throws -> Void

    init(
      _ code: StoreError.Code, _ description: String,
      _ run: @escaping @Sendable (borrowing WriteTransaction) throws -> Void
    ) {
      self.code = code
      testDescription = description
      self.run = run
    }
  }

  static let notes = DocumentCollection("notes")
  static let missing = DocumentCollection("missing")
  static let longTitle = String(repeating: "t", count: 1 << 20)

  static let calls: [Call] = [
    Call(.noSuchDocument, "text of an unknown id") { _ = try $0.text(of: 9) },
    Call(.noSuchDocument, "value of an unknown id") { _ = try $0.value(Int.self, of: 9) },
    Call(.noSuchDocument, "text of an id beyond every number") { _ = try $0.text(of: DocumentID(UInt64.max)) },
    Call(.noSuchDocument, "update of an unknown id") { try $0.update(9) { $0.text = "" } },
    Call(.noSuchDocument, "deletion of an unknown id") { try $0.delete(9) },
    Call(.noSuchDocument, "deletion of an unknown family") { try $0.delete(9, includingDescendants: true) },
    Call(.noSuchDocument, "move of an unknown id") { try $0.move(9, to: .top) },
    Call(.noSuchDocument, "move beside an unknown id") { try $0.move(1, to: .after(9)) },
    Call(.noSuchDocument, "insertion beside an unknown id") {
      try $0.insert(Document(text: ""), into: missing, at: .before(9))
    },
    Call(.noSuchDocument, "copy of an unknown id") { try $0.duplicate(9) },
    Call(.noSuchDocument, "key of an unknown id") { try $0.setKey(of: 9, to: "x") },
    Call(.noSuchDocument, "parent of an unknown id") { try $0.setParent(of: 9, to: 1) },
    Call(.noSuchCollection, "information about an unknown collection") { _ = try $0.info(of: missing) },
    Call(.noSuchCollection, "dropping of an unknown collection") { try $0.drop(missing) },
    Call(.noSuchCollection, "renaming of an unknown collection") { try $0.rename(missing, to: "x") },
    Call(.noSuchCollection, "settings of an unknown collection") {
      try $0.update(missing, foldsKeys: true)
    },
    Call(.indexOutOfRange, "move in an unknown collection") { try $0.move(fromIndex: 0, toIndex: 0, in: missing) },
    Call(.indexOutOfRange, "move to an index beyond the last") { try $0.move(fromIndex: 0, toIndex: 2, in: notes) },
    Call(.indexOutOfRange, "move from a negative index") { try $0.move(fromIndex: -1, toIndex: 0, in: notes) },
    Call(.indexOutOfRange, "id at an index beyond the last") { _ = try $0.id(at: 2, in: notes) },
    Call(.duplicateKey, "insertion under a key that is taken") {
      try $0.insert(Document(text: "", key: "k"), into: notes)
    },
    Call(.duplicateKey, "update to a key that is taken") { try $0.update(1) { $0.key = "k" } },
    Call(.duplicateKey, "renaming to a key that is taken") { try $0.setKey(of: 1, to: "k") },
    Call(.alreadyExists, "insertion under an id that is taken") {
      try $0.insert(Document(text: ""), into: missing, id: 1)
    },
    Call(.alreadyExists, "replacement in another collection") {
      try $0.put(Document(text: ""), id: 1, into: missing)
    },
    Call(.alreadyExists, "creation of a collection that is there") { try $0.create(notes) },
    Call(.alreadyExists, "renaming to a collection that is there") { try $0.rename(notes, to: "other") },
    Call(.tooLarge, "insertion with a title over its limit") {
      try $0.insert(Document(title: longTitle, text: ""), into: missing)
    },
    Call(.tooLarge, "update to a title over its limit") { try $0.update(1) { $0.title = longTitle } },
    Call(.tooLarge, "insertion with a key over its limit") {
      try $0.insert(Document(text: "", key: DocumentKey(bytes: repeatElement(0, count: 1025))), into: missing)
    },
    Call(.tooLarge, "look-up of a key over its limit") {
      _ = try $0.id(forKey: DocumentKey(bytes: repeatElement(0, count: 1025)), in: notes)
    },
    Call(.invalidArgument, "creation of a collection without a name") { try $0.create(DocumentCollection("")) },
    Call(.invalidArgument, "query that would write") { _ = try $0.query("DELETE FROM documents") },
    Call(.invalidArgument, "search for nothing") { _ = try $0.search(for: .text(""), in: notes) },
    Call(.invalidArgument, "counter that leaves no number") { try $0.reserveIDs(through: DocumentID(Int.max)) },
    Call(.invalidArgument, "insertion under an id below 1") { try $0.insert(Document(text: ""), into: missing, id: 0) },
    Call(.invalidArgument, "move beside a document of another collection") { try $0.move(1, to: .before(3)) },
    Call(.invalidArgument, "parent of another collection") { try $0.setParent(of: 1, to: 3) },
    Call(.invalidArgument, "itself as parent") { try $0.setParent(of: 1, to: 1) },
    Call(.invalidArgument, "own child as parent") { try $0.update(1) { $0.parent = 2 } },
    Call(.emptyText, "update to no text where none is wanted") { try $0.update(1, whenEmpty: .fail) { $0.text = "" } },
    Call(.notEncodable, "insertion of a value that JSON can't hold") { try $0.insert(Double.nan, into: missing) },
    Call(.notDecodable, "value of another type") { _ = try $0.value([Int].self, of: 1) },
    Call(.notDecodable, "value of another type by its key") {
      _ = try $0.value([Int].self, forKey: "k", in: notes)
    },
    Call(.notDecodable, "values of which one is of another type") { _ = try $0.values([Int].self, in: notes) },
    Call(.notDecodable, "update of a value of another type") { try $0.update(1, as: [Int].self) { $0 = [] } },
  ]

  private func makeStore() throws -> TestStore {
    let test = try TestStore()
    try test.store.write { writer in
      try writer.insert(Document(title: "one", text: "1"), into: Self.notes)
      try writer.insert(Document(text: "2", key: "k", parent: 1), into: Self.notes)
      try writer.insert(Document(text: "3"), into: DocumentCollection("other"))
    }
    return test
  }

  @Test(arguments: calls) func throwsCodeAndLeavesStoreUnchanged(_ call: Call) throws {
    let test = try makeStore()
    let before = try test.store.everything()
    let bytes = try test.bytesOnDisk()
    expect(call.code) { try test.store.write { try call.run($0) } }
    #expect(try test.bytesOnDisk() == bytes)
    try test.store.write { writer in expect(call.code) { try call.run(writer) } }
    #expect(try test.store.everything() == before)
    // The failed call doesn't use up an ID either.
    #expect(try test.store.write { try $0.insert(Document(text: "4"), into: Self.notes) } == 4)
    try test.expectSound()
  }

  @Test func returnsNilForUnknownKey() throws {
    let test = try makeStore()
    let ids = try test.store.read { reader in
      [try reader.id(forKey: "none", in: Self.notes), try reader.id(forKey: "k", in: Self.missing)]
    }
    #expect(ids == [nil, nil])
    #expect(try test.store.read { try $0.value(Int.self, forKey: "none", in: Self.notes) } == nil)
  }

  @Test func outerWriteSurvivesRejectedNestedWrite() throws {
    let test = try makeStore()
    try test.store.write { writer in
      try writer.update(1) { $0.text = "outer" }
      expect(.misuse) { try test.store.write { try $0.delete(1) } }
    }
    #expect(try test.store.read { try $0.text(of: 1) } == "outer")
    try test.expectSound()
  }

  @Test func locksOutSecondWriter() throws {
    let test = try makeStore()
    var options = OpenOptions.testing
    options.wait = .zero
    let other = try test.reopened(.published("primary"), options)
    // SQLite treats this connection like another process.
    let holder = try test.raw()
    try holder.execute("BEGIN IMMEDIATE")
    expect(.locked) { try other.write { try $0.update(1) { $0.text = "second" } } }
    try holder.execute("ROLLBACK")
    #expect(try other.write { try $0.update(1) { $0.text = "second" } })
    try other.close()
    try test.expectSound()
  }

  @Test func everyCallOnClosedStoreThrows() throws {
    let test = try makeStore()
    let bytes = try test.bytesOnDisk()
    try test.store.close()
    expect(.closed) { try test.store.read { _ in } }
    expect(.closed) { try test.store.write { _ in } }
    expect(.closed) { try test.store.verify() }
    expect(.closed) { try test.store.read { try $0.query("SELECT 1") } }
    expect(.closed) { try test.store.read { try $0.search(for: .text("x"), in: Self.notes) } }
    expect(.closed) { try test.store.compact() }
    expect(.closed) { try test.store.backup(to: test.place.file("copy.coffer")) }
    #expect(test.place.names == ["test.coffer"])
    #expect(try test.bytesOnDisk() == bytes)
  }

  @Test func throwingCallbackRollsBackIteration() throws {
    let test = try makeStore()
    let before = try test.store.everything()
    let bytes = try test.bytesOnDisk()
    for deletes in [false, true] {
      #expect(throws: Interruption()) {
        try test.store.write { writer in
          try writer.forEach(in: Self.notes) { opened in
            if deletes { try writer.delete(opened.header.id) }
            throw Interruption()
          }
        }
      }
      #expect(throws: Interruption()) {
        try test.store.write { writer in
          try writer.forEachMatch(of: .text("1"), in: Self.notes) { found in
            if deletes { try writer.delete(found.document.header.id) }
            throw Interruption()
          }
        }
      }
      #expect(throws: Interruption()) {
        try test.store.write { writer in
          try writer.withText(of: 1) { _ in
            if deletes { try writer.delete(1) }
            throw Interruption()
          }
        }
      }
    }
    #expect(try test.bytesOnDisk() == bytes)
    #expect(try test.store.everything() == before)
    try test.expectSound()
  }

  @Test func thrownErrorUndoesEarlierChanges() throws {
    let test = try makeStore()
    let before = try test.store.everything()
    let bytes = try test.bytesOnDisk()
    #expect(throws: Interruption(number: 3)) {
      try test.store.write { writer in
        try writer.sort(Self.notes, by: .text, descending: true)
        try writer.deleteUndoably([1], includingDescendants: true)
        try writer.truncate(DocumentCollection("other"), restartingIDs: true)
        try writer.insert([1], into: Self.missing)
        throw Interruption(number: 3)
      }
    }
    #expect(try test.store.everything() == before)
    #expect(try test.bytesOnDisk() == bytes)
  }
}
