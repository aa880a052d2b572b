import Coffer
import CofferSQLite
import Foundation
import Testing

@testable import CofferStoreTestSupport

struct WritingTests {
  static let texts = [
    "", " ", "\0", "a\0b\0", "\u{FEFF}mark", "e\u{301} \u{E9}", "\u{1F469}\u{200D}\u{1F469}\u{200D}\u{1F467}",
    "\r\n\r\n", String(repeating: "\u{0}", count: 4096), String(repeating: "長", count: 100_000), "\u{10FFFF}\u{FFFF}",
  ]

  @Test(arguments: [true, false])
  func preservesTextsAndTitlesByteForByte(_ isPadded: Bool) throws {
    try withTestStore({ $0.isPadded = isPadded }) { test in
      let ids = try test.store.write { writer in
        try Self.texts.map { try writer.insert(Document(title: String($0.prefix(100)), text: $0), into: test.notes) }
      }
      try test.store.read { reader in
        for (id, text) in zip(ids, Self.texts) {
          #expect(try Array(reader.text(of: id).utf8) == Array(text.utf8))
          #expect(try reader.withText(of: id) { Array($0.utf8) } == Array(text.utf8))
          let header = try reader.header(of: id)
          #expect(header.title.map { Array($0.utf8) } == Array(String(text.prefix(100)).utf8))
          #expect(header.byteCount == text.utf8.count)
        }
      }
    }
  }

  @Test func roundTripsDocument() throws {
    try withTestStore { test in
      let parent = try test.store.write { try $0.insert(Document(text: ""), into: test.notes) }
      let document = Document(
        title: "t", text: "{\"a\":1}", key: DocumentKey(bytes: [0, 255]), attributes: ["b": 1, "a": ["x", nil]],
        parent: parent, created: Timestamp(millisecondsSince1970: -5), modified: .latest,
        isJSON: true)
      let id = try test.store.write { try $0.insert(document, into: test.notes) }
      #expect(try test.store.read { try $0.document(id) } == document)
      let header = try test.store.read { try $0.header(of: id) }
      #expect(header.id == id && header.parent == parent && header.isJSON && header.byteCount == 7)
      #expect(String(decoding: header.attributes.canonicalJSON, as: UTF8.self) == #"{"a":["x",null],"b":1}"#)
    }
  }

  @Test func assignsUniqueIDs() throws {
    try withTestStore { test in
      let first = try test.store.write { writer in
        try (0..<3).map { _ in try writer.insert(Document(text: "x"), into: test.notes) }
      }
      #expect(first == [1, 2, 3])
      try test.store.write { writer in
        try writer.delete(3)
        try writer.delete(2)
      }
      #expect(try test.store.write { try $0.insert(Document(text: "y"), into: test.notes) } == 4)
      try test.store.write { try $0.drop(test.notes) }
      #expect(try test.reopened().write { try $0.insert(Document(text: "z"), into: test.notes) } == 5)
      #expect(try test.store.write { try $0.insert(Document(text: "z"), into: test.notes, id: 100) } == 100)
      #expect(try test.store.write { try $0.insert(Document(text: "z"), into: test.notes, id: 50) } == 50)
      #expect(try test.store.write { try $0.insert(Document(text: "z"), into: test.notes) } == 101)
    }
  }

  @Test func putReplacesByKeyAndKeepsOtherFields() throws {
    try withTestStore { test in
      let created = Timestamp(millisecondsSince1970: 1000)
      let (id, again) = try test.store.write { writer in
        let first = try writer.put(
          Document(title: "t", text: "1", attributes: ["a": 1], created: created), into: test.notes, key: "k")
        let second = try writer.put(Document(text: "2"), into: test.notes, key: "k")
        #expect(first.isNew && !second.isNew)
        return (first.id, second.id)
      }
      #expect(id == again)
      let found = try test.store.read { try $0.document(id) }
      #expect(found.title == "t" && found.text == "2" && found.key == "k" && found.created == created)
      #expect(found.attributes == ["a": 1])
      #expect(try test.store.read { $0.documentCount } == 1)
    }
  }

