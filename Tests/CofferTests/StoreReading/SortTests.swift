import Coffer
import CofferSQLite
import Foundation
import Testing

@testable import CofferStoreTestSupport

struct SortTests {
  private func sorted(
    _ documents: [Document], by order: DocumentOrder, descending: Bool = false
  ) throws -> [String] {
    var texts: [String] = []
    try withTestStore { test in
      try test.store.write { writer in
        for document in documents { try writer.insert(document, into: test.notes) }
        let ids = try writer.ids(in: test.notes, sortedBy: order, descending: descending)
        try writer.sort(test.notes, by: order, descending: descending)
        #expect(try writer.headers(in: test.notes).map(\.id) == ids)
      }
      texts = try test.store.everything()["notes"]!.map(\.text)
    }
    return texts
  }

  @Test func sortsTitlesByCodePoints() throws {
    let titles = ["b", nil, "B", "\u{E9}", "e\u{301}", "\u{1F600}", "\u{FFFD}", "", "a"]
    let documents = titles.enumerated().map { Document(title: $0.element, text: "\($0.offset)") }
    #expect(try sorted(documents, by: .title) == ["1", "7", "2", "8", "0", "4", "3", "6", "5"])
  }

  @Test func sortsStablyInBothDirections() throws {
    let documents = ["b", "a", "b", "a"].enumerated().map { Document(title: $0.element, text: "\($0.offset)") }
    #expect(try sorted(documents, by: .title) == ["1", "3", "0", "2"])
    #expect(try sorted(documents, by: .title, descending: true) == ["0", "2", "1", "3"])
  }

  @Test func comparesLongTextsCompletely() throws {
    // The texts share beginnings up to and beyond the 64 bytes that sorting reads first.
    var texts: [String] = []
    for count in [0, 1, 63, 64, 65, 128, 1000] {
      for end in ["", "a", "b"] { texts.append(String(repeating: "x", count: count) + end) }
    }
    texts += texts
    let shuffled = texts.enumerated().sorted { ($0.offset * 17 % 42, $0.offset) < ($1.offset * 17 % 42, $1.offset) }
      .map(\.element)
    #expect(try sorted(shuffled.map { Document(text: $0) }, by: .text) == texts.sorted())
    #expect(
      try sorted(shuffled.map { Document(text: $0) }, by: .text, descending: true) == Array(texts.sorted().reversed()))
  }

  @Test func sortsJSONValuesByKindThenValue() throws {
    let values = [
      "null", "false", "true", "-1", "0.5", "9007199254740992", "9007199254740993", "1e300", "\"\"", "\"10\"", "\"9\"",
      "[1]", "{}",
    ]
    let texts = ["no JSON", "{\"b\":1}"] + values.map { "{\"a\":\($0)}" }
    let path = try #require(JSONPath("a"))
    let documents = texts.map { Document(text: $0) }
    // Null sorts like a missing value, so these documents keep their order.
    let backwards = ["{\"a\":null}", "{\"b\":1}", "no JSON"] + texts[3...]
    #expect(try sorted(documents.reversed(), by: .json(path)) == backwards)
  }

  @Test func sortsByEachHeaderField() throws {
    let documents = [
      Document(
        text: "long", key: "b", created: Timestamp(millisecondsSince1970: 3),
        modified: Timestamp(millisecondsSince1970: 4)),
      Document(
        text: "s", key: "a", created: Timestamp(millisecondsSince1970: 2),
        modified: Timestamp(millisecondsSince1970: 6)),
      Document(
        text: "mid", created: Timestamp(millisecondsSince1970: 1), modified: Timestamp(millisecondsSince1970: 5)),
    ]
    #expect(try sorted(documents, by: .id, descending: true) == ["mid", "s", "long"])
    #expect(try sorted(documents, by: .created) == ["mid", "s", "long"])
    #expect(try sorted(documents, by: .modified) == ["long", "mid", "s"])
    #expect(try sorted(documents, by: .size) == ["s", "mid", "long"])
    #expect(try sorted(documents, by: .key) == ["mid", "s", "long"])
  }

  @Test func writesOnlyMovedDocuments() throws {
    try withTestStore { test in
      let titles = ["a", "c", "b", "d", "e"]
      try test.store.write { writer in
        for title in titles { try writer.insert(Document(title: title, text: ""), into: test.notes) }
      }
      let count = try test.store.write { try $0.sort(test.notes, by: .title) }
      #expect(count == 2)
      #expect(try test.store.titles(in: test.notes) == ["a", "b", "c", "d", "e"])
      #expect(try test.raw().query("SELECT id FROM coffer_record WHERE rev = 3").rows.count == 2)
    }
  }

  @Test func ignoresMissingCollection() throws {
    try withTestStore { test in
      let moved = try test.store.write { try $0.sort(test.notes, by: .title) }
      let exists = try test.store.read { try $0.exists(test.notes) }
      #expect(moved == 0 && !exists)
    }
  }
}
