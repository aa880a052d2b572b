import Coffer
import CofferSQLite
import Foundation
import Testing

struct WritingTests {
  static let texts = [
    "", " ", "\0", "a\0b\0", "\u{FEFF}mark", "e\u{301} \u{E9}", "\u{1F469}\u{200D}\u{1F469}\u{200D}\u{1F467}",
    "\r\n\r\n", String(repeating: "\u{0}", count: 4096), String(repeating: "長", count: 100_000), "\u{10FFFF}\u{FFFF}",
  ]

  @Test(arguments: [true, false])
  func textsAndTitlesComeBackByteForByte(_ isPadded: Bool) throws {
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

  @Test func documentComesBackAsItWasWritten() throws {
    try withTestStore { test in
      let parent = try test.store.write { try $0.insert(Document(text: ""), into: test.notes) }
      let document = Document(
        title: "t", text: "{\"a\":1}", key: ExternalKey(bytes: [0, 255]), attributes: ["b": 1, "a": ["x", nil]],
        parent: parent, created: Timestamp(millisecondsSince1970: -5), modified: Timestamp(millisecondsSince1970: .max),
        isJSON: true)
      let id = try test.store.write { try $0.insert(document, into: test.notes) }
      #expect(try test.store.read { try $0.document(id) } == document)
      let header = try test.store.read { try $0.header(of: id) }
      #expect(header.id == id && header.parent == parent && header.isJSON && header.byteCount == 7)
      #expect(String(decoding: header.attributes.canonicalJSON, as: UTF8.self) == #"{"a":["x",null],"b":1}"#)
    }
  }

  @Test func numbersAreNeverGivenTwice() throws {
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
      try test.store.write { try $0.dropCollection("notes") }
      #expect(try test.reopened().write { try $0.insert(Document(text: "z"), into: test.notes) } == 5)
      #expect(try test.store.write { try $0.insert(Document(text: "z"), into: test.notes, id: 100) } == 100)
      #expect(try test.store.write { try $0.insert(Document(text: "z"), into: test.notes, id: 50) } == 50)
      #expect(try test.store.write { try $0.insert(Document(text: "z"), into: test.notes) } == 101)
    }
  }

  @Test func collectionNumbersAreRisingAndTheirDocumentsApart() throws {
    try withTestStore { test in
      try test.store.write { writer in
        for name in ["a", "b", "a\u{30A}", "\u{E5}", "\0", String(repeating: "n", count: 1024)] {
          try writer.insert(Document(title: name.debugDescription, text: ""), into: DocumentCollection(name))
        }
        #expect(try writer.collections().map(\.id.rawValue) == [1, 2, 3, 4, 5, 6])
        #expect(try writer.collections().map(\.count) == [1, 1, 1, 1, 1, 1])
        for wrong in ["", String(repeating: "n", count: 1025)] {
          expect(.invalidArgument) { try writer.createCollection(wrong) }
        }
        expect(.alreadyExists) { try writer.createCollection("b") }
        expect(.alreadyExists) { try writer.renameCollection("a", to: "b") }
      }
      // Composed and decomposed names are two names.
      #expect(try test.store.titles(in: DocumentCollection("\u{E5}")) == ["\u{E5}".debugDescription])
    }
  }

  @Test func renamedCollectionKeepsItsDocuments() throws {
    try withTestStore { test in
      try test.store.write { writer in
        try writer.insert(Document(title: "t", text: "x", key: "k"), into: test.notes)
        try writer.renameCollection("notes", to: "memos")
        #expect(try writer.exists(test.notes) == false)
        #expect(try writer.headers(in: DocumentCollection("memos")).map(\.title) == ["t"])
        try writer.renameCollection("memos", to: "memoirs")
      }
      let memoirs = DocumentCollection("memoirs")
      #expect(try test.store.read { try $0.id(forKey: "k", in: memoirs) } == 1)
      #expect(try test.reopened().titles(in: memoirs) == ["t"])
    }
  }

  @Test func droppedCollectionTakesItsDocumentsAlone() throws {
    try withTestStore { test in
      let kept = try test.store.write { writer in
        for number in 0..<20 {
          try writer.insert(Document(text: "\(number)", key: ExternalKey("k\(number)")), into: test.notes)
        }
        return try writer.insert(Document(text: "kept", key: "k1"), into: DocumentCollection("other"))
      }
      try test.store.write { try $0.dropCollection("notes") }
      #expect(try test.store.everything().mapValues { $0.map(\.header.id) } == ["other": [kept]])
      #expect(try test.raw().query("SELECT count(*) FROM coffer_body").rows[0][0] == 1)
      #expect(try test.store.read { $0.documentCount } == 1)
    }
  }

  @Test func titlesAreDerivedOnlyWhereTheRuleSaysSo() throws {
    try withTestStore { test in
      try test.store.write { writer in
        try writer.createCollection("derived", titleRule: .derived)
        for collection in [DocumentCollection("derived"), test.notes] {
          try writer.insert(Document(text: "\n\nfirst line\nsecond"), into: collection)
          try writer.insert(Document(title: "given", text: "first"), into: collection)
          try writer.insert(Document(title: "", text: "first"), into: collection)
          try writer.insert(Document(text: "\n"), into: collection)
        }
      }
      #expect(try test.store.titles(in: DocumentCollection("derived")) == ["first line", "given", "", nil])
      #expect(try test.store.titles(in: test.notes) == [nil, "given", "", nil])
    }
  }

