import Coffer
import CofferTestSupport
import Foundation
import Testing

@testable import CofferStoreTestSupport

/// Failing writes, which undo only their own changes.
struct WritingErrorTests {
  @Test func rejectsUnknownIDs() throws {
    try withTestStore { test in
      let id = try test.store.write { try $0.insert(Document(text: "x"), into: test.notes) }
      for unknown: DocumentID in [0, -1, 2, 1000, DocumentID(Int64.max), DocumentID(Int64.min)] {
        expect(.noSuchDocument) { try test.store.read { try $0.text(of: unknown) } }
        expect(.noSuchDocument) { try test.store.read { try $0.header(of: unknown) } }
        expect(.noSuchDocument) { try test.store.read { try $0.document(unknown) } }
        expect(.noSuchDocument) { try test.store.write { try $0.update(unknown) { $0.text = "y" } } }
        expect(.noSuchDocument) { try test.store.write { try $0.delete(unknown) } }
        expect(.noSuchDocument) { try test.store.write { try $0.move(unknown, to: .top) } }
        expect(.noSuchDocument) { try test.store.write { try $0.move(id, to: .after(unknown)) } }
        expect(.noSuchDocument) {
          try test.store.write { try $0.insert(Document(text: "y"), into: test.notes, at: .before(unknown)) }
        }
        #expect(try test.store.read { try $0.exists(unknown) } == false)
      }
      #expect(try test.store.everything()["notes"]?.map(\.text) == ["x"])
    }
  }

  @Test func insertionCreatesMissingCollection() throws {
    try withTestStore { test in
      let missing = DocumentCollection("missing")
      try test.store.read { reader in
        #expect(try reader.headers(in: missing).isEmpty)
        #expect(try reader.count(in: missing) == 0)
        try reader.forEach(in: missing) { _ in Issue.record("a document") }
        #expect(try reader.ids(in: missing, sortedBy: .title).isEmpty)
        #expect(try reader.values(Int.self, in: missing).isEmpty)
        #expect(try reader.id(forKey: "k", in: missing) == nil)
        #expect(try reader.search(for: .text("x"), in: missing).isEmpty)
        #expect(try reader.query("SELECT id FROM documents WHERE collection = 'missing'").rows.isEmpty)
        expect(.noSuchCollection) { try reader.info(of: missing) }
        expect(.indexOutOfRange) { try reader.id(at: 0, in: missing) }
      }
      expect(.noSuchCollection) { try test.store.write { try $0.rename(DocumentCollection("missing"), to: "x") } }
      expect(.noSuchCollection) { try test.store.write { try $0.drop(DocumentCollection("missing")) } }
      #expect(try test.store.read { try $0.exists(missing) } == false)
      try test.store.write { try $0.insert(Document(text: "x"), into: missing) }
      #expect(try test.store.read { try $0.count(in: missing) } == 1)
    }
  }

  @Test func rejectsTakenAndInvalidIDs() throws {
    try withTestStore { test in
      try test.store.write { writer in
        let id = try writer.insert(Document(text: "x"), into: test.notes, id: 7)
        #expect(id == 7)
        expect(.alreadyExists) { try writer.insert(Document(text: "y"), into: test.notes, id: 7) }
        for wrong: DocumentID in [0, -5, DocumentID(Int64.max)] {
          expect(.invalidArgument) { try writer.insert(Document(text: "y"), into: test.notes, id: wrong) }
        }
        #expect(try writer.insert(Document(text: "z"), into: test.notes) == 8)
      }
      #expect(try test.store.everything()["notes"]?.map(\.text) == ["x", "z"])
    }
  }

  @Test func rejectsDuplicateKeyAndCommitsRest() throws {
    try withTestStore { test in
      let (first, second) = try test.store.write { writer in
        let first = try writer.insert(Document(text: "1", key: "k"), into: test.notes)
        expect(.duplicateKey) { try writer.insert(Document(text: "2", key: "k"), into: test.notes) }
        let second = try writer.insert(Document(text: "3", key: "K"), into: test.notes)
        expect(.duplicateKey) { try writer.update(second) { $0.key = "k" } }
        // A key has to be unique only within its collection.
        try writer.insert(Document(text: "4", key: "k"), into: DocumentCollection("other"))
        return (first, second)
      }
      try test.store.read { reader in
        #expect(try reader.id(forKey: "k", in: test.notes) == first)
        #expect(try reader.id(forKey: "K", in: test.notes) == second)
        #expect(try reader.id(forKey: "none", in: test.notes) == nil)
        #expect(try reader.id(forKey: "k", in: DocumentCollection("missing")) == nil)
        let headers = try reader.headers(in: test.notes)
        #expect(headers.map(\.key) == ["k", "K"])
      }
      // A removed key can be reused.
      try test.store.write { writer in
        try writer.update(first) { $0.key = nil }
        try writer.update(second) { $0.key = "k" }
      }
      #expect(try test.store.read { try $0.id(forKey: "k", in: test.notes) } == second)
      #expect(try test.store.read { try $0.id(forKey: "K", in: test.notes) } == nil)
    }
  }

