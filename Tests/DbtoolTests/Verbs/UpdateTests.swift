import CofferSQLite
import CofferTestSupport
import Foundation
import Testing

/// Tests updating documents by an import: the parts that a record doesn't give stay as they are.
@Suite struct UpdateTests {
  private static let old =
    #"{"key":"k","title":"My title","text":"old text","created":"2020-01-01T00:00:00.000Z","#
    + #""modified":"2021-01-01T00:00:00.000Z","attributes":{"fav":true,"note":"mine"}}"#

  private struct Exported: Decodable {
    let title: String?
    let text: String
    let key: String?
    let created: String
    let modified: String
    let attributes: [String: JSONAttribute]?
    let parent: Int?
    let json: Bool?
  }

  private enum JSONAttribute: Decodable, Equatable {
    case bool(Bool)
    case string(String)

    init(from decoder: any Decoder) throws {
      let container = try decoder.singleValueContainer()
      if let flag = try? container.decode(Bool.self) {
        self = .bool(flag)
      } else {
        self = .string(try container.decode(String.self))
      }
    }
  }

  private func document(_ sandbox: Sandbox) throws -> Exported {
    try sandbox.succeed("export", "s.coffer").json(Exported.self)
  }

  private func store(_ record: String = old) throws -> Sandbox {
    let sandbox = try Sandbox.withStore()
    try sandbox.succeed(["import", "s.coffer", "-", "--from", "ndjson"], input: record + "\n")
    return sandbox
  }

