import Foundation
import Testing

/// Tests attributes in formats without a field for them.
@Suite struct AttributeTests {
  private struct Report: Decodable {
    let documents: Int
    let leftOut: [String: Int]
  }

  private let objects = """
    {"text":"a","attributes":{"author":"Ann, \\"A\\"","tags":["x","y"],"year":1999}}
    {"text":"b","attributes":{"author":"","title":"own","none":null}}
    {"text":"c"}

    """

  private func filled() throws -> Sandbox {
    let sandbox = try Sandbox.withStore()
    try sandbox.succeed("import", "s.coffer", "-", "--from", "ndjson", input: objects)
    return sandbox
  }

  /// Imports `file` into another store, and returns the attributes of its documents.
  private func attributesBack(_ sandbox: Sandbox, from file: String) throws -> [String] {
    try? sandbox.remove("t.coffer")
    try sandbox.succeed("import", "t.coffer", file, "--keep-ids", "--create")
    return try sandbox.succeed("export", "t.coffer").lines.map { line in
      let object = try JSONSerialization.jsonObject(with: Data(line.utf8))
      let attributes = (object as? [String: Any])?["attributes"] ?? [:]
      return String(
        decoding: try JSONSerialization.data(withJSONObject: attributes, options: .sortedKeys), as: UTF8.self)
    }
  }

  @Test func countsPartsThatPropertyListLeavesOut() throws {
    let sandbox = try filled()
    try sandbox.succeed(
      "import", "s.coffer", "-", "--from", "ndjson", input: "{\"text\":\"d\",\"key\":\"k\",\"json\":true}\n")
    let note = """
      dbtool: plist leaves out the keys of 1 document, the dates of 4 documents: ndjson holds \
      everything
      dbtool: 4 documents written to out.plist

      """
    #expect(try sandbox.succeed("export", "s.coffer", "-o", "out.plist").diagnostics == note)
    let told = try sandbox.succeed("export", "s.coffer", "-o", "out.plist", "--force", "--json").json(Report.self)
    #expect(told.documents == 4)
    #expect(told.leftOut == ["keys": 1, "dates": 4])
    for format in ["csv", "tsv", "ndjson", "json", "db"] {
      let all = try sandbox.succeed("export", "s.coffer", "-o", "out.\(format)")
      #expect(all.diagnostics == "dbtool: 4 documents written to out.\(format)\n")
    }
  }

  @Test func writesColumnForEachAttribute() throws {
    let sandbox = try filled()
    let names = "id,title,text,key,author,none,tags,title,year"
    let narrow = try sandbox.succeed(
      "export", "s.coffer", "--columns", "id,text,author,none,tags,year", "--delimiter", "|")
    #expect(
      narrow.text == """
        id|text|author|none|tags|year
        1|a|"Ann, ""A""\"||"[""x"",""y""]"|1999
        2|b|""|null||
        3|c||||

        """)
    let table = try sandbox.succeed("export", "s.coffer", "--to", "csv")
    #expect(table.lines[0] == names.replacing("key,", with: "key,created,modified,"))
    try sandbox.write("out.csv", bytes: table.output)
    #expect(
      try attributesBack(sandbox, from: "out.csv") == [
        #"{"author":"Ann, \"A\"","tags":"[\"x\",\"y\"]","year":"1999"}"#, #"{"author":"","none":"null","title":"own"}"#,
        "{}",
      ])
    let one = try sandbox.succeed("export", "s.coffer", "--to", "tsv", "3", "--columns", "id,title,text,key")
    #expect(one.text == "id\ttitle\ttext\tkey\n3\tc\tc\t\n")
    let unknown = try sandbox.run("export", "s.coffer", "--columns", "id,Author")
    #expect(unknown.status == 64)
    #expect(unknown.errors.contains("there is no column Author\nhint: there are: id, title, "))
    #expect(try sandbox.run("export", "s.coffer", "--to", "json", "--columns", "id").status == 64)
  }

  @Test func writesAttributesToPropertyList() throws {
    let sandbox = try filled()
    try sandbox.succeed("export", "s.coffer", "-o", "out.plist")
    #expect(
      try attributesBack(sandbox, from: "out.plist") == [
        #"{"author":"Ann, \"A\"","tags":["x","y"],"year":1999}"#, #"{"author":"","none":"null","title":"own"}"#, "{}",
      ])
  }
}
