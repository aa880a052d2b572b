import Coffer
import Foundation
import Testing

/// txtEdit, a note editor over `records(id, title, txt)`, feature by feature.
struct NoteEditorTests {
  /// txtEdit lists the titles first, one query for each, and reads a text when its note is opened.
  @Test func txtEditListsAPageOfTitlesAndReadsATextOnDemand() throws {
    try withTestStore { test in
      try test.store.write { writer in
        for number in 0..<30 {
          try writer.insert(Document(title: "title \(number)", text: "text \(number)"), into: test.notes)
        }
      }
      try test.store.read { reader in
        let page = try reader.headers(in: test.notes, offset: 10, limit: 5)
        #expect(page.map(\.title) == (10..<15).map { "title \($0)" })
        #expect(try reader.text(of: page[2].id) == "text 12")
      }
    }
  }

  /// The title is the first 50 units of the text; that could cut an emoji in half.
  @Test func txtEditTitleIsFiftyWholeCharacters() throws {
    try withTestStore { test in
      let family = "\u{1F468}\u{200D}\u{1F469}\u{200D}\u{1F467}"
      try test.store.write { writer in
        try writer.create(test.notes, titleRule: .derived)
        try writer.insert(Document(text: String(repeating: family, count: 60) + "\nsecond line"), into: test.notes)
      }
      #expect(try test.store.titles(in: test.notes) == [String(repeating: family, count: 50)])
    }
  }

  /// An empty record showed in the list, then opened as a ghost.
  @Test func txtEditEmptyNoteThatIsStoredIsANoteThatOpens() throws {
    try withTestStore { test in
      let id = try test.store.write { try $0.insert(Document(text: ""), into: test.notes) }
      try test.store.read { reader throws in
        #expect(try reader.headers(in: test.notes).map(\.byteCount) == [0])
        #expect(try reader.text(of: id) == "")
      }
      #expect(try test.store.write { try $0.insert(Document(text: ""), into: test.notes, whenEmpty: .store) } == 2)
    }
  }

  @Test func txtEditEmptyNoteThatIsRefusedIsAnErrorAndNothingIsMade() throws {
    try withTestStore { test in
      #expect(try test.store.write { try $0.insert(Document(text: "text"), into: test.notes, whenEmpty: .fail) } == 1)
      let bytes = try test.bytesOnDisk()
      try test.store.write { writer throws in
        expect(.emptyText) { try writer.insert(Document(title: "ghost", text: ""), into: test.notes, whenEmpty: .fail) }
        expect(.emptyText) { try writer.insert(Document(text: ""), into: DocumentCollection("new"), whenEmpty: .fail) }
        expect(.emptyText) { try writer.update(1, whenEmpty: .fail) { $0.text = "" } }
      }
      #expect(try test.bytesOnDisk() == bytes)
      #expect(try test.store.read { try $0.text(of: 1) } == "text")
      // Nor is a number used up.
      #expect(try test.store.write { try $0.insert(Document(text: "x"), into: test.notes, whenEmpty: .fail) } == 2)
    }
  }

  @Test func txtEditSkippedEmptyNoteIsReportedAndChangesNothing() throws {
    try withTestStore { test in
      try test.store.write { try $0.insert(Document(text: "text"), into: test.notes) }
      let bytes = try test.bytesOnDisk()
      try test.store.write { writer throws in
        #expect(try writer.insert(Document(text: ""), into: DocumentCollection("new"), whenEmpty: .skip) == nil)
        #expect(try writer.update(1, whenEmpty: .skip) { $0.text = "" } == false)
      }
      #expect(try test.bytesOnDisk() == bytes)
      try test.store.write { writer throws in
        #expect(try writer.update(1, whenEmpty: .skip) { $0.text = "more" })
        #expect(try writer.insert(Document(text: "x"), into: test.notes, whenEmpty: .skip) == 2)
      }
      #expect(try test.store.everything()["notes"]?.map(\.text) == ["more", "x"])
    }
  }

  /// Reading a missing id gave "".
  @Test func txtEditMissingNoteIsNoEmptyText() throws {
    try withTestStore { test in
      expect(.noSuchDocument) { try test.store.read { try $0.text(of: 1) } }
    }
  }

  /// A reader asked how to close a commercial data set: each customer gets a separate store, sealed for the customer's
  /// public key.
  @Test func txtEditDataSetIsClosedForEachCustomerByHisRecipient() throws {
    try withTestStore { test in
      try test.store.write { try $0.insert(Document(title: "entry", text: "commercial"), into: test.notes) }
      let sold = test.place.file("sold.coffer")
      try test.store.export(to: sold, keys: [.recipient(PublishedKeys.recipient)])
      for key in [StoreKey.published("primary"), .published("wrong")] {
        expect(.cannotUnlock) { try DocumentStore.open(at: sold, key: key, options: .testing) }
      }
      let theirs = try DocumentStore.open(at: sold, key: .identity(PublishedKeys.url("identity")), options: .testing)
      #expect(try theirs.read { try $0.text(of: 1) } == "commercial")
      try theirs.close()
      for secret in ["entry", "commercial"] {
        #expect(try Data(contentsOf: sold).range(of: Data(secret.utf8)) == nil)
      }
    }
  }

  /// Opening made an empty file, and failed later with "no such table".
  @Test func txtEditOpeningCreatesNothingAndReportsNonStores() throws {
    let place = try Workplace()
    let missing = place.file("missing.coffer")
    expect(.noSuchFile) { try DocumentStore.open(at: missing, key: .published("primary"), options: .testing) }
    #expect(!FileManager.default.fileExists(atPath: missing.path))
    let text = place.file("text.txt")
    try Data("no store".utf8).write(to: text)
    expect(.notAStore) { try DocumentStore.open(at: text, key: .published("primary"), options: .testing) }
    #expect(try Data(contentsOf: text) == Data("no store".utf8))
  }
}
