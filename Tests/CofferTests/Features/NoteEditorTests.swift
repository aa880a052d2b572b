import Coffer
import CofferEngine
import Foundation
import Testing

@testable import CofferStoreTestSupport

/// The features of txtEdit, a note editor with the table `records(id, title, txt)`.
struct NoteEditorTests {
  /// txtEdit lists the titles first, one query for each, and reads a text when its note is opened.
  @Test func listsTitlesAndReadsTextOnDemand() throws {
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

  /// txtEdit used the first 50 units of the text as the title, which could split an emoji.
  @Test func derivesTitleOfFiftyWholeCharacters() throws {
    try withTestStore { test in
      let family = "\u{1F468}\u{200D}\u{1F469}\u{200D}\u{1F467}"
      try test.store.write { writer in
        try writer.create(test.notes, titleRule: .derived)
        try writer.insert(Document(text: String(repeating: family, count: 60) + "\nsecond line"), into: test.notes)
      }
      #expect(try test.store.titles(in: test.notes) == [String(repeating: family, count: 50)])
    }
  }

  /// txtEdit listed an empty record, but opened it as a ghost.
  @Test func opensStoredEmptyNote() throws {
    try withTestStore { test in
      let id = try test.store.write { try $0.insert(Document(text: ""), into: test.notes) }
      try test.store.read { reader throws in
        #expect(try reader.headers(in: test.notes).map(\.byteCount) == [0])
        #expect(try reader.text(of: id) == "")
      }
      #expect(try test.store.write { try $0.update(id, whenEmpty: .store) { $0.text = "" } })
    }
  }

  @Test func rejectsEmptyNoteOnRequest() throws {
    try withTestStore { test in
      try test.store.write { try $0.insert(Document(text: "text"), into: test.notes) }
      let bytes = try test.bytesOnDisk()
      try test.store.write { writer throws in
        expect(.emptyText) { try writer.update(1, whenEmpty: .fail) { $0.text = "" } }
      }
      #expect(try test.bytesOnDisk() == bytes)
      #expect(try test.store.read { try $0.text(of: 1) } == "text")
    }
  }

  @Test func reportsSkippedEmptyNote() throws {
    try withTestStore { test in
      try test.store.write { try $0.insert(Document(text: "text"), into: test.notes) }
      let bytes = try test.bytesOnDisk()
      try test.store.write { writer throws in
        #expect(try writer.update(1, whenEmpty: .skip) { $0.text = "" } == false)
      }
      #expect(try test.bytesOnDisk() == bytes)
      try test.store.write { writer throws in
        #expect(try writer.update(1, whenEmpty: .skip) { $0.text = "more" })
      }
      #expect(try test.store.everything()["notes"]?.map(\.text) == ["more"])
    }
  }

  /// txtEdit returned "" for a missing ID.
  @Test func throwsForMissingNote() throws {
    try withTestStore { test in
      expect(.noSuchDocument) { try test.store.read { try $0.text(of: 1) } }
    }
  }

  /// A reader asked how to protect a commercial data set. Each customer gets a separate store, which is sealed for the
  /// customer's public key.
  @Test func sealsCopyForCustomerRecipient() throws {
    try withTestStore { test in
      try test.store.write { try $0.insert(Document(title: "entry", text: "commercial"), into: test.notes) }
      let sold = test.place.file("sold.coffer")
      try test.store.copy(to: sold, recipients: [PublishedKeys.recipient])
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

  /// txtEdit created an empty file on opening, and failed later with "no such table".
  @Test func rejectsMissingAndInvalidFiles() throws {
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
