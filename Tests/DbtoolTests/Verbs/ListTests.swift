import Foundation
import Testing

@Suite struct ListTests {
  private func filled() throws -> Sandbox {
    let sandbox = try Sandbox.withStore()
    for (title, text) in [("banana", "333"), ("Äpfel", "1"), ("cherry", "22")] {
      try sandbox.succeed("put", "s.coffer", "--title", title, "--text", text)
    }
    return sandbox
  }

  private func ids(_ sandbox: Sandbox, _ options: String...) throws -> String {
    let result = try sandbox.run(["ls", "s.coffer"] + options)
    #expect(result.status == 0, "\(result.errors)")
    return result.lines.map { String($0.prefix { $0 != "\t" }) }.joined()
  }

  @Test func printsIDTitleSizeAndDate() throws {
    let lines = try filled().succeed("ls", "s.coffer").lines
    #expect(lines.count == 3)
    let fields = lines[1].split(separator: "\t")
    #expect(fields[0] == "2" && fields[1] == "Äpfel" && fields[2] == "1")
    #expect(fields[3].hasSuffix("Z"))
  }

  @Test func letterMeansTableFormatInEveryVerb() throws {
    let sandbox = try filled()
    for words in [["show", "s.coffer", "1"], ["search", "s.coffer", "-n", "3"], ["export", "s.coffer"]] {
      for table in [["-t"], ["--format", "table"]] {
        let result = try sandbox.run(words + table)
        #expect(result.status == 64 && result.output.isEmpty, "\(words + table): \(result.errors)")
      }
    }
    #expect(
      try sandbox.succeed("ls", "s.coffer", "-t").text == sandbox.succeed("ls", "s.coffer", "--format", "table").text)
  }

  @Test func listKeepsJSONOfAttributes() throws {
    let sandbox = try Sandbox.withStore()
    let record = #"{"title":"a\\b","text":"x","attributes":{"a":"1\n2 \\ 3"}}"#
    try sandbox.succeed("import", "s.coffer", "-", "--from", "ndjson", input: record + "\n")
    let line = try #require(try sandbox.succeed("ls", "-l", "s.coffer").lines.first)
    let fields = line.split(separator: "\t").map(String.init)
    #expect(fields[1] == #"a\\b"#)
    #expect(fields.contains(#"{"a":"1\n2 \\ 3"}"#), "\(line)")
  }

  @Test func sortsAndPages() throws {
    let sandbox = try filled()
    #expect(try ids(sandbox) == "123")
    #expect(try ids(sandbox, "--reverse") == "321")
    #expect(try ids(sandbox, "--sort", "size") == "231")
    #expect(try ids(sandbox, "--sort", "size", "--reverse", "-n", "2") == "13")
    #expect(try ids(sandbox, "--sort", "title") == "132")
    #expect(try ids(sandbox, "-n", "2") == "12")
    #expect(try ids(sandbox, "-n2") == "12")
    #expect(try ids(sandbox, "-n", "0") == "")
  }

  @Test func limitsAllCollectionsTogether() throws {
    let sandbox = try filled()
    try sandbox.succeed("put", "s.coffer", "-c", "notes", "--text", "n")
    for (limit, expected) in [("3", 3), ("4", 4), ("9", 4)] {
      #expect(try sandbox.succeed("ls", "s.coffer", "-n", limit).lines.count == expected)
    }
  }

  @Test func printsEveryFormat() throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.succeed("put", "s.coffer", "--title", "a \"b\",\tc\nd", "--text", "x")
    let csv = try sandbox.succeed("ls", "s.coffer", "--format", "csv").text
    #expect(csv.hasPrefix("id,title,size,modified,collection\n1,\"a \"\"b\"\",\tc\nd\",1,"))
    let tsv = try sandbox.succeed("ls", "s.coffer", "--format", "tsv").text
    #expect(tsv.hasPrefix("id\ttitle\tsize\tmodified\tcollection\n1\t\"a \"\"b\"\",\tc\nd\"\t1\t"))
    let plain = try sandbox.succeed("ls", "s.coffer").text
    #expect(plain.hasPrefix("1\ta \"b\",\\tc\\nd\t1\t"))
    let table = try sandbox.succeed("ls", "s.coffer", "--format", "table").text
    #expect(table.hasPrefix("ID  TITLE"))
    let ndjson = try sandbox.succeed("ls", "s.coffer", "--format", "ndjson").text
    #expect(ndjson.hasPrefix(#"{"collection":"documents","id":1,"#))
    let json = try sandbox.succeed("ls", "s.coffer", "--json")
    struct Item: Decodable {
      let id: Int
      let title: String
      let size: Int
    }
    let items = try json.json([Item].self)
    #expect(items.map(\.title) == ["a \"b\",\tc\nd"])
    #expect(items.map(\.size) == [1])
  }

  @Test func plainLinesEscapeBackslashes() throws {
    let sandbox = try Sandbox.withStore()
    for title in ["a\\tb", "a\tb"] { try sandbox.succeed("put", "s.coffer", "--title", title, "--text", "x") }
    #expect(try sandbox.succeed("ls", "s.coffer").lines.map { $0.split(separator: "\t")[1] } == [#"a\\tb"#, #"a\tb"#])
    let query = try sandbox.succeed("query", "s.coffer", "SELECT title FROM documents")
    #expect(query.lines == [#"a\\tb"#, #"a\tb"#])
    // Messages show a path's backslash as it is.
    #expect(try sandbox.run("ls", #"a\tb"#).errors.contains(#"error: a\tb: no such file"#))
  }

  @Test func printsWellFormedEmptyLists() throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.succeed("collection", "create", "s.coffer", "documents")
    #expect(try sandbox.succeed("ls", "s.coffer").output.isEmpty)
    #expect(try sandbox.succeed("ls", "s.coffer", "--json").text == "[]\n")
    #expect(try sandbox.succeed("ls", "s.coffer", "--format", "csv").text == "id,title,size,modified,collection\n")
  }

  @Test func printsEmptyListForNewStore() throws {
    let sandbox = try Sandbox.withStore()
    #expect(try sandbox.succeed("ls", "s.coffer").output.isEmpty)
    #expect(try sandbox.succeed("ls", "s.coffer", "--json", "--sort", "title").text == "[]\n")
    #expect(try sandbox.succeed("ls", "s.coffer").output.isEmpty)
    #expect(try sandbox.succeed("collection", "list", "s.coffer").output.isEmpty)
    #expect(try sandbox.run("ls", "s.coffer", "-c", "documents").status == 14)
    for name in ["notes", "more"] { try sandbox.succeed("collection", "create", "s.coffer", name) }
    #expect(try sandbox.succeed("ls", "s.coffer").output.isEmpty)
    let result = try sandbox.run("ls", "s.coffer", "-c", "documents")
    #expect(result.status == 14)
    #expect(result.diagnostics == "dbtool: error: there is no collection documents\nhint: there are: notes, more\n")
  }

  @Test func listsClearTitlesWithoutKey() throws {
    let sandbox = try Sandbox.withStore("--titles", "clear")
    try sandbox.succeed("put", "s.coffer", "--title", "open", "--text", "x")
    try sandbox.succeed("put", "s.coffer", "-c", "more", "--title", "too", "--text", "x")
    sandbox.environment = [:]
    #expect(try sandbox.succeed("ls", "s.coffer", "--keyless", "-c", "#2").text == "2\ttoo\t#2\n")
    #expect(try sandbox.succeed("ls", "s.coffer", "--keyless").text == "1\topen\t#1\n2\ttoo\t#2\n")
    #expect(try sandbox.run("ls", "s.coffer", "--keyless", "-c", "#7").status == 14)
    #expect(try sandbox.run("ls", "s.coffer", "--keyless", "-c", "more").status == 64)
  }

  @Test func sealedTitlesRequireKey() throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.succeed("put", "s.coffer", "--title", "closed", "--text", "x")
    let result = try sandbox.run("ls", "s.coffer", "--keyless")
    #expect(result.status == 13)
    #expect(result.output.isEmpty)
  }
}
