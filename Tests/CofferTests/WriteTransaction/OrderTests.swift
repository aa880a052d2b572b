import Coffer
import CofferSQLite
import CofferTestSupport
import Foundation
import Testing

@testable import CofferStoreTestSupport

struct OrderTests {
  @Test func insertsAtEachPlacement() throws {
    try withTestStore { test in
      try test.store.write { writer in
        let b = try writer.insert(Document(title: "b", text: ""), into: test.notes)
        try writer.insert(Document(title: "a", text: ""), into: test.notes, at: .top)
        let e = try writer.insert(Document(title: "e", text: ""), into: test.notes, at: .bottom)
        try writer.insert(Document(title: "d", text: ""), into: test.notes, at: .before(e))
        try writer.insert(Document(title: "c", text: ""), into: test.notes, at: .after(b))
        try writer.insert(Document(title: "f", text: ""), into: test.notes, at: .after(e))
      }
      #expect(try test.store.titles(in: test.notes) == ["a", "b", "c", "d", "e", "f"])
    }
  }

  /// A writer caches the last document added at the bottom, so other changes must not make the cache wrong.
  @Test func appendsAtBottomAfterOtherChanges() throws {
    try withTestStore { test in
      let other = DocumentCollection("other")
      try test.store.write { writer in
        func add(_ title: String, to collection: DocumentCollection? = nil) throws -> DocumentID {
          try writer.insert(Document(title: title, text: ""), into: collection ?? test.notes)
        }
        func place(_ id: DocumentID) throws -> DocumentPosition { try writer.header(of: id).position }
        let a = try add("a")
        let b = try add("b")
        try writer.move(a, to: .bottom)
        let c = try add("c")
        #expect(try place(c) > place(a) && place(a) > place(b))
        _ = try? writer.savepoint { inner in
          try inner.insert(Document(title: "undone", text: ""), into: test.notes)
          throw Interruption()
        }
        let d = try add("d")
        #expect(try place(d) > place(c))
        _ = try add("first", to: other)
        try writer.delete(d)
        let e = try add("e")
        #expect(try place(e) > place(c))
      }
      #expect(try test.store.titles(in: test.notes) == ["b", "a", "c", "e"])
      try test.store.write { writer in
        try writer.insert(Document(title: "gone", text: ""), into: test.notes)
        try writer.truncate(test.notes, restartingIDs: false)
        try writer.insert(Document(title: "new", text: ""), into: test.notes)
      }
      #expect(try test.store.titles(in: test.notes) == ["new"])
    }
  }

  @Test func movesChangeOnlyOrder() throws {
    try withTestStore { test in
      let ids = try test.store.write { writer in
        try "abcde".map { try writer.insert(Document(title: String($0), text: "\($0)\($0)"), into: test.notes) }
      }
      let bodies = try test.raw().query("SELECT id, body FROM coffer_record ORDER BY id").rows
      try test.store.write { writer in
        try writer.move(ids[4], to: .top)
        try writer.move(ids[0], to: .bottom)
        try writer.move(ids[1], to: .after(ids[2]))
        try writer.move(ids[3], to: .before(ids[3]))
        try writer.move(ids[2], to: .after(ids[2]))
      }
      #expect(try test.store.titles(in: test.notes) == ["e", "c", "b", "d", "a"])
      #expect(try test.raw().query("SELECT id, body FROM coffer_record ORDER BY id").rows == bodies)
      for (id, letter) in zip(ids, "abcde") {
        #expect(try test.store.read { try $0.text(of: id) } == "\(letter)\(letter)")
      }
    }
  }

  @Test func duplicateOfUntitledDocumentIsUntitled() throws {
    try withTestStore { test in
      try test.store.write { writer in
        let id = try writer.insert(Document(text: "first line"), into: test.notes)
        try writer.update(test.notes, titleRule: .derived)
        let copy = try writer.duplicate(id)
        #expect(try writer.header(of: copy).title == nil)
      }
      #expect(try test.store.read { try $0.headers(in: test.notes).map(\.id) } == [1, 2])
    }
  }

