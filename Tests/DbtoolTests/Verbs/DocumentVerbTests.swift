import CofferTestSupport
import Foundation
import Testing

/// Tests put, show, ls, rm and collections.
@Suite struct DocumentVerbTests {
  @Test(.slow) func showCreatesNoTables() throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.succeed("put", "s.coffer", "--text", "x")
    for format in ["table", "csv", "tsv"] {
      let result = try sandbox.run("show", "s.coffer", "1", "--format", format)
      #expect(result.status == 64)
      #expect(result.output.isEmpty)
    }
    let object = try sandbox.succeed("show", "s.coffer", "1", "--json").text
    #expect(object.hasPrefix(#"{"collection":"documents","id":1,"#))
    for format in ["json", "ndjson"] {
      #expect(try sandbox.succeed("show", "s.coffer", "1", "--format", format).text == object)
    }
  }

  @Test func putPrintsOnlyID() throws {
    let sandbox = try Sandbox.withStore()
    #expect(try sandbox.succeed("put", "s.coffer", "--text", "one").text == "1\n")
    #expect(try sandbox.succeed("put", "s.coffer", input: "two").text == "2\n")
    try sandbox.write("three.txt", bytes: [0xFF, 0xFE, 0x33, 0x00])
    #expect(try sandbox.succeed("put", "s.coffer", "three.txt").text == "3\n")
    #expect(try sandbox.succeed("show", "s.coffer", "1", "2", "3").text == "onetwo3")
  }

  @Test func showPrintsExactBytes() throws {
    let sandbox = try Sandbox.withStore()
    let text = "\u{FEFF}a\r\nb\u{0}c\u{1B}\n\n"
    try sandbox.succeed("put", "s.coffer", "--text", String(text.drop { $0 == "\u{FEFF}" }.filter { $0 != "\u{0}" }))
    try sandbox.succeed("put", "s.coffer", input: "\u{FEFF}" + text)
    #expect(try sandbox.succeed("show", "s.coffer", "2").text == text)
  }

  @Test func missingDocumentStopsShow() throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.succeed("put", "s.coffer", "--text", "here")
    let result = try sandbox.run("show", "s.coffer", "1", "9")
    #expect(result.status == 14)
    #expect(result.output.isEmpty)
    #expect(result.diagnostics.hasPrefix("dbtool: error: there is no document 9\n"))
  }

  @Test func showAsJSONHasAllMembersInOrder() throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.succeed("put", "s.coffer", "--text", "a \"b\"\n", "--title", "T", "--key-name", "k", "-c", "notes")
    let line = try sandbox.succeed("show", "s.coffer", "1", "--json").text
    let pattern =
      #"^\{"collection":"notes","id":1,"title":"T","text":"a \\"b\\"\\n","key":"k","#
      + #""created":"\d{4}-[^"]*Z","modified":"[^"]*\.\d{3}Z"\}\n$"#
    #expect(line.range(of: pattern, options: .regularExpression) != nil, "\(line)")
  }

  @Test func selectsDocumentByKeyName() throws {
    let sandbox = try Sandbox.withStore()
    #expect(try sandbox.succeed("put", "s.coffer", "-c", "n", "--key-name", "k", "--text", "old").text == "1\n")
    #expect(try sandbox.succeed("put", "s.coffer", "-c", "n", "--key-name", "k", "--text", "new").text == "1\n")
    #expect(try sandbox.succeed("show", "s.coffer", "-c", "n", "--key-name", "k").text == "new")
    try sandbox.succeed("rm", "s.coffer", "-c", "n", "--key-name", "k")
    #expect(try sandbox.run("show", "s.coffer", "-c", "n", "--key-name", "k").status == 14)
  }

  @Test func replacingRenewsDerivedTitleOnly() throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.succeed("put", "s.coffer", "--id", "5", "--text", "first line\nmore")
    try sandbox.succeed("put", "s.coffer", "--id", "6", "--text", "x", "--title", "Mine")
    try sandbox.succeed("put", "s.coffer", "--id", "5", "--text", "another")
    try sandbox.succeed("put", "s.coffer", "--id", "6", "--text", "y")
    let titles = try sandbox.succeed("ls", "s.coffer").lines.map { $0.split(separator: "\t")[1] }
    #expect(titles == ["another", "Mine"])
  }

  @Test func createOnlyAndUpdateOnlyReportConflicts() throws {
    let sandbox = try Sandbox.withStore()
    #expect(try sandbox.run("put", "s.coffer", "--id", "3", "--text", "a", "--update-only").status == 14)
    try sandbox.succeed("put", "s.coffer", "--id", "3", "--text", "a", "--create-only")
    #expect(try sandbox.run("put", "s.coffer", "--id", "3", "--text", "b", "--create-only").status == 4)
    try sandbox.succeed("put", "s.coffer", "--id", "3", "--text", "c", "--update-only")
    #expect(try sandbox.succeed("show", "s.coffer", "3").text == "c")
  }

  @Test func storesEmptyTextOnlyWhenAllowed() throws {
    let sandbox = try Sandbox.withStore()
    let refused = try sandbox.run("put", "s.coffer", "--text", "")
    #expect(refused.status == 1)
    #expect(refused.errors == "dbtool: error: the text is empty\nhint: --allow-empty stores it\n")
    try sandbox.succeed("put", "s.coffer", "--text", "", "--allow-empty")
    #expect(try sandbox.succeed("show", "s.coffer", "1").output.isEmpty)
  }

  @Test func acceptsOptionValuesWithLeadingDash() throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.succeed("put", "s.coffer", "--text", "-text", "--title", "--title")
    #expect(try sandbox.succeed("ls", "s.coffer").text.hasPrefix("1\t--title\t5\t"))
  }

  @Test func topOptionInsertsFirst() throws {
    let sandbox = try Sandbox.withStore()
    for text in ["a", "b"] { try sandbox.succeed("put", "s.coffer", "--text", text) }
    try sandbox.succeed("put", "s.coffer", "--text", "c", "--top")
    #expect(try sandbox.succeed("ls", "s.coffer").lines.map { $0.prefix(1) } == ["3", "1", "2"])
  }

  @Test func invalidTextExitsWith22() throws {
    let sandbox = try Sandbox.withStore()
    let result = try sandbox.run(["put", "s.coffer"], input: [0x61, 0x00, 0x62, 0x00])
    #expect(result.status == 22)
    #expect(result.errors.contains("standard input: U+0000 in text without a byte order mark at byte 1"))
  }

  @Test(.slow) func removesAllDocumentsOrFails() throws {
    let sandbox = try Sandbox.withStore()
    for text in ["a", "b", "c"] { try sandbox.succeed("put", "s.coffer", "--text", text) }
    #expect(try sandbox.run("rm", "s.coffer", "1", "9").status == 14)
    #expect(try sandbox.succeed("ls", "s.coffer").lines.count == 3)
    let dry = try sandbox.succeed("rm", "s.coffer", "1", "3", "--dry-run")
    #expect(dry.text == "1\ta\t1\n3\tc\t1\n")
    let removed = try sandbox.succeed("rm", "s.coffer", "1", "3", "3")
    #expect(removed.output.isEmpty)
    #expect(try sandbox.succeed("ls", "s.coffer").lines.count == 1)
  }

  @Test(.slow) func rejectsMissingOrAmbiguousSelection() throws {
    let sandbox = try Sandbox.withStore()
    for arguments in [
      ["show"], ["rm"], ["edit"], ["mv", "--to", "top"], ["mv", "1", "--key-name", "k", "--to", "top"],
    ] {
      let words = arguments + ["--store", "s.coffer"]
      #expect(try sandbox.run(words).status == 64, "\(arguments)")
    }
  }

  @Test(.slow) func createsRenamesAndDropsCollections() throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.succeed("collection", "create", "s.coffer", "notes")
    try sandbox.succeed("put", "s.coffer", "-c", "notes", "--text", "x")
    #expect(try sandbox.succeed("collection", "list", "s.coffer").text == "#1\tnotes\t1\n")
    #expect(try sandbox.run("collection", "create", "s.coffer", "notes").status == 1)
    try sandbox.succeed("collection", "rename", "s.coffer", "notes", "old")
    #expect(try sandbox.run("collection", "rename", "s.coffer", "notes", "x").status == 14)
    let json = try sandbox.succeed("collection", "list", "s.coffer", "--json").text
    #expect(json == "[\n{\"number\":\"#1\",\"name\":\"old\",\"documents\":1}\n]\n")
    try sandbox.succeed("collection", "drop", "s.coffer", "old", "--force")
    #expect(try sandbox.succeed("collection", "list", "s.coffer").output.isEmpty)
    #expect(try sandbox.run("show", "s.coffer", "1").status == 14)
  }

  @Test func missingCollectionListsExistingCollections() throws {
    let sandbox = try Sandbox.withStore()
    for name in ["notes", "more"] { try sandbox.succeed("put", "s.coffer", "-c", name, "--text", "x") }
    let result = try sandbox.run("ls", "s.coffer", "-c", "documents")
    #expect(result.status == 14)
    #expect(result.diagnostics == "dbtool: error: there is no collection documents\nhint: there are: notes, more\n")
  }
}
