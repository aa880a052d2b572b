import CofferTestSupport
import Foundation
import Testing

@Suite struct ExportTests {
  private func filled() throws -> Sandbox {
    let sandbox = try Sandbox.withStore()
    try sandbox.succeed("put", "s.coffer", "--title", "Eins", "--text", "a,\"b\"\nc\u{0301}", "--key-name", "k1")
    try sandbox.succeed("put", "s.coffer", "--title", "Zwei", "--text", "tab\there")
    try sandbox.succeed("put", "s.coffer", "-c", "notes", "--text", "n")
    return sandbox
  }

  @Test func missingCollectionLeavesNoOutput() throws {
    let sandbox = try filled()
    let names = try sandbox.names()
    let result = try sandbox.run("export", "s.coffer", "-c", "none", "-o", "out.csv")
    #expect(result.status == 14)
    #expect(try sandbox.names() == names)
  }

  @Test func formatOfReportNeedsReport() throws {
    let sandbox = try filled()
    let refused = try sandbox.run("export", "s.coffer", "--format", "csv")
    #expect(refused.status == 64 && refused.errors.contains("--to"), "\(refused.errors)")
    try sandbox.succeed("export", "s.coffer", "--format", "json", "-o", "all.ndjson")
  }

  @Test(.slow) func tableAcceptsSingleCollection() throws {
    let sandbox = try filled()
    #expect(try sandbox.run("export", "s.coffer", "--to", "csv").status == 64)
    #expect(try sandbox.run("export", "s.coffer", "-c", "notes", "-c", "documents", "--to", "tsv").status == 64)
    #expect(try sandbox.run("export", "s.coffer", "1", "3", "--to", "csv").status == 64)
  }

  @Test func writesExpectedCSV() throws {
    let result = try filled().succeed("export", "s.coffer", "-c", "documents", "--columns", "id,title,text,key")
    #expect(result.text == "id,title,text,key\n1,Eins,\"a,\"\"b\"\"\nc\u{0301}\",k1\n2,Zwei,tab\there,\n")
  }

  @Test func infersFormatFromOutputName() throws {
    let sandbox = try filled()
    let result = try sandbox.succeed("export", "s.coffer", "-c", "documents", "-o", "out.tsv")
    #expect(result.output.isEmpty)
    #expect(result.diagnostics == "dbtool: 2 documents written to out.tsv\n")
    #expect(try sandbox.text(of: "out.tsv").hasPrefix("id\ttitle\ttext\tkey\tcreated\tmodified\n"))
    try sandbox.succeed("export", "s.coffer", "-o", "out.data")
    #expect(try sandbox.text(of: "out.data").hasPrefix("{\"collection\":\"documents\",\"id\":1,"))
  }

  @Test(.slow, arguments: ["xlsx", "XLS", "ods"])
  func rejectsOutputNameOfUnsupportedFormat(ending: String) throws {
    let sandbox = try filled()
    let name = "out.\(ending)"
    let result = try sandbox.run("export", "s.coffer", "-o", name)
    #expect(result.status == 64)
    #expect(result.errors.contains("\(name) asks for ") && result.errors.contains("plist, sqlite with --to\n"))
    #expect(!sandbox.exists(name))
    try sandbox.succeed("export", "s.coffer", "-c", "documents", "-o", name, "--to", "csv")
    #expect(try sandbox.text(of: name).hasPrefix("id,title,text,key,created,modified\n"))
  }

  @Test func neverReplacesKeysOrStores() throws {
    let sandbox = try filled()
    try sandbox.succeed("backup", "s.coffer", "b.coffer")
    for (path, options) in [
      ("primary.key", ["--key-file", "primary.key"]), ("b.coffer", ["--to", "csv", "-c", "documents"]),
      ("s.coffer", ["--to", "ndjson"]),
    ] {
      let before = try sandbox.read(path)
      let refused = try sandbox.run(["export", "s.coffer", "-o", path, "--force"] + options)
      #expect(refused.status == 1 && refused.output.isEmpty, "\(refused.errors)")
      #expect(try sandbox.read(path) == before)
    }
  }

  @Test func restrictsOutputToOwner() throws {
    let sandbox = try filled()
    try sandbox.succeed("export", "s.coffer", "-c", "documents", "-o", "out.csv")
    #expect(try sandbox.mode(of: "out.csv") == 0o600)
    try sandbox.succeed("export", "s.coffer", "--to", "text", "-o", "out")
    #expect(try sandbox.mode(of: "out") == 0o700)
  }

  @Test(.slow) func replacingOutputRequiresForce() throws {
    let sandbox = try filled()
    try sandbox.write("out.csv", "mine")
    #expect(try sandbox.run("export", "s.coffer", "-c", "documents", "-o", "out.csv").status == 1)
    #expect(try sandbox.text(of: "out.csv") == "mine")
    try sandbox.succeed("export", "s.coffer", "-c", "documents", "-o", "out.csv", "--force")
    #expect(try sandbox.text(of: "out.csv").hasPrefix("id,"))
  }

