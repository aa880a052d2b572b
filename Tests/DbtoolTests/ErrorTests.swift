import Glibc
import Testing

@Suite struct ErrorTests {
  @Test func usageErrorsSayWhatIsWrongAndWhereHelpIs() throws {
    let result = try Sandbox().run("ls", "s.coffer", "--bogus")
    #expect(result.status == 64)
    #expect(result.output.isEmpty)
    #expect(result.errors == "dbtool: error: unknown option '--bogus'\nhint: see 'dbtool ls --help'\n")
  }

  @Test func hintNamesTheSecondWordOfAVerb() throws {
    let result = try Sandbox().run("key", "list", "--bogus")
    #expect(result.errors.hasSuffix("hint: see 'dbtool key list --help'\n"))
  }

  @Test func jsonErrorIsTheLastLine() throws {
    let result = try Sandbox().run("info", "none.coffer", "--json")
    #expect(result.status == 10)
    #expect(result.output.isEmpty)
    let last = result.errors.split(separator: "\n").last
    #expect(last?.hasPrefix(#"{"error":{"code":10,"kind":"no-such-file","message":""#) == true)
  }

  @Test func usageErrorsAreJSONToo() throws {
    let result = try Sandbox().run("ls", "--json")
    let last = try #require(result.errors.split(separator: "\n").last)
    #expect(last.hasPrefix(#"{"error":{"code":64,"kind":"usage","message":""#))
  }

  @Test func passphraseInTheWrongPlaceIsNotRepeated() throws {
    for arguments in [["--passphrase", "hunter2"], ["--passphrase=hunter2"]] {
      let result = try Sandbox().run(["ls", "s.coffer"] + arguments)
      #expect(result.status == 64)
      #expect(!result.errors.contains("hunter2"))
    }
  }

  @Test func keyInPlaceOfItsPathIsNotRepeated() throws {
    let sandbox = try Sandbox()
    let key = try sandbox.text(of: "primary.key").split(separator: "\n").last.map(String.init) ?? ""
    let result = try sandbox.run("ls", "s.coffer", "--key-file", key)
    #expect(result.status == 64)
    #expect(!result.errors.contains(key.dropFirst(20)))
  }

  @Test func closedPipeEndsWithoutNoise() throws {
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
}
