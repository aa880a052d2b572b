import CofferPlatform
import CofferTestSupport
import Foundation
import Testing

/// Tests that the next run in a folder removes the temporary files that killed commands have left there.
@Suite struct LeftoverTests {
  struct Case: CustomTestStringConvertible, Sendable {
    let arguments: [String]
    /// The file or folder that the command makes, which the test removes.
    let output: String
    var testDescription: String { arguments.joined(separator: " ") }

    init(_ output: String, _ arguments: String...) {
      (self.output, self.arguments) = (output, arguments)
    }
  }

  static let cases: [Case] = [
    Case("n.coffer", "create", "n.coffer", "--test"),
    Case("n.coffer", "import", "--create", "n.coffer", "in.txt"),
    Case("n.coffer", "backup", "s.coffer", "n.coffer"),
    Case("n.coffer", "restore", "n.coffer", "s.coffer"),
    Case("n.coffer", "copy", "s.coffer", "n.coffer", "--editable"),
    Case("n.coffer", "copy", "s.coffer", "n.coffer", "--new-key-file", "next.key"),
    Case("n.coffer", "copy", "s.coffer", "n.coffer", "--salvage", "--new-key-file", "next.key"),
    Case("n.sqlite", "export", "s.coffer", "-o", "n.sqlite"),
    Case("n.ndjson", "export", "s.coffer", "-o", "n.ndjson"),
    Case("texts", "export", "s.coffer", "-o", "texts", "--to", "text"),
    Case("n.key", "keygen", "n.key"),
  ]

  private func sandbox() throws -> Sandbox {
    let sandbox = try Sandbox.withStore()
    try sandbox.write("in.txt", "one\ntwo\n")
    try sandbox.succeed("import", "s.coffer", "in.txt")
    return sandbox
  }

  /// Kills each command at each of its calls, and then runs it to its end.
  @Test(.slow, .enabled(if: KilledRun.isPossible, "strace can't run here"), arguments: cases)
  func nextRunRemovesLeftovers(_ example: Case) throws {
    let sandbox = try sandbox()
    let names = try sandbox.names()
    var leftovers = 0
    for call in ["fsync", "renameat2", "rename", "linkat", "unlink"] {
      for number in 1... {
        let wasKilled = try KilledRun.run(example.arguments, at: call, number, in: sandbox)
        leftovers += try sandbox.names().count { TemporaryName.isOurs($0) }
        if sandbox.exists(example.output) { try sandbox.remove(example.output) }
        try sandbox.succeed(example.arguments)
        try sandbox.remove(example.output)
        #expect(try sandbox.names() == names, "\(call) \(number)")
        guard wasKilled else { break }
      }
    }
    // Files without a name leave nothing.
    #expect(leftovers > 0 || ["n.sqlite", "n.ndjson", "n.key", "texts"].contains(example.output))
  }

  /// Stops one run with its temporary file, so that the second run meets it.
  @Test func secondRunLeavesFirstRunsFile() throws {
    let sandbox = try sandbox()
    try sandbox.succeed(
      "import", "s.coffer", "-", "--from", "lines", input: (1...20_000).map { "text \($0)\n" }.joined())
    let nowhere = open("/dev/null", O_RDWR | O_CLOEXEC)
    defer { close(nowhere) }
    let first = try Child(
      ["backup", "s.coffer", "a.coffer"], in: sandbox,
      streams: .descriptors(input: nowhere, output: nowhere, errors: nowhere))
    // Until the file has contents, it may not be locked yet, and the second run may remove it: the first makes it again.
    func hasContents(_ name: String) -> Bool {
      var status = stat()
      return lstat(sandbox.path(name), &status) == 0 && status.st_size > 0
    }
    while try !sandbox.names().contains(where: { TemporaryName.isOurs($0) && hasContents($0) }), first.isRunning {}
    #expect(first.stop())
    let held = try sandbox.names().filter { TemporaryName.isOurs($0) }
    #expect(held.count == 1)
    try sandbox.succeed("keygen", "k.key")
    try sandbox.succeed("create", "n.coffer", "--test")
    try sandbox.succeed("export", "s.coffer", "-o", "n.sqlite")
    #expect(try sandbox.names().filter { TemporaryName.isOurs($0) } == held)
    first.signal(SIGCONT)
    #expect(first.wait() == 0)
    try sandbox.succeed("verify", "a.coffer")
    #expect(try !sandbox.names().contains { TemporaryName.isOurs($0) })
  }

