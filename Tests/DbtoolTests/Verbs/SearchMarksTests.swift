import CofferTestSupport
import Foundation
import Testing

/// Tests searches that ignore marks, and searches in stored values.
@Suite struct SearchMarksTests {
  private func withMarks() throws -> Sandbox {
    let sandbox = try Sandbox.withStore()
    for text in ["un café noir", "UN CAFE\u{301}", "cafe", "smørrebrød"] {
      try sandbox.succeed("put", "s.coffer", "--text", text)
    }
    return sandbox
  }

  @Test func ignoresMarksOnRequest() throws {
    let sandbox = try withMarks()
    func ids(_ arguments: String...) throws -> String {
      let result = try sandbox.run(["search", "s.coffer"] + arguments)
      #expect(result.status == (result.output.isEmpty ? 4 : 0) && result.diagnostics.isEmpty)
      return result.lines.map { String($0.prefix { $0 != "\t" }) }.joined(separator: " ")
    }
    #expect(try ids("cafe") == "3")
    #expect(try ids("-d", "cafe") == "1 3")
    #expect(try ids("-id", "cafe") == "1 2 3" && ids("-i", "-d", "CAFÉ") == "1 2 3")
    #expect(try ids("--ignore-diacritics", "smorrebrod") == "")
    let json = try sandbox.succeed("search", "s.coffer", "-id", "cafe", "--format", "ndjson").lines
    #expect(json[1].contains(#""text_places":[[3,9]]"#), "\(json)")
  }

  @Test func rejectsUnsupportedOptionCombinations() throws {
    let sandbox = try withMarks()
    for arguments in [["--regex", "-d", "a"], ["-d", "\u{301}"], ["--in", "titles", "a"], ["--in", "", "a"]] {
      let result = try sandbox.run(["search", "s.coffer"] + arguments)
      #expect(result.status == 64 && result.output.isEmpty, "\(arguments)")
    }
  }

  // MARK: Stored values

  private func withValues() throws -> Sandbox {
    let sandbox = try Sandbox.withStore()
    let values = [
      #"{"title":"Plans","body":"Sail at\ndawn, the sea\nis \"calm\"","tags":["sea \u001b[2J","a.b"]}"#,
      #"{"sea":{"a.b":"nothing"}}"#, "not JSON: sea",
    ]
    let lines = try values.map { text in
      let json = String(decoding: try JSONEncoder().encode(["text": text]), as: UTF8.self)
      return json.dropLast() + #","json":true}"#
    }
    try sandbox.write("values.ndjson", lines.joined(separator: "\n") + "\n")
    try sandbox.succeed("import", "s.coffer", "values.ndjson")
    return sandbox
  }

  @Test func printsPathsOfValueLines() throws {
    let sandbox = try withValues()
    // The derived title is the beginning of the text.
    let second = "2  {\"sea\":{\"a.b\":\"nothing\"}}\n"
    #expect(
      try sandbox.succeed("search", "s.coffer", "sea", "-n").text
        == "1  Plans\n  $.body 2: dawn, the sea\n  $.tags[0] 1: sea \u{1B}[2J\n\(second)3  not JSON: sea\n  1: not JSON: sea\n"
    )
    #expect(
      try sandbox.succeed("search", "s.coffer", "\"calm", "-C", "1").text
        == "1  Plans\n  $.body 2- dawn, the sea\n  $.body 3: is \"calm\"\n")
    #expect(try sandbox.run("search", "s.coffer", "title").status == 4)
    #expect(
      try sandbox.succeed("search", "s.coffer", "sea", "-n", "--in", "names,title", "-m", "2").text
        .hasSuffix(second + "  $.sea name: sea\n"))
    #expect(
      try sandbox.succeed("search", "s.coffer", "nothing", "-n").text == second + "  $.sea.\"a.b\" 1: nothing\n")
  }

  @Test func printsValuePathsInJSON() throws {
    struct Item: Decodable, Equatable {
      struct Value: Decodable, Equatable {
        struct Line: Decodable, Equatable {
          let number: Int
          let text: String
        }
        let path: String
        let isName: Bool
        let places: [[Int]]
        let lines: [Line]
      }
      let id: Int
      let textPlaces: [[Int]]?
      let values: [Value]?
    }
    let items = try withValues().succeed("search", "s.coffer", "sea", "--in", "names,title", "--json").json([Item].self)
    #expect(items.map(\.id) == [1, 2, 3])
    #expect(
      items[0].values == [
        .init(path: "$.body", isName: false, places: [[18, 21]], lines: [.init(number: 2, text: "dawn, the sea")]),
        .init(path: "$.tags[0]", isName: false, places: [[0, 3]], lines: [.init(number: 1, text: "sea \u{1B}[2J")]),
      ])
    #expect(
      items[1].values == [.init(path: "$.sea", isName: true, places: [[0, 3]], lines: [.init(number: 1, text: "sea")])])
    #expect(items[2].values == nil && items[2].textPlaces == [[10, 13]])
  }

  @Test func matchPathsWorkInQueries() throws {
    let sandbox = try withValues()
    let sql = "SELECT id FROM documents WHERE json ->> ? = 'nothing'"
    #expect(try sandbox.succeed("query", "s.coffer", sql, "$.sea.\"a.b\"").text == "2\n")
  }

  @Test func escapesAndHighlightsValuesOnTerminal() throws {
    let sandbox = try withValues()
    let terminal = try PseudoTerminal()
    let child = try Child(["search", "s.coffer", "sea", "--quiet"], in: sandbox, streams: .terminal(terminal.path))
    terminal.readToEnd()
    #expect(child.wait() == 0)
    #expect(terminal.shown.contains("  $.tags[0] 1: \u{1B}[1;31msea\u{1B}[m \\u{1B}[2J\r\n"), "\(terminal.shown)")
    #expect(!terminal.shown.contains("\u{1B}[2J"))
  }
}
