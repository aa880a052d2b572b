import CofferPlatform
import CofferSQLite
import CofferTestSupport
import Foundation
import Testing

/// Tests signals during and after a commit.
@Suite(.slow, .enabled(if: FailedSync.isPossible, "strace can't run here")) struct LateSignalTests {
  private func filled() throws -> Sandbox {
    let sandbox = try Sandbox.withStore()
    try sandbox.write("in.txt", "one\ntwo\nthree\n")
    try sandbox.succeed("import", "s.coffer", "in.txt", "--from", "lines")
    try sandbox.succeed("backup", "s.coffer", "b.coffer")
    try sandbox.succeed("put", "s.coffer", "--id", "1", "--text", "new")
    return sandbox
  }

  private static let commits = [
    ["put", "s.coffer", "in.txt"], ["rm", "s.coffer", "1"], ["edit", "s.coffer", "1", "--set-title", "new"],
    ["mv", "s.coffer", "1", "--to", "bottom"], ["import", "s.coffer", "in.txt", "in.txt"],
    ["key", "add", "s.coffer", "--recipients-file", "recipient.txt"], ["collection", "create", "s.coffer", "new"],
    ["attachment", "add", "s.coffer", "1", "in.txt"], ["restore", "s.coffer", "b.coffer", "1"],
    ["index", "add", "s.coffer", "words"], ["release", "make", "s.coffer", "--signing", "signing.key"],
  ]

  @Test(arguments: commits) func signalDuringCommitIsTooLate(_ words: [String]) throws {
    let sandbox = try filled()
    let result = try FailedSync.run(
      words + ["--json"], signaling: "unlink", of: "s.coffer-journal", output: "report", in: sandbox)
    #expect(result.status == 0, "\(result.errors)")
    #expect(try !sandbox.text(of: "report").isEmpty)
    try sandbox.succeed("verify", "s.coffer")
  }

  @Test(arguments: [
    ["import", "s.coffer", "in.txt"], ["backup", "s.coffer", "c.coffer"], ["restore", "n.coffer", "b.coffer"],
    ["copy", "s.coffer", "c.coffer", "--new-key-file", "next.key"], ["create", "n.coffer"],
    ["import", "n.coffer", "in.txt", "--create"], ["import", "s.coffer", "in.txt", "--batch", "1"],
  ]) func signalDuringReportIsTooLate(_ words: [String]) throws {
    let sandbox = try filled()
    let result = try FailedSync.run(
      words + ["--json"], signaling: "write", of: "report", output: "report", in: sandbox)
    #expect(result.status == 0, "\(result.errors)")
    #expect(try !sandbox.text(of: "report").isEmpty)
  }

  /// Interrupts a commit that waits for a reader.
  @Test func signalEndsCommitThatWaits() throws {
    let sandbox = try filled()
    let reader = try Database(sandbox.path("s.coffer"), mode: .readWrite)
    try reader.execute("BEGIN")
    _ = try reader.execute("SELECT count(*) FROM coffer_record")
    let errors = open(sandbox.path("err"), O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
    let nowhere = open("/dev/null", O_RDWR | O_CLOEXEC)
    defer { for file in [errors, nowhere] { close(file) } }
    let child = try Child(
      ["put", "s.coffer", "--text", "late", "--wait", "1000"], in: sandbox,
      streams: .descriptors(input: nowhere, output: nowhere, errors: errors))
    waitUntil { sandbox.exists("s.coffer-journal") }
    child.signal(SIGTERM)
    #expect(child.wait() == 130)
    #expect(try sandbox.text(of: "err").hasSuffix("dbtool: error: interrupted\n"))
    try reader.execute("ROLLBACK")
    #expect(try sandbox.succeed("ls", "s.coffer").lines.count == 3)
  }

  @Test func printsErrorOfInterruptedReading() throws {
    let sandbox = try filled()
    let result = try FailedSync.run(
      ["ls", "s.coffer"], signaling: "write", of: "list", output: "list", in: sandbox)
    #expect(result.status == 130)
    #expect(result.errors.hasSuffix("dbtool: error: interrupted\n"))
  }
}