  @Test func rejectsStoreAsOutput() throws {
    let sandbox = try filled()
    let before = try sandbox.read("s.coffer")
    #expect(try sandbox.run("export", "s.coffer", "-o", "s.coffer", "--force", "--to", "ndjson").status == 1)
    #expect(try sandbox.read("s.coffer") == before)
  }

  @Test(.slow) func keepsForeignDirectory() throws {
    let sandbox = try filled()
    try FileManager.default.createDirectory(atPath: sandbox.path("mine"), withIntermediateDirectories: true)
    try sandbox.write("mine/precious.txt", "precious")
    #expect(try sandbox.run("export", "s.coffer", "--to", "text", "-o", "mine", "--force").status == 1)
    #expect(try sandbox.text(of: "mine/precious.txt") == "precious")
    try sandbox.succeed("export", "s.coffer", "--to", "text", "-o", "out")
    #expect(try sandbox.run("export", "s.coffer", "--to", "text", "-o", "out").status == 1)
    try sandbox.succeed("export", "s.coffer", "--to", "text", "-o", "out", "--force")
  }

  @Test(.slow) func replacesEarlierTextsOfSeveralCollections() throws {
    let sandbox = try filled()
    try sandbox.succeed("export", "s.coffer", "--to", "text", "-o", "out")
    #expect(!sandbox.exists("out/index.ndjson"))
    // A person has looked into the folder with a file manager.
    try sandbox.write("out/.DS_Store", "view")
    try sandbox.succeed("export", "s.coffer", "--to", "text", "-o", "out", "--force")
    #expect(!sandbox.exists("out/.DS_Store"))
    try sandbox.write("out/precious.txt", "precious")
    #expect(try sandbox.run("export", "s.coffer", "--to", "text", "-o", "out", "--force").status == 1)
    #expect(try sandbox.text(of: "out/precious.txt") == "precious")
  }

  /// The index lists the files of an export, and `--force` removes nothing else.
  @Test(
    .slow,
    arguments: [
      ("out/notes.md", "out/notes.md"), ("out/.git/config", "out/.git"), ("out/Eins.files/b", "out/Eins.files/b"),
      ("all/notes/mine.txt", "all/notes/mine.txt"), ("all/mine/index.ndjson", "all/mine"), ("files/b", "files/b"),
    ])
  func keepsFolderWithForeignEntry(file: String, entry: String) throws {
    let sandbox = try filled()
    try sandbox.succeed("attachment", "add", "s.coffer", "1", "recipient.txt")
    let exports = [
      ["-c", "documents", "--to", "text", "-o", "out"], ["--to", "text", "-o", "all"],
      ["-o", "all.ndjson", "--attachments", "files"],
    ]
    let words = try #require(exports.first { $0.contains(String(file.prefix { $0 != "/" })) })
    try sandbox.succeed(["export", "s.coffer"] + words)
    let folder = URL(filePath: sandbox.path(file)).deletingLastPathComponent()
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    try sandbox.write(file, "mine")
    let refused = try sandbox.run(["export", "s.coffer", "--force"] + words)
    #expect(refused.status == 1)
    #expect(refused.errors.contains("\(entry) is not from an earlier export\n"), "\(refused.errors)")
    #expect(try sandbox.text(of: file) == "mine")
    try sandbox.remove(entry)
    try sandbox.succeed(["export", "s.coffer", "--force"] + words)
  }

