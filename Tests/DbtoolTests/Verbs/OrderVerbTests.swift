import CofferTestSupport
import Foundation
import Testing

/// Tests mv, collection sort and collection clear.
@Suite struct OrderVerbTests {
  /// Creates documents 1 to 5 in `documents`, titled b, d, a, c, e, and document 6 in `notes` with the key `k`.
  private func makeStore() throws -> Sandbox {
    let sandbox = try Sandbox.withStore()
    let lines = ["b", "d", "a", "c", "e"].map { "{\"title\":\"\($0)\",\"text\":\"{\\\"n\\\":\\\"\($0)\\\"}\"}\n" }
      .joined()
    try sandbox.succeed("import", "s.coffer", "-", "--from", "ndjson", input: lines)
    try sandbox.succeed("put", "s.coffer", "-c", "notes", "--key-name", "k", "--text", "note")
    return sandbox
  }

  private func order(_ sandbox: Sandbox, _ collection: String = "documents") throws -> String {
    try sandbox.succeed("ls", "s.coffer", "-c", collection).lines.map { $0.split(separator: "\t")[0] }.joined()
  }

  @Test(
    .slow,
    arguments: [
      ("top", "31245"), ("bottom", "12453"), ("1", "31245"), ("2", "13245"), ("3", "12345"), ("4", "12435"),
      ("5", "12453"), ("before:1", "31245"), ("after:4", "12435"), ("before:3", "12345"), ("after:2", "12345"),
    ]) func movesDocumentToPosition(_ place: String, _ expected: String) throws
  {
    let sandbox = try makeStore()
    let dry = try sandbox.succeed("mv", "s.coffer", "3", "--to", place, "--dry-run")
    #expect(dry.text == "3\ta\t9\n")
    #expect(try order(sandbox) == "12345")
    let moved = try sandbox.succeed("mv", "s.coffer", "3", "--to", place)
    #expect(moved.output.isEmpty)
    #expect(try order(sandbox) == expected)
  }

  @Test func missingDocumentLeavesOrderUnchanged() throws {
    let sandbox = try makeStore()
    let before = try sandbox.read("s.coffer")
    for arguments in [
      ["mv", "9", "--to", "top"], ["mv", "1", "--to", "before:9"], ["mv", "--key-name", "none", "--to", "top"],
      ["collection", "sort", "none", "--by", "title"], ["collection", "clear", "none"],
    ] {
      for dry in [[], ["--dry-run"]] {
        let result = try sandbox.run(arguments + dry + ["--store", "s.coffer"])
        #expect(result.status == 14, "\(arguments) \(dry)")
        #expect(result.output.isEmpty)
        #expect(try sandbox.read("s.coffer") == before)
      }
    }
  }

  @Test func rejectsInvalidPosition() throws {
    let sandbox = try makeStore()
    for arguments in [
      ["mv", "1"], ["mv", "1", "--to", "0"], ["mv", "1", "--to", "6"], ["mv", "1", "--to", "-1"],
      ["mv", "1", "--to", "between"], ["mv", "1", "--to", "before:"], ["mv", "1", "--to", "after:0"],
      ["mv", "1", "--to", "before:6"], ["mv", "1", "2", "--to", "top"], ["mv", "--to", "top"],
      ["collection", "sort"], ["collection", "sort", "--by", "colour"], ["collection", "sort", "--by", "json:a["],
      ["collection", "clear"], ["collection", "clear", "notes"],
    ] {
      let result = try sandbox.run(arguments + ["--store", "s.coffer"])
      #expect(result.status == 64, "\(arguments): \(result.errors)")
      #expect(result.output.isEmpty)
    }
    let result = try sandbox.run("mv", "s.coffer", "1", "--to", "6")
    #expect(result.diagnostics == "dbtool: error: there is no place 6\nhint: the collection has 5 documents\n")
  }

  @Test func movesDocumentByKeyName() throws {
    let sandbox = try makeStore()
    try sandbox.succeed("put", "s.coffer", "-c", "notes", "--text", "other")
    let moved = try sandbox.succeed("mv", "s.coffer", "-c", "notes", "--key-name", "k", "--to", "bottom", "--json")
    #expect(moved.text == "[\n{\"id\":6,\"title\":\"note\",\"size\":4}\n]\n")
    #expect(try order(sandbox, "notes") == "76")
  }

  @Test(arguments: ["title", "text", "json:n"]) func sortStoresOrder(_ key: String) throws {
    let sandbox = try makeStore()
    let dry = try sandbox.succeed("collection", "sort", "s.coffer", "documents", "--by", key, "--dry-run")
    #expect(dry.lines.map { $0.prefix(1) } == ["3", "1", "4", "2", "5"])
    #expect(try order(sandbox) == "12345")
    #expect(try sandbox.succeed("collection", "sort", "s.coffer", "documents", "--by", key).output.isEmpty)
    #expect(try order(sandbox) == "31425")
    let again = try sandbox.succeed("collection", "sort", "s.coffer", "documents", "--by", key, "--json")
    #expect(again.text == "{\"documents\":5,\"moved\":0}\n")
    try sandbox.succeed("collection", "sort", "s.coffer", "documents", "--by", key, "--reverse")
    #expect(try order(sandbox) == "52413")
    try sandbox.succeed("collection", "sort", "s.coffer", "documents", "--by", "id")
    #expect(try order(sandbox) == "12345")
    try sandbox.succeed("put", "s.coffer", "--id", "2", "--text", "changed")
    try sandbox.succeed("collection", "sort", "s.coffer", "documents", "--by", "modified", "--reverse")
    #expect(try order(sandbox).hasPrefix("2"))
  }

  @Test func clearKeepsCollectionName() throws {
    let sandbox = try makeStore()
    #expect(
      try sandbox.succeed("collection", "clear", "s.coffer", "notes", "--force", "--dry-run").text == "deleted: 1\n")
    #expect(try order(sandbox, "notes") == "6")
    #expect(try sandbox.succeed("collection", "clear", "s.coffer", "notes", "--force").output.isEmpty)
    #expect(try sandbox.succeed("collection", "list", "s.coffer").lines == ["#1\tdocuments\t5", "#2\tnotes\t0"])
    #expect(try sandbox.succeed("put", "s.coffer", "-c", "documents", "--text", "x").text == "7\n")
    let json = try sandbox.succeed("collection", "clear", "s.coffer", "documents", "--force", "--restart-ids", "--json")
    #expect(json.text == "{\"deleted\":6}\n")
    #expect(try sandbox.succeed("put", "s.coffer", "-c", "documents", "--text", "x").text == "1\n")
    #expect(try sandbox.run("verify", "s.coffer").status == 0)
  }

  @Test func newCollectionHasOnlyItsFirstPlace() throws {
    let sandbox = try Sandbox.withStore()
    for text in ["one", "two"] { try sandbox.succeed("put", "s.coffer", "-c", "notes", "--text", text) }
    for place in ["after:2", "before:2", "2"] {
      for more in [[], ["--dry-run"]] {
        let result = try sandbox.run(["mv", "s.coffer", "1", "--into", "archve", "--to", place] + more)
        #expect(result.status == 64 && result.errors.contains("archve would be a new collection"), "\(result.errors)")
      }
    }
    let result = try sandbox.run(["mv", "s.coffer", "1", "--into", "archive", "--to", "1"])
    #expect(result.status == 0 && result.errors.contains("archive is a new collection"), "\(result.errors)")
    #expect(try sandbox.succeed("ls", "s.coffer", "-c", "archive").lines.count == 1)
  }
}
