import CofferPlatform
import Foundation
import Testing

/// Tests importing and exporting folders of texts.
@Suite struct FolderTests {
  private struct Document: Decodable, Equatable {
    let title: String?
    let text: String
    let key: String?
    let modified: String
  }

  /// Creates a folder of texts with dates from 2020-09-13T12:26:40.000Z.
  private func folder(_ sandbox: Sandbox) throws {
    for (number, name) in ["notes/readme.md", "notes/a/plan.txt", "notes/a/b/LICENSE", "notes/z.md"].enumerated() {
      let path = URL(filePath: sandbox.path(name))
      try FileManager.default.createDirectory(at: path.deletingLastPathComponent(), withIntermediateDirectories: true)
      try sandbox.write(name, "text of \(name)\n")
      try date(sandbox, name, 1_600_000_000 + Double(number))
    }
  }

  private func date(_ sandbox: Sandbox, _ name: String, _ seconds: Double) throws {
    try FileManager.default.setAttributes(
      [.modificationDate: Date(timeIntervalSince1970: seconds)], ofItemAtPath: sandbox.path(name))
  }

  private func documents(_ sandbox: Sandbox, _ store: String = "s.coffer") throws -> [Document] {
    try sandbox.succeed("export", store).lines.map {
      try JSONDecoder().decode(Document.self, from: Data($0.utf8))
    }
  }

  @Test func importsFoldersWithPathsAndDates() throws {
    let sandbox = try Sandbox.withStore()
    try folder(sandbox)
    let told = try sandbox.succeed("import", "s.coffer", "notes")
    #expect(told.diagnostics == "dbtool: documents is a new collection\n")
    let read = try documents(sandbox)
    #expect(read.map(\.key) == ["a/b/LICENSE", "a/plan.txt", "readme.md", "z.md"])
    #expect(read.map(\.title) == ["LICENSE", "plan.txt", "readme.md", "z.md"])
    #expect(read.map(\.modified) == [2, 1, 0, 3].map { "2020-09-13T12:26:4\($0).000Z" })
    #expect(read[0].text == "text of notes/a/b/LICENSE\n")
    // The paths identify the files, so that a second import doesn't store them twice.
    #expect(try sandbox.run("import", "s.coffer", "notes").status == 1)
    try sandbox.succeed("import", "s.coffer", "notes/z.md", "-c", "one")
    let one = try sandbox.succeed("export", "s.coffer", "-c", "one").text
    #expect(!one.contains(#""key""#) && one.contains(#""modified":"2020-09-13T12:26:43.000Z""#))
  }

  @Test func syncsFolderByPaths() throws {
    let sandbox = try Sandbox.withStore()
    try folder(sandbox)
    try sandbox.succeed("import", "s.coffer", "notes", "--sync")
    try sandbox.write("notes/a/plan.txt", "changed")
    try sandbox.remove("notes/z.md")
    let again = try sandbox.succeed("import", "s.coffer", "notes", "--sync", "--delete")
    #expect(again.lines[1] == "0 documents created, 1 updated, 2 unchanged, 1 removed")
    #expect(try documents(sandbox).map(\.text).contains("changed"))
  }

