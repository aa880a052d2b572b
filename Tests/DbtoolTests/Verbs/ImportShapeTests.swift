import Foundation
import Testing

/// What an import makes of each record, and how it says so.
@Suite struct ImportShapeTests {
  private struct Report: Decodable {
    struct Column: Decodable, Equatable {
      let name: String
      let use: String
    }
    struct Input: Decodable {
      let documents: Int
      let values: Int?
      let columns: [Column]?
    }
    let inputs: [Input]
  }

  private static let inputs = [
    ("in.csv", "name,note\nN,\"first\nharbour été \"\"q\"\"\"\n"),
    ("in.tsv", "name\tnote\nN\t\"first\nharbour été \"\"q\"\"\"\n"),
    ("in.ndjson", #"{"name":"N","note":"first\nharbour \u00e9t\u00e9 \"q\""}"# + "\n"),
    ("in.json", #"[{"name":"N","note":"first\nharbour \u00e9t\u00e9 \"q\""}]"#),
    (
      "in.plist",
      "<plist><array><dict><key>name</key><string>N</string><key>note</key><string>first\nharbour été \"q\"</string>"
        + "</dict></array></plist>"
    ),
  ]

  @Test(arguments: inputs) func searchesStringsOfValues(name: String, content: String) throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.write(name, content)
    let result = try sandbox.succeed("import", "s.coffer", name)
    #expect(result.diagnostics.contains("\(name): "))
    #expect(result.diagnostics.contains("records without a text are values: 1 of 1"))
    try sandbox.succeed("index", "add", "s.coffer", "-c", "documents", "words", "substrings")
    for words in [["été \"q\""], ["--regex", "^harbour été \"q\"$"], ["-id", "ETE"], ["--ranked", "ete"]] {
      #expect(try sandbox.succeed(["search", "s.coffer"] + words).text.contains("1\tN\t"), "\(words)")
    }
    for word in ["note", "\\\"", "u00e9"] {
      #expect(try sandbox.run("search", "s.coffer", word).status != 0, "\(word)")
    }
    #expect(try sandbox.succeed("query", "s.coffer", "SELECT isJSON, title FROM documents").text == "1\tN\n")
  }

  @Test func reportsEveryMember() throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.write(
      "in.ndjson",
      #"{"title":"a","text":"T1","id":7,"tags":["x"]}"# + "\n" + #"{"title":null,"text":"T2"}"# + "\n" + #"{"n":1}"#
        + "\n")
    let dry = try sandbox.succeed("import", "s.coffer", "in.ndjson", "--dry-run")
    #expect(
      dry.diagnostics.contains("in.ndjson: records without a text are values: 1 of 3; attributes: id, tags\n"))
    let report = try sandbox.succeed("import", "s.coffer", "in.ndjson", "--json").json(Report.self)
    #expect(report.inputs[0].values == 1)
    let columns = try #require(report.inputs[0].columns)
    #expect(columns.map(\.name) == ["id", "title", "text", "tags", "n"])
    #expect(columns.map(\.use) == ["attribute", "title", "text", "attribute", "value"])
    #expect(
      try sandbox.succeed("query", "s.coffer", "SELECT title, text, attributes FROM documents").lines == [
        "a\tT1\t{\"id\":7,\"tags\":[\"x\"]}", "T2\tT2\t", "{\"n\":1}\t{\"n\":1}\t",
      ])
  }

  @Test(arguments: ["ndjson", "json", "plist"]) func rejectsMappingThatMatchesNothing(format: String) throws {
    let sandbox = try Sandbox.withStore()
    let content = [
      "ndjson": #"{"body":"a","n":1}"#, "json": #"[{"body":"a","n":1}]"#,
      "plist": "<plist><dict><key>body</key><string>a</string><key>n</key><integer>1</integer></dict></plist>",
    ]
    try sandbox.write("in", content[format]!)
    let failed = try sandbox.run("import", "s.coffer", "in", "--from", format, "--map", "text=Body")
    #expect(failed.status == 64)
    #expect(failed.diagnostics.hasSuffix("no record has the member Body\nhint: there are: body, n\n"))
    #expect(try sandbox.succeed("ls", "s.coffer").text.isEmpty)
    try sandbox.succeed("import", "s.coffer", "in", "--from", format, "--map", "text=body")
    #expect(try sandbox.succeed("show", "s.coffer", "1").text == "a")
  }

  @Test func namesMemberWithUnusableValue() throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.write("in.ndjson", "{\"text\":\"a\"}\n{\"text\":\"b\",\"key\":{}}\n")
    let failed = try sandbox.run("import", "s.coffer", "in.ndjson")
    #expect(failed.status == 22)
    #expect(failed.diagnostics.contains("member key: neither text nor a number (record 2, line 2, column 19, byte 31)"))
    #expect(try sandbox.succeed("ls", "s.coffer").text.isEmpty)
  }
}
