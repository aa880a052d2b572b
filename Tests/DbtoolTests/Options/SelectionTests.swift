import CofferTestSupport
import Foundation
import Testing

/// Tests selection by ID range, key and title glob, moves to other collections, and attributes.
@Suite struct SelectionTests {
  private func filled() throws -> Sandbox {
    let sandbox = try Sandbox.withStore()
    for (number, title) in ["Plan A", "Plan B", "draft *x", "Größe", "plan c", ""].enumerated() {
      try sandbox.succeed(
        "put", "s.coffer", "--title", title, "--text", "\(number + 1)", "--key-name", "k\(number + 1)", "-c", "notes")
    }
    return sandbox
  }

  @Test func rangesSelectExistingDocuments() throws {
    let sandbox = try filled()
    try sandbox.succeed("rm", "s.coffer", "3")
    #expect(try sandbox.succeed("show", "s.coffer", "2-4", "1").text == "241")
    #expect(try sandbox.succeed("show", "s.coffer", "5-99999999999").text == "56")
    #expect(try sandbox.succeed("show", "s.coffer", "1-9223372036854775807").text == "12456")
    for words in [["3"], ["3-3"], ["7-9"], ["1", "77"]] {
      let result = try sandbox.run(["show", "s.coffer"] + words)
      #expect(result.status == 14 && result.output.isEmpty, "\(words)")
    }
    for word in ["4-2", "0-3", "1-2-3", "a-b"] {
      #expect(try sandbox.run("show", "s.coffer", word).status == 14, "\(word)")
    }
  }

  @Test func takesEachDocumentOnce() throws {
    struct Listed: Decodable { var id: Int }
    let sandbox = try filled()
    try sandbox.succeed("backup", "s.coffer", "b.coffer")
    #expect(try sandbox.succeed("show", "s.coffer", "1-2", "k2", "2-3").text == "123")
    #expect(try sandbox.succeed("export", "s.coffer", "1", "k1", "-o", "one.db").diagnostics.contains("1 document "))
    let refused = try sandbox.run("rm", "s.coffer", "1-2", "2", "k1")
    #expect(refused.status == 64 && refused.errors.contains("names 2 documents"), "\(refused.errors)")
    let removed = try sandbox.succeed("rm", "s.coffer", "2-3", "3-4", "k2", "--force", "--json")
    #expect(try removed.json([Listed].self).map(\.id) == [2, 3, 4])
    #expect(try sandbox.succeed("restore", "s.coffer", "b.coffer", "2", "k2", "2-3").lines.count == 2)
    try sandbox.succeed("attachment", "add", "s.coffer", "1", "recipient.txt")
    let named = ["recipient.txt", "#1", "recipient.txt"]
    #expect(try sandbox.succeed(["attachment", "rm", "s.coffer", "1", "--dry-run"] + named).lines.count == 1)
  }

  /// Digits are an id; any other word is a key, or else a title, or else a glob.
  @Test func wordsNameDocuments() throws {
    let sandbox = try filled()
    for (title, key, collection) in [
      ("k1", "5", "more"), ("Plan A", "only", "more"), ("[x]*", "Plan B", "more"), ("4-6", "17-20", "notes"),
    ] {
      try sandbox.succeed(
        "put", "s.coffer", "--title", title, "--text", "<\(key)>", "--key-name", key, "-c", collection)
    }
    for (words, wanted) in [
      (["5"], "5"), (["--key-name", "5"], "<5>"), (["k1"], "1"), (["--title", "k1"], "<5>"), (["only"], "<only>"),
      (["plan c"], "5"), (["Plan B"], "<Plan B>"), (["-c", "notes", "Plan B"], "2"), (["[x]*"], "<Plan B>"),
      (["-c", "notes", "Plan A"], "1"), (["-c", "notes", "Plan [AB]", "k4"], "124"), (["17-20"], ""),
      (["--key-name", "17-20"], "<17-20>"), (["--title", "4-6"], "<17-20>"), (["-c", "more", "1"], ""),
      (["-c", "more", "7-99"], "<5><only><Plan B>"), ([""], "6"), (["Größe"], "4"),
    ] {
      let result = try sandbox.run(["show", "s.coffer"] + words)
      #expect(result.text == wanted && result.status == (wanted.isEmpty ? 14 : 0), "\(words) \(result.errors)")
    }
    let several = try sandbox.run("show", "s.coffer", "Plan A")
    let none = try sandbox.run("show", "s.coffer", "hunter2")
    #expect(none.status == 14 && !none.errors.contains("hunter2"))
    #expect(several.status == 64 && several.errors.contains("names 2 documents: ids 1, 8"))
    for verb in [["rm"], ["mv", "--to", "top"], ["export"]] {
      let result = try sandbox.run([verb[0], "s.coffer", "Plan A"] + verb.dropFirst())
      #expect(result.status == 64 && result.errors.contains("names 2 documents"), "\(verb)")
    }
    try sandbox.succeed("put", "s.coffer", "--key-name", "k1", "--text", "x", "-c", "more")
    #expect(try sandbox.run("show", "s.coffer", "k1").status == 64)
    #expect(try sandbox.run("mv", "s.coffer", "plan ?", "--to", "top", "-c", "notes").status == 0)
    #expect(try sandbox.run("mv", "s.coffer", "Plan ?", "--to", "top", "-c", "notes").status == 64)
  }

