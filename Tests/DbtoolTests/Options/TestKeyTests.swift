import CofferSQLite
import Testing

/// Tests the rules for TEST stores and test keys (Commands, "Test keys", and FORMAT, "The TEST bit").
@Suite struct TestKeyTests {
  private func isTest(_ sandbox: Sandbox) throws -> Bool {
    try sandbox.succeed("info", "s.coffer", "--json").text.contains(#""test":true"#)
  }

  @Test func testOptionSetsMarkAndLowersCost() throws {
    let sandbox = try Sandbox()
    let made = try sandbox.run("create", "s.coffer", "--test", "--passphrase-file", "passphrase.txt")
    #expect(made.status == 0 && made.errors.contains("s.coffer is a TEST store"), "\(made.errors)")
    #expect(try isTest(sandbox))
    #expect(try sandbox.succeed("info", "s.coffer").text.contains("scrypt 2^10, r 8, p 1"))
  }

  @Test(arguments: [
    ["--key-file", "primary.key"], ["--key-file", "identity.key"], ["--key-command", "cat primary.key"],
    ["--key-command", "cat identity.key"],
  ])
  func testKeyImpliesTheMark(_ key: [String]) throws {
    let sandbox = try Sandbox()
    try sandbox.write("in.txt", "text")
    for arguments in [["create", "s.coffer"], ["import", "s.coffer", "in.txt", "--create"]] {
      sandbox.environment["DBTOOL_ALLOW_TEST_KEYS"] = nil
      #expect(try sandbox.run(arguments + key).status == 16)
      #expect(!sandbox.exists("s.coffer"))
      sandbox.environment["DBTOOL_ALLOW_TEST_KEYS"] = "1"
      let made = try sandbox.run(arguments + key)
      #expect(made.status == 0, "\(made.errors)")
      #expect(try isTest(sandbox))
      try sandbox.remove("s.coffer")
    }
  }

  @Test func testRecipientImpliesTheMark() throws {
    let sandbox = try Sandbox()
    let recipient = try sandbox.succeed("keygen", "-y", "identity.key").text.dropLast()
    try sandbox.succeed("create", "s.coffer", "--recipient", String(recipient))
    #expect(try isTest(sandbox))
    sandbox.environment["DBTOOL_ALLOW_TEST_KEYS"] = nil
    #expect(try sandbox.run("create", "t.coffer", "--recipient", String(recipient)).status == 16)
    #expect(!sandbox.exists("t.coffer"))
  }

  /// Every verb rejects a real key or recipient for a TEST store and leaves the store unchanged.
  @Test func testStoreRejectsRealKeysAndRecipients() throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.succeed("keygen", "real.key")
    let recipient = String(try sandbox.succeed("keygen", "real.identity", "--identity").text.dropLast())
    let before = try sandbox.read("s.coffer")
    for arguments in [
      ["key", "add", "s.coffer", "--new-key-file", "real.key"],
      ["key", "add", "s.coffer", "--new-key-file", "real.identity"],
      ["key", "add", "s.coffer", "--recipient", recipient],
      ["key", "add", "s.coffer", "--new-key-command", "cat real.key"],
      ["key", "passwd", "s.coffer", "--new-key-file", "real.key"],
      ["rekey", "s.coffer", "--new-key-file", "real.key"],
      ["create", "t.coffer", "--test", "--key-file", "real.key"],
      ["create", "t.coffer", "--key-file", "primary.key", "--recipient", recipient],
    ] {
      let result = try sandbox.run(arguments)
      #expect(result.status == 16 && result.output.isEmpty, "\(arguments): \(result.errors)")
    }
    #expect(try sandbox.read("s.coffer") == before)
    #expect(!sandbox.exists("t.coffer"))
    // A real key doesn't open a TEST store either.
    #expect(try sandbox.run("collection", "list", "s.coffer", "--key-file", "real.key").status == 12)
  }