  @Test func leavesFilesOfOtherPrograms() throws {
    let sandbox = try sandbox()
    let foreign = [".n.coffer.0123456789abcdef.new", ".dbtool-notes", ".dbtool-0123456789abcdef", "coffer-x", ".x.new"]
    for name in foreign { try sandbox.write(name, "mine") }
    let link = TemporaryName.beside("n.coffer")
    #expect(symlink(sandbox.path("in.txt"), sandbox.path(link)) == 0)
    for example in Self.cases {
      try sandbox.succeed(example.arguments)
      try sandbox.remove(example.output)
    }
    for name in foreign { #expect(try sandbox.text(of: name) == "mine") }
    #expect(try sandbox.names().contains(link) && sandbox.text(of: "in.txt") == "one\ntwo\n")
  }

  // MARK: Names that other users exchange

  // Where others can rename folders, one of them can give a folder's name to another folder of this user.

  private func makeFolder(_ name: String, with file: String, in sandbox: Sandbox) throws {
    try FileManager.default.createDirectory(atPath: sandbox.path(name), withIntermediateDirectories: false)
    try sandbox.write("\(name)/\(file)", "mine")
  }

  private func move(_ name: String, to other: String, in sandbox: Sandbox) throws {
    try #require(rename(sandbox.path(name), sandbox.path(other)) == 0)
  }

  @Test(arguments: ["exit 0", "kill -9 $PPID"])
  func editKeepsFolderThatGotItsName(end: String) throws {
    let sandbox = try sandbox()
    let memory = "/dev/shm/dbtool-tests-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: memory) }
    try FileManager.default.createDirectory(atPath: "\(memory)/mine", withIntermediateDirectories: true)
    try Data("mine".utf8).write(to: URL(filePath: "\(memory)/mine/letter"))
    try #require(chmod(memory, 0o777) == 0)
    sandbox.environment["XDG_RUNTIME_DIR"] = memory
    sandbox.environment["EDITOR"] =
      #"f() { cd "$XDG_RUNTIME_DIR"; mv "${1%/*}" away; mv mine "${1%/*}"; \#(end); }; f"#
    // The pipe ends with the last process that has it, such as a shell that removes a folder.
    try sandbox.run(["edit", "s.coffer", "1"], under: ["bash", "-c", #""$0" "$@" 3>&1 | cat"#])
    let names = try FileManager.default.contentsOfDirectory(atPath: memory)
    let renamed = try #require(names.first { TemporaryName.isOurs($0) })
    #expect(try FileManager.default.contentsOfDirectory(atPath: "\(memory)/\(renamed)") == ["letter"])
    if end == "exit 0" { #expect(try FileManager.default.contentsOfDirectory(atPath: "\(memory)/away").isEmpty) }
  }

  /// Every export ended before it could be stopped.
  private struct EarlyEnd: Error {}

  /// Starts an export to `texts`, and stops it when its temporary folder has files.
  ///
  /// On a busy machine the command can end too early. The function then starts another one.
  private func stoppedExport(
    in sandbox: Sandbox, preparing prepare: () throws -> Void
  ) throws -> (child: Child, folder: String) {
    let nowhere = open("/dev/null", O_RDWR | O_CLOEXEC)
    defer { close(nowhere) }
    func folder() throws -> String? {
      try sandbox.names().first { name in
        let files = try? FileManager.default.contentsOfDirectory(atPath: sandbox.path(name))
        return TemporaryName.isOurs(name) && files?.isEmpty == false
      }
    }
    for _ in 0..<100 {
      if sandbox.exists("texts") { try sandbox.remove("texts") }
      try prepare()
      let child = try Child(
        ["export", "s.coffer", "-o", "texts", "--to", "text", "--force"], in: sandbox,
        streams: .descriptors(input: nowhere, output: nowhere, errors: nowhere))
      while try folder() == nil, child.isRunning {}
      if child.stop() {
        if let folder = try folder() { return (child, folder) }
        child.signal(SIGCONT)
        _ = child.wait()
      }
    }
    throw EarlyEnd()
  }

  private func sandboxWithManyTexts() throws -> Sandbox {
    let sandbox = try Sandbox.withStore()
    try sandbox.succeed("import", "s.coffer", "-", "--from", "lines", input: String(repeating: "text\n", count: 20_000))
    try makeFolder("mine", with: "letter", in: sandbox)
    return sandbox
  }

  @Test func interruptedExportKeepsFolderThatGotItsName() throws {
    let sandbox = try sandboxWithManyTexts()
    let (child, folder) = try stoppedExport(in: sandbox) {}
    try move(folder, to: "away", in: sandbox)
    try move("mine", to: folder, in: sandbox)
    child.signal(SIGTERM)
    child.signal(SIGCONT)
    #expect(child.wait() == 130)
    #expect(try sandbox.text(of: "\(folder)/letter") == "mine")
    #expect(try FileManager.default.contentsOfDirectory(atPath: sandbox.path("away")).isEmpty)
  }

  @Test func exportKeepsFolderThatGotNameOfEarlierExport() throws {
    let sandbox = try sandboxWithManyTexts()
    let (child, folder) = try stoppedExport(in: sandbox) {
      try sandbox.succeed("export", "s.coffer", "1", "-o", "texts", "--to", "text")
    }
    try move("texts", to: "away", in: sandbox)
    try move("mine", to: "texts", in: sandbox)
    child.signal(SIGCONT)
    #expect(child.wait() == 0)
    #expect(try sandbox.text(of: "\(folder)/letter") == "mine")
    #expect(sandbox.exists("texts/index.ndjson"))
  }

  /// A command that reads a database from standard input makes a private copy in TMPDIR.
  @Test func nextRunRemovesPrivateCopy() throws {
    let sandbox = try sandbox()
    let copy = TemporaryName.privateCopy()
    try FileManager.default.createDirectory(atPath: sandbox.path("tmp/\(copy)"), withIntermediateDirectories: true)
    try sandbox.write("tmp/\(copy)/copy", "sealed")
    sandbox.environment["TMPDIR"] = sandbox.path("tmp")
    try sandbox.succeed("put", "s.coffer", "--text", "one")
    try sandbox.succeed("export", "s.coffer", "--to", "sqlite", "-o", "out.db")
    let imported = try sandbox.run(
      ["import", "s.coffer", "-", "--from", "sqlite"], input: Array(sandbox.read("out.db")))
    #expect(imported.status == 0, "\(imported.errors)")
    #expect(try FileManager.default.contentsOfDirectory(atPath: sandbox.path("tmp")).isEmpty)
  }
}
