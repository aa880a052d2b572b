// DbtoolTests: run the built binary and check standard output, standard error and the exit code.
//
// Does: checks dbtool against Commands.md, with verbs, streams, formats, exit codes, terminal prompts and signals.
// Knows: how to run a program in a separate directory, with or without a terminal (Support).
// Does not know: the library's types. Tests damage a store through SQLite.

import CofferTestSupport
import Testing

@Suite struct DbtoolTests {
  @Test func printsVersionOnOneLine() throws {
    let result = try Sandbox().run("--version")
    #expect(result.status == 0)
    let versions = /dbtool \d+\.\d+\.\d+ \(SQLite \d+\.\d+\.\d+, (OpenSSL \d+\.\d+\.\d+|swift-crypto)\)\n/
    #expect(try versions.wholeMatch(in: result.text) != nil, "\(result.text)")
    #expect(result.text.split(separator: "\n").count == 1)
    #expect(result.errors.isEmpty)
  }

  @Test(
    .slow,
    arguments: [
      [], ["keygen"], ["create"], ["import"], ["export"], ["convert"], ["ls"], ["collection"], ["collection", "list"],
      ["show"], ["put"], ["rm"], ["key"], ["key", "list"], ["key", "add"], ["key", "remove"], ["key", "passwd"],
      ["rekey"], ["info"], ["verify"], ["copy"], ["index", "add"], ["replica", "tail"],
    ])
  func printsHelpWithoutKey(verb: [String]) throws {
    let sandbox = try Sandbox()
    let result = try sandbox.run(verb + ["--help"])
    #expect(result.status == 0)
    #expect(result.errors.isEmpty)
    #expect(result.text.contains("\n\nUsage: dbtool \(verb.isEmpty ? "VERB" : verb.joined(separator: " "))"))
    #expect(verb == ["key"] || result.text.contains("\n  dbtool "), "no example")
    for line in result.text.split(separator: "\n") { #expect(line.count <= 80, "\(line)") }
  }

  /// The help of the whole command fits one screen, that of import two.
  @Test func helpFitsScreens() throws {
    let sandbox = try Sandbox()
    #expect(try sandbox.succeed("--help").lines.count <= 66)
    #expect(try sandbox.succeed("import", "--help").lines.count <= 80)
  }

  @Test func longHelpExplainsNamedOptions() throws {
    let sandbox = try Sandbox()
    let short = try sandbox.succeed("import", "--help").text
    #expect(short.contains("Also: ") && short.contains("--keep-ids") && !short.contains("--keep-ids  "))
    let long = try sandbox.succeed("import", "--help-hidden").text
    #expect(!long.contains("Also: ") && long.contains("      --keep-ids  ") && long.contains("--progress"))
    #expect(try sandbox.succeed("help", "import").text == short)
  }

  @Test func helpRefusesUnknownVerbs() throws {
    let sandbox = try Sandbox()
    for words in [["nope"], ["key", "nope"]] {
      let refused = try sandbox.run(["help"] + words)
      #expect(refused.status == 64 && refused.errors.contains("there is no such verb"), "\(refused.errors)")
    }
    #expect(try sandbox.run("help", "serach").errors.contains("did you mean search?"))
    #expect(try sandbox.succeed("help", "key").text.contains("passwd"))
  }

  /// Returns an option's help on one line.
  private func help(_ option: String, of verb: String...) throws -> String {
    let lines = try Sandbox().run(verb + ["--help-hidden"], input: []).text.split(separator: "\n")
    let first = try #require(lines.firstIndex { $0.hasPrefix("      \(option) ") })
    let rest = lines[(first + 1)...].prefix { $0.hasPrefix("          ") }
    return ([lines[first]] + rest).flatMap { $0.split(separator: " ") }.joined(separator: " ")
  }

  @Test(.slow) func helpListsOptionValues() throws {
    #expect(try help("--wait", of: "rekey").contains("rekey: no limit"))
    #expect(try help("--encoding", of: "export").contains("(utf-8, utf-16le, utf-16be, utf-8-bom, utf-16"))
    let target = try help("--to", of: "convert")
    #expect(target.contains("utf-16le, utf-16be, windows-1250,") && !target.contains("auto"))
    #expect(try help("--encoding", of: "import").contains("auto, utf-8, utf-16, utf-16le,"))
    #expect(try !Sandbox().run("key", "passwd", "--help").text.contains("--recipient"))
    #expect(try Sandbox().run("key", "add", "--help").text.contains("--recipient"))
  }
}
