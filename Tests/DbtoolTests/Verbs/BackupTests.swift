import CofferPlatform
import CofferTestSupport
import Foundation
import Testing

/// Tests backup, restore and compact, which don't require a key.
@Suite struct BackupTests {
  private func filled(_ options: String...) throws -> Sandbox {
    let sandbox = try Sandbox.withStore()
    try sandbox.succeed("import", "s.coffer", "-", "--from", "lines", input: (1...500).map { "text \($0)\n" }.joined())
    sandbox.environment = [:]
    return sandbox
  }

  private func requireEqual(_ one: String, _ other: String, in sandbox: Sandbox) throws {
    let environment = sandbox.environment
    defer { sandbox.environment = environment }
    sandbox.environment = ["DBTOOL_KEY_FILE": "primary.key", "DBTOOL_ALLOW_TEST_KEYS": "1"]
    try sandbox.succeed("diff", one, other)
  }

  @Test func copiesStore() throws {
    let sandbox = try filled()
    let result = try sandbox.succeed("backup", "s.coffer", "b.coffer")
    #expect(result.output.isEmpty && result.errors.hasPrefix("dbtool: s.coffer copied to b.coffer ("))
    #expect(try sandbox.mode(of: "b.coffer") == 0o600)
    sandbox.environment = ["DBTOOL_KEY_FILE": "primary.key", "DBTOOL_ALLOW_TEST_KEYS": "1"]
    #expect(try sandbox.succeed("export", "b.coffer").output == sandbox.succeed("export", "s.coffer").output)
    #expect(
      try sandbox.succeed("verify", "--anchor-only", "--save-anchor", "-", "b.coffer").text
        == sandbox.succeed("verify", "--anchor-only", "--save-anchor", "-", "s.coffer").text)
    try sandbox.succeed("verify", "b.coffer")
  }

  @Test func replacingCopyRequiresForce() throws {
    let sandbox = try filled()
    try sandbox.write("b.txt", "mine")
    for options in [[], ["--force"]] {
      #expect(try sandbox.run(["backup", "s.coffer", "b.txt"] + options).status == 1)
      #expect(try sandbox.text(of: "b.txt") == "mine")
    }
    try sandbox.succeed("backup", "s.coffer", "b.coffer")
    let before = try sandbox.read("b.coffer")
    let names = try sandbox.names()
    let result = try sandbox.run("backup", "s.coffer", "b.coffer")
    #expect(result.status == 1 && result.errors.contains("hint: --force replaces it"))
    #expect(try sandbox.read("b.coffer") == before)
    let forced = try sandbox.succeed("backup", "s.coffer", "b.coffer", "--force", "--json")
    #expect(forced.text.hasPrefix(#"{"path":"b.coffer","size":"#))
    try sandbox.succeed("verify", "--keyless", "b.coffer")
    #expect(try sandbox.names() == names)
  }

  @Test func rejectsInvalidBackupOutput() throws {
    let sandbox = try filled()
    let before = try sandbox.read("s.coffer")
    #expect(try sandbox.run("backup", "s.coffer", "s.coffer", "--force").status == 1)
    #expect(try sandbox.run("backup", "s.coffer", "-").status == 64)
    #expect(try sandbox.run("backup", "s.coffer").status == 64)
    #expect(try sandbox.run("backup", "none.coffer", "b.coffer").status == 10)
    #expect(try sandbox.run("backup", "primary.key", "b.coffer").status == 10)
    #expect(try sandbox.run("backup", "s.coffer", "no/b.coffer").status == 1)
    let pin = "coffer-pin-3-" + String(repeating: "1", count: 128)
    #expect(try sandbox.run("backup", "s.coffer", "b.coffer", "--pin", pin).status == 21)
    #expect(try sandbox.read("s.coffer") == before && !sandbox.exists("b.coffer"))
  }

  // MARK: - Folders and series

  @Test func copyInFolderKeepsStoreName() throws {
    let sandbox = try filled()
    #expect(try sandbox.run("backup", "s.coffer", "none/").status == 1)
    #expect(!sandbox.exists("none"))
    try FileManager.default.createDirectory(atPath: sandbox.path("b"), withIntermediateDirectories: false)
    try sandbox.succeed("backup", "s.coffer", "b/")
    try sandbox.succeed("verify", "--keyless", "b/s.coffer")
    let again = try sandbox.run("backup", "s.coffer", "b")
    #expect(again.status == 1 && again.errors.contains("b/s.coffer exists already"))
  }

  @Test func seriesKeepsNewestCopiesOfSameStore() throws {
    let sandbox = try filled()
    try FileManager.default.createDirectory(atPath: sandbox.path("b"), withIntermediateDirectories: false)
    let store = try sandbox.read("s.coffer")
    for year in 2001...2004 { try sandbox.write("b/s-\(year)0102T030405Z.coffer", bytes: store) }
    sandbox.environment = ["DBTOOL_ALLOW_TEST_KEYS": "1"]
    try sandbox.succeed("create", "b/s-20000102T030405Z.coffer", "--test", "--key-file", "primary.key")
    for name in ["s-2000.coffer", "s-20000102T030405Z.bak", "other-20000102T030405Z.coffer"] {
      try sandbox.write("b/\(name)", bytes: store)
    }
    let result = try sandbox.succeed("backup", "s.coffer", "b/", "--keep", "3", "--json")
    struct Answer: Decodable {
      let path: String
      let removed: [String]
    }
    let answer = try result.json(Answer.self)
    #expect(answer.path.wholeMatch(of: /b\/s-20[0-9]{6}T[0-9]{6}Z\.coffer/) != nil)
    #expect(answer.removed == ["b/s-20010102T030405Z.coffer", "b/s-20020102T030405Z.coffer"])
    let left = try FileManager.default.contentsOfDirectory(atPath: sandbox.path("b")).sorted()
    let wanted = [
      "other-20000102T030405Z.coffer", "s-2000.coffer", "s-20000102T030405Z.bak", "s-20000102T030405Z.coffer",
      "s-20030102T030405Z.coffer", "s-20040102T030405Z.coffer", String(answer.path.dropFirst(2)),
    ]
    #expect(left == wanted)
    try sandbox.succeed("verify", "--keyless", answer.path)
    #expect(try sandbox.run("backup", "s.coffer", "x.coffer", "--keep", "3").status == 64)
    #expect(try sandbox.run("backup", "s.coffer", "b/", "--keep", "0").status == 64)
  }

  // MARK: - Damage

  /// Flips bits on a page with rows.
  private func damage(_ name: String, in sandbox: Sandbox) throws {
    var bytes = try sandbox.read(name)
    for index in bytes.count - 8192..<bytes.count - 8100 { bytes[index] ^= 0xFF }
    try sandbox.write(name, bytes: bytes)
  }

  @Test func damagedStoreLeavesGoodCopies() throws {
    let sandbox = try filled()
    try sandbox.succeed("backup", "s.coffer", "b.coffer")
    let good = try sandbox.read("b.coffer")
    try damage("s.coffer", in: sandbox)
    let names = try sandbox.names()
    let result = try sandbox.run("backup", "s.coffer", "b.coffer", "--force")
    #expect(result.status == 20 && result.errors.contains("s.coffer is damaged, so that nothing was copied"))
    #expect(try sandbox.read("b.coffer") == good && sandbox.names() == names)
    try sandbox.succeed("backup", "s.coffer", "c.coffer", "--allow-damage")
    #expect(try sandbox.run("verify", "--keyless", "c.coffer").status == 20)
  }

  // MARK: - Restore

  @Test func restoringOverStoreRequiresForce() throws {
    let sandbox = try filled()
    try sandbox.succeed("backup", "s.coffer", "b.coffer")
    let good = try sandbox.read("b.coffer")
    try sandbox.setMode("s.coffer", 0o640)
    try damage("s.coffer", in: sandbox)
    let damaged = try sandbox.read("s.coffer")
    let refused = try sandbox.run("restore", "s.coffer", "b.coffer")
    #expect(refused.status == 1 && refused.errors.contains("s.coffer exists already"))
    #expect(try sandbox.read("s.coffer") == damaged)
    let result = try sandbox.succeed("restore", "s.coffer", "b.coffer", "--force", "--json")
    #expect(result.text.hasPrefix(#"{"path":"s.coffer","size":\#(good.count),"generation":"#))
    #expect(result.text.hasSuffix(#"s.coffer.replaced"}"# + "\n"))
    #expect(try sandbox.read("b.coffer") == good)
    try requireEqual("s.coffer", "b.coffer", in: sandbox)
    #expect(try sandbox.mode(of: "s.coffer") == 0o640)
    try sandbox.succeed("restore", "new.coffer", "b.coffer")
    try requireEqual("new.coffer", "b.coffer", in: sandbox)
    #expect(try sandbox.run("restore", "s.coffer", "s.coffer", "--force").status == 1)
    #expect(try sandbox.run("restore", "s.coffer", "none", "--force").status == 10)
    try requireEqual("s.coffer", "b.coffer", in: sandbox)
  }

  @Test func rejectsDamagedBackup() throws {
    let sandbox = try filled()
    try sandbox.succeed("backup", "s.coffer", "b.coffer")
    let good = try sandbox.read("s.coffer")
    try damage("b.coffer", in: sandbox)
    let names = try sandbox.names()
    let result = try sandbox.run("restore", "s.coffer", "b.coffer", "--force")
    #expect(result.status == 20 && result.errors.contains("b.coffer is damaged"))
    #expect(try sandbox.read("s.coffer") == good && sandbox.names() == names)
  }

  /// A killed writer of the old store can leave these files.
  @Test(arguments: ["-journal", "-wal", "-shm"])
  func restoreRemovesOldSideFiles(_ suffix: String) throws {
    let sandbox = try filled()
    try sandbox.succeed("backup", "s.coffer", "b.coffer")
    for isThere in [true, false] {
      if !isThere { try sandbox.remove("s.coffer") }
      try sandbox.write("s.coffer\(suffix)", String(repeating: "old", count: 5000))
      try sandbox.succeed("restore", "s.coffer", "b.coffer", "--force")
      #expect(!sandbox.exists("s.coffer\(suffix)"))
      try requireEqual("s.coffer", "b.coffer", in: sandbox)
    }
    // Restoring deletes a link without deleting its target.
    try sandbox.write("victim", "precious")
    #expect(symlink(sandbox.path("victim"), sandbox.path("s.coffer\(suffix)")) == 0)
    try sandbox.succeed("restore", "s.coffer", "b.coffer", "--force")
    #expect(try sandbox.text(of: "victim") == "precious" && !sandbox.exists("s.coffer\(suffix)"))
  }

  @Test(arguments: ["rollback", "wal"])
  func restoreRejectsOpenStore(journal: String) throws {
    let sandbox = try Sandbox.withStore(journal: journal)
    try sandbox.succeed("put", "s.coffer", "--text", "one")
    try sandbox.succeed("backup", "s.coffer", "b.coffer")
    // Open the file without a SQLite lock.
    let descriptor = open(sandbox.path("s.coffer"), O_RDONLY | O_CLOEXEC)
    let before = try sandbox.read("s.coffer")
    let names = try sandbox.names()
    let result = try sandbox.run("restore", "s.coffer", "b.coffer", "--force")
    #expect(result.status == 11 && result.errors.contains("another process has the store open"))
    #expect(try sandbox.read("s.coffer") == before && sandbox.names() == names)
    close(descriptor)
    try sandbox.succeed("restore", "s.coffer", "b.coffer", "--force")
    try sandbox.succeed("verify", "s.coffer")
  }

  /// While another process holds a lease like a restore, opening the store waits and a restore fails.
  @Test func restoreRejectsLeasedStore() throws {
    let sandbox = try filled()
    try sandbox.succeed("backup", "s.coffer", "b.coffer")
    let descriptor = open(sandbox.path("s.coffer"), O_RDONLY | O_CLOEXEC)
    defer { close(descriptor) }
    _ = fcntl(descriptor, 10, SIGURG)
    try #require(fcntl(descriptor, 1024, F_WRLCK) == 0)
    let result = try sandbox.run("restore", "s.coffer", "b.coffer", "--force")
    #expect(result.status == 11, "\(result.errors)")
  }

  // MARK: - Compact

  @Test(.slow) func compactFreesDeletedSpace() throws {
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

  @Test func infoPrintsSizesInWordsAndBytes() throws {
    let sandbox = try filled()
    let size = try sandbox.read("s.coffer").count
    let text = try sandbox.succeed("info", "s.coffer").text
    let exactly = "\(size / 1000),\(String(size % 1000 + 1000).dropFirst())"
    #expect(text.contains("size:                    \((size + 500) / 1000) kB (\(exactly) bytes)\n"))
    #expect(!text.contains("size in words") && !text.contains("wal reset bug"))
    sandbox.environment["DBTOOL_ALLOW_TEST_KEYS"] = "1"
    try sandbox.succeed("create", "w.coffer", "--wal", "--key-file", "primary.key")
    #expect(try sandbox.succeed("info", "w.coffer").text.contains("wal reset bug:"))
    let json = try sandbox.succeed("info", "s.coffer", "--json").text
    #expect(json.contains("\"size\":\(size),\"size_in_words\":\"\((size + 500) / 1000) kB\","))
  }
}
