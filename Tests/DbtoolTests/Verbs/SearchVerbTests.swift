import CofferTestSupport
import Foundation
import Testing

@Suite struct SearchVerbTests {
  private func filled() throws -> Sandbox {
    let sandbox = try Sandbox.withStore()
    for (title, text) in [("Harbour", "ships at anchor"), ("Straße", "a road"), ("dawn", "Sail at dawn, 12 EUR")] {
      try sandbox.succeed("put", "s.coffer", "--title", title, "--text", text)
    }
    try sandbox.succeed("put", "s.coffer", "-c", "notes", "--title", "n", "--text", "at sea")
    return sandbox
  }

  private func ids(_ sandbox: Sandbox, _ arguments: String...) throws -> String {
    let result = try sandbox.run(["search", "s.coffer"] + arguments)
    #expect(result.diagnostics.isEmpty)
    #expect(result.status == (result.output.isEmpty ? 4 : 0))
    return result.lines.map { String($0.prefix { $0 != "\t" }) }.joined(separator: " ")
  }

  @Test func listsFoundDocumentsInOrder() throws {
    let sandbox = try filled()
    #expect(try ids(sandbox, "-c", "documents", "at") == "1 3")
    #expect(try ids(sandbox, "AT") == "")
    #expect(try ids(sandbox, "-i", "AT") == "1 3 4")
    #expect(try ids(sandbox, "-i", "STRASSE") == "2")
    #expect(try ids(sandbox, "--in", "title", "dawn") == "3")
    #expect(try ids(sandbox, "--in", "title", "Sail") == "")
    #expect(try ids(sandbox, "-m", "1", "at") == "1")
    #expect(try ids(sandbox, "-m1", "at") == "1")
    #expect(try ids(sandbox, "-c", "notes", "at") == "4")
    let found = try sandbox.succeed("search", "s.coffer", "at").lines
    #expect(found.map { $0.split(separator: "\t").last } == ["documents", "documents", "notes"])
    #expect(try ids(sandbox, "--regex", #"\b\d+ EUR$"#) == "3")
    #expect(try ids(sandbox, "--regex", "-i", "^(SHIPS|A) ") == "1 2")
    let line = try sandbox.succeed("search", "s.coffer", "anchor").text
    #expect(line.hasPrefix("1\tHarbour\t15\t"))
  }

  @Test func printsPositionsInJSON() throws {
    struct Item: Decodable {
      let id: Int
      let collection: String
      let textPlaces: [[Int]]?
      let titlePlaces: [[Int]]?
    }
    let items = try filled().succeed("search", "s.coffer", "-i", "d", "--json").json([Item].self)
    #expect(items.map(\.id) == [2, 3] && items[0].collection == "documents")
    #expect(items[0].textPlaces == [[5, 6]] && items[0].titlePlaces == nil)
    #expect(items[1].textPlaces == [[8, 9]] && items[1].titlePlaces == [[0, 1]])
  }

  @Test func printsCountAsNumber() throws {
    let sandbox = try filled()
    #expect(try sandbox.succeed("search", "s.coffer", "at", "--count").text == "3\n")
    #expect(try sandbox.succeed("search", "s.coffer", "at", "--count", "--json").text == "{\"count\":3}\n")
    let none = try sandbox.run("search", "s.coffer", "nowhere", "--count")
    #expect(none.status == 4 && none.text == "0\n")
  }

  @Test func emptyResultExitsWith4() throws {
    let sandbox = try filled()
    let json = try sandbox.run("search", "s.coffer", "nowhere", "--json")
    #expect(json.status == 4 && json.text == "[]\n")
    let plain = try sandbox.run("search", "s.coffer", "nowhere")
    #expect(plain.status == 4 && plain.output.isEmpty && plain.diagnostics.isEmpty)
    #expect(try Sandbox.withStore().run("search", "s.coffer", "a").status == 4)
  }

