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
