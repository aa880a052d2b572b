import CofferPlatform
import CofferTestSupport
import Foundation
import Testing

/// Tests `DBTOOL_STORE` and `--store`, recipients from a file, and passphrases typed on a terminal.
@Suite struct StoreWordTests {
  @Test func readsStorePathFromVariableOrOption() throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.succeed("create", "other.coffer", "--test")
    sandbox.environment["DBTOOL_STORE"] = "s.coffer"
    #expect(try sandbox.succeed("put", "--text", "one").text == "1\n")
    #expect(try sandbox.succeed("show", "1").text == "one")
    #expect(try sandbox.succeed("key", "list").lines.count == 1)
    #expect(try sandbox.succeed("ls").lines.count == 1)
    #expect(try sandbox.succeed("ls", "--store", "other.coffer").lines.isEmpty)
    #expect(try sandbox.succeed("ls", "--store=other.coffer", "-l").lines.isEmpty)
    #expect(try sandbox.succeed("search", "--", "one").lines.count == 1)
    try sandbox.succeed("backup", "b.coffer")
    try sandbox.succeed("restore", "b.coffer", "--force")
    try sandbox.succeed("convert", "primary.key")
    try sandbox.succeed("ls", "--help")
  }

  @Test func rejectsMemoryAsStore() throws {
    let sandbox = try Sandbox.withStore()
    let before = try sandbox.names()
    for words in [
      ["ls", ":memory:"], ["create", ":memory:"], ["put", ":memory:", "--text", "one"],
      ["info", ":memory:"], ["backup", "s.coffer", ":memory:"], ["copy", "s.coffer", ":memory:"],
      ["import", ":memory:", "recipient.txt", "--create"],
    ] {
      let result = try sandbox.run(words)
      #expect(result.status == 64 && result.errors.contains("DocumentStore.temporary()"), "\(words): \(result.errors)")
    }
    #expect(try sandbox.names() == before)
  }

  @Test func rejectsDashAsStore() throws {
    let sandbox = try Sandbox.withStore()
    let before = try sandbox.names()
    for words in [
      ["create", "-"], ["ls", "-"], ["ls", "--store", "-"], ["import", "--create", "-", "recipient.txt"],
      ["backup", "s.coffer", "-"], ["copy", "s.coffer", "-", "--new-key-file", "next.key"],
    ] {
      let result = try sandbox.run(words)
      #expect(result.status == 64 && result.errors.contains("a store is a file: name its path"), "\(result.errors)")
    }
    sandbox.environment["DBTOOL_STORE"] = "-"
    #expect(try sandbox.run("create").status == 64)
    #expect(try sandbox.names() == before)
  }

  @Test func rejectsStoreNamedTwice() throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.succeed("put", "s.coffer", "--text", "one")
    try sandbox.succeed("backup", "s.coffer", "b.coffer")
    let before = try sandbox.read("s.coffer")
    let twice = try sandbox.run("rm", "s.coffer", "1", "--store", "b.coffer")
    #expect(twice.status == 64 && twice.errors.contains("s.coffer is a store, and --store names one, too: b.coffer"))
    sandbox.environment["DBTOOL_STORE"] = "b.coffer"
    for words in [
      ["rm", "s.coffer", "1"], ["key", "list", "s.coffer"], ["restore", "s.coffer", "b.coffer", "--force"],
      ["import", "-c", "notes", "s.coffer", "primary.key"],
    ] {
      let result = try sandbox.run(words)
      #expect(result.status == 64 && result.errors.contains("DBTOOL_STORE"), "\(words): \(result.errors)")
    }
    #expect(try sandbox.run("ls", "--store", "s.coffer", "--store", "b.coffer").status == 64)
    #expect(try sandbox.run("ls", "--store").status == 64)
    #expect(try sandbox.read("s.coffer") == before)
  }

  /// The words of a page or script work beside the variable if they mean the same store.
  @Test func acceptsVariablesStoreAsWord() throws {
    let sandbox = try Sandbox.withStore()
    sandbox.environment["DBTOOL_STORE"] = "n.coffer"
    try sandbox.succeed("create", "n.coffer", "--test")
    try sandbox.succeed("put", "n.coffer", "--text", "one")
    try sandbox.succeed("put", "./n.coffer", "--text", "two")
    try sandbox.write("in.txt", "three\n")
    try sandbox.succeed("import", "-c", "lines", "n.coffer", "in.txt")
    try sandbox.succeed("backup", "n.coffer", "b.coffer")
    try sandbox.succeed("backup", "c.coffer")
    #expect(try sandbox.succeed("show", "n.coffer", "2").text == "two")
    #expect(try sandbox.succeed("show", "2").text == "two")
    #expect(try sandbox.run("diff", "n.coffer", "b.coffer").status == 0)
  }

  /// The option names the store, so the words are the new store and documents, also if the new store exists.
  @Test func copyReplacesStoreBesideOption() throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.succeed("put", "s.coffer", "--title", "Plans", "--text", "one")
    let copy = ["copy", "--store", "s.coffer", "n.coffer", "Plans", "--new-key-file", "next.key", "--force"]
    try sandbox.succeed(copy)
    try sandbox.succeed(copy)
    #expect(try sandbox.succeed("show", "n.coffer", "Plans", "--key-file", "next.key").text == "one")
    let twice = try sandbox.run("copy", "--store", "s.coffer", "s.coffer", "n.coffer", "--new-key-file", "next.key")
    #expect(twice.status == 64 && twice.errors.contains("--store names one, too"))
  }

  @Test func explainsExtraWordBesideVariable() throws {
    let sandbox = try Sandbox.withStore()
    let hint = "hint: DBTOOL_STORE names the store, s.coffer: name another one with --store\n"
    sandbox.environment["DBTOOL_STORE"] = "s.coffer"
    for words in [["create", "n.coffer"], ["sync", "join", "n.coffer", "carried"]] {
      let result = try sandbox.run(words)
      #expect(result.status == 64 && result.errors.hasSuffix(hint), "\(words): \(result.errors)")
    }
    for words in [["ls", "s.coffer", "more"], ["ls", "--store", "s.coffer", "more"]] {
      let result = try sandbox.run(words)
      #expect(result.status == 64 && !result.errors.contains("DBTOOL_STORE"), "\(words): \(result.errors)")
    }
  }

  // MARK: - Recipients

  @Test func readsRecipientsFromFile() throws {
    let sandbox = try Sandbox()
    let published = try sandbox.text(of: "recipient.txt").split(separator: "\n").map(String.init)
    let line = try #require(published.first { $0.hasPrefix("coffer-") })
    try sandbox.succeed("keygen", "--identity", "--test", "new.key")
    let other = try #require(
      try sandbox.succeed("keygen", "-y", "new.key").lines.first { $0.hasPrefix("coffer-test-recipient-1-") })
    try sandbox.write("team.txt", "# the team\n\n  \(line)  \r\n\(other) # Ann\n")
    try sandbox.succeed("create", "s.coffer", "--test", "--recipients-file", "team.txt")
    #expect(try sandbox.succeed("info", "s.coffer", "--json").text.contains(#""kind":"recipient""#))
    for identity in ["identity.key", "new.key"] {
      #expect(try sandbox.succeed("key", "list", "s.coffer", "--key-file", identity).lines.count == 2)
    }
    try sandbox.write("none.txt", "# nobody\n")
    #expect(try sandbox.run("create", "t.coffer", "--test", "--recipients-file", "none.txt").status == 64)
    #expect(try sandbox.run("create", "t.coffer", "--test", "--recipients-file", "missing.txt").status == 1)
    let secret = try sandbox.text(of: "new.key")
    try sandbox.write("wrong.txt", "\(line)\n\(secret)")
    let wrong = try sandbox.run("create", "t.coffer", "--test", "--recipients-file", "wrong.txt")
    #expect(wrong.status == 64 && wrong.errors.contains("wrong.txt, line "))
    #expect(!wrong.errors.contains("coffer-test-identity-1-"))
    #expect(!sandbox.exists("t.coffer"))
  }

  // MARK: - Passphrases

  @Test func retriesWrongPassphraseTwice() throws {
    let sandbox = try Sandbox()
    try sandbox.succeed("create", "s.coffer", "--test", "--passphrase-file", "passphrase.txt")
    let words = try sandbox.text(of: "passphrase.txt").split(separator: "\n").map(String.init)[0]
    for (answers, status) in [(["wrong", "wrong", words], Int32(0)), (["wrong", "wrong", "wrong"], 12)] {
      let terminal = try PseudoTerminal()
      let child = try Child(["collection", "list", "s.coffer"], in: sandbox, streams: .terminal(terminal.path))
      for answer in answers {
        #expect(terminal.waitFor("Passphrase for s.coffer: "))
        terminal.type(answer)
      }
      terminal.readToEnd()
      #expect(child.wait() == status, "\(terminal.shown)")
    }
  }

  @Test(arguments: [
    ("1234567", true), ("123456789012", true), ("aaaaaaaaaaaaaa", true), ("five random words here", false),
  ])
  func warnsOfWeakPassphrase(_ passphrase: String, _ isWeak: Bool) throws {
    let sandbox = try Sandbox()
    let terminal = try PseudoTerminal()
    let child = try Child(["create", "s.coffer", "--test"], in: sandbox, streams: .terminal(terminal.path))
    #expect(terminal.waitFor("New passphrase"))
    terminal.type(passphrase)
    #expect(terminal.waitFor("again"))
    terminal.type(passphrase)
    terminal.readToEnd()
    #expect(child.wait() == 0)
    #expect(terminal.shown.contains("very weak") == isWeak)
    #expect(!terminal.shown.contains(passphrase))
  }

  @Test func readsWordsBehindFlags() throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.succeed("put", "s.coffer", "--text", "one")
    try sandbox.succeed("backup", "s.coffer", "b.coffer")
    sandbox.environment["DBTOOL_STORE"] = "s.coffer"
    #expect(try sandbox.succeed("ls", "--json", "s.coffer").text.contains(#""id":1"#))
    try sandbox.succeed("restore", "--quiet", "--force", "s.coffer", "b.coffer")
    try sandbox.succeed("ls", "-c", "documents", "s.coffer")
  }
}