  @Test func duplicateKeyAloneWritesNothing() throws {
    try withTestStore { test in
      try test.store.write { try $0.insert(Document(text: "1", key: "k"), into: test.notes) }
      let generation = try test.store.read { $0.generation }
      try test.store.write { writer in
        expect(.duplicateKey) { try writer.insert(Document(text: "2", key: "k"), into: test.notes) }
      }
      #expect(try test.store.read { $0.generation } == generation)
      try test.store.write { writer in
        try writer.insert(Document(text: "3"), into: test.notes)
        for _ in 0..<3 {
          expect(.duplicateKey) { try writer.insert(Document(text: "4", key: "k"), into: test.notes) }
        }
        try writer.insert(Document(text: "5", key: "l"), into: test.notes)
      }
      #expect(try test.store.everything()["notes"]?.map(\.text) == ["1", "3", "5"])
      #expect(try test.store.verify().isSound)
    }
  }

  @Test func rejectsDuplicateFoldedKeys() throws {
    try withTestStore { test in
      try test.store.write { writer in
        try writer.create(DocumentCollection("folded"), foldsKeys: true)
        let folded = DocumentCollection("folded")
        let id = try writer.insert(Document(text: "1", key: "Stra\u{DF}e A\u{30A}"), into: folded)
        for same in ["STRASSE \u{E5}", "strasse \u{212B}", "stra\u{DF}e a\u{30A}"] {
          #expect(try writer.id(forKey: DocumentKey(same), in: folded) == id)
          expect(.duplicateKey) { try writer.insert(Document(text: "2", key: DocumentKey(same)), into: folded) }
          #expect(try writer.put(Document(text: "3"), into: folded, key: DocumentKey(same)).id == id)
        }
        expect(.invalidArgument) {
          try writer.insert(Document(text: "4", key: DocumentKey(bytes: [0xFF])), into: folded)
        }
        #expect(try writer.id(forKey: "strase \u{E5}", in: folded) == nil)
        #expect(try writer.count(in: folded) == 1)
      }
    }
  }

  @Test func limitsKeyLength() throws {
    try withTestStore { test in
      try test.store.write { writer in
        for count in [0, 1025] {
          let key = DocumentKey(bytes: repeatElement(0x61, count: count))
          expect(.tooLarge) { try writer.insert(Document(text: "x", key: key), into: test.notes) }
        }
        let longest = DocumentKey(bytes: repeatElement(0xFF, count: 1024))
        let id = try writer.insert(Document(text: "x", key: longest), into: test.notes)
        #expect(try writer.header(of: id).key == longest)
      }
    }
  }

  @Test func rejectsInvalidParents() throws {
    try withTestStore { test in
      let (parent, child, foreign) = try test.store.write { writer in
        let parent = try writer.insert(Document(text: "p"), into: test.notes)
        return (
          parent, try writer.insert(Document(text: "c", parent: parent), into: test.notes),
          try writer.insert(Document(text: "f"), into: DocumentCollection("other"))
        )
      }
      try test.store.write { writer in
        expect(.invalidArgument) { try writer.insert(Document(text: "x", parent: 99), into: test.notes) }
        expect(.invalidArgument) { try writer.insert(Document(text: "x", parent: foreign), into: test.notes) }
        expect(.invalidArgument) { try writer.update(child) { $0.parent = child } }
        expect(.invalidArgument) { try writer.update(child) { $0.parent = foreign } }
        try writer.delete(parent)
      }
      // The ID of a deleted parent remains stored.
      #expect(try test.store.read { try $0.header(of: child).parent } == parent)
      try test.store.write { try $0.update(child) { $0.text = "still" } }
      #expect(try test.store.read { try $0.document(child).parent } == parent)
    }
  }

  @Test(.slow) func rejectsTooLongText() throws {
    try withTestStore { test in
      let text = String(repeating: "x", count: 256 << 20 | 1)
      expect(.tooLarge) { try test.store.write { try $0.insert(Document(text: text), into: test.notes) } }
      let count = try test.store.read { $0.documentCount }
      #expect(count == 0)
    }
  }

  @Test func rejectsTooLongHead() throws {
    try withTestStore { test in
      try test.store.write { writer in
        let title = String(repeating: "t", count: 1 << 20)
        expect(.tooLarge) { try writer.insert(Document(title: title, text: ""), into: test.notes) }
        let attributes: Attributes = ["a": .string(title)]
        let id = try writer.insert(Document(text: "x"), into: test.notes)
        expect(.tooLarge) { try writer.update(id) { $0.attributes = attributes } }
        #expect(try writer.document(id).text == "x")
      }
    }
  }
}
