import Coffer
import Foundation
import Testing

/// txtEdit, a note editor over `records(id, title, txt)`, row by row of FEATURES.
struct NoteEditorTests {
  /// A list of titles first, each by a query of its own; the text when a note is opened.
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
        try writer.createCollection("notes", titleRule: .derived)
        try writer.insert(Document(text: String(repeating: family, count: 60) + "\nsecond line"), into: test.notes)
      }
      #expect(try test.store.titles(in: test.notes) == [String(repeating: family, count: 50)])
    }
  }

  /// An empty record showed in the list, then opened as a ghost.
  @Test func txtEditEmptyNoteIsANoteThatOpens() throws {
    try withTestStore { test in
      let id = try test.store.write { try $0.insert(Document(text: ""), into: test.notes) }
      try test.store.read { reader throws in
        #expect(try reader.headers(in: test.notes).map(\.byteCount) == [0])
        #expect(try reader.text(of: id) == "")
      }
    }
  }

  /// Reading a missing id gave "".
  @Test func txtEditMissingNoteIsNoEmptyText() throws {
    try withTestStore { test in
      expect(.noSuchDocument) { try test.store.read { try $0.text(of: 1) } }
    }
  }

  /// Opening made an empty file, and failed later with "no such table".
  @Test func txtEditOpeningMakesNothingAndTellsWhatIsNoStore() throws {
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