  @Test(
    .slow,
    arguments: [
      ("Plan*", "12"), ("*lan*", "125"), ("Plan ?", "12"), ("[Pp]lan [a-c]", "5"), ("[!P]*", "345"), ("Gr??e", "4"),
      ("draft \\*x", "3"), ("*", "123456"), ("Plan [B]", "2"), ("Plan A", "1"), ("[", nil), ("lan*", nil),
      ("[z-a]*", nil), ("plan", nil),
    ])
  func globsMatchWholeTitles(_ glob: String, _ wanted: String?) throws {
    let sandbox = try filled()
    let result = try sandbox.run("show", "s.coffer", "--title", glob, "-c", "notes")
    #expect(result.status == (wanted == nil ? 14 : 0), "\(result.errors)")
    #expect(result.text == wanted ?? "")
  }

  /// Trying each star at each position would take exponential time.
  @Test func matchesGlobWithManyStarsQuickly() throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.succeed("put", "s.coffer", "--text", "x", "--title", String(repeating: "a", count: 4000))
    let glob = String(repeating: "*a", count: 500) + "b"
    #expect(try sandbox.run("show", "s.coffer", "--title", glob).status == 14)
  }

  @Test func showsKeysInGivenOrder() throws {
    let sandbox = try filled()
    let keys = ["--key-name", "k4", "--key-name", "k1"]
    #expect(try sandbox.succeed(["show", "s.coffer", "-c", "notes"] + keys).text == "41")
    #expect(try sandbox.run(["show", "s.coffer", "-c", "notes", "--key-name", "none"] + keys).status == 14)
    #expect(try sandbox.succeed(["show", "s.coffer", "2"] + keys).text == "241")
  }

  @Test func verbsUseAllCollectionsOrOnlyOne() throws {
    let sandbox = try filled()
    #expect(try sandbox.succeed("ls", "s.coffer").lines.allSatisfy { $0.hasSuffix("\tnotes") })
    #expect(try sandbox.succeed("put", "s.coffer", "--text", "seven").diagnostics.isEmpty)
    try sandbox.write("in.txt", "eight\n")
    #expect(try sandbox.succeed("import", "s.coffer", "in.txt").errors.contains("new collection") == false)
    #expect(try sandbox.succeed("collection", "list", "s.coffer").lines == ["#1\tnotes\t8"])
    let made = try sandbox.succeed("put", "s.coffer", "-c", "more", "--text", "x")
    #expect(made.diagnostics == "dbtool: more is a new collection\n")
    #expect(try sandbox.succeed("ls", "s.coffer").lines.count == 9)
    #expect(try sandbox.succeed("ls", "s.coffer", "--format", "csv").lines[0] == "id,title,size,modified,collection")
    #expect(try sandbox.succeed("export", "s.coffer").lines.count == 9)
    #expect(try sandbox.succeed("search", "s.coffer", "--regex", "^(seven|eight)$").lines.count == 2)
    #expect(try sandbox.succeed("ls", "s.coffer", "-c", "more").lines.count == 1)
    let before = try sandbox.read("s.coffer")
    for words in [
      ["put", "s.coffer", "--text", "y"], ["put", "s.coffer", "--text", "y", "--key-name", "k1"],
      ["import", "s.coffer", "in.txt"], ["import", "s.coffer", "in.txt", "--dry-run"],
      ["import", "s.coffer", "in.txt", "--sync"], ["collection", "sort", "s.coffer", "--by", "title"],
      ["export", "s.coffer", "--to", "csv"], ["export", "s.coffer", "--to", "plist", "-o", "out.plist"],
    ] {
      let result = try sandbox.run(words)
      #expect(result.status == 64 && result.errors.contains("notes, more"), "\(words) \(result.errors)")
    }
    #expect(try sandbox.read("s.coffer") == before)
    // Records that name a collection need no other.
    let all = try sandbox.succeed("export", "s.coffer").text
    try sandbox.succeed("import", "s.coffer", "-", "--on-conflict", "update", "--keep-ids", input: all)
    #expect(try sandbox.run("import", "s.coffer", "-", input: all + #"{"text":"no name"}"# + "\n").status == 64)
  }

  /// A record of an update may be a part of a document, so its collection counts without a text, too.
  @Test func updatesCollectionThatPartsName() throws {
    let sandbox = try filled()
    try sandbox.succeed("put", "s.coffer", "-c", "more", "--key-name", "k1", "--text", "x")
    func update(_ record: String) throws -> Sandbox.Outcome {
      try sandbox.run(
        ["import", "s.coffer", "-", "--from", "ndjson", "--on-conflict", "update"], input: Array((record + "\n").utf8))
    }
    #expect(try update(#"{"collection":"notes","key":"k1","title":"New"}"#).status == 0)
    #expect(try sandbox.succeed("show", "s.coffer", "New").text == "1")
    #expect(try update(#"{"key":"k1","title":"Other"}"#).status == 64)
    // Elsewhere it is a member of a value.
    let value = #"{"collection":"museum","n":1}"#
    try sandbox.succeed("import", "s.coffer", "-", "--from", "ndjson", "-c", "more", input: value + "\n")
    #expect(try sandbox.succeed("show", "s.coffer", "-c", "more", "8").text == value)
  }

  /// The store compares names by bytes, and two compositions of a letter look the same.
  @Test func tellsCompositionsOfCollectionsApart() throws {
    let sandbox = try Sandbox.withStore()
    let (composed, decomposed) = ("\u{FC}", "u\u{308}")
    try sandbox.succeed("put", "s.coffer", "-c", composed, "--text", "one")
    let put = try sandbox.succeed("put", "s.coffer", "-c", decomposed, "--text", "two")
    #expect(put.errors.contains("is a new collection\n"), "\(put.errors)")
    try sandbox.succeed("collection", "drop", "s.coffer", decomposed, "--force")
    let imported = try sandbox.succeed("import", "s.coffer", "-", "--from", "lines", "-c", decomposed, input: "two\n")
    #expect(imported.errors.contains("is a new collection\n"), "\(imported.errors)")
    try sandbox.succeed("index", "add", "s.coffer", "-c", composed, "words")
    let ranked = try sandbox.run("search", "s.coffer", "--words", "two")
    #expect(ranked.status == 4 && ranked.errors.contains("for want of an index of words"), "\(ranked.errors)")
    try sandbox.succeed(
      "index", "add", "s.coffer", "-c", composed, "\(composed)=$.a:number", "\(decomposed)=$.b:number")
    try sandbox.succeed("index", "drop", "s.coffer", "-c", composed, composed)
    let left = try sandbox.succeed("index", "list", "s.coffer").lines
    #expect(left.count == 2 && left[1].contains("$.b"), "\(left)")
  }

  @Test func emptyStoreGetsCollection() throws {
    let sandbox = try Sandbox.withStore()
    #expect(try sandbox.succeed("ls", "s.coffer").lines.isEmpty)
    #expect(try sandbox.succeed("export", "s.coffer", "--to", "csv").lines.count == 1)
    #expect(
      try sandbox.succeed("put", "s.coffer", "--text", "x").diagnostics == "dbtool: documents is a new collection\n")
    #expect(try sandbox.succeed("put", "s.coffer", "--text", "y").diagnostics.isEmpty)
  }

  @Test func deletingByPatternRequiresForce() throws {
    let sandbox = try filled()
    let before = try sandbox.read("s.coffer")
    for words in [["1-2"], ["--title", "Plan*", "-c", "notes"]] {
      #expect(try sandbox.run(["rm", "s.coffer"] + words).status == 64)
      #expect(try sandbox.succeed(["rm", "s.coffer", "--dry-run"] + words).lines.count == 2)
    }
    #expect(try sandbox.read("s.coffer") == before)
    // An exact title or key is no pattern.
    try sandbox.succeed("rm", "s.coffer", "draft *x")
    try sandbox.succeed("put", "s.coffer", "--title", "draft *x", "--text", "3")
    try sandbox.succeed("rm", "s.coffer", "--title", "Plan*", "-c", "notes", "--force")
    try sandbox.succeed("rm", "s.coffer", "5-6", "--force")
    #expect(try sandbox.succeed("export", "s.coffer").lines.count == 2)
    try sandbox.succeed("verify", "s.coffer")
  }

  // MARK: - Exports

  @Test func exportsSelectedDocuments() throws {
    let sandbox = try filled()
    func texts(_ words: String...) throws -> String {
      try sandbox.succeed(["export", "s.coffer", "--to", "csv"] + words).lines.dropFirst()
        .map { $0.split(separator: ",")[2] }.joined()
    }
    #expect(try texts("2-4", "1") == "2341")
    #expect(try texts("--key-name", "k3", "--key-name", "k1") == "31")
    #expect(try texts("--title", "?lan*") == "125")
    try sandbox.succeed(
      "copy", "s.coffer", "plans.coffer", "--title", "Plan*", "--test", "--new-key-file", "next.key")
    #expect(try sandbox.succeed("ls", "plans.coffer", "-c", "notes", "--key-file", "next.key").lines.count == 2)
    #expect(try texts("1", "--title", "*") == "123456")
    #expect(try sandbox.run("export", "s.coffer", "--title", "none").status == 14)
  }

  @Test func exportsSingleTextToFile() throws {
    let sandbox = try filled()
    try sandbox.succeed("export", "s.coffer", "4", "-o", "x.txt")
    #expect(try sandbox.read("x.txt") == Array("4".utf8))
    #expect(try sandbox.mode(of: "x.txt") == 0o600)
    try sandbox.succeed("export", "s.coffer", "--key-name", "k2", "-o", "y.txt", "--encoding", "utf-16")
    #expect(try sandbox.read("y.txt") == [0xFF, 0xFE, 0x32, 0])
    #expect(try sandbox.run("export", "s.coffer", "1", "-o", "x.txt").status == 1)
    for words in [[], ["1", "2"], ["1-2"], ["--title", "Plan *"]] {
      let result = try sandbox.run(["export", "s.coffer", "-o", "z.txt"] + words)
      #expect(result.status == 64 && result.errors.contains("z.txt is a file"), "\(words)")
    }
    #expect(!sandbox.exists("z.txt"))
  }

  // MARK: - Other collections

  @Test func movedDocumentKeepsItsID() throws {
    let sandbox = try filled()
    try sandbox.succeed("edit", "s.coffer", "2", "--attr", "state=done")
    let before = try sandbox.succeed("show", "s.coffer", "2", "--json").text
    try sandbox.succeed("mv", "s.coffer", "2", "--into", "archive")
    let after = try sandbox.succeed("show", "s.coffer", "2", "--json").text
    let position = /"position":-?[0-9]+/
    #expect(
      after.replacing(position, with: "")
        == before.replacing(position, with: "")
        .replacing(#""collection":"notes""#, with: #""collection":"archive""#))
    #expect(try sandbox.succeed("show", "s.coffer", "-c", "archive", "--key-name", "k2").text == "2")
    #expect(try sandbox.run("show", "s.coffer", "-c", "notes", "--key-name", "k2").status == 14)
    try sandbox.succeed("mv", "s.coffer", "1", "--into", "archive", "--to", "top")
    #expect(try sandbox.succeed("export", "s.coffer", "-c", "archive", "--to", "csv").lines.count == 3)
    #expect(try sandbox.succeed("ls", "s.coffer", "-c", "archive").lines.map { $0.prefix(1) } == ["1", "2"])
    #expect(try sandbox.run("mv", "s.coffer", "1", "--into", "notes", "--to", "after:2").status == 64)
    #expect(try sandbox.run("mv", "s.coffer", "1").status == 64)
    #expect(try sandbox.succeed("mv", "s.coffer", "4", "--into", "archive", "--dry-run").lines.count == 1)
    #expect(try sandbox.succeed("ls", "s.coffer", "-c", "archive").lines.count == 2)
    try sandbox.succeed("verify", "s.coffer")
  }

  @Test func movingRejectsDuplicateKey() throws {
    let sandbox = try filled()
    try sandbox.succeed("put", "s.coffer", "-c", "archive", "--key-name", "k1", "--text", "other")
    let before = try sandbox.read("s.coffer")
    let result = try sandbox.run("mv", "s.coffer", "1", "--into", "archive")
    #expect(result.status == 1 && result.errors.contains("has that key already"))
    #expect(try sandbox.read("s.coffer") == before)
  }

  // MARK: - Attributes, titles, empty collections

  @Test func changesAttributesWithoutText() throws {
    let sandbox = try filled()
    let edit = ["edit", "s.coffer", "k1"]
    try sandbox.succeed(edit + ["--attr", "a=b=c", "--attr", "stars:=3", "--attr", "tags:=[1,\"x\"]"])
    func attributes() throws -> String {
      let json = try sandbox.succeed("show", "s.coffer", "1", "--json").text
      return String(try #require(json.firstMatch(of: /"attributes":(\{.*?\})[,}]/)).1)
    }
    #expect(try attributes() == #"{"a":"b=c","stars":3,"tags":[1,"x"]}"#)
    let changed = try sandbox.succeed(edit + ["--remove-attr", "a", "--attr", "stars:=4", "--set-title", "New"])
    #expect(changed.diagnostics == "dbtool: document 1 stored\n")
    #expect(try attributes() == #"{"stars":4,"tags":[1,"x"]}"#)
    #expect(try sandbox.succeed("show", "s.coffer", "New").text == "1")
    let before = try sandbox.read("s.coffer")
    let again = try sandbox.succeed(edit + ["--remove-attr", "a", "--set-title", "New", "--json"])
    #expect(again.text == "{\"id\":1,\"changed\":false}\n")
    for words in [
      ["--attr", "x"], ["--attr", "=x"], ["--attr", "x:=no"], ["--attr", #"x:=1,"y":2"#],
      ["--set-title", "x", "--on-disk"],
    ] {
      #expect(try sandbox.run(edit + words).status == 64, "\(words)")
    }
    #expect(try sandbox.run("edit", "s.coffer", "99", "--set-title", "x").status == 14)
    #expect(try sandbox.read("s.coffer") == before)
    try sandbox.succeed("put", "s.coffer", "-c", "notes", "--key-name", "k1", "--text", "other")
    #expect(try attributes() == #"{"stars":4,"tags":[1,"x"]}"#)
  }

  @Test func rejectsTitleInUntitledStore() throws {
    let sandbox = try Sandbox.withStore("--titles", "none")
    let result = try sandbox.run("put", "s.coffer", "--text", "x", "--title", "t")
    #expect(result.status == 64 && result.errors.contains("keeps no titles"))
    try sandbox.succeed("put", "s.coffer", "--text", "x")
    #expect(try sandbox.succeed("ls", "s.coffer").lines.count == 1)
  }

  @Test func droppingFilledCollectionRequiresForce() throws {
    let sandbox = try filled()
    let before = try sandbox.read("s.coffer")
    let result = try sandbox.run("collection", "drop", "s.coffer", "notes")
    #expect(result.status == 64 && result.errors.contains("notes holds 6 documents"))
    #expect(try sandbox.succeed("collection", "drop", "s.coffer", "notes", "--dry-run").text == "deleted: 6\n")
    #expect(try sandbox.run("collection", "drop", "s.coffer", "none", "--force").status == 14)
    #expect(try sandbox.run("collection", "list", "s.coffer", "--force").status == 64)
    #expect(try sandbox.read("s.coffer") == before)
    try sandbox.succeed("collection", "create", "s.coffer", "empty")
    try sandbox.succeed("collection", "drop", "s.coffer", "empty")
    try sandbox.succeed("collection", "drop", "s.coffer", "notes", "--force")
    #expect(try sandbox.succeed("collection", "list", "s.coffer").lines.isEmpty)
  }
}
