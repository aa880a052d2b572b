// The command's tests: each runs the built binary and looks at standard output, standard error and the exit code.
//
// Does: holds dbtool to its contract (CLI): verbs, streams, formats, exit codes, prompts on a terminal, signals.
// Knows: how to run a program in a directory of its own, with or without a terminal (Support).
// Does not know: the library's types; a store is damaged through SQLite alone.

import Testing

@Suite struct DbtoolTests {
  @Test func versionIsOneLine() throws {
    let result = try Sandbox().run("--version")
    #expect(result.status == 0)
    #expect(result.text.hasPrefix("dbtool "))
    #expect(result.text.split(separator: "\n").count == 1)
    #expect(result.errors.isEmpty)
  }

  @Test(arguments: [
    [], ["keygen"], ["recipient"], ["create"], ["import"], ["export"], ["convert"], ["ls"], ["collections"], ["show"],
    ["put"], ["rm"], ["key"], ["key", "list"], ["key", "add"], ["key", "remove"], ["key", "passwd"], ["rekey"],
    ["info"], ["anchor"], ["check"], ["verify"],
  ])
  func helpTeachesWithoutAskingForAKey(verb: [String]) throws {
    let sandbox = try Sandbox()
    let result = try sandbox.run(verb + ["--help"])
    #expect(result.status == 0)
    #expect(result.errors.isEmpty)
    #expect(result.text.contains("USAGE: "))
    let isGroup = verb == ["key"]
    #expect(isGroup || result.text.contains("\n  dbtool "), "no example")
    // An example that is broken into two lines cannot be copied.
    for line in result.text.split(separator: "\n") where line.hasPrefix("  dbtool ") {
      #expect(line.count <= 80)
    }
  }
}
