import Coffer
import CofferSQLite
import Foundation
import Testing

@testable import CofferStoreTestSupport

/// Settings, truncation and replacement of collections.
struct CollectionSettingsTests {
  /// Inserts documents individually, in bulk, and in bulk with updates of existing documents.
  @Test func appliesTitleRuleToEveryInsertion() throws {
    try withTestStore { test in
      let texts = [
        #"{"title":"titled","name":"n"}"#, #"{"name":"named"}"#, #"{"title":7}"#, #"["first"]"#, "{\n}",
        "{\"title\":\"\",\"name\":\"n\"}",
      ]
      let items = texts.map { ListSource.Item(text: $0, isJSON: true) }
      func options(_ mode: BulkOptions.Conflict) -> BulkOptions {
        bulkOptions {
          $0.titleRule = .derived; $0.onConflict = mode
        }
      }
      try test.store.write { writer in
        try writer.create(DocumentCollection("alone"), titleRule: .derived)
        for text in texts { try writer.insert(Document(text: text, isJSON: true), into: DocumentCollection("alone")) }
        try writer.insert(contentsOf: ListSource(items), into: DocumentCollection("bulk"), options: options(.fail))
        try writer.insert(contentsOf: ListSource(items), into: DocumentCollection("merged"), options: options(.update))
      }
      let alone = try test.store.titles(in: DocumentCollection("alone"))
      #expect(alone == ["titled", "named", #"{"title":7}"#, #"["first"]"#, "{", ""])
      let bulk = try test.store.titles(in: DocumentCollection("bulk"))
      let merged = try test.store.titles(in: DocumentCollection("merged"))
      #expect(bulk == alone)
      #expect(merged == alone)
    }
  }

  @Test func togglesKeyFolding() throws {
    try withTestStore { test in
      let keys = ["Stra\u{DF}e", "NORD", "s\u{FC}d", "plain"]
      try test.store.write { writer in
        for key in keys { try writer.insert(Document(text: key, key: DocumentKey(key)), into: test.notes) }
        try writer.insert(Document(text: "without"), into: test.notes)
      }
      #expect(try test.store.read { try $0.id(forKey: "STRASSE", in: test.notes) } == nil)
      try test.store.write { try $0.update(test.notes, foldsKeys: true) }
      try test.store.read { reader throws in
        #expect(try reader.info(of: test.notes).foldsKeys)
        #expect(try reader.id(forKey: "STRASSE", in: test.notes) == 1)
        #expect(try reader.id(forKey: "nord", in: test.notes) == 2)
        #expect(try reader.headers(in: test.notes).compactMap(\.key?.text) == keys)
      }
      try test.store.write { try $0.update(test.notes, foldsKeys: false) }
      try test.store.read { reader throws in
        #expect(try reader.id(forKey: "nord", in: test.notes) == nil)
        #expect(try reader.id(forKey: "NORD", in: test.notes) == 2)
      }
    }
  }

  @Test func rejectsFoldingOfConflictingKeys() throws {
    try withTestStore { test in
      try test.store.write { writer in
        try writer.insert(Document(text: "1", key: "KEY"), into: test.notes)
        try writer.insert(Document(text: "2", key: "Key"), into: test.notes)
      }
      let before = try test.store.everything()
      let generation = try test.store.read { $0.generation }
      expect(.duplicateKey) { try test.store.write { try $0.update(test.notes, foldsKeys: true) } }
      #expect(try test.store.everything() == before)
      #expect(try test.store.read { $0.generation } == generation)
      #expect(try test.store.read { try $0.info(of: test.notes).foldsKeys } == false)
      // If the error is caught inside the transaction, the incomplete change can't be committed.
      expect(.duplicateKey) {
        try test.store.write { writer in
          expect(.duplicateKey) { try writer.update(test.notes, foldsKeys: true) }
        }
      }
      #expect(try test.store.read { try $0.id(forKey: "Key", in: test.notes) } == 2)
    }
  }

  @Test func rejectsFoldingOfBinaryKeys() throws {
    try withTestStore { test in
      try test.store.write { try $0.insert(Document(text: "1", key: DocumentKey(bytes: [0xFF])), into: test.notes) }
      expect(.invalidArgument) { try test.store.write { try $0.update(test.notes, foldsKeys: true) } }
      #expect(try test.store.read { try $0.id(forKey: DocumentKey(bytes: [0xFF]), in: test.notes) } == 1)
    }
  }

