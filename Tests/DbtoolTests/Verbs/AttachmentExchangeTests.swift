import Foundation
import Testing

/// Tests attachments in imports and exports of the command.
@Suite struct AttachmentExchangeTests {
  private static let names = ["photo.png", "PHOTO.png", "..", "a/b.txt", "CON"]

  private struct Listed: Decodable, Equatable {
    let name: String
    let type: String
    let date: String
    let size: Int
    let sha256: String
    let file: String?

    /// The same without the file, which depends on the export.
    var facts: [String] { [name, type, date, "\(size)", sha256] }
  }

  private struct Line: Decodable {
    let title: String?
    let attachments: [Listed]?
  }

  private func lines(_ text: String) throws -> [Line] {
    try text.split(separator: "\n").map { try JSONDecoder().decode(Line.self, from: Data($0.utf8)) }
  }

  private func facts(_ lines: [Line]) -> [[[String]]] { lines.map { ($0.attachments ?? []).map(\.facts) } }

  /// Creates a store with a document that has attachments of 0 bytes to 3 MB, and one without.
  private func sandbox() throws -> Sandbox {
    let sandbox = try Sandbox.withStore()
    try FileManager.default.createDirectory(atPath: sandbox.path("in/files"), withIntermediateDirectories: true)
    var entries: [String] = []
    for (index, name) in Self.names.enumerated() {
      let count = [0, 1, 65_536, 3_000_000, 100][index]
      try sandbox.write("in/files/\(index)", bytes: (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7 >> 3 + index) })
      let type = index == 1 ? #","type":"x/y""# : ""
      entries.append(
        #"{"name":"\#(name)"\#(type),"date":"2020-01-0\#(index + 1)T00:00:00.123Z","file":"files/\#(index)"}"#)
    }
    try sandbox.write("in/a.txt", "text")
    try sandbox.write("in/b.txt", "other")
    try sandbox.write(
      "in/index.ndjson",
      #"{"file":"a.txt","title":"A","attachments":[\#(entries.joined(separator: ","))]}"# + "\n"
        + #"{"file":"b.txt","title":"B"}"# + "\n")
    let told = try sandbox.succeed("import", "s.coffer", "in")
    #expect(told.lines == ["in: 2 documents (text, utf-8)", "2 documents created, ids 1 to 2, 5 attachments"])
    return sandbox
  }

  @Test func folderKeepsAttachments() throws {
    let sandbox = try sandbox()
    let before = facts(try lines(sandbox.succeed("export", "s.coffer").text))
    #expect(
      before[0].map { $0[0] } == Self.names && before[0].map { $0[1] } == ["image/png", "x/y", "", "text/plain", ""])
    #expect(before[0].map { $0[3] } == ["0", "1", "65536", "3000000", "100"] && before[1].isEmpty)
    try sandbox.succeed("export", "s.coffer", "--to", "text", "-o", "out")
    let files = try FileManager.default.contentsOfDirectory(atPath: sandbox.path("out/A.files")).sorted()
    #expect(files == ["CON_", "PHOTO-2.png", "a_b.txt", "attachment-3", "photo.png"])
    for file in files { #expect(try sandbox.mode(of: "out/A.files/\(file)") == 0o600) }
    let content = try sandbox.read("in/files/3")
    #expect(try sandbox.read("out/A.files/a_b.txt") == content)
    try sandbox.succeed("import", "t.coffer", "out", "--create", "--keep-ids")
    #expect(facts(try lines(sandbox.succeed("export", "t.coffer").text)) == before)
    // The same folder again changes only what differs.
    try sandbox.write("out/A.files/CON_", "new")
    let other = try sandbox.run("import", "t.coffer", "out", "--keep-ids", "--on-conflict", "update")
    #expect(
      other.status == 1 && other.errors.contains("out/A.files/CON_: the content isn't the one that its sha256 says"))
    let index = try sandbox.text(of: "out/index.ndjson").replacing(before[0][4][4], with: "")
      .replacing(#""sha256":"","#, with: "")
    try sandbox.write("out/index.ndjson", index)
    let again = try sandbox.succeed("import", "t.coffer", "out", "--keep-ids", "--on-conflict", "update")
    #expect(again.lines.last == "0 documents created, 1 updated, 1 unchanged, 1 attachment")
  }

  @Test func ndjsonWritesContentsIntoFolder() throws {
    let sandbox = try sandbox()
    let told = try sandbox.succeed("export", "s.coffer", "-o", "all.ndjson")
    #expect(
      told.diagnostics.contains(
        "ndjson leaves out the contents of attachments of 1 document: --attachments DIR writes them into a folder"))
    let without = try sandbox.succeed("import", "t.coffer", "all.ndjson", "--create")
    #expect(
      without.diagnostics.contains(
        "all.ndjson: left out without their contents: 5 attachments (--attachments DIR reads the folder of 'export "
          + "--attachments')"))
    let before = facts(try lines(sandbox.text(of: "all.ndjson")))
    let with = try sandbox.succeed("export", "s.coffer", "-o", "with.ndjson", "--attachments", "files")
    #expect(with.diagnostics.contains("the contents of 5 attachments written to files"))
    #expect(try lines(sandbox.text(of: "with.ndjson"))[0].attachments?.first?.file == "A.files/photo.png")
    #expect(try sandbox.mode(of: "files/A.files/PHOTO-2.png") == 0o600)
    for input in ["with.ndjson", "all.json"] {
      try sandbox.succeed("export", "s.coffer", "-o", "all.json", "--attachments", "files", "-f")
      let copy = input + ".coffer"
      try sandbox.succeed("import", copy, input, "--attachments", "files", "--create", "--keep-ids")
      #expect(facts(try lines(sandbox.succeed("export", copy).text)) == before)
    }
    // An earlier export is replaced on demand only, and any other folder never.
    #expect(try sandbox.run("export", "s.coffer", "--attachments", "files").status == 1)
    #expect(try sandbox.run("export", "s.coffer", "--attachments", "in/files", "-f").status == 1)
    #expect(try sandbox.run("export", "s.coffer", "--to", "csv", "--attachments", "new").status == 64)
    #expect(try sandbox.run("export", "s.coffer", "--to", "text", "-o", "x", "--attachments", "new").status == 64)
    #expect(!sandbox.exists("new") && !sandbox.exists("x"))
  }

  @Test(arguments: [["--on-conflict", "update"], ["--sync"]])
  func recordWithoutTextAddsAttachment(_ mode: [String]) throws {
    let sandbox = try Sandbox.withStore()
    try FileManager.default.createDirectory(atPath: sandbox.path("files"), withIntermediateDirectories: true)
    try sandbox.write("files/p.png", bytes: [1, 2])
    let arguments = ["import", "s.coffer", "-", "--from", "ndjson", "--keep-ids"]
    try sandbox.succeed(arguments, input: #"{"id":1,"title":"Old","text":"plain"}"#)
    try sandbox.succeed(
      arguments + mode + ["--attachments", "files"],
      input: #"{"id":1,"title":"New","attachments":[{"name":"photo.png","file":"p.png"}]}"#)
    let text = try sandbox.succeed("export", "s.coffer").text
    #expect(text.contains(#""text":"plain""#))
    let line = try lines(text)[0]
    #expect(line.title == "New" && line.attachments?.map(\.name) == ["photo.png"])
  }

  @Test(arguments: ["csv", "plist", "sqlite", "txt", "folder"]) func refusesContentsOfOtherFormats(_ format: String)
    throws
  {
    let sandbox = try sandbox()
    let input = format == "folder" ? "in" : "all.\(format)"
    if format != "folder" {
      try sandbox.succeed(["export", "s.coffer"] + (format == "txt" ? ["1"] : []) + ["-o", input])
    }
    let told = try sandbox.run("import", "t.coffer", input, "--attachments", "in", "--create")
    #expect(told.status == 64 && told.errors.contains("--attachments is for ndjson and json: \(input) is read as "))
    #expect(!sandbox.exists("t.coffer"))
  }

  @Test(arguments: ["csv", "tsv", "plist", "sqlite", "txt"]) func countsLeftOutAttachments(_ format: String) throws {
    let sandbox = try sandbox()
    let document = format == "txt" ? ["1"] : []
    let told = try sandbox.run(["export", "s.coffer"] + document + ["-o", "all.\(format)"])
    #expect(told.status == 0 && told.errors.contains("the attachments of 1 document"))
    #expect(told.errors.contains(": ndjson with --attachments holds everything"))
  }

  @Test func rejectsRecordOfUnreadableFile() throws {
    let sandbox = try sandbox()
    try sandbox.remove("in/files/2")
    let failed = try sandbox.run("import", "t.coffer", "in", "--create")
    #expect(failed.status == 1 && failed.errors.contains("in/files/2: a file of the index is not there"))
    #expect(!sandbox.exists("t.coffer"))
    let told = try sandbox.run("import", "t.coffer", "in", "--create", "--on-error", "skip")
    #expect(told.status == 3 && told.lines.last == "1 document created, id 1, 1 rejected")
    #expect(try sandbox.succeed("export", "t.coffer", "--to", "csv").text.contains("other"))
  }

  @Test func blobsBecomeAttachments() throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.write(
      "list.plist",
      """
      <plist version="1.0"><array><dict><key>name</key><string>one</string>
      <key>photo</key><data>iVBORwE=</data></dict></array></plist>
      """)
    let told = try sandbox.succeed("import", "s.coffer", "list.plist", "--blobs")
    #expect(told.lines.last == "1 document created, id 1, 1 attachment")
    let line = try sandbox.succeed("export", "s.coffer", "--attachments", "files").text
    let digest = "871923f8e5535ef938edc1ea710d5cf9e18637ce5d39feccef23030823993e4e"
    #expect(line.contains(#"{\"name\":\"one\",\"photo\":{\"$attachment\":\"\#(digest)\"}}"#))
    #expect(
      try lines(line)[0].attachments?.map { [$0.name, $0.type, $0.sha256] } == [["photo.png", "image/png", digest]])
    #expect(try sandbox.read("files/one.files/photo.png") == [0x89, 0x50, 0x4E, 0x47, 1])
    #expect(try sandbox.run("import", "s.coffer", "list.plist", "--blobs", "--from", "csv").status == 64)
  }
}
