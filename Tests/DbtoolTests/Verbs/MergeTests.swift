import Foundation
import Testing

/// Tests merge and restore --id.
@Suite struct MergeTests {
  private func filled() throws -> Sandbox {
    let sandbox = try Sandbox.withStore()
    try sandbox.succeed("import", "s.coffer", "-", "--from", "lines", input: (1...9).map { "text \($0)\n" }.joined())
    try sandbox.succeed("copy", "s.coffer", "c.coffer", "--editable")
    return sandbox
  }

  private func texts(_ sandbox: Sandbox, _ store: String) throws -> String {
    try sandbox.succeed("export", store).text
  }

  @Test func mergesOriginalChangesIntoCopy() throws {
    let sandbox = try filled()
    try sandbox.succeed("put", "c.coffer", "--text", "mine")
    try sandbox.succeed("put", "s.coffer", "--id", "1", "--text", "theirs")
    try sandbox.succeed("rm", "s.coffer", "2")
    let original = try sandbox.read("s.coffer")
    let before = try sandbox.read("c.coffer")
    let dry = try sandbox.succeed("merge", "c.coffer", "s.coffer", "--dry-run", "--format", "csv")
    #expect(dry.text.contains("deleted,2,,,deleted-there,false"), "\(dry.text)")
    #expect(dry.text.contains("changed,1,1,,edited-there,false"))
    #expect(dry.errors.contains("would merge s.coffer (changes: 2, conflicts: 0)"))
    #expect(try sandbox.read("c.coffer") == before)
    let names = try sandbox.names()
    let merged = try sandbox.succeed("merge", "c.coffer", "s.coffer", "--json")
    #expect(merged.text.contains(#""reason":"edited-there""#))
    let result = try texts(sandbox, "c.coffer")
    #expect(result.contains("theirs") && result.contains("mine") && !result.contains("text 2\""))
    #expect(try sandbox.succeed("merge", "c.coffer", "s.coffer", "--json").text == "[]\n")
    #expect(try sandbox.read("s.coffer") == original)
    #expect(try sandbox.names() == names)
  }

  @Test func reportsOnlyMissingOtherStore() throws {
    let sandbox = try filled()
    for words in [["merge", "c.coffer", "none.coffer"], ["diff", "c.coffer", "none.coffer"]] {
      let result = try sandbox.run(words)
      #expect(result.status == 10 && result.errors.contains("none.coffer: no such file"))
      #expect(!result.errors.contains("create"))
    }
  }

  @Test func reportsOtherStoreWithWrongKey() throws {
    let sandbox = try filled()
    try sandbox.succeed(
      "copy", "s.coffer", "foreign.coffer", "--new-key-file", "next.key")
    let before = try sandbox.read("c.coffer")
    for words in [
      ["merge", "c.coffer", "foreign.coffer"], ["diff", "c.coffer", "foreign.coffer"],
      ["restore", "c.coffer", "foreign.coffer", "1"],
      ["merge", "c.coffer", "s.coffer", "--base", "foreign.coffer"],
    ] {
      let result = try sandbox.run(words)
      #expect(result.status == 12 && result.errors.contains("opens no slot of foreign.coffer"), "\(result.errors)")
    }
    #expect(try sandbox.read("c.coffer") == before)
  }

  @Test func conflictsExitWith4UntilASideIsPreferred() throws {
    let sandbox = try filled()
    try sandbox.succeed("put", "c.coffer", "--id", "1", "--text", "mine secret")
    try sandbox.succeed("put", "s.coffer", "--id", "1", "--text", "theirs secret")
    let before = try sandbox.read("c.coffer")
    let failed = try sandbox.run("merge", "c.coffer", "s.coffer")
    #expect(failed.status == 4)
    #expect(failed.text.contains("edited-on-both-sides") && !failed.text.contains("secret"))
    #expect(failed.errors.contains("nothing was changed (conflicts: 1); choose a side with --prefer"))
    #expect(try sandbox.read("c.coffer") == before)
    try sandbox.succeed("merge", "c.coffer", "s.coffer", "--prefer", "both")
    let result = try texts(sandbox, "c.coffer")
    #expect(result.contains("mine secret") && result.contains("theirs secret") && result.contains("(other version)"))
  }

  @Test func upgradesBundleRepeatedly() throws {
    let sandbox = try filled()
    for version in 1...3 {
      try sandbox.succeed("put", "s.coffer", "--text", "entry \(version)")
      try FileManager.default.copyItem(atPath: sandbox.path("s.coffer"), toPath: sandbox.path("shipped.coffer"))
      try FileManager.default.setAttributes([.posixPermissions: 0o444], ofItemAtPath: sandbox.path("shipped.coffer"))
      let bytes = try sandbox.read("shipped.coffer")
      try sandbox.succeed("merge", "c.coffer", "shipped.coffer", "--prefer", "mine")
      try sandbox.succeed("put", "c.coffer", "--text", "mine \(version)")
      try sandbox.succeed("put", "c.coffer", "--id", "3", "--text", "edited \(version)")
      #expect(try sandbox.read("shipped.coffer") == bytes)
      try FileManager.default.removeItem(atPath: sandbox.path("shipped.coffer"))
    }
    let result = try texts(sandbox, "c.coffer")
    for words in ["entry 1", "entry 2", "entry 3", "mine 1", "mine 2", "mine 3", "edited 3"] {
      #expect(result.contains(words))
    }
    try sandbox.succeed("verify", "c.coffer")
  }

  /// A restored file takes a new identity, so it merges with the file that it was copied from.
  @Test func mergesRestoredFile() throws {
    let sandbox = try filled()
    try sandbox.succeed("backup", "s.coffer", "b.coffer")
    try sandbox.succeed("restore", "phone.coffer", "b.coffer")
    try sandbox.succeed("put", "s.coffer", "--text", "laptop")
    try sandbox.succeed("put", "phone.coffer", "--text", "phone")
    try sandbox.succeed("merge", "s.coffer", "phone.coffer")
    let result = try texts(sandbox, "s.coffer")
    #expect(result.contains("laptop") && result.contains("phone"))
  }

  @Test func restoresSingleDocumentsFromBackup() throws {
    let sandbox = try filled()
    try sandbox.succeed("backup", "s.coffer", "b.coffer")
    try sandbox.succeed("rm", "s.coffer", "3", "4")
    try sandbox.succeed("put", "s.coffer", "--id", "6", "--text", "edited")
    let result = try sandbox.succeed(
      "restore", "s.coffer", "b.coffer", "3-4", "6", "7", "--format", "csv")
    #expect(result.text == "id,outcome\n3,added\n4,added\n6,changed\n7,unchanged\n")
    try sandbox.succeed("diff", "b.coffer", "s.coffer")
    let named = try sandbox.succeed("restore", "s.coffer", "b.coffer", "--title", "[!x]*", "--format", "csv")
    #expect(named.text.contains("3,unchanged\n"))
    for words in [["99"], ["--key-name", "none"], ["-c", "none", "3"]] {
      #expect(try sandbox.run(["restore", "s.coffer", "b.coffer"] + words).status == 14, "\(words)")
    }
    #expect(try sandbox.run("restore", "s.coffer", "b.coffer", "3", "--force").status == 64)
  }
}