  @Test func reportsMistakesAsUsageErrors() throws {
    let sandbox = try filled()
    #expect(try sandbox.run("search", "s.coffer").status == 64)
    #expect(try sandbox.run("search", "s.coffer", "").status == 64)
    #expect(try sandbox.run("search", "s.coffer", "a", "-m", "0").status == 64)
    #expect(try sandbox.run("search", "s.coffer", "a", "-c", "missing").status == 14)
    let result = try sandbox.run("search", "s.coffer", "--regex", "(a")
    #expect(result.status == 64)
    #expect(
      result.diagnostics == "dbtool: error: the regular expression can't be read at character 2: a ( without its )\n")
  }

  @Test func findsTextWithLeadingDash() throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.succeed("put", "s.coffer", "--text", "a -x b")
    #expect(try sandbox.run("search", "s.coffer", "--", "-x").status == 0)
  }

  // MARK: Lines

  private func withLines() throws -> Sandbox {
    let sandbox = try Sandbox.withStore()
    let text = "one\nthe sea and the sea\r\nthree\nfour\nfive\nsix -x sea\n"
    try sandbox.succeed("put", "s.coffer", "--title", "At sea", "--text", text)
    return sandbox
  }

  @Test func printsLineNumbers() throws {
    let sandbox = try withLines()
    #expect(
      try sandbox.succeed("search", "s.coffer", "sea", "-n").text
        == "1  At sea\n  2: the sea and the sea\n  --\n  6: six -x sea\n")
    #expect(
      try sandbox.succeed("search", "s.coffer", "sea", "-C", "1").text == """
        1  At sea
          1- one
          2: the sea and the sea
          3- three
          --
          5- five
          6: six -x sea

        """)
    #expect(
      try sandbox.succeed("search", "s.coffer", "--regex", "three\nfo", "-C", "0").text
        == "1  At sea\n  3: three\n  4: four\n")
    #expect(try sandbox.succeed("search", "s.coffer", "sea", "-n", "--in", "title").text == "1  At sea\n")
    // The output to a pipe doesn't change, and the count is a number of documents.
    #expect(try sandbox.succeed("search", "s.coffer", "sea").text.hasPrefix("1\tAt sea\t"))
    #expect(try sandbox.succeed("search", "s.coffer", "sea", "-n", "--count").text == "1\n")
  }

  @Test func printsLinesInJSON() throws {
    let sandbox = try withLines()
    let json = try sandbox.succeed("search", "s.coffer", "sea", "--json").text
    #expect(
      json.contains(
        #""lines":[{"number":2,"text":"the sea and the sea"},{"number":6,"text":"six -x sea"}]"#), "\(json)")
    #expect(try !sandbox.succeed("search", "s.coffer", "sea", "--json", "--in", "title").text.contains("lines"))
    // The output truncates a long line around the match.
    let long = String(repeating: "ä", count: 5000)
    try sandbox.succeed("put", "s.coffer", "--text", "\(long) needle \(long)", "--title", "t")
    let cut = try sandbox.succeed("search", "s.coffer", "needle", "--json").text
    #expect(cut.contains("ää needle ää") && cut.contains("\"text\":\"…ä") && cut.count < 2500, "\(cut)")
  }

  @Test func highlightsLinesOnTerminal() throws {
    let sandbox = try withLines()
    let text = String(repeating: "long ", count: 100) + "sea\u{1B}[2J"
    try sandbox.succeed("put", "s.coffer", "--title", "t", "--text", text)
    for isPlain in [false, true] {
      if isPlain { sandbox.environment["NO_COLOR"] = "1" }
      let terminal = try PseudoTerminal()
      let child = try Child(["search", "s.coffer", "sea", "--quiet"], in: sandbox, streams: .terminal(terminal.path))
      terminal.readToEnd()
      #expect(child.wait() == 0)
      let sea = isPlain ? "sea" : "\u{1B}[1;31msea\u{1B}[m"
      #expect(terminal.shown.contains("1  At \(sea)\r\n  2: the \(sea) and the \(sea)\r\n"), "\(terminal.shown)")
      #expect(terminal.shown.contains("…") && terminal.shown.contains("long \(sea)\\u{1B}[2J\r\n"))
      #expect(!terminal.shown.contains("\u{1B}[2J"))
    }
  }

  @Test func distinguishesPatternsFromOptions() throws {
    let sandbox = try withLines()
    #expect(try sandbox.succeed("search", "s.coffer", "-e", "-x", "-n").text.hasSuffix("  6: six -x sea\n"))
    #expect(try sandbox.run("search", "s.coffer", "-e", "-xh").status == 4)
    #expect(try sandbox.run("search", "s.coffer", "--", "-xh").status == 4)
    let result = try sandbox.run("search", "s.coffer", "-xh")
    #expect(result.status == 64 && result.output.isEmpty)
    #expect(result.diagnostics.hasPrefix("dbtool: error: there is no option -xh\nhint: "), "\(result.diagnostics)")
    #expect(result.diagnostics.contains("-e TEXT"))
    for arguments in [["sea", "-e", "sea"], ["sea", "-C", "-1"], ["sea", "-n", "--format", "csv"]] {
      #expect(try sandbox.run(["search", "s.coffer"] + arguments).status == 64, "\(arguments)")
    }
    #expect(try sandbox.succeed("search", "-h").text.hasPrefix("Find documents"))
  }
}