  @Test func reportsLinks() throws {
    let sandbox = try Sandbox.withStore()
    try folder(sandbox)
    try sandbox.write("outside.txt", "outside")
    for (link, target) in [("notes/l.txt", "../outside.txt"), ("notes/a/loop", ".."), ("notes/none", "nowhere")] {
      try FileManager.default.createSymbolicLink(atPath: sandbox.path(link), withDestinationPath: target)
    }
    try sandbox.write("notes/.hidden", "hidden")
    let told = try sandbox.succeed("import", "s.coffer", "notes", "--json")
    #expect(told.text.contains(#""passed_over":{"links":3,"hidden":1}"#))
    #expect(
      told.diagnostics.hasSuffix(
        "dbtool: notes: passed over: 3 symbolic links (cp -RL makes copies of what they name), 1 hidden name\n"))
    #expect(try documents(sandbox).count == 4)
  }

  @Test(arguments: [[], ["--wal"]] as [[String]])
  func passesOverFilesOfOwnStore(_ journal: [String]) throws {
    let sandbox = try Sandbox.withStore()
    try folder(sandbox)
    try sandbox.succeed(["create", "notes/own.coffer"] + journal)
    let told = try sandbox.succeed("import", "notes/own.coffer", "notes")
    let files = journal.isEmpty ? "1 open store file" : "3 open store files"
    #expect(told.diagnostics.contains("dbtool: notes: passed over: \(files)\n"), "\(told.diagnostics)")
    #expect(try documents(sandbox, "notes/own.coffer").count == 4)
  }

  @Test func refusesFileOfOwnStore() throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.write("first.txt", "first")
    let refused = try sandbox.run(
      "import", "s.coffer", "first.txt", "./s.coffer", "--from", "lines", "--on-error", "replace")
    #expect(refused.status == 11 && refused.diagnostics.contains("./s.coffer: belongs to a store"))
    #expect(try documents(sandbox).isEmpty)
  }

  @Test func rejectsBinaryFile() throws {
    let sandbox = try Sandbox.withStore()
    try folder(sandbox)
    try sandbox.write("notes/a/photo.png", bytes: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0])
    try sandbox.write("notes/old.txt", bytes: [0x61, 0xE4, 0x62])
    let before = try sandbox.read("s.coffer")
    let failed = try sandbox.run("import", "s.coffer", "notes")
    #expect(failed.status == 22 && failed.diagnostics.contains("notes/a/photo.png"))
    #expect(try sandbox.read("s.coffer") == before)
    let skipped = try sandbox.run("import", "s.coffer", "notes", "--rejects", "bad.ndjson")
    #expect(skipped.status == 3)
    #expect(skipped.diagnostics.contains("rejected: notes/a/photo.png: "))
    #expect(skipped.diagnostics.contains("rejected: notes/old.txt: "))
    #expect(try documents(sandbox).count == 4)
    let rejects = try sandbox.text(of: "bad.ndjson").split(separator: "\n")
    #expect(rejects.count == 2 && rejects[0].hasPrefix(#"{"input":"notes/a/photo.png","record":"#))
    // Sync doesn't remove documents that could match rejected files.
    let sync = try sandbox.run(
      "import", "s.coffer", "notes", "--on-error", "skip", "--sync", "--delete", "-c", "other")
    #expect(sync.status == 3)
  }

  @Test func exportKeepsPathsAndNames() throws {
    let sandbox = try Sandbox.withStore()
    try folder(sandbox)
    try sandbox.succeed("import", "s.coffer", "notes")
    try sandbox.succeed("put", "s.coffer", "--key-name", "../evil", "--title", "Evil", "--text", "e")
    try sandbox.succeed("put", "s.coffer", "--key-name", "a/.hidden/x", "--title", "Hidden", "--text", "h")
    try sandbox.succeed("put", "s.coffer", "--key-name", "n-42", "--title", "Number", "--text", "n")
    try sandbox.succeed("export", "s.coffer", "--to", "text", "-o", "out")
    let files = try FileManager.default.subpathsOfDirectory(atPath: sandbox.path("out")).sorted()
    #expect(
      files == [
        "Evil.txt", "Hidden.txt", "Number.txt", "a", "a/b", "a/b/LICENSE", "a/plan.txt", "index.ndjson", "readme.md",
        "z.md",
      ])
    let attributes = try FileManager.default.attributesOfItem(atPath: sandbox.path("out/a/plan.txt"))
    #expect((attributes[.modificationDate] as? Date)?.timeIntervalSince1970 == 1_600_000_001)
    #expect(try sandbox.text(of: "out/a/plan.txt") == "text of notes/a/plan.txt\n")
  }

  @Test func roundTripsDocumentsThroughTexts() throws {
    let sandbox = try Sandbox.withStore()
    try folder(sandbox)
    try sandbox.succeed("import", "s.coffer", "notes", "-c", "a/b")
    let objects = """
      {"id":40,"title":"","text":"---\\n","attributes":{"x":{"y":[1,null]}},"created":"2001-01-01T00:00:00.000Z"}
      {"id":41,"position":1,"text":"no title","key":"index.ndjson","parent":40}
      {"id":42,"text":"{}","title":"index.ndjson","json":true,"key":{"$base64":"/w=="}}

      """
    try sandbox.succeed("import", "s.coffer", "-", "--from", "ndjson", "--keep-ids", "-c", "b", input: objects)
    let before = try sandbox.succeed("export", "s.coffer").text
    try sandbox.succeed("export", "s.coffer", "--to", "text", "-o", "out")
    try sandbox.succeed("import", "t.coffer", "out", "--keep-ids", "--create")
    func facts(_ text: String) -> [String] {
      text.split(separator: "\n").map { String($0.replacing(/"position":\d+,/, with: "")) }
    }
    #expect(facts(try sandbox.succeed("export", "t.coffer").text) == facts(before))
  }

  @Test func roundTripsFrontMatterAsAttributes() throws {
    let sandbox = try Sandbox.withStore()
    try FileManager.default.createDirectory(atPath: sandbox.path("notes"), withIntermediateDirectories: true)
    let source = """
      ---
      draft: true
      tags: [a, "b, c"]
      version: 1.10
      year: 1999
      ---
      # Text

      """
    try sandbox.write("notes/a.md", source)
    try sandbox.write("notes/b.md", "no front matter\n")
    try sandbox.succeed("import", "s.coffer", "notes", "--front-matter")
    let exported = try sandbox.succeed("export", "s.coffer").lines
    #expect(exported[0].contains(##""text":"# Text\n""##))
    #expect(exported[0].contains(#""attributes":{"draft":true,"tags":["a","b, c"],"version":"1.10","year":1999}"#))
    try sandbox.succeed("export", "s.coffer", "--to", "text", "--front-matter", "-o", "out")
    #expect(try sandbox.text(of: "out/a.md") == source)
    #expect(try sandbox.text(of: "out/b.md") == "no front matter\n")
    #expect(try !sandbox.text(of: "out/index.ndjson").contains("attributes"))
    let again = try sandbox.succeed("import", "s.coffer", "out", "--front-matter", "--sync")
    #expect(again.lines[1] == "0 documents created, 0 updated, 2 unchanged, 0 removed")
    try sandbox.write("notes/bad.md", "---\nmap:\n  a: 1\n---\n")
    let bad = try sandbox.run("import", "s.coffer", "notes", "--front-matter", "--on-error", "skip", "-c", "more")
    #expect(bad.status == 3)
    #expect(bad.diagnostics.contains("notes/bad.md: front matter that is neither a scalar nor a list of scalars"))
    #expect(bad.diagnostics.contains("line 3"))
    try sandbox.succeed(
      "import", "s.coffer", "-", "--from", "ndjson", "-c", "nested", input: #"{"text":"x","attributes":{"a":{"b":1}}}"#)
    #expect(
      try sandbox.run("export", "s.coffer", "-c", "nested", "--to", "text", "--front-matter", "-o", "n").status == 1)
    #expect(!sandbox.exists("n"))
    #expect(try sandbox.run("export", "s.coffer", "--front-matter").status == 64)
  }

  /// Uses a name with invalid UTF-8, and dates beyond the range of milliseconds.
  @Test func acceptsUnusualNamesAndDates() throws {
    let sandbox = try Sandbox.withStore()
    try FileManager.default.createDirectory(atPath: sandbox.path("d"), withIntermediateDirectories: false)
    let name = sandbox.path("d/caf").utf8 + [0xE9] + ".txt".utf8 + [0]
    let file = name.map { CChar(bitPattern: $0) }.withUnsafeBufferPointer {
      open($0.baseAddress!, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
    }
    try #require(file >= 0)
    close(file)
    try sandbox.write("d/far.txt", "far")
    _ = utimensat(
      AT_FDCWD, sandbox.path("d/far.txt"),
      [timespec(tv_sec: 9_300_000_000_000_000, tv_nsec: 0), timespec(tv_sec: 9_300_000_000_000_000, tv_nsec: 0)], 0)
    try sandbox.succeed("import", "s.coffer", "d")
    #expect(try sandbox.succeed("ls", "s.coffer").text.contains("caf\u{FFFD}"))
    #expect(try sandbox.succeed("ls", "s.coffer").lines.count == 2)
  }

  @Test func keepsForeignFrontMatter() throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.succeed("put", "s.coffer", "--text", "x", "--title", "a", "--attr", "state=done")
    try sandbox.succeed("export", "s.coffer", "--to", "text", "-o", "d")
    try sandbox.succeed("import", "s.coffer", "d", "-c", "back", "--front-matter")
    #expect(try sandbox.succeed("export", "s.coffer", "-c", "back").text.contains(#""attributes":{"state":"done"}"#))
  }
}
