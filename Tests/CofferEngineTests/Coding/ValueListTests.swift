import Coffer
import CofferTestSupport
import Testing

@testable import CofferStoreTestSupport

/// Lists of values that are long enough for several threads.
struct ValueListTests {
  /// A value that notes which attachments its migration saw, and the task-local value that its decoding saw.
  struct Note: VersionedValue, Equatable {
    static let schema = 2
    @TaskLocal static var locale = "none"

    var title: String
    var body: String?
    var migratedAttachments: Int?
    var locale: String

    enum CodingKeys: CodingKey { case title, body }

    init(title: String, body: String? = nil) {
      self.title = title
      self.body = body
      locale = Self.locale
    }

    init(from decoder: any Decoder) throws {
      let members = try decoder.container(keyedBy: CodingKeys.self)
      title = try members.decode(String.self, forKey: .title)
      body = try members.decodeIfPresent(String.self, forKey: .body)
      locale = Self.locale
    }

    static func migrate(_ old: OlderValue<Note>) throws -> Note {
      var note = try old.decode()
      note.migratedAttachments = old.header.attachmentCount
      return note
    }
  }

  struct OldNote: Codable, Sendable {
    var title: String
  }

  /// Inserts documents of all kinds in an irregular order.
  private func fill(_ test: TestStore, count: Int) throws {
    var random = Pseudorandom(seed: 40)
    try test.store.write { writer throws in
      for number in 0..<count {
        let title = "note \(number)"
        let id =
          switch Int.random(in: 0..<12, using: &random) {
          case 0: try writer.insert(Document(text: "plain \(number)"), into: test.notes)
          case 1: try writer.insert(["other": number], into: test.notes)
          case 2: try writer.insert(Note(title: title, body: String(repeating: "é", count: 40_000)), into: test.notes)
          case 3...5: try writer.insert(OldNote(title: title), into: test.notes)
          default: try writer.insert(Note(title: title), into: test.notes)
          }
        if Int.random(in: 0..<4, using: &random) == 0 {
          try writer.attach(.bytes(Array("file".utf8)), to: id, name: "file")
        }
      }
    }
  }

  @Test func equalsValuesReadSingly() throws {
    try withTestStore { test in
      try fill(test, count: 900)
      try test.store.read { reader throws in
        let single = try reader.headers(in: test.notes).compactMap { header in
          do throws(StoreError) {
            return StoredValue(header: header, value: try reader.value(Note.self, of: header.id))
          } catch {
            guard error.code == .notDecodable else { throw error }
            return nil
          }
        }
        let list = try reader.values(Note.self, in: test.notes, skippingOthers: true)
        #expect(list.map(\.header) == single.map(\.header))
        #expect(list.map(\.value) == single.map(\.value))
        #expect(list.contains { $0.value.migratedAttachments == 1 && $0.header.attachmentCount == 1 })
        #expect(list.contains { $0.value.migratedAttachments == 0 && $0.header.attachmentCount == 0 })
      }
    }
  }

  /// A migration whose result depends on the attachments of its document.
  struct Counted: VersionedValue {
    static let schema = 2
    var title: String
    var attachments: Int?

    static func migrate(_ old: OlderValue<Counted>) throws -> Counted {
      var value = try old.decode()
      value.attachments = old.header.attachmentCount
      return value
    }
  }

  @Test func migrationOfUpdatedValueSeesAttachments() throws {
    try withTestStore { test in
      try test.store.write { writer throws in
        let id = try writer.insert(OldNote(title: "old"), into: test.notes)
        try writer.attach([1], to: id, name: "file")
        try writer.update(id, as: Counted.self) { #expect($0.attachments == 1) }
        #expect(try writer.value(Counted.self, of: id).attachments == 1)
      }
    }
  }

  @Test(arguments: [5, 70, 899])
  func endsAtFirstOtherDocument(index: Int) throws {
    try withTestStore { test in
      try test.store.write { writer throws in
        for number in 0..<index { try writer.insert(Note(title: "\(number)"), into: test.notes) }
        for _ in 0..<100 { try writer.insert(["other": 1], into: test.notes) }
        for number in index..<900 { try writer.insert(Note(title: "\(number)"), into: test.notes) }
      }
      var titles: [String] = []
      let error = #expect(throws: StoreError.self) {
        try test.store.read { reader throws in
          _ = try reader.values(Note.self, in: test.notes) {
            titles.append($0.title)
            return true
          }
        }
      }
      #expect(error?.code == .notDecodable && error?.documentID == DocumentID(index + 1))
      #expect(titles == (0..<index).map { "\($0)" })
    }
  }

  @Test func decodingSeesTaskLocalValues() throws {
    try withTestStore { test in
      try fill(test, count: 900)
      let list = try Note.$locale.withValue("fr") {
        try test.store.read { try $0.values(Note.self, in: test.notes, skippingOthers: true) }
      }
      #expect(list.allSatisfy { $0.value.locale == "fr" })
    }
  }
}
