import CofferPlatform
import CofferTestSupport
import Foundation
import Testing

/// Tests the command's arguments, variables, folder and system limits.
@Suite struct CommandWordsTests {
  /// Runs a shell line that refers to the command as `"$@"`.
  private func run(_ line: String, _ arguments: String..., in sandbox: Sandbox) throws -> (
    status: Int32, errors: String
  ) {
    let child = try Child(
      arguments, in: sandbox, under: ["bash", "-c", line, "bash"],
      streams: .files(input: "/dev/null", output: "/dev/null", errors: sandbox.path("errors")))
    return (child.wait(), try sandbox.text(of: "errors"))
  }

  /// Swift would replace invalid bytes by U+FFFD, which could confuse two keys or two files.
  @Test(arguments: [
    #"exec "$@" --title $'a\xff'"#, #"exec "$@" --key-name $'a\xff'"#, #"exec "$@" -c $'a\xff'"#,
    #"DBTOOL_KEY_FILE=$'a\xff' exec "$@""#, #"mkdir $'a\xff' && cd $'a\xff' && exec "$@""#,
  ])
  func rejectsInvalidUTF8Words(_ line: String) throws {
    let sandbox = try Sandbox.withStore()
    let before = try sandbox.read("s.coffer")
    let result = try run(line, "put", sandbox.path("s.coffer"), "--text", "x", in: sandbox)
    #expect(result.status == 64)
    #expect(result.errors.contains("is not UTF-8"), "\(result.errors)")
    #expect(try sandbox.read("s.coffer") == before)
  }

  @Test(
    .slow,
    arguments: [
      ["keygen"], ["put", "s.coffer", "--text"], ["ls", "s.coffer", "--key-command"], ["search", "s.coffer"],
    ])
  func hidesKeyGivenAsArgument(_ words: [String]) throws {
    let sandbox = try Sandbox.withStore()
    let key = try sandbox.succeed("keygen").text.trimmingCharacters(in: .newlines)
    let names = try sandbox.names()
    for text in [key, "in a text: \(key.uppercased())"] {
      let result = try sandbox.run(words + [text])
      #expect(result.status == 64)
      #expect(!result.errors.lowercased().contains(key.suffix(20)) && !result.text.contains(key.suffix(20)))
    }
    #expect(try sandbox.names() == names)
  }

  @Test(arguments: ["DBTOOL_KEY_FILE", "DBTOOL_PASSPHRASE_FILE", "DBTOOL_KEY_COMMAND"])
  func hidesKeyGivenInVariable(_ variable: String) throws {
    let sandbox = try Sandbox.withStore()
    let key = try sandbox.succeed("keygen").text.trimmingCharacters(in: .newlines)
    let result = try run(
      #"unset DBTOOL_KEY_FILE; \#(variable)=\#(key) exec "$@""#, "ls", sandbox.path("s.coffer"), in: sandbox)
    #expect(result.status == 64)
    #expect(!result.errors.contains(key.suffix(20)), "\(result.errors.count) bytes of errors")
  }

  /// Without a check, Swift's threads would end the process.
  @Test(arguments: [6, 7, 8, 12])
  func reportsTooFewDescriptors(_ count: Int) throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.write("in.csv", "text\na\n")
    let line = #"ulimit -n \#(count); exec "$@""#
    for words in [["import", "s.coffer", "in.csv"], ["rekey", "s.coffer"]] {
      let child = try Child(
        words, in: sandbox, under: ["bash", "-c", line, "bash"],
        streams: .files(input: "/dev/null", output: "/dev/null", errors: sandbox.path("errors")))
      #expect(child.wait() == 1)
      #expect(try sandbox.text(of: "errors").contains("ulimit -n"))
    }
  }

  @Test func raisesSoftDescriptorLimit() throws {
    let sandbox = try Sandbox.withStore()
    #expect(try run(#"ulimit -Sn 8; exec "$@""#, "rekey", "s.coffer", in: sandbox).status == 0)
  }

  /// The limit's signal must not end the process.
  @Test func reportsFileSizeLimit() throws {
    let sandbox = try Sandbox.withStore()
    let text = String(repeating: "x", count: 100_000)
    let result = try run(#"ulimit -f 16; exec "$@""#, "put", "s.coffer", "--text", text, in: sandbox)
    #expect(result.status == 1)
    #expect(result.errors.contains("dbtool: error: "))
    try sandbox.succeed("verify", "s.coffer")
  }

  /// Passes the digits of a key line without the prefix.
  @Test func hidesKeyDigits() throws {
    let sandbox = try Sandbox.withStore()
    let line = try #require(
      try sandbox.text(of: "primary.key").split(separator: "\n").first { $0.hasPrefix("coffer-") })
    let digits = String(try #require(line.split(separator: "-").last))
    #expect(digits.count == 72)
    for words in [
      ["ls", "s.coffer", "--key-file", digits], ["ls", "s.coffer", "--key-file=" + digits],
      ["restore", "x", digits], ["put", "s.coffer", "--text", "x", "--attr", digits],
      ["search", "s.coffer", "-e" + digits],
    ] {
      let result = try sandbox.run(words)
      #expect(result.status == 64 && !(result.errors + result.text).contains(digits), "\(words.prefix(3))")
    }
    let secret = try sandbox.run("put", "s.coffer", "--text", "x", "--attr", "MySecretWord")
    #expect(secret.status == 64 && !secret.errors.contains("MySecretWord"))
  }
}
