import Foundation
import Testing

/// Tests that a failed import leaves the store unchanged, or doesn't create it.
@Suite struct ImportFailureTests {
  @Test func invalidInputLeavesStoreUnchanged() throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.succeed("put", "s.coffer", "--text", "before")
    let before = try sandbox.read("s.coffer")
    try sandbox.write("good.txt", "good")
    try sandbox.write("bad.txt", bytes: [0xFF, 0xFE, 0x61, 0x00, 0x00, 0xD8, 0x62, 0x00])
    let result = try sandbox.run("import", "s.coffer", "good.txt", "bad.txt")
    #expect(result.status == 22)
    #expect(result.output.isEmpty)
    #expect(result.diagnostics.contains("bad.txt: unpaired surrogate") && result.diagnostics.contains("byte 4"))
    #expect(try sandbox.read("s.coffer") == before)
  }

  @Test func failingInputRollsBackEarlierInputs() throws {
    let sandbox = try Sandbox.withStore()
    let before = try sandbox.read("s.coffer")
    try sandbox.write("good.csv", "text\n" + String(repeating: "row\n", count: 5000))
    try sandbox.write("bad.csv", "text\n" + String(repeating: "row\n", count: 5000) + "row,too many\n")
    let result = try sandbox.run("import", "s.coffer", "good.csv", "bad.csv", "good.csv")
    #expect(result.status == 22)
    #expect(
      result.diagnostics.hasPrefix("dbtool: error: bad.csv: ") && result.diagnostics.contains("record 5001, line 5002"))
    #expect(try sandbox.read("s.coffer") == before)
  }

  @Test func reportsMissingInputBeforeCreatingStore() throws {
    let sandbox = try Sandbox()
    try sandbox.write("good.txt", "good")
    let result = try sandbox.run("import", "s.coffer", "good.txt", "none.txt", "--create", "--key-file", "primary.key")
    #expect(result.status == 1)
    #expect(result.errors == "dbtool: error: none.txt: no such file or directory\n")
    #expect(!sandbox.exists("s.coffer"))
  }

  @Test func failedCreationLeavesNoFile() throws {
    let sandbox = try Sandbox()
    try sandbox.write("bad.ndjson", "{\"text\":\"a\"}\n{\"text\":\n")
    let names = try sandbox.names()
    let result = try sandbox.run(
      "import", "s.coffer", "bad.ndjson", "--create", "--key-file", "primary.key", "--from", "ndjson")
    #expect(result.status == 22)
    #expect(try sandbox.names() == names)
  }

  @Test func failedBatchedCreationReportsNoStoredDocuments() throws {
    let sandbox = try Sandbox()
    try sandbox.write("in.csv", "text\n1\n2\n3,bad\n")
    let names = try sandbox.names()
    let result = try sandbox.run(
      "import", "s.coffer", "in.csv", "--create", "--key-file", "primary.key", "--batch", "1")
    #expect(result.status == 22)
    #expect(!result.diagnostics.contains("stored"))
    #expect(try sandbox.names() == names)
  }

  @Test func rejectsExpectOptionForNewStore() throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.write("in.txt", "text")
    let line = try sandbox.succeed("info", "s.coffer").lines.first { $0.hasPrefix("pin ") }
    let pin = String(try #require(line?.split(separator: " ").last))
    for options in [[], ["--dry-run"]] {
      let result = try sandbox.run(["import", "t.coffer", "in.txt", "--create", "--pin", pin] + options)
      #expect(result.status == 10)
      #expect(result.errors.hasPrefix("dbtool: error: no such file: t.coffer, "))
      #expect(!sandbox.exists("t.coffer"))
    }
    try sandbox.succeed("import", "s.coffer", "in.txt", "--create", "--pin", pin)
  }

  @Test func keepsAndReportsEarlierBatches() throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.write("in.csv", "text\n1\n2\n3\n4\n5,bad\n")
    let result = try sandbox.run("import", "s.coffer", "in.csv", "--batch", "2")
    #expect(result.status == 22)
    #expect(result.diagnostics.contains("; 4 documents of earlier batches stored"))
    #expect(try sandbox.succeed("ls", "s.coffer").lines.count == 4)
  }

  @Test func exhaustedIDsReportNextStep() throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.succeed("put", "s.coffer", "--id", "9223372036854775806", "--text", "last")
    let before = try sandbox.read("s.coffer")
    let message =
      "no number is left for a new document: the highest, 9223372036854775806, was given already\n"
      + "hint: give it a free number, or export all documents and import them into a new store, which counts from 1\n"
    let put = try sandbox.run("put", "s.coffer", "--text", "x")
    #expect(put.status == 1)
    #expect(put.diagnostics == "dbtool: error: " + message)
    try sandbox.write("in.txt", "x\ny\n")
    let imported = try sandbox.run("import", "s.coffer", "in.txt", "--from", "lines", "--on-error", "skip")
    #expect(imported.status == 1)
    #expect(imported.diagnostics == "dbtool: error: in.txt: record 1: " + message)
    #expect(try sandbox.read("s.coffer") == before)
  }

  @Test func rejectsDuplicateKeptID() throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.succeed("put", "s.coffer", "--id", "7", "--text", "here")
    try sandbox.write("in.csv", "id,text\n6,a\n7,b\n")
    let result = try sandbox.run("import", "s.coffer", "in.csv", "--keep-ids")
    #expect(result.status == 1)
    #expect(result.diagnostics.contains("document 7"))
    #expect(try sandbox.succeed("ls", "s.coffer").lines.count == 1)
  }

  /// The store reads later inputs before it refuses a record, and each input has its own numbers.
  @Test func namesInputOfRefusedRecord() throws {
    let sandbox = try Sandbox.withStore()
    for (name, rows) in [("a", "a,1\nb,2\n"), ("b", "c,3\na,4\n"), ("c", "d,5\n")] {
      try sandbox.write("\(name).csv", "key,text\n" + rows)
    }
    let command = ["import", "s.coffer", "a.csv", "b.csv", "c.csv"]
    let reason = "an earlier record of the input has the same key\n"
    for options in [[], ["--sync"]] {
      let refused = try sandbox.run(command + options)
      #expect(refused.diagnostics.contains("dbtool: error: b.csv: record 2: \(reason)"), "\(refused.errors)")
    }
    let batched = try sandbox.run(command + ["--batch", "1"])
    #expect(batched.diagnostics.contains("dbtool: error: b.csv: record 2: document 1 "), "\(batched.errors)")
    #expect(batched.diagnostics.contains("; 3 documents of earlier batches stored"))
    let stream = try sandbox.run("import", "s.coffer", "c.csv", "-", "--from", "csv", input: "key,text\ne,6\na,7\n")
    #expect(stream.diagnostics.contains("dbtool: error: standard input: record 2: document 1 "), "\(stream.errors)")
    let synced = try sandbox.run(command + ["--sync", "--on-error", "skip", "--json"])
    #expect(synced.status == 3)
    #expect(synced.diagnostics.contains("dbtool: rejected: b.csv: record 2: \(reason)"))
    #expect(synced.text.contains(#""input":"b.csv","record":2,"id":1"#), "\(synced.text)")
  }

  @Test func namesFileOfRefusedRecord() throws {
    let sandbox = try Sandbox.withStore()
    try FileManager.default.createDirectory(atPath: sandbox.path("n/sub"), withIntermediateDirectories: true)
    for name in ["n/a.txt", "n/sub/b.txt"] { try sandbox.write(name, name) }
    try sandbox.succeed("put", "s.coffer", "--key-name", "sub/b.txt", "--text", "here")
    let stored = try sandbox.run("import", "s.coffer", "n")
    #expect(stored.status == 1)
    #expect(stored.diagnostics.hasPrefix("dbtool: error: n/sub/b.txt: document 1 has that key already\n"))
    let twice = try sandbox.run("import", "s.coffer", "n/", "n", "-c", "other")
    #expect(
      twice.diagnostics.hasPrefix("dbtool: error: n/a.txt: an earlier record of the input has the same key\n"),
      "\(twice.errors)")
  }

  /// The parts of a record are read when the store has found its document.
  @Test(arguments: [["--on-conflict", "update"], ["--sync"]])
  func namesInputOfInvalidPart(options: [String]) throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.write("a.ndjson", #"{"key":"a","text":"one"}"# + "\n" + #"{"key":"b","text":"two"}"# + "\n")
    try sandbox.write("b.ndjson", #"{"key":"c","text":"three"}"# + "\n" + #"{"key":"a","created":"never"}"# + "\n")
    try sandbox.succeed("import", "s.coffer", "a.ndjson", "-c", "notes")
    let refused = try sandbox.run(["import", "s.coffer", "a.ndjson", "b.ndjson", "-c", "notes"] + options)
    #expect(refused.status == 22)
    #expect(refused.diagnostics.hasPrefix("dbtool: error: b.ndjson: member created: "), "\(refused.errors)")
    #expect(refused.diagnostics.contains("(record 2)"), "\(refused.errors)")
  }

  @Test func rejectsRepeatedID() throws {
    try expectConflict(
      "{\"id\":3,\"text\":\"first\"}\n{\"id\":3,\"text\":\"second\"}\n",
      message: "record 2: an earlier record of the input has the same id")
  }

  @Test func rejectsRepeatedKey() throws {
    try expectConflict(
      "{\"key\":\"k\",\"text\":\"first\"}\n{\"key\":\"k\",\"text\":\"second\"}\n",
      message: "record 2: an earlier record of the input has the same key")
  }

  private func expectConflict(_ input: String, message: String) throws {
    let sandbox = try Sandbox()
    try sandbox.write("in.ndjson", input)
    let names = try sandbox.names()
    let result = try sandbox.run(
      "import", "s.coffer", "in.ndjson", "--keep-ids", "--create", "--key-file", "primary.key", "--quiet")
    #expect(result.status == 1)
    #expect(result.output.isEmpty)
    #expect(result.errors.hasPrefix("dbtool: error: in.ndjson: \(message)\n"), "\(result.errors)")
    #expect(try sandbox.names() == names)
  }

  @Test(arguments: ["skip", "replace"])
  func unknownEncodingStopsEveryErrorMode(mode: String) throws {
    let sandbox = try Sandbox.withStore()
    let before = try sandbox.read("s.coffer")
    try sandbox.write("in.txt", bytes: [0x61, 0xFF, 0x62])
    let result = try sandbox.run("import", "s.coffer", "in.txt", "--from", "lines", "--on-error", mode)
    #expect(result.status == 22)
    #expect(result.diagnostics.contains("byte 1)\nhint: try --encoding windows-1252 "))
    #expect(try sandbox.read("s.coffer") == before)
  }

  /// The characters before the invalid byte tell the encoding.
  @Test(arguments: ["lines", "csv", "ndjson"])
  func invalidBytesMakeBadRecordInUTF8(format: String) throws {
    let sandbox = try Sandbox.withStore()
    let (opening, end) = format == "ndjson" ? (#"{"text":""#, "\"}\n") : ("", "\n")
    let lines = (1...9).map { Array("\(opening)строка \($0)\(end)".utf8) }
    let bad = Array("\(opening)bad ".utf8) + [0xFF] + Array(end.utf8)
    let header: [[UInt8]] = format == "csv" ? [Array("text\n".utf8)] : []
    try sandbox.write("in", bytes: Array((header + lines + [bad] + lines).joined()))
    let words = ["import", "s.coffer", "in", "--from", format]
    let failed = try sandbox.run(words)
    #expect(failed.status == 22 && failed.errors.contains("hint: this is UTF-8 with invalid bytes"), "\(failed.errors)")
    let skipped = try sandbox.run(words + ["--on-error", "skip", "--json", "-c", "skipped"])
    #expect(skipped.status == 3 && skipped.text.contains(#""created":18,"#), "\(skipped.errors)")
    try sandbox.succeed(words + ["--on-error", "replace", "-c", "replaced"])
    #expect(try sandbox.succeed("export", "s.coffer", "-c", "replaced").text.contains("bad \u{FFFD}\""))
  }

  @Test func shortensLongColumnNames() throws {
    let sandbox = try Sandbox.withStore()
    // Without a header, the import uses the first row as the header.
    try sandbox.write("in.csv", "A text that goes on for longer than any name of a column would,b\n")
    let result = try sandbox.run("import", "s.coffer", "in.csv", "--map", "text=Text")
    #expect(result.status == 64)
    #expect(result.diagnostics.hasSuffix("hint: there are: A text that goes on for longer than any…, b\n"))
  }

  /// The import rejects unstorable documents before storing, with and without padding.
  @Test(arguments: [[], ["--no-padding"]]) func rejectsOnlyRecordWithLongTitle(options: [String]) throws {
    let sandbox = try Sandbox()
    sandbox.environment["DBTOOL_KEY_FILE"] = "primary.key"
    let lengths = [1, 65_535, 65_536, 65_537, 1_048_576, 2]
    let titles = lengths.map { String(repeating: "x", count: $0) }
    try sandbox.write("in.ndjson", titles.map { "{\"title\":\"\($0)\",\"text\":\"\"}\n" }.joined())
    try sandbox.succeed(["create", "s.coffer"] + options)
    let outcome = try sandbox.run("import", "s.coffer", "in.ndjson", "--on-error", "skip", "--json")
    #expect(outcome.status == 3)
    struct Report: Decodable { var created, rejected: Int }
    let report = try outcome.json(Report.self)
    #expect(report.created == 4)
    #expect(report.rejected == 2)
  }

  @Test(arguments: [
    #"{"text":"b","collection":""}"#, #"{"text":"b","collection":"\#(String(repeating: "c", count: 1025))"}"#,
    #"{"text":"b","id":9223372036854775807}"#,
  ])
  func rejectsOnlyUnstorableRecord(record: String) throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.write("in.ndjson", "{\"text\":\"a\",\"id\":1}\n\(record)\n{\"text\":\"c\",\"id\":3}\n")
    let failed = try sandbox.run("import", "s.coffer", "in.ndjson", "--keep-ids")
    #expect(failed.status == 22)
    #expect(failed.errors.contains("(record 2, line 2, column 1, byte 20)"))
    #expect(try sandbox.run("import", "s.coffer", "in.ndjson", "--keep-ids", "--on-error", "skip").status == 3)
    #expect(try sandbox.succeed("show", "s.coffer", "1", "3").text == "ac")
  }

  @Test(
    arguments: [
      (
        [0x89, 0x50, 0x4E, 0x47, 0x0D], "a PNG image",
        "a document is text; import --on-error skip leaves such files of a folder out"
      ),
      ([0x1F, 0x8B, 8, 0], "a gzip file", "decompress it first: gunzip"),
      (Array("%PDF-1.7\n%".utf8) + [0xE2], "a PDF", "extract its text first, with pdftotext for example"),
      (
        [0x50, 0x4B, 3, 4] + [UInt8](repeating: 0, count: 22) + [19, 0, 0, 0] + Array("[Content_Types].xml".utf8),
        "an office document, such as a spreadsheet (.xlsx)",
        "save it as CSV or as Unicode Text in the program that made it"
      ),
    ] as [([UInt8], String, String)])
  func reportsBinaryFile(bytes: [UInt8], name: String, advice: String) throws {
    let sandbox = try Sandbox.withStore()
    for file in ["in.csv", "in.bin"] {
      try sandbox.write(file, bytes: bytes)
      let result = try sandbox.run("import", "s.coffer", file)
      #expect(result.status == 22)
      #expect(result.diagnostics == "dbtool: error: \(file): this is \(name), not text\nhint: \(advice)\n")
    }
    // The import trusts a given encoding.
    let told = try sandbox.run("import", "s.coffer", "in.bin", "--encoding", "utf-8")
    #expect(!told.diagnostics.contains("this is"))
  }

  @Test func keepsRejectsOfStoredBatches() throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.succeed("put", "s.coffer", "--key-name", "taken", "--text", "x")
    let rows = ["key,text", "a,1", "c,3,x", "b,2", "d,4", "taken,5"]
    let result = try sandbox.run(
      ["import", "s.coffer", "-", "--from", "csv", "--batch", "2", "--rejects", "bad.csv"],
      input: Array(rows.map { $0 + "\n" }.joined().utf8))
    #expect(result.status != 0 && result.errors.contains("of earlier batches stored"), "\(result.errors)")
    let rejected = try String(decoding: sandbox.read("bad.csv"), as: UTF8.self)
    #expect(rejected == "key,text\nc,3,x\n", "\(rejected)")
  }

  /// The store refuses a record that was read, so the file couldn't have it.
  @Test func syncWithRejectsEndsAtRefusedRecord() throws {
    let sandbox = try Sandbox.withStore()
    let before = try sandbox.read("s.coffer")
    let result = try sandbox.run(
      ["import", "s.coffer", "-", "--from", "csv", "--sync", "--rejects", "bad.csv"],
      input: Array("key,text\na,1\n,2\na,3\n".utf8))
    #expect(result.status != 0 && !sandbox.exists("bad.csv"), "\(result.errors)")
    #expect(try sandbox.read("s.coffer") == before)
  }

  @Test(arguments: [
    ["p.txt", "--map", "title=Name,text=Body"], ["p.txt", "--from", "lines", "--map", "title=Name"],
    ["p.txt", "--map", "header=no"], ["folder", "--map", "title=Name"], ["p.txt", "--table", "t"],
  ])
  func refusesOptionsWithoutUse(words: [String]) throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.write("p.txt", "Name,Body\nA,x\nB,y\n")
    try FileManager.default.createDirectory(atPath: sandbox.path("folder"), withIntermediateDirectories: false)
    try sandbox.write("folder/p.txt", "text")
    let result = try sandbox.run(["import", "s.coffer"] + words)
    #expect(result.status == 64 && result.errors.contains("is read as"), "\(result.errors)")
    #expect(try sandbox.succeed("ls", "s.coffer").lines.isEmpty)
  }
}
