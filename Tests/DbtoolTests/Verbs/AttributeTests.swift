import Foundation
import Testing

/// Tests attributes in formats without a field for them.
@Suite struct AttributeTests {
  private struct Report: Decodable {
    let documents: Int
    let attributesLeftOut: Int
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

  @Test(arguments: ["csv", "tsv", "plist"])
  func countsOmittedAttributes(format: String) throws {
    let sandbox = try filled()
    let note = """
      dbtool: the attributes of 2 documents are left out: --attributes adds them to \(format); ndjson holds everything
      dbtool: 3 documents written to out.\(format)

      """
    #expect(try sandbox.succeed("export", "s.coffer", "-o", "out.\(format)").diagnostics == note)
    let told = try sandbox.succeed("export", "s.coffer", "-o", "out.\(format)", "--force", "--json").json(Report.self)
    #expect((told.documents, told.attributesLeftOut) == (3, 2))
    let kept = try sandbox.succeed("export", "s.coffer", "-o", "out.\(format)", "--force", "--attributes")
    #expect(kept.diagnostics == "dbtool: 3 documents written to out.\(format)\n")
    let all = try sandbox.succeed("export", "s.coffer", "-o", "out.ndjson")
    #expect(all.diagnostics == "dbtool: 3 documents written to out.ndjson\n")
  }

  @Test func writesColumnForEachAttribute() throws {
    let sandbox = try filled()
    let table = try sandbox.succeed("export", "s.coffer", "--to", "csv", "--attributes")
    #expect(
      table.text == """
        id,title,text,key,author,none,tags,title,year
        1,a,a,,"Ann, ""A""\",,"[""x"",""y""]",,1999
        2,b,b,,"",null,,own,
        3,c,c,,,,,,

        """)
    try sandbox.write("out.csv", bytes: table.output)
    #expect(
      try attributesBack(sandbox, from: "out.csv") == [
        #"{"author":"Ann, \"A\"","tags":"[\"x\",\"y\"]","year":"1999"}"#, #"{"author":"","none":"null","title":"own"}"#,
        "{}",
      ])
    let one = try sandbox.succeed("export", "s.coffer", "--to", "tsv", "--attributes", "--id", "3")
    #expect(one.text == "id\ttitle\ttext\tkey\n3\tc\tc\t\n")
  }

  @Test func writesAttributesToPropertyList() throws {
    let sandbox = try filled()
    try sandbox.succeed("export", "s.coffer", "-o", "out.plist", "--attributes")
    #expect(
      try attributesBack(sandbox, from: "out.plist") == [
        #"{"author":"Ann, \"A\"","tags":["x","y"],"year":1999}"#, #"{"author":"","none":"null","title":"own"}"#, "{}",
      ])
  }
}
