import Foundation
import Testing

/// Tests the verbs of attachments, and the options of other verbs that name them.
@Suite struct AttachmentVerbTests {
  private struct Row: Decodable, Equatable {
    let document: Int
    let name: String
    let type: String
    let size: Int
  }

  private func sandbox() throws -> Sandbox {
    let sandbox = try Sandbox.withStore()
    try sandbox.succeed("put", "s.coffer", "--title", "Plans", "--text", "Sail at dawn")
    try sandbox.write("memo.txt", "at the harbour")
    try sandbox.write("map.png", bytes: [0, 1, 2, 0xFF])
    return sandbox
  }

  private func rows(_ sandbox: Sandbox, _ words: String...) throws -> [Row] {
    try sandbox.succeed(["attachment", "ls", "s.coffer", "--json"] + words).json([Row].self)
  }

  private let memo = Row(document: 1, name: "memo.txt", type: "text/plain", size: 14)
  private let map = Row(document: 1, name: "map.png", type: "image/png", size: 4)

  @Test func addsListsGetsAndRemoves() throws {
    let sandbox = try sandbox()
    try sandbox.succeed("attachment", "add", "s.coffer", "Plans", "memo.txt", "map.png")
    #expect(try rows(sandbox) == [memo, map] && rows(sandbox, "1") == [memo, map])
    #expect(try sandbox.succeed("attachment", "get", "s.coffer", "1", "memo.txt").text == "at the harbour")
    try sandbox.succeed("attachment", "get", "s.coffer", "1", "#2", "-o", "copy.png")
    #expect(try sandbox.read("copy.png") == [0, 1, 2, 0xFF])
    try sandbox.succeed("attachment", "get", "s.coffer", "1", "-o", "all")
    #expect(try sandbox.text(of: "all/memo.txt") == "at the harbour" && sandbox.exists("all/map.png"))
    try sandbox.succeed("attachment", "rm", "s.coffer", "1", "memo.txt", "--dry-run")
    #expect(try rows(sandbox) == [memo, map])
    try sandbox.succeed("attachment", "rm", "s.coffer", "1", "memo.txt")
    #expect(try rows(sandbox) == [map])
  }

  @Test func getNeedsAttachment() throws {
    let sandbox = try sandbox()
    #expect(try sandbox.run("attachment", "get", "s.coffer", "Plans", "-o", "none").status == 14)
    #expect(!sandbox.exists("none"))
  }

  @Test func namesAndTypesStandardInput() throws {
    let sandbox = try sandbox()
    #expect(try sandbox.run("attachment", "add", "s.coffer", "1", "-", input: "spoken").status == 64)
    try sandbox.succeed(
      "attachment", "add", "s.coffer", "1", "-", "--name", "memo.wav", "--type", "audio/wav", input: "spoken")
    #expect(try rows(sandbox) == [Row(document: 1, name: "memo.wav", type: "audio/wav", size: 6)])
  }

  @Test func addsAllFilesOrNone() throws {
    let sandbox = try sandbox()
    try sandbox.succeed("attachment", "add", "s.coffer", "1", "memo.txt")
    let before = try sandbox.read("s.coffer")
    for file in ["memo.txt", "missing.txt"] {
      let refused = try sandbox.run("attachment", "add", "s.coffer", "1", "map.png", file)
      #expect(refused.status != 0 && refused.errors.contains(file), "\(refused.errors)")
      #expect(try sandbox.read("s.coffer") == before)
    }
    try sandbox.write("memo.txt", "at sea")
    try sandbox.succeed("attachment", "add", "s.coffer", "1", "map.png", "memo.txt", "--replace")
    #expect(try sandbox.succeed("attachment", "get", "s.coffer", "1", "memo.txt").text == "at sea")
    #expect(try Set(rows(sandbox).map(\.name)) == ["memo.txt", "map.png"])
  }

  @Test func refusesToReplaceOutputOrMissingNames() throws {
    let sandbox = try sandbox()
    try sandbox.succeed("attachment", "add", "s.coffer", "1", "memo.txt")
    try sandbox.write("kept.txt", "kept")
    #expect(try sandbox.run("attachment", "get", "s.coffer", "1", "memo.txt", "-o", "kept.txt").status == 1)
    #expect(try sandbox.text(of: "kept.txt") == "kept")
    try sandbox.succeed("attachment", "get", "s.coffer", "1", "memo.txt", "-o", "kept.txt", "--force")
    #expect(try sandbox.text(of: "kept.txt") == "at the harbour")
    for verb in ["get", "rm"] {
      #expect(try sandbox.run("attachment", verb, "s.coffer", "1", "absent").status == 14)
      #expect(try sandbox.run("attachment", verb, "s.coffer", "1", "#9").status == 14)
    }
  }

  @Test func putAttachesAndReplacesFiles() throws {
    let sandbox = try sandbox()
    try sandbox.succeed("put", "s.coffer", "--text", "a letter", "--attach", "memo.txt", "--attach", "map.png")
    #expect(try rows(sandbox, "2").map(\.name) == ["memo.txt", "map.png"])
    try sandbox.write("memo.txt", "at sea")
    try sandbox.succeed("put", "s.coffer", "--id", "2", "--text", "a second letter", "--attach", "memo.txt")
    #expect(try sandbox.succeed("show", "s.coffer", "2", "--attachment", "memo.txt").text == "at sea")
    #expect(try rows(sandbox, "2").count == 2)
    let listed = try sandbox.succeed("ls", "s.coffer", "-l", "--json").text
    #expect(listed.contains(#""attachments":{"count":2"#) || listed.contains(#""attachments":2"#), "\(listed)")
  }

  @Test func failedAttachmentLeavesDocumentUnchanged() throws {
    let sandbox = try sandbox()
    let before = try sandbox.read("s.coffer")
    let refused = try sandbox.run("put", "s.coffer", "--id", "1", "--text", "changed", "--attach", "missing.txt")
    #expect(refused.status != 0 && refused.errors.contains("missing.txt"))
    #expect(try sandbox.run("put", "s.coffer", "--text", "new", "--attach", "-").status == 64)
    #expect(try sandbox.read("s.coffer") == before)
  }

  @Test func showsOneAttachmentOfOneDocument() throws {
    let sandbox = try sandbox()
    try sandbox.succeed("attachment", "add", "s.coffer", "1", "memo.txt")
    #expect(try sandbox.succeed("show", "s.coffer", "Plans", "--attachment", "memo.txt").text == "at the harbour")
    #expect(try sandbox.run("show", "s.coffer", "1", "--attachment", "absent").status == 14)
    try sandbox.succeed("put", "s.coffer", "--text", "another")
    #expect(try sandbox.run("show", "s.coffer", "1-2", "--attachment", "memo.txt").status == 64)
  }

  @Test func refusesTwoFilesOfOneName() throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.succeed("put", "s.coffer", "--text", "x")
    for folder in ["a", "b"] {
      try FileManager.default.createDirectory(atPath: sandbox.path(folder), withIntermediateDirectories: false)
      try sandbox.write("\(folder)/scan.pdf", folder)
    }
    let before = try sandbox.read("s.coffer")
    for words in [
      ["put", "s.coffer", "--text", "y", "--attach", "a/scan.pdf", "--attach", "b/scan.pdf"],
      ["attachment", "add", "s.coffer", "1", "a/scan.pdf", "b/scan.pdf", "--replace"],
    ] {
      let result = try sandbox.run(words)
      #expect(result.status == 64 && result.errors.contains("two files have the name scan.pdf"), "\(result.errors)")
    }
    #expect(try sandbox.read("s.coffer") == before)
  }
}