  @Test func appliesTitleRuleToLaterDocuments() throws {
    try withTestStore { test in
      try test.store.write { writer in
        try writer.insert(Document(text: "one"), into: test.notes)
        try writer.update(test.notes, titleRule: .derived)
        try writer.insert(Document(text: "two"), into: test.notes)
        try writer.insert(Document(text: #"{"name":"three"}"#, isJSON: true), into: test.notes)
        try writer.update(test.notes, titleRule: .asGiven)
        try writer.insert(Document(text: "four"), into: test.notes)
        expect(.noSuchCollection) { try writer.update(DocumentCollection("other"), titleRule: .derived) }
      }
      #expect(try test.store.titles(in: test.notes) == [nil, "two", "three", nil])
      #expect(try test.reopened().read { try $0.info(of: test.notes).titleRule } == .asGiven)
    }
  }

  @Test func restartsIDsAboveRemainingDocuments() throws {
    try withTestStore { test in
      let other = DocumentCollection("other")
      try test.store.write { writer in
        for collection in [test.notes, other, test.notes, test.notes] {
          try writer.insert(Document(text: ""), into: collection)
        }
        try writer.truncate(test.notes, restartingIDs: true)
        // Document 2 still exists.
        #expect(try writer.insert(Document(text: ""), into: test.notes) == 3)
      }
      try test.store.write { writer in
        try writer.truncate(other)
        try writer.truncate(test.notes, restartingIDs: true)
        #expect(try writer.insert(Document(text: ""), into: other) == 1)
        #expect(try writer.truncate(DocumentCollection("none")) == 0)
        #expect(try !writer.exists(DocumentCollection("none")))
      }
    }
  }

  @Test func truncationPreservesNameAndSettings() throws {
    try withTestStore { test in
      try test.store.write { writer in
        try writer.create(test.notes, titleRule: .derived, foldsKeys: true)
        for number in 0..<2500 { try writer.insert(Document(text: "\(number)"), into: test.notes) }
      }
      #expect(try test.store.write { try $0.truncate(test.notes) } == 2500)
      let info = try test.store.read { try $0.info(of: test.notes) }
      #expect(info.count == 0)
      #expect(info.foldsKeys)
      #expect(info.titleRule == .derived)
      #expect(try test.raw().query("SELECT count(body) FROM coffer_record").rows[0][0] == 0)
    }
  }

  @Test func replaceAllKeepsOrCreatesCollection() throws {
    try withTestStore { test in
      try test.store.write { writer in
        #expect(try writer.replaceAll(in: test.notes, with: [Document(text: "a")]) == [1])
        try writer.update(test.notes, foldsKeys: true)
        #expect(try writer.replaceAll(in: test.notes, with: [Document(text: "b"), Document(text: "c")]) == [2, 3])
        #expect(try writer.replaceAll(in: test.notes, with: [Document(text: "d")], restartingIDs: true) == [1])
        #expect(try writer.replaceAll(in: test.notes, with: []) == [])
        #expect(try writer.info(of: test.notes).foldsKeys)
      }
    }
  }

  @Test func setsRemovesAndChangesKey() throws {
    try withTestStore { test in
      try test.store.write { writer in
        let one = try writer.insert(Document(title: "t", text: "x", attributes: ["a": 1]), into: test.notes)
        let two = try writer.insert(Document(text: "y", key: "two"), into: test.notes)
        try writer.setKey(of: one, to: "one")
        expect(.duplicateKey) { try writer.setKey(of: one, to: "two") }
        expect(.tooLarge) { try writer.setKey(of: one, to: "") }
        expect(.noSuchDocument) { try writer.setKey(of: 99, to: "x") }
        #expect(try writer.id(forKey: "one", in: test.notes) == one)
        try writer.setKey(of: two, to: nil)
        try writer.setKey(of: one, to: "two")
        #expect(try writer.id(forKey: "two", in: test.notes) == one)
        #expect(try writer.id(forKey: "one", in: test.notes) == nil)
        let document = try writer.document(one)
        #expect(document.text == "x")
        #expect(document.title == "t")
        #expect(document.attributes == ["a": 1])
        #expect(document.key == "two")
      }
    }
  }
}