  @Test func putReplacesByKeyAndKeepsWhatIsNotGiven() throws {
    try withTestStore { test in
      let created = Timestamp(millisecondsSince1970: 1000)
      let (id, again) = try test.store.write { writer in
        let id = try writer.put(
          Document(title: "t", text: "1", attributes: ["a": 1], created: created), into: test.notes, key: "k")
        return (id, try writer.put(Document(text: "2"), into: test.notes, key: "k"))
      }
      #expect(id == again)
      let found = try test.store.read { try $0.document(id) }
      #expect(found.title == "t" && found.text == "2" && found.key == "k" && found.created == created)
      #expect(found.attributes == ["a": 1])
      #expect(try test.store.read { $0.documentCount } == 1)
    }
  }

  @Test func putByNumberAddsOrReplaces() throws {
    try withTestStore { test in
      try test.store.write { writer in
        let added = try writer.put(Document(title: "t", text: "1"), id: 9, into: test.notes)
        let addedAgain = try writer.put(Document(text: "2"), id: 9, into: test.notes)
        #expect(added && !addedAgain)
        expect(.alreadyExists) { try writer.put(Document(text: "3"), id: 9, into: DocumentCollection("other")) }
      }
      #expect(try test.store.read { try $0.document(9).title } == "t")
      #expect(try test.store.read { try $0.text(of: 9) } == "2")
    }
  }

  @Test func updateSealsTheTextAgainOnlyWhereItChanged() throws {
    try withTestStore { test in
      let id = try test.store.write {
        try $0.insert(Document(title: "a", text: "text", modified: .init(millisecondsSince1970: 5)), into: test.notes)
      }
      func body() throws -> Value { try test.raw().query("SELECT ct FROM coffer_body").rows[0][0] }
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

  @Test func readsWithinAListGiveTheRightBytes() throws {
    try withTestStore { test in
      try test.store.write { writer in
        for number in 0..<40 {
          try writer.insert(
            Document(title: "t\(number)", text: String(repeating: "\(number) ", count: 1 + number * 50)),
            into: test.notes)
        }
      }
      try test.store.read { reader in
        var seen = 0
        try reader.forEach(in: test.notes) { outer in
          let id = outer.header.id
          let other = DocumentID(41 - id.rawValue)
          let text = outer.text
          #expect(try reader.text(of: other).hasPrefix("\(other.rawValue - 1) "))
          try reader.withText(of: id) { #expect(Array($0.utf8) == Array(outer.utf8)) }
          var inner = 0
          try reader.forEach(in: test.notes) { opened in
            if inner < 3 { #expect(opened.text.hasPrefix("\(inner) ")) }
            inner += 1
          }
          #expect(inner == 40)
          #expect(try reader.headers(in: test.notes, limit: 2).map(\.title) == ["t0", "t1"])
          #expect(outer.text == text && text.hasPrefix("\(seen) "))
          seen += 1
        }
        #expect(seen == 40)
      }
    }
  }

  @Test func documentsCanBeChangedWhileTheyAreListed() throws {
    try withTestStore { test in
      try test.store.write { writer in
        for number in 0..<30 { try writer.insert(Document(title: "\(number)", text: "old"), into: test.notes) }
      }
      try test.store.write { writer in
        try writer.forEachHeader(in: test.notes) { header in
          if header.id.rawValue.isMultiple(of: 3) {
            try writer.delete(header.id)
          } else {
            try writer.update(header.id) { $0.text = "new" }
          }
        }
      }
      let texts = try test.store.everything()["notes"]?.map(\.text)
      #expect(texts == Array(repeating: "new", count: 20))
    }
  }

  @Test func listThatMeetsWhatItsOwnWalkAddsIsMisuseAndNoDamage() throws {
    try withTestStore { test in
      try test.store.write { writer in
        for number in 0..<3 { try writer.insert(Document(title: "\(number)", text: ""), into: test.notes) }
      }
      expect(.misuse) {
        try test.store.write { writer in
          try writer.forEachHeader(in: test.notes) { header in
            try writer.insert(Document(title: header.title, text: "copy"), into: test.notes)
          }
        }
      }
      expect(.misuse) {
        try test.store.write { writer in
          try writer.forEachHeader(in: test.notes) { try writer.move($0.id, to: .bottom) }
        }
      }
      #expect(try test.store.titles(in: test.notes) == ["0", "1", "2"])
    }
  }

  @Test func asyncFormsDoTheSame() async throws {
    let test = try TestStore()
    let notes = test.notes
    let id = try await test.store.write { try $0.insert(Document(text: "x"), into: notes) }
    #expect(try await test.store.read { try $0.text(of: id) } == "x")
    await #expect(throws: Interruption()) {
      try await test.store.write { writer in
        try writer.delete(id)
        throw Interruption()
      }
    }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<50 {
        group.addTask { _ = try await test.store.write { try $0.insert(Document(text: "\(number)"), into: notes) } }
        group.addTask { _ = try await test.store.read { try $0.headers(in: notes) } }
      }
      try await group.waitForAll()
    }
    #expect(try await test.store.read { $0.documentCount } == 51)
    try test.expectSound()
  }
}
