import Foundation
import Testing

/// backup and compact: no key.
@Suite struct BackupTests {
  private func filled(_ options: String...) throws -> Sandbox {
    let sandbox = try Sandbox.withStore()
    try sandbox.succeed("import", "s.coffer", "-", "--from", "lines", input: (1...500).map { "text \($0)\n" }.joined())
    sandbox.environment = [:]
    return sandbox
  }

  @Test func backupIsTheSameStore() throws {
    let sandbox = try filled()
    let result = try sandbox.succeed("backup", "s.coffer", "-o", "b.coffer")
    #expect(result.output.isEmpty && result.errors.hasPrefix("dbtool: s.coffer copied to b.coffer ("))
    #expect(try sandbox.mode(of: "b.coffer") == 0o600)
    sandbox.environment = ["DBTOOL_KEY_FILE": "primary.key", "DBTOOL_ALLOW_TEST_KEYS": "1"]
    #expect(try sandbox.succeed("export", "b.coffer").output == sandbox.succeed("export", "s.coffer").output)
    #expect(try sandbox.succeed("anchor", "b.coffer").text == sandbox.succeed("anchor", "s.coffer").text)
    try sandbox.succeed("verify", "b.coffer")
  }

  @Test func existingCopyIsReplacedOnlyByForce() throws {
    let sandbox = try filled()
    try sandbox.write("b.coffer", "mine")
    let names = try sandbox.names()
    let result = try sandbox.run("backup", "s.coffer", "-o", "b.coffer")
    #expect(result.status == 1 && result.errors.contains("hint: --force replaces it"))
    #expect(try sandbox.text(of: "b.coffer") == "mine")
    let forced = try sandbox.succeed("backup", "s.coffer", "-o", "b.coffer", "--force", "--json")
    #expect(forced.text.hasPrefix(#"{"path":"b.coffer","size":"#))
    try sandbox.succeed("check", "b.coffer")
    #expect(try sandbox.names() == names)
  }

  @Test func backupOverTheStoreOrOntoNothingIsRefused() throws {
    let sandbox = try filled()
    let before = try sandbox.read("s.coffer")
    #expect(try sandbox.run("backup", "s.coffer", "-o", "s.coffer", "--force").status == 1)
    #expect(try sandbox.run("backup", "s.coffer", "-o", "-").status == 64)
    #expect(try sandbox.run("backup", "s.coffer").status == 64)
    #expect(try sandbox.run("backup", "none.coffer", "-o", "b.coffer").status == 10)
    #expect(try sandbox.run("backup", "primary.key", "-o", "b.coffer").status == 10)
    #expect(try sandbox.run("backup", "s.coffer", "-o", "no/b.coffer").status == 1)
    let pin = "coffer-pin-2-" + String(repeating: "1", count: 96)
    #expect(try sandbox.run("backup", "s.coffer", "-o", "b.coffer", "--expect", pin).status == 21)
    #expect(try sandbox.read("s.coffer") == before && !sandbox.exists("b.coffer"))
  }

  @Test(.slow) func compactGivesBackWhatWasDeleted() throws {
    let sandbox = try filled()
    sandbox.environment = ["DBTOOL_KEY_FILE": "primary.key", "DBTOOL_ALLOW_TEST_KEYS": "1"]
    try sandbox.succeed("import", "s.coffer", "-", "--from", "text", input: String(repeating: "long ", count: 100_000))
    try sandbox.succeed("rm", "s.coffer", "501")
    let exported = try sandbox.succeed("export", "s.coffer").output
    sandbox.environment = [:]
    let before = try sandbox.read("s.coffer").count
    let result = try sandbox.succeed("compact", "s.coffer", "--json")
    let after = try sandbox.read("s.coffer").count
    #expect(result.text == #"{"size_before":\#(before),"size":\#(after)}"# + "\n")
    #expect(after < before - 400_000)
    #expect(try sandbox.succeed("info", "s.coffer").text.contains("free pages:              0\n"))
    sandbox.environment = ["DBTOOL_KEY_FILE": "primary.key", "DBTOOL_ALLOW_TEST_KEYS": "1"]
    #expect(try sandbox.succeed("export", "s.coffer").output == exported)
    try sandbox.succeed("verify", "s.coffer")
  }

  @Test func sizesStandInWordsBesideNumbers() throws {
    let sandbox = try filled()
    let size = try sandbox.read("s.coffer").count
    let text = try sandbox.succeed("info", "s.coffer").text
    let exactly = "\(size / 1000),\(String(size % 1000 + 1000).dropFirst())"
    #expect(text.contains("size:                    \((size + 500) / 1000) kB (\(exactly) bytes)\n"))
    #expect(!text.contains("size in words") && !text.contains("wal reset bug"))
    try sandbox.succeed("create", "w.coffer", "--journal", "wal", "--key-file", "primary.key", "--allow-test-keys")
    #expect(try sandbox.succeed("info", "w.coffer").text.contains("wal reset bug:"))
    let json = try sandbox.succeed("info", "s.coffer", "--json").text
    #expect(json.contains("\"size\":\(size),\"size_in_words\":\"\((size + 500) / 1000) kB\","))
  }
}
