import CofferPlatform
import Foundation
import Testing

/// Tests standard streams that are full, closed or without a reader.
@Suite struct StreamTests {
  private static let printing = [
    ["export", "s.coffer"], ["export", "s.coffer", "--to", "csv"], ["ls", "s.coffer"], ["ls", "s.coffer", "--json"],
    ["show", "s.coffer", "1"], ["info", "s.coffer"], ["collection", "list", "s.coffer"], ["verify", "s.coffer"],
    ["convert", "in.txt"], ["--help"], ["ls", "--help"], ["--version"],
  ]

  private func filled() throws -> Sandbox {
    let sandbox = try Sandbox.withStore()
    try sandbox.write("in.txt", "text\n")
    try sandbox.succeed("put", "s.coffer", "in.txt")
    return sandbox
  }

  /// Runs the command with the given standard output.
  private func run(_ arguments: [String], in sandbox: Sandbox, output: Int32?) throws -> (
    status: Int32, diagnostics: String
  ) {
    let errors = open(sandbox.path(".err"), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    defer { close(errors) }
    let child = try Child(
      arguments + (arguments[0].hasPrefix("--") ? [] : ["--quiet"]), in: sandbox,
      streams: .descriptors(input: 0, output: output, errors: errors))
    return (child.wait(), try sandbox.text(of: ".err"))
  }

  @Test(arguments: printing)
  func closedOutputExitsWith1(arguments: [String]) throws {
    let sandbox = try filled()
    var ends: [Int32] = [0, 0]
    try #require(pipe(&ends) == 0)
    close(ends[0])
    defer { close(ends[1]) }
    let result = try run(arguments, in: sandbox, output: ends[1])
    #expect(result.status == 1)
    #expect(result.diagnostics.isEmpty)
  }

  @Test(arguments: printing)
  func reportsClosedOutput(arguments: [String]) throws {
    let result = try run(arguments, in: filled(), output: nil)
    #expect(result.status == 1)
    #expect(result.diagnostics.hasPrefix("dbtool: error: standard output: bad file descriptor\n"))
  }

  @Test(arguments: printing)
  func reportsFullOutput(arguments: [String]) throws {
    let full = open("/dev/full", O_WRONLY | O_CLOEXEC)
    defer { close(full) }
    let result = try run(arguments, in: filled(), output: full)
    #expect(result.status == 1)
    #expect(result.diagnostics.hasPrefix("dbtool: error: standard output: no space left on device\n"))
  }

  /// The document is stored, so a repeated command would store it twice.
  @Test(arguments: [
    ["put", "s.coffer", "in.txt"], ["import", "s.coffer", "in.txt"], ["rm", "s.coffer", "1", "--json"],
    ["key", "add", "s.coffer", "--recipients-file", "recipient.txt"], ["create", "n.coffer"], ["rekey", "s.coffer"],
    ["copy", "s.coffer", "n.coffer", "--new-key-file", "next.key"], ["backup", "s.coffer", "n.coffer", "--json"],
  ])
  func fullOutputSaysThatChangeIsStored(arguments: [String]) throws {
    let full = open("/dev/full", O_WRONLY | O_CLOEXEC)
    var ends: [Int32] = [0, 0]
    try #require(pipe(&ends) == 0)
    close(ends[0])
    defer { for end in [full, ends[1]] { close(end) } }
    for (output, reason) in [
      (full, "standard output: no space left on device"), (ends[1], "standard output was closed"),
    ] {
      var words = arguments
      // `import` prints nothing with --quiet.
      if words[0] == "import" { words.append("--json") }
      let result = try run(words, in: filled(), output: output)
      #expect(result.status == 1)
      #expect(
        result.diagnostics.contains("dbtool: error: \(reason); the change is stored\nhint: don't repeat the command\n"),
        "\(result.diagnostics)")
    }
  }

  @Test func failedDryRunStoresNothing() throws {
    let full = open("/dev/full", O_WRONLY | O_CLOEXEC)
    defer { close(full) }
    let sandbox = try filled()
    for words in [["rm", "s.coffer", "1", "-n"], ["import", "n.coffer", "in.txt", "-n", "--create", "--json"]] {
      let result = try run(words, in: sandbox, output: full)
      #expect(result.status == 1 && !result.diagnostics.contains("stored"), "\(result.diagnostics)")
    }
  }

  @Test func stopsQuietlyWhenReaderCloses() throws {
    let sandbox = try Sandbox()
    try sandbox.write("long.txt", String(repeating: "line\n", count: 200_000))
    var ends: [Int32] = [0, 0]
    try #require(pipe(&ends) == 0)
    _ = fcntl(ends[0], F_SETFD, FD_CLOEXEC)
    try sandbox.write(".err", "")
    let errors = open(sandbox.path(".err"), O_WRONLY | O_CLOEXEC)
    let child = try Child(
      ["convert", "long.txt"], in: sandbox, streams: .descriptors(input: 0, output: ends[1], errors: errors))
    close(ends[1])
    var byte: UInt8 = 0
    _ = read(ends[0], &byte, 1)
    close(ends[0])
    #expect(child.wait() == 1)
    #expect(try sandbox.text(of: ".err").isEmpty)
    close(errors)
  }

  @Test func keepsFilesApartFromClosedStreams() throws {
    let sandbox = try Sandbox()
    // If the output file became descriptor 0, the command would read it as empty input.
    let child = try Child(
      ["convert", "-", "-o", "out.txt"], in: sandbox, streams: .descriptors(input: nil, output: nil, errors: nil))
    #expect(child.wait() == 1)
    #expect(!sandbox.exists("out.txt"))
  }

  @Test func closedStreamsLeaveStoreIntact() throws {
    let sandbox = try Sandbox.withStore("--wal")
    for number in 1...3 {
      let child = try Child(
        ["put", "s.coffer", "--text", "text \(number)"], in: sandbox,
        streams: .descriptors(input: nil, output: nil, errors: nil))
      // The document is stored, but its ID can't be printed.
      #expect(child.wait() == 1)
    }
    try sandbox.succeed("verify", "s.coffer")
    #expect(try sandbox.succeed("show", "s.coffer", "1", "2", "3").text == "text 1text 2text 3")
  }
}
