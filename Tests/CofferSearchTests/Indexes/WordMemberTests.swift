import Coffer
import CofferTestSupport
import Foundation
import Testing

@testable import CofferSearch
@testable import CofferStoreTestSupport

/// Words that are limited to members of values.
@Suite struct WordMemberTests {
  private static let mails = [
    #"{"from":"harbour@example.com","text":"see the harbour","tags":["harbour","sea"]}"#,
    #"{"from":"harbour@example.com","text":"nothing","parts":[{"text":"deep \u0073ea"},{"text":"x"}]}"#,
    #"{"text":["one","two harbours"],"from":"sea@example.com"}"#, #"{"text":7,"from":"harbour"}"#,
    #"["harbour"]"#, "harbour, but no value",
  ]

  private func store(_ indexes: DocumentIndex..., titled: Bool = false) throws -> TestStore {
    let test = try TestStore()
    try test.store.write { scope in
      for (number, mail) in Self.mails.enumerated() {
        let title = titled ? "title\(number)" : nil
        _ = try scope.insert(Document(title: title, text: mail, isJSON: mail.hasPrefix("{")), into: test.notes)
      }
    }
    try test.store.index(test.notes, indexes)
    return test
  }

  private func found(_ store: DocumentStore, _ query: String, in collection: DocumentCollection = "notes") throws
    -> [Int64]
  {
    try store.read { try $0.search(ranked: query, in: collection, limit: .max).matches.map(\.header.id.rawValue) }
      .sorted()
  }

  @Test func findsWordsInDeclaredMembersOnly() throws {
    let test = try store(.words(in: "$.text"), titled: true)
    #expect(try found(test.store, "harbour") == [1])
    #expect(try found(test.store, "harbours") == [3])
    #expect(try found(test.store, "example OR sea OR deep") == [])
    #expect(try found(test.store, "title4") == [5])
    #expect(try test.store.checkIndexes().problems.isEmpty)
    #expect(try test.store.read { try $0.indexes(of: test.notes) } == [.words(in: "$.text")])
    let snippet = try #require(
      try test.store.read { try $0.search(ranked: "harbour", in: test.notes) }.matches.first?.snippet)
    #expect(snippet.text == "see the harbour\n" && snippet.ranges == [8..<15])
  }

  /// A member inside of another one counts once, in the order of the text.
  @Test func indexesNestedMembersOnce() throws {
    let test = try store(
      .words(in: ["parts[0].text", "$.tags[1]", "$.parts", "$.tags"], keepingDiacritics: true), .substrings,
      .field("sender", "$.from", as: .text))
    #expect(try found(test.store, "sea") == [1, 2])
    #expect(try found(test.store, "harbour") == [1])
    let matches = try test.store.read { try $0.search(ranked: "sea", in: test.notes) }.matches
    #expect(matches.map { $0.snippet?.text } == ["harbour\nsea\n", "deep sea\nx\n"])
    #expect(try test.store.checkIndexes().problems.isEmpty)
    // Substrings are those of all members.
    #expect(try test.store.read { try $0.search(for: .text("harbour"), in: test.notes) }.count == 6)
    let sql = "SELECT id FROM notes WHERE sender = 'sea@example.com' AND id IN (SELECT id FROM \"notes.match\"('two'))"
    #expect(try test.store.read { try $0.query(sql) }.rows.isEmpty)
  }

  @Test func redeclaringReplacesMembers() throws {
    let test = try store(.words(), .substrings)
    #expect(try found(test.store, "harbour").count == 5)
    for (index, ids) in [
      (.words(in: "$.from"), [1, 2, 4]), (.words(in: ["$.from", "$.text"]), [1, 2, 4]), (.words(in: "$.tags"), [1]),
      (.words(), [1, 2, 4, 5, 6]),
    ] as [(DocumentIndex, [Int64])] {
      try test.store.index(test.notes, index)
      #expect(try test.store.read { try $0.indexes(of: test.notes) } == [index, .substrings])
      #expect(try found(test.store, "harbour") == ids)
      #expect(try found(try test.reopened(), "harbour") == ids)
      #expect(try test.store.checkIndexes().problems.isEmpty && test.store.verify().isSound)
    }
    try test.store.dropIndexes(test.notes, [.words()])
    #expect(try test.store.read { try $0.indexes(of: test.notes) } == [.substrings])
  }

  @Test func redeclaringComparesPathsByBytes() throws {
    let test = try TestStore()
    let text = "{\"caf\u{E9}\":\"harbour\",\"cafe\u{301}\":\"sea\"}"
    try test.store.write { scope in _ = try scope.insert(Document(text: text, isJSON: true), into: test.notes) }
    for (path, word, other) in [("$.caf\u{E9}", "harbour", "sea"), ("$.cafe\u{301}", "sea", "harbour")] {
      try test.store.index(test.notes, .words(in: path))
      #expect(try found(test.store, word) == [1])
      #expect(try found(test.store, other).isEmpty)
      #expect(try test.store.checkIndexes().problems.isEmpty)
    }
  }

  @Test(arguments: ["@title", "@attributes.a", "$.a[", "a..b", "$."]) func rejectsOtherPaths(_ path: String) throws {
    let test = try store(.words(in: "$.text"))
    expect(.invalidArgument) { try test.store.index(test.notes, .words(in: ["$.a", path])) }
    expect(.tooLarge) { try test.store.index(test.notes, .words(in: Array(repeating: "$.a", count: 65))) }
    #expect(try test.store.read { try $0.indexes(of: test.notes) } == [.words(in: "$.text")])
    #expect(try found(test.store, "harbour") == [1])
  }

  @Test func keepsMembersThroughChangesOfStore() throws {
    let test = try store(.words(in: "$.text"), .field("sender", "$.from", as: .text), .titles)
    let declared = try test.store.read { try $0.indexes(of: test.notes) }
    try test.store.write { try $0.rename(test.notes, to: "mails") }
    #expect(try found(test.store, "harbour", in: "mails") == [1])
    try test.store.rekey(to: [.published("next")]) { _ in }
    let mail = Document(text: #"{"text":"new harbour","from":"sea"}"#, isJSON: true)
    try test.store.write { scope in _ = try scope.insert(mail, into: "mails") }
    #expect(try found(test.store, "harbour", in: "mails").count == 2)
    #expect(try found(test.store, "sea", in: "mails").isEmpty)
    try test.store.updateIndexes()
    #expect(try test.store.checkIndexes().problems.isEmpty && test.store.verify().isSound)
    #expect(try test.store.read { try $0.indexes(of: "mails") } == declared)
  }

  @Test func keepsMembersInCopiesAndMerges() throws {
    let test = try store(.words(in: "$.text"))
    let url = test.place.file("copy.coffer")
    try test.store.makeEditableCopy(at: url, keys: [.published("primary")])
    let copy = try DocumentStore.open(at: url, key: .published("primary"), options: .testing)
    #expect(try copy.read { try $0.indexes(of: test.notes) } == [.words(in: "$.text")])
    let mail = Document(text: #"{"text":"second harbour","from":"sea"}"#, isJSON: true)
    try copy.write { scope in _ = try scope.insert(mail, into: test.notes) }
    #expect(try test.store.merge(copy).isMerged)
    for store in [test.store, copy] {
      #expect(try found(store, "harbour").count == 2)
      #expect(try found(store, "sea").isEmpty)
      #expect(try store.checkIndexes().problems.isEmpty)
    }
  }
}
