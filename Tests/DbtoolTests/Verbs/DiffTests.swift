import Foundation
import Testing

/// Tests diff, which compares two stores.
@Suite struct DiffTests {
  private func filled() throws -> Sandbox {
    let sandbox = try Sandbox.withStore()
    try sandbox.succeed("import", "s.coffer", "-", "--from", "lines", input: (1...5).map { "text \($0)\n" }.joined())
    try sandbox.succeed("backup", "s.coffer", "b.coffer")
    return sandbox
  }

  @Test func equalStoresExitWith0() throws {
    let sandbox = try filled()
    for options in [[], ["--by", "title"], ["--keyless"], ["--text"]] {
      let result = try sandbox.succeed(["diff", "b.coffer", "s.coffer"] + options)
      #expect(result.output.isEmpty, "\(options)")
    }
  }

  @Test func printsDifferencesAndExitsWith4() throws {
    let sandbox = try filled()
    try sandbox.succeed("rm", "s.coffer", "2")
    try sandbox.succeed("put", "s.coffer", "--id", "3", "--text", "other")
    try sandbox.succeed("put", "s.coffer", "--text", "new", "--title", "New")
    try sandbox.succeed("mv", "s.coffer", "5", "--to", "top")
    let result = try sandbox.run("diff", "b.coffer", "s.coffer", "--format", "ndjson")
    #expect(result.status == 4)
    let rows = result.text.split(separator: "\n").map(String.init)
    #expect(rows.count == 4)
    #expect(rows[0].hasPrefix(#"{"change":"removed","id":"#) && rows[1].contains(#""other_id":"#))
    #expect(rows[2].contains(#""change":"changed","id":3"#) && rows[2].contains(#""text""#))
    #expect(rows[3].contains(#""change":"moved","id":5"#) && rows[3].contains(#"["place"]"#))
    let keyless = try sandbox.run("diff", "b.coffer", "s.coffer", "--keyless", "--format", "ndjson")
    #expect(keyless.status == 4 && keyless.text.contains(#""change":"changed","id":3"#))
  }

  @Test func printsUnifiedTextDiff() throws {
    let sandbox = try filled()
    let before = (1...12).map { "line \($0)\n" }.joined()
    let after = before.replacing("line 5\n", with: "line five\n") + "end"
    try sandbox.succeed("put", "b.coffer", "--id", "1", input: before)
    try sandbox.succeed("put", "s.coffer", "--id", "1", input: after)
    let result = try sandbox.run("diff", "b.coffer", "s.coffer", "--text")
    #expect(result.status == 4)
    let lines = result.text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    #expect(lines[0].hasPrefix("--- b.coffer 1") && lines[1].hasPrefix("+++ s.coffer 1"))
    #expect(
      Array(lines[3...]) == [
        "@@ -2,7 +2,7 @@", " line 2", " line 3", " line 4", "-line 5", "+line five", " line 6", " line 7", " line 8",
        "@@ -10,3 +10,4 @@", " line 10", " line 11", " line 12", "+end", "\\ No newline at end of text", "",
      ])
  }

  @Test func unrelatedStoresRequireOtherPairing() throws {
    let sandbox = try filled()
    try sandbox.succeed("create", "other.coffer", "--test")
    let refused = try sandbox.run("diff", "s.coffer", "other.coffer")
    #expect(refused.status == 64 && refused.errors.contains("no common origin"))
    #expect(try sandbox.run("diff", "s.coffer", "other.coffer", "--by", "title").status == 4)
    #expect(try sandbox.run("diff", "s.coffer", "other.coffer", "--keyless").status == 64)
    #expect(try sandbox.run("diff", "s.coffer", "missing.coffer").status == 10)
    #expect(try sandbox.run("diff", "s.coffer", "b.coffer", "--keyless", "--text").status == 64)
  }
}
