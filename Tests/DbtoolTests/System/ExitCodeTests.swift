import CofferPlatform
import CofferSQLite
import CofferTestSupport
import Foundation
import Testing

/// Tests the exit codes that other suites don't cover.
@Suite struct ExitCodeTests {
  @Test(.slow) func nonStoreExitsWith10() throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.write("empty", "")
    try sandbox.write("text", "just text, longer than any header: " + String(repeating: "x", count: 5000))
    let plain = try Database(sandbox.path("plain.sqlite"), mode: .create)
    try plain.execute("CREATE TABLE t(a)")
    try plain.close()
    let whole = try sandbox.read("s.coffer")
    try sandbox.write("stub", bytes: Array(whole.prefix(1000)))
    for name in ["none", "empty", "text", "plain.sqlite", ".", "stub"] {
      for verb in [["ls"], ["info"], ["verify", "--keyless"], ["verify"]] {
        let before = sandbox.exists(name) && name != "." ? try sandbox.read(name) : []
        let result = try sandbox.run(verb + [name])
        #expect(result.status == 10, "\(verb) \(name): \(result.errors)")
        #expect(result.output.isEmpty)
        if !before.isEmpty { #expect(try sandbox.read(name) == before) }
      }
    }
    #expect(!sandbox.exists("none"))
  }

  @Test func truncatedStoreExitsWith20() throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.succeed("put", "s.coffer", "--text", "x")
    let whole = try sandbox.read("s.coffer")
    try sandbox.write("s.coffer", bytes: Array(whole.prefix(whole.count - 10_000)))
    #expect(try sandbox.run("ls", "s.coffer").status == 20)
  }

  @Test func lockedStoreExitsWith11() throws {
    let sandbox = try Sandbox.withStore()
    let database = try Database(sandbox.path("s.coffer"))
    try database.execute("BEGIN EXCLUSIVE")
    let result = try sandbox.run("collection", "list", "s.coffer", "--wait", "0")
    #expect(result.status == 11)
    #expect(result.output.isEmpty)
    try database.execute("ROLLBACK")
    try sandbox.succeed("collection", "list", "s.coffer", "--wait", "0")
  }

  @Test func otherFormatExitsWith15() throws {
    let sandbox = try Sandbox.withStore()
    let database = try Database(sandbox.path("s.coffer"))
    try database.execute("PRAGMA user_version = 4")
    try database.close()
    for verb in [["ls"], ["info"], ["verify", "--keyless"]] {
      #expect(try sandbox.run(verb + ["s.coffer"]).status == 15, "\(verb)")
    }
  }

  @Test func disallowedTestStoreExitsWith16() throws {
    let sandbox = try Sandbox.withStore()
    sandbox.environment["DBTOOL_ALLOW_TEST_KEYS"] = nil
    #expect(try sandbox.run("ls", "s.coffer").status == 16)
    sandbox.environment["DBTOOL_ALLOW_TEST_KEYS"] = "yes"
    #expect(try sandbox.run("ls", "s.coffer").status == 16)
    try sandbox.succeed("info", "s.coffer")
    try sandbox.succeed("verify", "--keyless", "s.coffer")
  }

  @Test(arguments: [
    "CREATE TRIGGER t AFTER INSERT ON coffer_record BEGIN SELECT 1; END", "CREATE VIEW v AS SELECT 1",
    "CREATE INDEX i ON coffer_record(rev)",
  ])
  func foreignSchemaExitsWith20(statement: String) throws {
    let sandbox = try Sandbox.withStore()
    let database = try Database(sandbox.path("s.coffer"))
    try database.execute(statement)
    try database.close()
    #expect(try sandbox.run("ls", "s.coffer").status == 20)
  }

  @Test func readOnlyFolderFailsWritersOnly() throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.succeed("put", "s.coffer", "--text", "x")
    try sandbox.setMode("s.coffer", 0o400)
    defer { try? sandbox.setMode("s.coffer", 0o600) }
    // The superuser can write to files of any mode.
    guard getuid() != 0 else { return }
    #expect(try sandbox.succeed("show", "s.coffer", "1").text == "x")
    #expect(try sandbox.run("put", "s.coffer", "--text", "y").status == 1)
  }

  @Test func fullDiskExitsWith1() throws {
    let sandbox = try Sandbox()
    let result = try sandbox.run("convert", "primary.key", "-o", "/dev/full")
    #expect(result.status == 1)
    #expect(result.errors.contains("no space left on device"))
  }
}
