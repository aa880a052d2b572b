import Coffer
import CofferTestSupport
import Foundation
import Testing

@testable import CofferStoreTestSupport

/// Searches in stored values.
struct SearchValuesTests {
  private struct Note: Codable, Sendable {
    var title: String
    var body: String
    var tags: [String] = []
  }

  private func search(
    _ test: TestStore, _ pattern: SearchPattern, _ fields: SearchPattern.Fields = .all
  ) throws -> [(id: Int64, values: [String])] {
    var found: [(Int64, [String])] = []
    try test.store.read { reader in
      try reader.forEachMatch(of: pattern, in: test.notes, fields: fields) { document in
        let match = document.match
        if document.document.header.isJSON { #expect(match.textRanges == []) }
        let values = try match.values.map { value in
          let string = Array(try #require(document.string(of: value)).utf8)
          let words = value.ranges.map { String(decoding: string[$0], as: UTF8.self) }
          return "\(value.path)\(value.isMemberName ? " name" : ""): \(words.joined(separator: ","))"
        }
        found.append((document.document.header.id.rawValue, values))
      }
    }
    #expect(
      try test.store.read { try $0.search(for: pattern, in: test.notes, fields: fields) }.map(\.header.id.rawValue)
        == found.map(\.0))
    return found
  }

  private func fill(_ test: TestStore) throws {
    try test.store.write { tx in
      try tx.insert(Note(title: "Plans", body: "Sail \"at\ndawn\"", tags: ["sea", "a.title/b"]), into: test.notes)
      try tx.insert(Note(title: "Other", body: "nothing"), into: test.notes)
      try tx.insert(Document(text: #"{"title":"plain text"}"#), into: test.notes)
    }
  }

  @Test func ignoresMemberNames() throws {
    try withTestStore { test in
      try fill(test)
      let found = try search(test, .text("title"))
      #expect(found.map(\.id) == [1, 3])
      #expect(found[0].values == ["$.tags[1]: title"] && found[1].values == [])
      #expect(try search(test, .text("\",\"")).isEmpty)
      #expect(try search(test, .text("body")).isEmpty)
      #expect(try search(test, .regularExpression(#"^\{"#)).map(\.id) == [3])
    }
  }

  @Test func matchesUnescapedStrings() throws {
    try withTestStore { test in
      try fill(test)
      #expect(try search(test, .text("\"at\ndawn\"")).map(\.values) == [["$.body: \"at\ndawn\""]])
      #expect(try search(test, .text(#"\n"#)).isEmpty)
      #expect(try search(test, .text(#"\""#)).isEmpty)
      #expect(try search(test, .regularExpression("^dawn")).map(\.values) == [["$.body: dawn"]])
      #expect(try search(test, .regularExpression(#"\Asea\z"#)).map(\.values) == [["$.tags[0]: sea"]])
      #expect(try search(test, .text("SAIL", ignoring: .case)).map(\.values) == [["$.body: Sail"]])
      #expect(try search(test, .text("sáil", ignoring: [.case, .diacritics])).map(\.values) == [["$.body: Sail"]])
    }
  }

  @Test func reportsRangesInUnescapedString() throws {
    try withTestStore { test in
      try test.store.write { tx in
        _ = try tx.insert(
          Document(text: #"{"a":["x","\u00e9\"\ud83d\ude00 needle"],"b":"needle needle"}"#, isJSON: true),
          into: test.notes)
      }
      let match = try #require(try test.store.read { try $0.search(for: .text("needle"), in: test.notes) }.first)
      #expect(match.values.map(\.path.description) == ["$.a[1]", "$.b"])
      #expect(match.values.map(\.ranges) == [[8..<14], [0..<6, 7..<13]])
      #expect(match.values.map(\.isMemberName) == [false, false])
    }
  }

  @Test func searchesMemberNamesOnRequest() throws {
    try withTestStore { test in
      try fill(test)
      let both = try search(test, .text("tags"), [.all, .memberNames])
      #expect(both.map(\.values) == [["$.tags name: tags"], ["$.tags name: tags"]])
      let names = try search(test, .text("title"), .memberNames)
      #expect(names.map(\.id) == [1, 2] && names[0].values == ["$.title name: title"])
      #expect(try search(test, .text("nothing"), .memberNames).isEmpty)
    }
  }

  @Test func searchesAttributesOnRequest() throws {
    try withTestStore { test in
      try test.store.write { writer throws in
        try writer.insert(
          Document(text: "plain", attributes: ["tag": ["the \"sea\"", 7], "sea": "none"]), into: test.notes)
        try writer.insert(Document(text: "the sea", attributes: ["tag": 1]), into: test.notes)
      }
      #expect(try test.store.read { try $0.search(for: .text("sea"), in: test.notes) }.map(\.header.id) == [2])
      for fields in [SearchPattern.Fields.attributes, [.all, .attributes]] {
        let found = try test.store.read {
          try $0.search(for: .text("\"SEA", ignoring: .case), in: test.notes, fields: fields)
        }
        #expect(found.map(\.header.id) == [1])
        #expect(found.flatMap(\.attributes).map(\.path.description) == ["$.tag[0]"])
        #expect(found.flatMap(\.attributes).map(\.ranges) == [[4..<8]])
        #expect(found.allSatisfy { $0.values.isEmpty && $0.textRanges.isEmpty })
      }
      let names = try test.store.read {
        try $0.search(for: .text("sea"), in: test.notes, fields: [.attributes, .memberNames])
      }
      #expect(names.flatMap(\.attributes).map(\.isMemberName) == [true, false])
      var strings: [String?] = []
      try test.store.read { reader in
        try reader.forEachMatch(of: .text("sea"), in: test.notes, fields: .attributes) { found in
          strings += found.match.attributes.map(found.string(ofAttribute:))
        }
      }
      #expect(strings == ["the \"sea\""])
    }
  }

  @Test func reportsPathsUsableInQueries() throws {
    try withTestStore { test in
      let json = #"{"a.b":[{"c d":"needle"}],"größe":{"-":["","needle"]}}"#
      try test.store.write { _ = try $0.insert(Document(text: json, isJSON: true), into: test.notes) }
      let values = try test.store.read { try $0.search(for: .text("needle"), in: test.notes) }[0].values
      #expect(values.count == 2)
      for value in values {
        #expect(JSONPath(value.path.description) == value.path)
        let result = try test.store.read { try $0.query("SELECT json ->> ? FROM documents", value.path.description) }
        #expect(result.rows[0][0] == "needle", "\(value.path)")
      }
    }
  }

  @Test func limitsReportedRangesToHundred() throws {
    try withTestStore { test in
      let words = (0..<70).map { "needle \($0) needle" }
      try test.store.write { _ = try $0.insert(Note(title: "needle", body: "", tags: words), into: test.notes) }
      let values = try test.store.read { try $0.search(for: .text("needle"), in: test.notes) }[0].values
      #expect(values.reduce(0) { $0 + $1.ranges.count } == 100)
      #expect(values.first?.path.description == "$.tags[0]" && values.last?.path.description == "$.tags[49]")
    }
  }

  @Test func limitsReportedRangesOfText() throws {
    try withTestStore { test in
      for (count, reported) in [(99, 99), (100, 100), (101, 100)] {
        let text = String(repeating: "needle ", count: count)
        let id = try test.store.write { try $0.insert(Document(title: text, text: text), into: test.notes) }
        let patterns = [try SearchPattern.text("needle"), try .regularExpression("ne+dle")]
        for pattern in patterns {
          let matches = try test.store.read { try $0.search(for: pattern, in: test.notes) }
          let match = try #require(matches.first { $0.header.id == id })
          #expect(match.textRanges.count == reported && match.titleRanges.count == reported)
        }
      }
    }
  }

  /// Documents marked as JSON can contain invalid JSON.
  @Test(arguments: [
    "needle", "", #"{"needle":1"#, #"["needle"#, #"["needle"]x"#, #"["needle","\ud800"]"#, "[\"needle\n\"]",
    String(repeating: "[", count: 600) + "\"needle\"" + String(repeating: "]", count: 600),
  ]) func searchesInvalidJSONAsText(_ text: String) throws {
    try withTestStore { test in
      try test.store.write { _ = try $0.insert(Document(text: text, isJSON: true), into: test.notes) }
      let matches = try test.store.read { try $0.search(for: .text("needle"), in: test.notes) }
      #expect(matches.count == (text.isEmpty ? 0 : 1))
      #expect(matches.allSatisfy { $0.values.isEmpty && $0.textRanges.count == 1 })
      #expect(try test.store.read { try $0.search(for: .text("needle"), in: test.notes, fields: .memberNames) }.isEmpty)
    }
  }

  @Test func returnsNilStringForOtherDocument() throws {
    try withTestStore { test in
      try test.store.write { tx in
        _ = try tx.insert(Document(text: #"["a needle","b"]"#, isJSON: true), into: test.notes)
        _ = try tx.insert(Document(text: #"["needle"]"#, isJSON: true), into: test.notes)
      }
      let first = try test.store.read { try $0.search(for: .text("needle"), in: test.notes) }[0].values[0]
      try test.store.read { reader in
        try reader.forEachMatch(of: .text("needle"), in: test.notes) { found in
          #expect((found.string(of: first) == "a needle") == (found.document.header.id == 1))
        }
      }
    }
  }

  @Test(.slow) func findsMatchAmongLargeValues() throws {
    try withTestStore { test in
      let filler = String(repeating: "words \"and\" lines\n", count: 3000)
      let notes = (0..<300).map { Note(title: "\($0)", body: filler + ($0 == 217 ? "nee\"dle" : "")) }
      try test.store.write { _ = try $0.insert(contentsOf: notes, into: test.notes) }
      let found = try search(test, .text("nee\"dle"))
      #expect(found.map(\.id) == [218] && found[0].values == ["$.body: nee\"dle"])
      #expect(try search(test, .text("body")).isEmpty)
    }
  }
}