  /// Writes a record with these parts in a format.
  private func write(_ parts: [(name: String, value: String)], _ format: String, _ sandbox: Sandbox) throws -> String {
    let file = "in.\(format)"
    let names = parts.map(\.name)
    let object = "{" + parts.map { #""\#($0.name)":"\#($0.value)""# }.joined(separator: ",") + "}"
    switch format {
    case "csv", "tsv":
      let delimiter = format == "csv" ? "," : "\t"
      try sandbox.write(
        file, names.joined(separator: delimiter) + "\n" + parts.map(\.value).joined(separator: delimiter) + "\n")
    case "ndjson": try sandbox.write(file, object + "\n")
    case "json": try sandbox.write(file, "[\(object)]")
    case "plist":
      let members = parts.map { "<key>\($0.name)</key><string>\($0.value)</string>" }.joined()
      try sandbox.write(file, "<plist><array><dict>\(members)</dict></array></plist>")
    default:
      if sandbox.exists(file) { try sandbox.remove(file) }
      let database = try Database(sandbox.path(file), mode: .createNew)
      let columns = names.map { "\"\($0)\"" }.joined(separator: ",")
      let values = parts.map { "'\($0.value)'" }.joined(separator: ",")
      try database.execute("CREATE TABLE t(\(columns)); INSERT INTO t VALUES(\(values))")
      try database.close()
    }
    return file
  }

  @Test(.slow, arguments: ["csv", "tsv", "ndjson", "json", "plist", "sqlite"], [true, false])
  func keepsPartsThatRecordOmits(format: String, mapsDates: Bool) throws {
    var random = Pseudorandom(seed: 32)
    let sandbox = try store()
    var (title, text, created, modified) = (
      "My title", "old text", "2020-01-01T00:00:00.000Z", "2021-01-01T00:00:00.000Z"
    )
    var attributes: [String: JSONAttribute] = ["fav": .bool(true), "note": .string("mine")]
    for round in 1...10 {
      var parts = [(name: "key", value: "k")]
      var givesDate = false
      var isChanged = false
      if Bool.random(using: &random) {
        title = "Title \(round)"
        parts.append(("title", title))
        isChanged = true
      }
      if Bool.random(using: &random) {
        text = "text \(round)"
        parts.append(("text", text))
        isChanged = true
      }
      for name in ["note", "more"] where Bool.random(using: &random) {
        attributes[name] = .string("\(name) \(round)")
        parts.append((name, "\(name) \(round)"))
        isChanged = true
      }
      if mapsDates, Bool.random(using: &random) {
        created = "2022-01-0\(round % 9 + 1)T00:00:00.000Z"
        parts.append(("created", created))
        (givesDate, isChanged) = (true, true)
      }
      parts.shuffle(using: &random)
      let file = try write(parts, format, sandbox)
      let map = givesDate ? ["--map", "created=created"] : []
      let table = format == "sqlite" ? ["--table", "t"] : []
      let result = try sandbox.succeed(["import", "s.coffer", file, "--on-conflict", "update"] + table + map)
      #expect(result.text.contains("1 updated") == isChanged, "\(parts)")
      let found = try document(sandbox)
      #expect(found.title == title && found.text == text && found.key == "k" && found.json != true, "\(parts)")
      #expect(found.created == created && found.attributes == attributes, "\(parts)")
      #expect((found.modified == modified) == !isChanged, "\(parts)")
      modified = found.modified
    }
  }

  @Test func changesGivenDates() throws {
    let sandbox = try store()
    try sandbox.succeed(
      ["import", "s.coffer", "-", "--from", "ndjson", "--on-conflict", "update"],
      input: #"{"key":"k","modified":"2023-01-01T00:00:00.000Z"}"# + "\n")
    let found = try document(sandbox)
    #expect(found.text == "old text" && found.modified == "2023-01-01T00:00:00.000Z")
    #expect(found.created == "2020-01-01T00:00:00.000Z")
  }

  @Test func keepsParent() throws {
    let sandbox = try store(#"{"id":1,"text":"parent"}"#)
    try sandbox.succeed(
      ["import", "s.coffer", "-", "--from", "ndjson", "--keep-ids"],
      input: #"{"id":2,"parent":1,"key":"k","text":"a"}"# + "\n")
    try sandbox.succeed(
      ["import", "s.coffer", "-", "--from", "ndjson", "--keep-ids", "--on-conflict", "update"],
      input: #"{"id":2,"text":"b"}"# + "\n")
    let found = try sandbox.succeed("export", "s.coffer").lines
    #expect(found.last?.contains(#""parent":1"#) == true && found.last?.contains(#""text":"b""#) == true)
  }

  /// A title that the old text gave changes with the text.
  @Test func derivesTitleAgain() throws {
    let sandbox = try store(#"{"key":"k","text":"old"}"#)
    try sandbox.succeed(
      ["import", "s.coffer", "-", "--from", "ndjson", "--on-conflict", "update"],
      input: #"{"key":"k","text":"new"}"# + "\n")
    #expect(try document(sandbox).title == "new")
    try sandbox.succeed(
      ["import", "s.coffer", "-", "--from", "ndjson", "--on-conflict", "update"],
      input: #"{"key":"k","note":"x"}"# + "\n")
    #expect(try document(sandbox).title == "new")
  }

  /// A value is one part, so a record replaces it as a whole, but not a title that the user gave.
  @Test(arguments: ["csv", "ndjson", "sqlite"]) func replacesValue(format: String) throws {
    let sandbox = try Sandbox.withStore()
    func update(_ parts: [(name: String, value: String)]) throws -> Exported {
      let file = try write(parts, format, sandbox)
      let table = format == "sqlite" ? ["--table", "t"] : []
      try sandbox.succeed(["import", "s.coffer", file, "--on-conflict", "update"] + table)
      return try document(sandbox)
    }
    #expect(try update([("key", "k"), ("name", "A"), ("price", "1")]).title == "A")
    var found = try update([("key", "k"), ("name", "B"), ("size", "2")])
    #expect(found.title == "B" && found.json == true && found.text.contains("size") && !found.text.contains("price"))
    try sandbox.succeed("edit", "s.coffer", "k", "--set-title", "Mine")
    found = try update([("key", "k"), ("name", "A"), ("price", "1")])
    #expect(found.title == "Mine" && found.text.contains("price"))
  }

  @Test func keepsMarkOfValueWithItsText() throws {
    let sandbox = try store(#"{"key":"k","text":"[1,2]","json":true}"#)
    func update(_ record: String) throws -> Exported {
      try sandbox.succeed(
        "import", "s.coffer", "-", "--from", "ndjson", "--on-conflict", "update", input: record + "\n")
      return try document(sandbox)
    }
    #expect(try update(#"{"key":"k","text":"[1,2]","a":"b"}"#).json == true)
    #expect(try update(#"{"key":"k","text":"[1,2"}"#).json != true)
    // The empty text has no title to keep.
    #expect(try update(#"{"key":"k","text":""}"#).title == nil)
    #expect(try update(#"{"key":"k","text":"new"}"#).title == "new")
  }

  @Test func dryRunReportsConflicts() throws {
    let sandbox = try store()
    try sandbox.write("in.ndjson", #"{"key":"k","text":"new"}"# + "\n" + #"{"key":"l","text":"more"}"# + "\n")
    let before = try sandbox.read("s.coffer")
    func dry(_ options: String...) throws -> String? {
      try sandbox.run(["import", "s.coffer", "in.ndjson", "-n"] + options).lines.last
    }
    #expect(try dry("--on-conflict", "update") == "1 document would be created, id 2, 1 updated")
    #expect(try dry("--on-conflict", "skip") == "1 document would be created, id 2, 1 there already")
    #expect(try sandbox.run("import", "s.coffer", "in.ndjson", "-n").status == 1)
    #expect(try sandbox.read("s.coffer") == before)
  }

  @Test func dryRunForMissingStoreReportsConflicts() throws {
    let sandbox = try Sandbox()
    try sandbox.write("in.ndjson", #"{"key":"k","text":"a"}"# + "\n" + #"{"key":"k","text":"b"}"# + "\n")
    let names = try sandbox.names()
    let words = ["import", "s.coffer", "in.ndjson", "--create", "-n"]
    #expect(try sandbox.run(words).status == 1)
    let updating = try sandbox.succeed(words + ["--on-conflict", "update"])
    #expect(updating.lines.last == "1 document would be created, id 1, 1 updated")
    #expect(try sandbox.names() == names)
  }

  @Test func keepsPartsOfEmptyFields() throws {
    let sandbox = try store()
    try sandbox.write("in.csv", "key,title,text\nk,,\n")
    try sandbox.succeed("import", "s.coffer", "in.csv", "--on-conflict", "update")
    var found = try document(sandbox)
    #expect(found.title == "My title" && found.text == "old text")
    try sandbox.write("in.csv", "key,text\nk,\"\"\n")
    try sandbox.succeed("import", "s.coffer", "in.csv", "--on-conflict", "update")
    found = try document(sandbox)
    #expect(found.title == "My title" && found.text.isEmpty)
    for (name, content) in [("in.csv", "key,text,note,fav\nk,new,,\n"), ("in.tsv", "key\tnote\tfav\nk\t\t\n")] {
      try sandbox.write(name, content)
      try sandbox.succeed("import", "s.coffer", name, "--on-conflict", "update")
      #expect(try document(sandbox).attributes == ["fav": .bool(true), "note": .string("mine")])
    }
    let database = try Database(sandbox.path("in.db"), mode: .createNew)
    try database.execute("CREATE TABLE t(key, text, note, fav); INSERT INTO t VALUES('k', 'newer', NULL, 'x')")
    try database.close()
    try sandbox.succeed("import", "s.coffer", "in.db", "--table", "t", "--on-conflict", "update")
    found = try document(sandbox)
    #expect(found.text == "newer" && found.attributes?["note"] == .string("mine"))
    try sandbox.write("in.csv", "key,title\nk,\n")
    try sandbox.succeed("import", "s.coffer", "in.csv", "--on-conflict", "update")
    #expect(try document(sandbox).title == "My title")
  }

  /// A file's name is the title of a new document only.
  @Test func keepsTitleOfFile() throws {
    let sandbox = try Sandbox.withStore()
    try FileManager.default.createDirectory(atPath: sandbox.path("d"), withIntermediateDirectories: true)
    try sandbox.write("d/a.txt", "old")
    try sandbox.succeed("import", "s.coffer", "d")
    let created = try document(sandbox).created
    try sandbox.succeed("edit", "s.coffer", "a.txt", "--set-title", "Mine", "--attr", "a=b")
    try sandbox.write("d/a.txt", "new")
    try sandbox.succeed("import", "s.coffer", "d", "--on-conflict", "update")
    let found = try document(sandbox)
    #expect(found.title == "Mine" && found.text == "new" && found.created == created)
    #expect(found.attributes == ["a": .string("b")])
  }

  @Test func reportsMemberThatCannotBeUsed() throws {
    let sandbox = try store()
    let before = try sandbox.read("s.coffer")
    let result = try sandbox.run(
      "import", "s.coffer", "-", "--from", "ndjson", "--on-conflict", "update",
      input: #"{"key":"k","modified":"yesterday"}"# + "\n")
    #expect(result.status == 22 && result.diagnostics.contains("member modified"))
    #expect(try sandbox.read("s.coffer") == before)
  }
}
