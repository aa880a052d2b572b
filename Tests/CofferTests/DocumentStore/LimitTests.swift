import Coffer
import CofferEngine
import CofferRecords
import CofferSealing
import CofferTestSupport
import Foundation
import Testing

@testable import CofferStoreTestSupport

/// Both ends of the limits on the page Limits: the greatest value is stored and read, and one more changes nothing.
@Suite struct LimitTests {
  /// Tries one byte more than the limit in the transaction that stored the greatest value.
  private func expectLimit(
    _ limit: Int, _ code: StoreError.Code = .tooLarge, _ location: SourceLocation = #_sourceLocation,
    _ store: (borrowing WriteTransaction, DocumentCollection, Int) throws -> Void
  ) throws {
    try withTestStore { test in
      try test.store.write { writer in
        try writer.insert(Document(text: "kept"), into: test.notes)
        try store(writer, test.notes, limit)
      }
      let before = try Data(contentsOf: test.url)
      expect(code, location: location) { try test.store.write { try store($0, test.notes, limit + 1) } }
      #expect(try Data(contentsOf: test.url) == before, sourceLocation: location)
    }
  }

  @Test func titleLength() throws {
    try expectLimit(StoreFormat.maximumTitle) { writer, notes, count in
      let title = String(repeating: "t", count: count)
      let id = try writer.insert(Document(title: title, text: "x"), into: notes)
      #expect(try writer.header(of: id).title == title)
    }
  }

  /// A head has 900 KiB besides the title, of which the attributes take all but what its other parts need.
  @Test func headLength() throws {
    try withTestStore { test in
      func attributes(_ count: Int) -> Attributes { ["a": .string(String(repeating: "x", count: count))] }
      try test.store.write { writer in
        let title = String(repeating: "t", count: StoreFormat.maximumTitle)
        let key = DocumentKey(bytes: repeatElement(0x61, count: 1024))
        let id = try writer.insert(Document(title: title, text: "kept", key: key), into: test.notes)
        // Find the greatest value, because other parts of the head vary in length.
        var (fits, fails) = (0, StoreFormat.maximumHeadWithoutTitle)
        while fails - fits > 1 {
          let count = (fits + fails) / 2
          do {
            try writer.update(id) { $0.attributes = attributes(count) }
            fits = count
          } catch let error as StoreError {
            #expect(error.code == .tooLarge)
            fails = count
          }
        }
        #expect(StoreFormat.maximumHeadWithoutTitle - fits < 2048)
        #expect(try writer.document(id).attributes == attributes(fits))
      }
    }
  }

  @Test func collectionNameLength() throws {
    try expectLimit(StoreFormat.maximumCollectionName, .invalidArgument) { writer, _, count in
      let name = String(repeating: "n", count: count)
      try writer.create(DocumentCollection(name))
      #expect(try writer.collections().contains { $0.name == name })
    }
  }

  @Test func collectionAttributesLength() throws {
    // `{"a":"…"}`
    try expectLimit(StoreFormat.maximumCollectionData) { writer, _, count in
      let value = Attributes.Value.string(String(repeating: "v", count: count - 8))
      try writer.create(DocumentCollection("\(count)"), attributes: ["a": value])
    }
  }

  @Test(.slow) func textLength() throws {
    try withTestStore { test in
      let text = String(repeating: "x", count: StoreFormat.maximumText)
      let id = try test.store.write { try $0.insert(Document(text: text), into: test.notes) }
      #expect(try test.store.read { try $0.text(of: id) }.utf8.count == text.utf8.count)
      expect(.tooLarge) { try test.store.write { try $0.update(id) { $0.text = text + "x" } } }
      #expect(try test.store.read { try $0.text(of: id) }.utf8.count == text.utf8.count)
    }
  }

  // MARK: Keys

  @Test func labelLength() throws {
    try withTestStore { test in
      let label = String(repeating: "l", count: KeySlotRecord.maximumLabel)
      try test.store.keys.add(.published("next"), label: label)
      #expect(try test.store.keys.list().last?.label == label)
      expect(.tooLarge) { try test.store.keys.add(.stranger(), label: label + "l") }
      expect(.tooLarge) { try test.store.keys.replace(with: .words("words"), label: label + "l") }
      #expect(try test.store.keys.list().count == 2)
    }
  }