  @Test func keepsFolderWithHandWrittenIndex() throws {
    let sandbox = try filled()
    try FileManager.default.createDirectory(atPath: sandbox.path("mine"), withIntermediateDirectories: true)
    try sandbox.write("mine/a.txt", "precious")
    try sandbox.write("mine/index.ndjson", #"{"file":"a.txt","id":7,"title":"A"}"#)
    #expect(try sandbox.run("export", "s.coffer", "--to", "text", "-o", "mine", "--force").status == 1)
    #expect(try sandbox.text(of: "mine/a.txt") == "precious")
  }

  @Test func keepsLogOfStore() throws {
    let sandbox = try Sandbox.withStore("--wal")
    try sandbox.succeed("put", "s.coffer", "--text", "x")
    for output in ["s.coffer-wal", "s.coffer-shm"] {
      let refused = try sandbox.run("export", "s.coffer", "--to", "ndjson", "-o", output, "--force")
      #expect(refused.status == 1 && refused.errors.contains("\(output) is what is being read"), "\(refused.errors)")
    }
    #expect(try sandbox.names().allSatisfy { !$0.hasPrefix("s.coffer-") })
  }

  @Test func keepsFolderWithInput() throws {
    let sandbox = try filled()
    try sandbox.succeed("put", "s.coffer", "-c", "documents", "--title", "spare.key", "--text", "x")
    let words = ["-c", "documents", "--to", "text", "-o", "out", "--force"]
    try sandbox.succeed(["export", "s.coffer"] + words)
    // The index lists this file.
    try sandbox.write("out/spare.key", bytes: try sandbox.read("primary.key"))
    let key = try sandbox.run(["export", "s.coffer", "--key-file", "out/spare.key"] + words)
    #expect(key.status == 1 && key.errors.contains("out/spare.key is what is being read"), "\(key.errors)")
    try FileManager.default.copyItem(atPath: sandbox.path("s.coffer"), toPath: sandbox.path("out/s.coffer"))
    #expect(try sandbox.run(["export", "out/s.coffer"] + words).status == 1)
    #expect(sandbox.exists("out/spare.key") && sandbox.exists("out/s.coffer"))
  }

  @Test func textFormatRequiresDirectory() throws {
    #expect(try filled().run("export", "s.coffer", "--to", "text").status == 64)
  }

  @Test(.slow) func encodingAndMarkRequireTable() throws {
    let sandbox = try filled()
    try sandbox.succeed(
      "export", "s.coffer", "-c", "notes", "-o", "n.tsv", "--encoding", "utf-16")
    #expect(try sandbox.read("n.tsv").prefix(4) == [0xFF, 0xFE, 0x69, 0x00])
    #expect(try sandbox.run("export", "s.coffer", "--encoding", "utf-16le").status == 64)
    #expect(try sandbox.run("export", "s.coffer", "--to", "csv", "--encoding", "koi8-r").status == 64)
  }

  @Test(.slow) func exportsSelectedDocumentsInGivenOrder() throws {
    let sandbox = try filled()
    let result = try sandbox.succeed("export", "s.coffer", "3", "1")
    #expect(result.lines.map { $0.contains("\"id\":3") } == [true, false])
    let missing = try sandbox.run("export", "s.coffer", "1", "9")
    #expect(missing.status == 14)
    #expect(missing.output.isEmpty)
  }

  @Test(.slow) func roundTripsNDJSON() throws {
    let sandbox = try filled()
    let first = try sandbox.succeed("export", "s.coffer")
    try sandbox.write("all.ndjson", bytes: first.output)
    try sandbox.succeed("import", "t.coffer", "all.ndjson", "--keep-ids", "--create")
    #expect(try sandbox.succeed("export", "t.coffer").text == first.text)
  }

  @Test(.slow) func roundTripsJSON() throws {
    let sandbox = try filled()
    let before = try sandbox.succeed("export", "s.coffer").text
    try sandbox.succeed("export", "s.coffer", "-o", "all.json")
    try sandbox.succeed("import", "t.coffer", "all.json", "--keep-ids", "--create")
    #expect(try sandbox.succeed("export", "t.coffer").text == before)
  }

  @Test(.slow) func roundTripsPropertyList() throws {
    let sandbox = try filled()
    let before = try sandbox.succeed("export", "s.coffer", "-c", "documents", "--columns", "id,title,text").text
    try sandbox.succeed("export", "s.coffer", "-c", "documents", "-o", "out.plist")
    #expect(Array(try sandbox.read("out.plist").prefix(8)) == Array("bplist00".utf8))
    try sandbox.succeed("import", "t.coffer", "out.plist", "--keep-ids", "--create")
    #expect(try sandbox.succeed("export", "t.coffer", "--columns", "id,title,text").text == before)
    #expect(try sandbox.run("export", "s.coffer", "-o", "all.plist").status == 64)
    #expect(!sandbox.exists("all.plist"))
  }

  @Test(.slow, arguments: ["csv", "tsv", "text"])
  func roundTripsDocumentFields(format: String) throws {
    let sandbox = try filled()
    let before = try sandbox.succeed("export", "s.coffer", "-c", "documents", "--to", "csv").text
    try sandbox.succeed("export", "s.coffer", "-c", "documents", "--to", format, "-o", "out.\(format)")
    try sandbox.succeed("import", "t.coffer", "out.\(format)", "--keep-ids", "--create")
    #expect(try sandbox.succeed("export", "t.coffer", "--to", "csv").text == before)
  }

  @Test func exportsEmptyCollectionAsEmptyTable() throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.succeed("collection", "create", "s.coffer", "documents")
    #expect(try sandbox.succeed("export", "s.coffer", "--to", "csv").text == "id,title,text,key,created,modified\n")
    #expect(try sandbox.succeed("export", "s.coffer").output.isEmpty)
  }

  @Test func exportsNewStoreAsEmpty() throws {
    let sandbox = try Sandbox.withStore()
    #expect(try sandbox.succeed("export", "s.coffer").output.isEmpty)
    #expect(try sandbox.succeed("export", "s.coffer", "--to", "csv").text == "id,title,text,key,created,modified\n")
    try sandbox.succeed("export", "s.coffer", "-o", "out.ndjson")
    #expect(try sandbox.read("out.ndjson").isEmpty)
    #expect(try sandbox.run("export", "s.coffer", "-c", "documents").status == 14)
    #expect(try sandbox.run("export", "s.coffer", "1").status == 14)
  }
}
