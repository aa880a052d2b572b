import Coffer
import CofferDocuments
import CofferEngine
import CofferRecords
import Foundation
import Testing

@testable import CofferStoreTestSupport

/// Codable values as documents.
struct ValueTests {
  struct Note: Codable, Sendable, Equatable {
    var title: String?
    var tags: [String] = []
    var date = Date(timeIntervalSinceReferenceDate: 0.1)
    var number: UInt64 = .max
    var bytes = Data([0, 255])
    var amounts: [String: Double] = ["b": 0.1, "a": -1e-300]
  }

  /// A value that can be neither encoded nor decoded.
  struct Picky: Codable, Sendable {
    struct Refusal: Error {}

    init() {}
    init(from decoder: any Decoder) throws { throw Refusal() }
    func encode(to encoder: any Encoder) throws { throw Refusal() }
  }

  @Test func roundTripsValue() throws {
    try withTestStore { test in
      let note = Note(title: "T\u{E9}\0\u{1F600}/\"", tags: ["a", ""])
      let id = try test.store.write { try $0.insert(note, into: test.notes, at: .top, key: "k") }
      try test.store.read { reader in
        #expect(try reader.value(of: id) == note)
        #expect(try reader.value(Note.self, forKey: "k", in: test.notes) == note)
        #expect(try reader.values(Note.self, in: test.notes).map(\.value) == [note])
        let header = try reader.header(of: id)
        #expect(header.isJSON)
        #expect(header.title == note.title)
        #expect(header.key == "k")
      }
    }
  }

  @Test func encodesSortedCompactJSON() throws {
    try withTestStore { test in
      let id = try test.store.write { try $0.insert(Note(title: "a/b"), into: test.notes) }
      let text = try test.store.read { try $0.text(of: id) }
      #expect(
        text == #"{"amounts":{"a":-1e-300,"b":0.1},"bytes":"AP8=","date":0.1,"number":18446744073709551615,"#
          + #""tags":[],"title":"a/b"}"#)
    }
  }

  @Test func storesValuesOtherThanObjects() throws {
    try withTestStore { test in
      try test.store.write { writer in
        let text = try writer.insert("text", into: test.notes)
        let number = try writer.insert(42, into: test.notes)
        let list = try writer.insert([1, 2], into: test.notes)
        #expect(try writer.value(String.self, of: text) == "text")
        #expect(try writer.value(Int.self, of: number) == 42)
        #expect(try writer.value([Int].self, of: list) == [1, 2])
        #expect(try writer.header(of: text).title == nil)
      }
    }
  }

  @Test func replacedValueKeepsOtherParts() throws {
    try withTestStore { test in
      try test.store.write { writer in
        let parent = try writer.insert(Document(text: ""), into: test.notes)
        let (id, isNew) = try writer.put(Note(title: "old"), into: test.notes, key: "k")
        #expect(isNew)
        try writer.update(id) {
          $0.attributes = ["a": 1]
          $0.parent = parent
          $0.created = Timestamp(millisecondsSince1970: 5)
        }
        let again = try writer.put(Note(title: "new"), into: test.notes, key: "k")
        #expect(again.id == id && !again.isNew)
        let third = try writer.put(Note(title: "newer"), id: id, into: test.notes)
        #expect(third.id == id && !third.isNew)
        let document = try writer.document(id)
        #expect(document.title == "newer")
        #expect(document.key == "k")
        #expect(document.attributes == ["a": 1])
        #expect(document.parent == parent)
        #expect(document.created == Timestamp(millisecondsSince1970: 5))
        // The removed title came from the old value.
        try writer.put(Note(title: nil), into: test.notes, key: "k")
        #expect(try writer.header(of: id).title == nil)
        try writer.put(Note(title: "own"), into: test.notes, key: "k", title: "given")
        try writer.put(Note(title: "another"), into: test.notes, key: "k")
        #expect(try writer.header(of: id).title == "given")
      }
    }
  }

  @Test func updatesValueInPlace() throws {
    try withTestStore { test in
      try test.store.write { writer in
        let id = try writer.insert(Note(title: "t"), into: test.notes)
        try writer.update(id, as: Note.self) {
          $0.tags.append("read")
          $0.title = "u"
        }
        #expect(try writer.value(Note.self, of: id).tags == ["read"])
        #expect(try writer.header(of: id).title == "u")
        expect(.notDecodable) { try writer.update(id, as: Int.self) { $0 += 1 } }
      }
    }
  }

  @Test func decodingErrorHidesText() throws {
    try withTestStore { test in
      try test.store.write { writer in
        for text in ["secret", "{\"secret\":1}", "{\"title\":[\"secret\"]}", "", "[]"] {
          let id = try writer.insert(Document(text: text, isJSON: true), into: test.notes)
          do throws(StoreError) {
            let note: Note = try writer.value(of: id)
            Issue.record("\(note) from \(text)")
          } catch {
            #expect(error.code == .notDecodable)
            #expect(error.documentID == id)
            #expect(!error.description.contains("secret"))
            #expect(error.message.hasPrefix("document \(id) is no Note: "))
          }
        }
        expect(.notDecodable) { try writer.value(Picky.self, of: 2) }
        expect(.notDecodable) { try writer.values(Note.self, in: test.notes) }
        expect(.noSuchDocument) { try writer.value(Note.self, of: 99) }
      }
    }
  }

  @Test func unencodableValueLeavesStoreUnchanged() throws {
    try withTestStore { test in
      let id = try test.store.write { try $0.insert(Note(title: "t"), into: test.notes, key: "k") }
      let before = try test.store.everything()
      let generation = try test.store.read { $0.generation }
      try test.store.write { writer in
        expect(.notEncodable) { try writer.insert(Picky(), into: test.notes) }
        expect(.notEncodable) { try writer.put(Double.nan, into: test.notes, key: "k") }
        expect(.notEncodable) { try writer.put(Decimal.nan, into: test.notes, key: "k") }
        expect(.notEncodable) { try writer.put(["price": Decimal.nan], into: test.notes, key: "k") }
        expect(.notEncodable) { try writer.put(Picky(), id: id, into: test.notes) }
        expect(.notEncodable) { try writer.update(id, as: Note.self) { $0.amounts["c"] = .infinity } }
        expect(.notEncodable) { try writer.insert(Picky(), into: DocumentCollection("new")) }
      }
      #expect(try test.store.everything() == before)
      #expect(try test.store.read { $0.generation } == generation)
    }
  }

  @Test func outerUpdateOverridesNestedUpdate() throws {
    try withTestStore { test in
      try test.store.write { writer in
        let id = try writer.insert(Document(text: "1"), into: test.notes)
        let tx = WriteTransaction(writer.transaction)
        try writer.update(id) { document in
          _ = try? tx.update(id) { $0.text = "inner" }
          document.text = "outer"
        }
        #expect(try writer.text(of: id) == "outer")
      }
    }
  }
}
