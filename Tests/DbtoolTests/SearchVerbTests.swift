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

  @Test func foundDocumentsAreListedInOrder() throws {
    let sandbox = try filled()
    #expect(try ids(sandbox, "at") == "1 3")
    #expect(try ids(sandbox, "AT") == "")
    #expect(try ids(sandbox, "-i", "AT") == "1 3")
    #expect(try ids(sandbox, "-i", "STRASSE") == "2")
    #expect(try ids(sandbox, "--titles", "dawn") == "3")
    #expect(try ids(sandbox, "--titles", "Sail") == "")
    #expect(try ids(sandbox, "--limit", "1", "at") == "1")
    #expect(try ids(sandbox, "-c", "notes", "at") == "4")
    #expect(try ids(sandbox, "--all", "at") == "documents documents notes")
    #expect(try ids(sandbox, "--regex", #"\b\d+ EUR$"#) == "3")
    #expect(try ids(sandbox, "--regex", "-i", "^(SHIPS|A) ") == "1 2")
    let line = try sandbox.succeed("search", "s.coffer", "anchor").text
    #expect(line.hasPrefix("1\tHarbour\t15\t"))
  }

  @Test func jsonTellsThePlaces() throws {
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

  @Test func countsAreANumberAlone() throws {
    let sandbox = try filled()
    #expect(try sandbox.succeed("search", "s.coffer", "at", "--count").text == "2\n")
    #expect(try sandbox.succeed("search", "s.coffer", "at", "--count", "--json").text == "{\"count\":2}\n")
    let none = try sandbox.run("search", "s.coffer", "nowhere", "--count")
    #expect(none.status == 4 && none.text == "0\n")
  }

  @Test func nothingFoundIsFourAndAnEmptyList() throws {
    let sandbox = try filled()
    let json = try sandbox.run("search", "s.coffer", "nowhere", "--json")
    #expect(json.status == 4 && json.text == "[]\n")
    let plain = try sandbox.run("search", "s.coffer", "nowhere")
    #expect(plain.status == 4 && plain.output.isEmpty && plain.diagnostics.isEmpty)
    #expect(try Sandbox.withStore().run("search", "s.coffer", "a").status == 4)
  }

  @Test func mistakesAreUsageErrors() throws {
    let sandbox = try filled()
    #expect(try sandbox.run("search", "s.coffer").status == 64)
    #expect(try sandbox.run("search", "s.coffer", "").status == 64)
    #expect(try sandbox.run("search", "s.coffer", "a", "--limit", "0").status == 64)
    #expect(try sandbox.run("search", "s.coffer", "a", "-c", "missing").status == 14)
    let result = try sandbox.run("search", "s.coffer", "--regex", "(a")
    #expect(result.status == 64)
    #expect(
      result.diagnostics == "dbtool: error: the regular expression can't be read at character 2: a ( without its )\n")
  }

  @Test func textsThatBeginWithADashAreFound() throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.succeed("put", "s.coffer", "--text", "a -x b")
    #expect(try sandbox.run("search", "s.coffer", "--", "-x").status == 0)
  }
}