  @Test func passphraseLength() throws {
    try withTestStore { test in
      let longest = String(repeating: "p", count: Passphrase.maximumByteCount)
      try test.store.keys.add(.words(longest))
      try test.reopened(.words(longest)).close()
      expect(.keyFileInvalid) { try test.store.keys.add(.words(longest + "p")) }
      #expect(try test.store.keys.list().count == 2)
    }
  }

  /// Slots of TEST stores cost 2^10 each, so more of them fit than in other stores, where each costs 2^17.
  @Test func passphraseWork() throws {
    let most = ScryptCost.maximumTotalWork
    #expect(most / ScryptCost.standard.work == 4)
    let targets = { (count: UInt64) in
      (0..<count).map { SlotTarget.passphrase(.text("words \($0)"), cost: .standard) }
    }
    try SlotTarget.checkWork(targets(4))
    expect(.invalidArgument) { try SlotTarget.checkWork(targets(5)) }
  }

  // MARK: Indexes and migrations

  @Test func numberOfIndexedFields() throws {
    try withTestStore { test in
      try test.store.write { _ = try $0.insert(Document(text: "x"), into: test.notes) }
      func fields(_ numbers: ClosedRange<Int>) -> [DocumentIndex] {
        numbers.map { .field("f\($0)", "$.f\($0)", as: .number) }
      }
      try test.store.index(test.notes, fields(1...64))
      expect(.tooLarge) { try test.store.index(test.notes, fields(65...65)) }
      let pairs = (2...17).map { DocumentIndex.fields(["f1", "f\($0)"]) }
      try test.store.index(test.notes, pairs)
      expect(.tooLarge) { try test.store.index(test.notes, [.fields(["f1", "f18"])]) }
      let eight = (1...8).map { "f\($0)" }
      expect(.tooLarge) { try test.store.index(test.notes, [.fields(eight)]) }
      expect(.invalidArgument) { try test.store.index(test.notes, [.fields(eight + ["f9"])]) }
      #expect(try test.store.read { try $0.indexes(of: test.notes) }.count == 80)
    }
  }

  @Test func numberOfFieldsIndexedTogether() throws {
    try withTestStore { test in
      try test.store.write { _ = try $0.insert(Document(text: "x"), into: test.notes) }
      let names = (1...9).map { "f\($0)" }
      try test.store.index(test.notes, names.map { .field($0, "$.\($0)", as: .number) })
      try test.store.index(test.notes, .fields(Array(names.prefix(8))), .fields(Array(names.prefix(2))))
      expect(.invalidArgument) { try test.store.index(test.notes, .fields(names)) }
      expect(.invalidArgument) { try test.store.index(test.notes, .fields(["f1"])) }
      #expect(try test.store.read { try $0.indexes(of: test.notes) }.count == 11)
    }
  }

  @Test func declarationLength() throws {
    try withTestStore { test in
      try test.store.write { _ = try $0.insert(Document(text: "x"), into: test.notes) }
      func field(_ name: String, _ count: Int) -> DocumentIndex {
        .field(name, "$." + String(repeating: "m", count: count), as: .number)
      }
      let most = IndexRoot.maximumDeclaration
      // The names of the members take less than 1 KiB.
      try test.store.index(test.notes, field("long", most - 1024))
      expect(.tooLarge) { try test.store.index(test.notes, field("longer", most)) }
      #expect(try test.store.read { try $0.indexes(of: test.notes) }.count == 1)
    }
  }

  @Test func migrationNameLength() throws {
    let test = try TestStore()
    try test.store.close()
    func open(_ count: Int) throws {
      var options = OpenOptions.testing
      options.migrations = [Migration(String(repeating: "m", count: count)) { _ in }]
      try test.reopened(.published("primary"), options).close()
    }
    try open(128)
    let before = try Data(contentsOf: test.url)
    expect(.invalidArgument) { try open(129) }
    expect(.invalidArgument) { try open(0) }
    #expect(try Data(contentsOf: test.url) == before)
  }
}