  @Test func realStoreRejectsTestKeys() throws {
    let sandbox = try Sandbox()
    try sandbox.succeed("keygen", "real.key")
    try sandbox.succeed("create", "s.coffer", "--key-file", "real.key")
    let recipient = String(try sandbox.succeed("keygen", "-y", "identity.key").text.dropLast())
    let before = try sandbox.read("s.coffer")
    for arguments in [
      ["key", "add", "--key-file", "real.key", "--new-key-file", "primary.key"],
      ["key", "add", "--key-file", "real.key", "--recipient", recipient],
      ["rekey", "--key-file", "real.key", "--new-key-file", "primary.key"],
      ["collection", "list", "--key-file", "primary.key"], ["collection", "list", "--key-file", "identity.key"],
      ["collection", "list", "--key-command", "cat primary.key"],
    ] {
      let result = try sandbox.run(arguments + ["--store", "s.coffer"])
      #expect(result.status == 16, "\(arguments): \(result.errors)")
    }
    #expect(try sandbox.read("s.coffer") == before)
  }

  @Test func detectsEditedMark() throws {
    let sandbox = try Sandbox.withStore()
    let database = try Database(sandbox.path("s.coffer"))
    try database.execute("UPDATE coffer_header SET incompat = incompat & ~1")
    try database.close()
    #expect(try sandbox.run("collection", "list", "s.coffer").status == 16)
    try sandbox.succeed("keygen", "real.key")
    try sandbox.succeed("create", "real.coffer", "--key-file", "real.key")
    let real = try Database(sandbox.path("real.coffer"))
    try real.execute("UPDATE coffer_header SET incompat = incompat | 1")
    try real.close()
    #expect(try sandbox.run("collection", "list", "real.coffer", "--key-file", "real.key").status == 12)
    sandbox.environment["DBTOOL_ALLOW_TEST_KEYS"] = nil
    #expect(try sandbox.run("collection", "list", "real.coffer", "--key-file", "real.key").status == 16)
  }

  @Test func keylessVerbsWorkWithoutAllowance() throws {
    let sandbox = try Sandbox.withStore("--titles", "clear")
    sandbox.environment = [:]
    try sandbox.succeed("info", "s.coffer")
    try sandbox.succeed("verify", "--keyless", "s.coffer")
    try sandbox.succeed("ls", "s.coffer", "--keyless")
    try sandbox.succeed("keygen", "--test", "test.key")
    try sandbox.succeed("keygen", "--test", "--identity", "test.identity")
    try sandbox.succeed("keygen", "-y", "test.identity")
  }

  @Test func onlyValueOneAllowsTestKeys() throws {
    let sandbox = try Sandbox.withStore()
    for value in ["", "0", "yes", "true", "11", " 1"] {
      sandbox.environment["DBTOOL_ALLOW_TEST_KEYS"] = value
      #expect(try sandbox.run("collection", "list", "s.coffer").status == 16, "'\(value)'")
    }
    sandbox.environment["DBTOOL_ALLOW_TEST_KEYS"] = "1"
    let allowed = try sandbox.succeed("collection", "list", "s.coffer")
    #expect(allowed.errors.contains("dbtool: warning: s.coffer is a TEST store"))
  }

  @Test func changingPassphraseKeepsMarkAndCost() throws {
    let sandbox = try Sandbox()
    try sandbox.succeed("create", "s.coffer", "--test", "--passphrase-file", "passphrase.txt")
    try sandbox.write("new.txt", "new words\n")
    try sandbox.setMode("new.txt", 0o600)
    try sandbox.succeed(
      "key", "passwd", "s.coffer", "--passphrase-file", "passphrase.txt", "--new-passphrase-file", "new.txt")
    try sandbox.succeed("rekey", "s.coffer", "--passphrase-file", "new.txt")
    #expect(try isTest(sandbox))
    #expect(try sandbox.succeed("info", "s.coffer").text.contains("scrypt 2^10, r 8, p 1"))
  }
}