  /// Moving re-encrypts the text, because its seal is bound to the collection.
  @Test(arguments: [10, 100_000])
  func movesDocumentToAnotherCollection(_ byteCount: Int) throws {
    try withTestStore { test in
      let (other, text) = (DocumentCollection("other"), String(repeating: "x", count: byteCount))
      let (parent, id) = try test.store.write { writer in
        let parent = try writer.insert(Document(text: "parent"), into: test.notes)
        let document = Document(
          title: "t", text: text, key: "k", attributes: ["a": .string("b")], parent: parent,
          created: Timestamp(millisecondsSince1970: 5), modified: Timestamp(millisecondsSince1970: 6))
        return (parent, try writer.insert(document, into: test.notes))
      }
      let before = try test.store.read { try $0.document(id) }
      try test.store.write { writer in
        expect(.invalidArgument) { try writer.move(parent, into: other) }
        try writer.insert(Document(text: "there"), into: other)
        try writer.move(id, into: other, at: .top)
      }
      try test.store.read { reader in
        var moved = try reader.document(id)
        #expect(moved.parent == nil)
        moved.parent = before.parent
        #expect(moved == before)
        #expect(try reader.id(forKey: "k", in: other) == id && reader.id(forKey: "k", in: test.notes) == nil)
        #expect(try reader.headers(in: other).map(\.id) == [id, 3])
        #expect(try reader.headers(in: test.notes).map(\.id) == [parent])
      }
      try test.store.write { writer in
        try writer.insert(Document(text: "", key: "k"), into: test.notes)
        expect(.duplicateKey) { try writer.move(id, into: test.notes) }
        try writer.move(id, into: other, at: .bottom)
      }
      #expect(try test.store.read { try $0.headers(in: other) }.map(\.id) == [3, id])
    }
  }

  @Test func rejectsNeighborFromAnotherCollection() throws {
    try withTestStore { test in
      try test.store.write { writer in
        let here = try writer.insert(Document(text: ""), into: test.notes)
        let there = try writer.insert(Document(text: ""), into: DocumentCollection("other"))
        expect(.invalidArgument) { try writer.move(here, to: .before(there)) }
        expect(.invalidArgument) { try writer.insert(Document(text: ""), into: test.notes, at: .after(there)) }
      }
    }
  }

  @Test(arguments: [true, false])
  func insertsManyBetweenSameNeighbors(_ isAfter: Bool) throws {
    try withTestStore { test in
      var expected: [String] = []
      try test.store.write { writer in
        let first = try writer.insert(Document(title: "first", text: "1"), into: test.notes)
        let last = try writer.insert(Document(title: "last", text: "2"), into: test.notes)
        for number in 0..<100 {
          try writer.insert(
            Document(title: "\(number)", text: "x", key: DocumentKey("\(number)")), into: test.notes,
            at: isAfter ? .after(first) : .before(last))
          expected.insert("\(number)", at: isAfter ? 0 : expected.count)
        }
      }
      #expect(try test.store.titles(in: test.notes) == ["first"] + expected + ["last"])
      #expect(try test.store.read { try $0.id(forKey: "57", in: test.notes) } == 60)
    }
  }

  @Test(.slow, arguments: [Placement.top, .bottom])
  func spreadsPositionsAtEndOfRange(_ placement: Placement) throws {
    try withTestStore { test in
      // Each bulk insertion at the top leaves a gap of 2^56, so 200 insertions would exhaust the numbers.
      for number in 0..<200 {
        var options = BulkOptions()
        options.atTop = true
        try test.store.write {
          _ = try $0.insert(contentsOf: titlesOnly(["\(number)"]), into: test.notes, options: options)
        }
      }
      try test.store.write { _ = try $0.insert(Document(title: "end", text: ""), into: test.notes, at: placement) }
      let numbers = (0..<200).reversed().map { String?("\($0)") }
      let titles = try test.store.titles(in: test.notes)
      #expect(titles == (placement == .top ? ["end"] + numbers : numbers + ["end"]))
    }
  }

  @Test func pagesCoverListOnce() throws {
    try withTestStore { test in
      try test.store.write { writer in
        for number in 0..<25 { try writer.insert(Document(title: "\(number)", text: ""), into: test.notes, at: .top) }
      }
      try test.store.read { reader in
        let all = try reader.headers(in: test.notes)
        #expect(all.map(\.title) == (0..<25).reversed().map { "\($0)" })
        for size in [1, 7, 25, 100] {
          var paged: [DocumentHeader] = []
          while case let page = try reader.headers(in: test.notes, after: paged.last, limit: size), !page.isEmpty {
            paged += page
          }
          #expect(paged == all)
        }
        #expect(try reader.headers(in: test.notes, offset: 20) == Array(all[20...]))
        #expect(try reader.headers(in: test.notes, after: all[3], offset: 2, limit: 2) == Array(all[6...7]))
        #expect(try reader.headers(in: test.notes, offset: 99) == [])
        #expect(try reader.headers(in: test.notes, limit: 0) == [])
      }
    }
  }
}
