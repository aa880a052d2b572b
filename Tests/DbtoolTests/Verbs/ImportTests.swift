import CofferTestSupport
import Foundation
import Testing

@Suite struct ImportTests {
  struct Report: Decodable {
    struct Input: Decodable, Equatable {
      let path: String
      let format: String
      let encoding: String?
      let documents: Int
    }
    let collection: String?
    let created: Int
    let updated: Int
    let unchanged: Int
    let removed: Int
    let skipped: Int
    let rejected: Int
    let firstId: Int?
    let lastId: Int?
    let inputs: [Input]
  }

  private let spreadsheet: [UInt8] =
    [0xFF, 0xFE]
    + "title\ttext\r\nA\t\"x\r\ny\"\r\nB\tä😀\r\n".utf16.flatMap {
      [UInt8($0 & 0xFF), UInt8($0 >> 8)]
    }

  @Test func suggestsEncodingForUnmarkedUTF16() throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.write("in.tsv", bytes: Array(spreadsheet.dropFirst(2)))
    let result = try sandbox.run("import", "s.coffer", "in.tsv")
    #expect(result.status == 22)
    #expect(result.diagnostics.hasSuffix("hint: looks like UTF-16, little end first: --encoding utf-16le\n"))
    try sandbox.succeed("import", "s.coffer", "in.tsv", "--encoding", "utf-16le")
  }

  @Test func creatingStoreRequiresCreateOption() throws {
    let sandbox = try Sandbox()
    try sandbox.write("in.txt", "text")
    #expect(try sandbox.run("import", "s.coffer", "in.txt", "--key-file", "primary.key").status == 10)
    #expect(!sandbox.exists("s.coffer"))
    try sandbox.succeed("import", "s.coffer", "in.txt", "--create", "--key-file", "primary.key")
    #expect(try sandbox.succeed("ls", "s.coffer", "--key-file", "primary.key").lines.count == 1)
    // The second import uses the existing store.
    try sandbox.succeed("import", "s.coffer", "in.txt", "--create", "--key-file", "primary.key")
    #expect(try sandbox.succeed("ls", "s.coffer", "--key-file", "primary.key").lines.count == 2)
  }

  @Test func recipientsRequireCreateOption() throws {
    let sandbox = try Sandbox.withStore()
    #expect(try sandbox.run("import", "s.coffer", "x", "--recipient", "r").status == 64)
  }

  @Test func importsSpreadsheetText() throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.write("Book1.tsv", bytes: spreadsheet)
    let result = try sandbox.succeed("import", "s.coffer", "Book1.tsv", "--json")
    let report = try result.json(Report.self)
    #expect(report.inputs == [.init(path: "Book1.tsv", format: "tsv", encoding: "utf-16le", documents: 2)])
    #expect(report.collection == "documents")
    #expect((report.created, report.firstId, report.lastId) == (2, 1, 2))
    #expect((report.updated, report.unchanged, report.removed, report.skipped, report.rejected) == (0, 0, 0, 0, 0))
    #expect(try sandbox.succeed("show", "s.coffer", "1", "2").text == "x\r\nyä😀")
    #expect(try sandbox.succeed("ls", "s.coffer").lines.map { $0.split(separator: "\t")[1] } == ["A", "B"])
  }

  @Test func reportsOnlyCollection() throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.write("in.csv", "key,text\na,1\nb,2\n")
    try sandbox.succeed("import", "s.coffer", "in.csv", "-c", "notes")
    for words in [["--sync"], ["--on-conflict", "skip"], ["--on-conflict", "update"]] {
      let result = try sandbox.succeed(["import", "s.coffer", "in.csv", "--json"] + words)
      #expect(result.text.contains(#""collection":"notes","#), "\(words)")
    }
    let dry = try sandbox.succeed("import", "new.coffer", "in.csv", "--create", "--dry-run", "--json")
    #expect(dry.text.contains(#""collection":"documents","#))
    let records = #"{"text":"x","collection":"notes"}"# + "\n" + #"{"text":"y","collection":"more"}"#
    let several = try sandbox.succeed("import", "s.coffer", "-", "--from", "ndjson", "--json", input: records)
    #expect(several.text.contains(#""collection":null,"#))
  }

  @Test func importsTabbedLinesAsTable() throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.write("Book1.txt", "title\ttext\nA\tx\n")
    let result = try sandbox.succeed("import", "s.coffer", "Book1.txt", "--json")
    #expect(try result.json(Report.self).inputs.map(\.format) == ["tsv"])
  }

  @Test func skipsAndListsInvalidRecords() throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.write("in.csv", "title,text\na,1\nb\nc,3\n")
    let result = try sandbox.run("import", "s.coffer", "in.csv", "--on-error", "skip", "--json")
    #expect(result.status == 3)
    let report = try result.json(Report.self)
    #expect((report.created, report.rejected) == (2, 1))
    #expect(result.diagnostics.hasPrefix("dbtool: rejected: in.csv: "))
    #expect(result.diagnostics.contains("record 2, line 3"))
    #expect(try sandbox.succeed("show", "s.coffer", "1", "2").text == "13")
  }

  @Test func replacesInvalidBytes() throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.write("in.txt", bytes: [0x61, 0xFF, 0x62])
    #expect(try sandbox.run("import", "s.coffer", "in.txt").status == 22)
    try sandbox.succeed("import", "s.coffer", "in.txt", "--encoding", "utf-8", "--on-error", "replace")
    #expect(try sandbox.succeed("show", "s.coffer", "1").text == "a\u{FFFD}b")
  }

  @Test func batchesMatchSingleTransaction() throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.write("in.txt", (1...2500).map { "line \($0)\n" }.joined())
    let result = try sandbox.succeed(
      "import", "s.coffer", "in.txt", "in.txt", "--from", "lines", "--batch", "700")
    #expect(result.lines.last == "5000 documents created, ids 1 to 5000")
    let texts = try sandbox.succeed("export", "s.coffer", "--columns", "id,title,text,key").lines.dropFirst()
    #expect(texts.count == 5000)
    #expect(texts.first == "1,line 1,line 1,")
    #expect(texts.last == "5000,line 2500,line 2500,")
  }

  @Test func dryRunLeavesStoreUnchanged() throws {
    let sandbox = try Sandbox.withStore()
    let before = try sandbox.read("s.coffer")
    try sandbox.write("in.csv", "text\n1\n2\n")
    let result = try sandbox.succeed("import", "s.coffer", "in.csv", "--dry-run", "--json")
    let report = try result.json(Report.self)
    #expect((report.created, report.firstId) == (2, 1))
    #expect(try sandbox.read("s.coffer") == before)
    try sandbox.write("bad.csv", "text\n1\n\"2\n")
    #expect(try sandbox.run("import", "s.coffer", "bad.csv", "--dry-run").status == 22)
    try sandbox.succeed("import", "new.coffer", "in.csv", "--dry-run", "--create")
    #expect(!sandbox.exists("new.coffer"))
  }

  @Test func derivesTitlesFromText() throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.write("in.ndjson", "{\"text\":\"\\n\\nFirst words\\nmore\"}\n")
    try sandbox.succeed("import", "s.coffer", "in.ndjson")
    #expect(try sandbox.succeed("ls", "s.coffer").text.hasPrefix("1\tFirst words\t"))
  }

  @Test(.slow) func reportsMappedColumnsAndAttributes() throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.write("in.csv", "Name,Body,Year\nn,b,1999\n")
    let result = try sandbox.succeed("import", "s.coffer", "in.csv", "--map", "title=Name,text=Body")
    #expect(result.diagnostics.hasSuffix("dbtool: in.csv: title from Name; text from Body; attributes: Year\n"))
    let missing = try sandbox.run("import", "s.coffer", "in.csv", "--map", "text=Nope")
    #expect(missing.status == 64)
    #expect(missing.diagnostics.hasSuffix("hint: there are: Name, Body, Year\n"))
    #expect(try sandbox.run("import", "s.coffer", "in.csv", "--map", "nonsense").status == 64)
    try sandbox.write("bare.csv", "n2,b2\n")
    try sandbox.succeed("import", "s.coffer", "bare.csv", "--map", "title=1,text=2")
    #expect(try sandbox.succeed("show", "s.coffer", "1", "2").text == "bb2")
  }

  @Test func keepsForeignIDColumnAsAttribute() throws {
    struct Columns: Decodable {
      struct Column: Decodable, Equatable {
        let name: String
        let use: String
      }
      struct Input: Decodable { let columns: [Column] }
      let inputs: [Input]
    }
    struct Object: Decodable { let attributes: [String: String]? }
    let sandbox = try Sandbox.withStore()
    try sandbox.write("in.csv", "id,title,text\nA-7,t,x\n")
    let told = try sandbox.succeed("import", "s.coffer", "in.csv")
    #expect(told.diagnostics.hasSuffix("dbtool: in.csv: attributes: id\n"))
    #expect(try sandbox.succeed("show", "s.coffer", "1", "--json").json(Object.self).attributes == ["id": "A-7"])
    let report = try sandbox.succeed("import", "s.coffer", "in.csv", "--json").json(Columns.self)
    #expect(
      report.inputs.first?.columns == [
        .init(name: "id", use: "attribute"), .init(name: "title", use: "title"), .init(name: "text", use: "text"),
      ])
    // A table with dbtool's own header gets new IDs, and the import reports it. Its second column `id` is the attribute.
    try sandbox.succeed("export", "s.coffer", "1", "-o", "own.csv")
    let own = try sandbox.succeed("import", "s.coffer", "own.csv")
    #expect(own.diagnostics == "dbtool: own.csv: attributes: id; new ids (--keep-ids keeps those of the file)\n")
    #expect(try sandbox.succeed("show", "s.coffer", "3", "--json").json(Object.self).attributes == ["id": "A-7"])
  }

  @Test(.slow) func standardInputRequiresFormat() throws {
    let sandbox = try Sandbox.withStore()
    let unsure = try sandbox.run("import", "s.coffer", "-", input: "just words\n")
    #expect(unsure.status == 64)
    #expect(unsure.diagnostics.contains("--from"))
    try sandbox.succeed("import", "s.coffer", "-", "--from", "lines", input: "one\ntwo\n")
    try sandbox.succeed("import", "s.coffer", "-", input: "{\"text\":\"three\"}\n")
    #expect(try sandbox.succeed("show", "s.coffer", "1", "2", "3").text == "onetwothree")
    #expect(try sandbox.run("import", "s.coffer", "-", "-").status == 64)
  }

  @Test func handlesEmptyTextsByOption() throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.write("in.csv", "title,text\na,\nb,x\n")
    let skipped = try sandbox.succeed("import", "s.coffer", "in.csv", "--skip-empty", "--json")
    #expect(try skipped.json(Report.self).skipped == 1)
    try sandbox.succeed("import", "s.coffer", "in.csv")
    #expect(try sandbox.succeed("ls", "s.coffer").lines.count == 3)
  }

  @Test func importsDocumentForEachFile() throws {
    let sandbox = try Sandbox.withStore()
    try FileManager.default.createDirectory(atPath: sandbox.path("texts"), withIntermediateDirectories: true)
    try sandbox.write("texts/b.txt", "second")
    try sandbox.write("texts/a.txt", "first")
    try sandbox.succeed("import", "s.coffer", "texts", "-c", "files")
    let lines = try sandbox.succeed("ls", "s.coffer", "-c", "files").lines
    #expect(lines.map { $0.split(separator: "\t")[1] } == ["a.txt", "b.txt"])
  }

  @Test func printsProgressAsJSONLine() throws {
    let sandbox = try Sandbox.withStore()
    let result = try sandbox.succeed(
      "import", "s.coffer", "-", "--from", "lines", "--progress", "json", input: "a\nb\n")
    let line = result.diagnostics.split(separator: "\n").last { $0.hasPrefix("{") }
    #expect(line?.hasPrefix(#"{"progress":{"task":"import","done":2,"#) == true)
  }

  @Test func quietOptionSuppressesOutput() throws {
    let sandbox = try Sandbox.withStore()
    let result = try sandbox.succeed("import", "s.coffer", "-", "--from", "lines", "--quiet", input: "a\n")
    #expect(result.output.isEmpty)
    #expect(result.errors.isEmpty)
  }

  /// Imports that start together make one store, and each adds its documents.
  @Test func concurrentImportsMakeOneStore() throws {
    for _ in 0..<4 {
      let sandbox = try Sandbox()
      sandbox.environment["DBTOOL_KEY_FILE"] = "primary.key"
      let nowhere = open("/dev/null", O_RDWR | O_CLOEXEC)
      defer { close(nowhere) }
      let children = try (1...8).map { number in
        try sandbox.write("\(number).txt", "text \(number)")
        return try Child(
          ["import", "--create", "s.coffer", "\(number).txt"], in: sandbox,
          streams: .descriptors(input: nowhere, output: nowhere, errors: nowhere))
      }
      for child in children { #expect(child.wait() == 0) }
      #expect(try sandbox.succeed("ls", "s.coffer").lines.count == 8)
      try sandbox.succeed("verify", "s.coffer")
    }
  }
}