  @Test func putByIDAddsOrReplaces() throws {
    try withTestStore { test in
      try test.store.write { writer in
        let added = try writer.put(Document(title: "t", text: "1"), id: 9, into: test.notes)
        let addedAgain = try writer.put(Document(text: "2"), id: 9, into: test.notes)
        #expect(added.id == 9 && added.isNew)
        #expect(addedAgain.id == 9 && !addedAgain.isNew)
        expect(.alreadyExists) { try writer.put(Document(text: "3"), id: 9, into: DocumentCollection("other")) }
      }
      #expect(try test.store.read { try $0.document(9).title } == "t")
      #expect(try test.store.read { try $0.text(of: 9) } == "2")
    }
  }

  @Test func reencryptsOnlyChangedText() throws {
    try withTestStore { test in
      let id = try test.store.write {
        try $0.insert(Document(title: "a", text: "text", modified: .init(millisecondsSince1970: 5)), into: test.notes)
      }
      func body() throws -> SQLiteValue { try test.raw().query("SELECT body FROM coffer_record").rows[0][0] }
      let before = try body()
      try test.store.write { try $0.update(id) { $0.title = "b" } }
      #expect(try body() == before)
      #expect(try test.store.read { try $0.header(of: id).modified.millisecondsSince1970 } > 5)
      try test.store.write { try $0.update(id) { $0.text = "next" } }
      #expect(try body() != before)
      let generation = try test.store.read { $0.generation }
      try test.store.write { try $0.update(id) { $0.text = "next" } }
      #expect(try test.store.read { $0.generation } == generation)
      #expect(try test.store.read { try $0.document(id).title } == "b")
    }
  }

  /// A given title isn't the derived one if its accents are composed otherwise.
  @Test func keepsTitleInOtherComposition() throws {
    try withTestStore { test in
      let (composed, decomposed) = ("\u{E9}", "e\u{301}")
      try test.store.write { writer in
        func title(_ id: DocumentID) throws -> [UInt8]? { try writer.header(of: id).title.map { Array($0.utf8) } }
        try writer.create(test.notes, titleRule: .derived)
        let text = try writer.insert(Document(text: decomposed), into: test.notes)
        try writer.update(text) { $0.title = composed }
        #expect(try title(text) == Array(composed.utf8))
        try writer.update(text) { $0.text = "new" }
        #expect(try title(text) == Array(composed.utf8))
        let value = try writer.insert(["title": decomposed], into: test.notes, key: "k", title: composed)
        try writer.put(["title": "put"], into: test.notes, key: "k")
        #expect(try title(value) == Array(composed.utf8))
        try writer.put(["title": decomposed], into: test.notes, key: "k")
        try writer.update(value, as: [String: String].self) { $0["title"] = "updated" }
        #expect(try title(value) == Array(composed.utf8))
      }
    }
  }

  @Test func distinguishesComposedAndDecomposedTexts() throws {
    let (composed, decomposed) = ("\u{E5}\u{E9}", "a\u{30A}e\u{301}")
    #expect(composed == decomposed)
    try withTestStore { test in
      let ids = try test.store.write { writer in
        try (0..<4).map { _ in try writer.insert(Document(title: composed, text: composed), into: test.notes) }
      }
      try test.store.write { writer in
        try writer.update(ids[0]) { $0.text = decomposed }
        try writer.update(ids[1]) { $0.title = decomposed }
        try writer.update(ids[2]) {
          $0.text = decomposed
          $0.attributes = ["a": 1]
        }
        _ = try writer.put(Document(title: decomposed, text: decomposed), id: ids[3], into: test.notes)
      }
      let found = try ids.map { id in try test.store.read { try $0.document(id) } }
      let (old, new) = (Array(composed.utf8), Array(decomposed.utf8))
      #expect(found.map { Array($0.text.utf8) } == [new, old, new, new])
      #expect(found.map { Array($0.title?.utf8 ?? "".utf8) } == [old, new, old, new])
    }
  }
}
