import CofferSQLite
import CofferTestSupport
import Foundation
import Testing

/// Tests key list, key add, key remove, passwd and rekey.
@Suite struct KeyVerbTests {
  @Test func passwdReplacesOpeningSlot() throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.succeed("put", "s.coffer", "--text", "kept")
    try sandbox.succeed("key", "passwd", "s.coffer", "--new-key-file", "next.key")
    #expect(try sandbox.run("show", "s.coffer", "1").status == 12)
    #expect(try sandbox.succeed("show", "s.coffer", "1", "--key-file", "next.key").text == "kept")
  }

  @Test func passwdAsksTwiceForPassphrase() throws {
    let sandbox = try Sandbox.withStore()
    let terminal = try PseudoTerminal()
    let child = try Child(["key", "passwd", "s.coffer"], in: sandbox, streams: .terminal(terminal.path))
    #expect(terminal.waitFor("New passphrase for s.coffer: "))
    terminal.type("a new one")
    #expect(terminal.waitFor("The same again: "))
    terminal.type("a new one")
    terminal.readToEnd()
    #expect(child.wait() == 0, "\(terminal.shown)")
    #expect(!terminal.shown.contains("a new one"))
    try sandbox.write("p.txt", "a new one")
    try sandbox.setMode("p.txt", 0o600)
    try sandbox.succeed("collection", "list", "s.coffer", "--passphrase-file", "p.txt")
  }

  @Test func passwdRequiresNewKeyOrTerminal() throws {
    let sandbox = try Sandbox.withStore()
    let before = try sandbox.read("s.coffer")
    let result = try sandbox.run("key", "passwd", "s.coffer")
    #expect(result.status == 13)
    #expect(
      result.diagnostics.contains("hint: give one of --new-key-file, ")
        && !result.diagnostics.contains("DBTOOL_KEY_FILE"))
    #expect(try sandbox.read("s.coffer") == before)
  }

  @Test func wrongKeyLeavesSlotsUnchanged() throws {
    let sandbox = try Sandbox.withStore()
    let before = try sandbox.read("s.coffer")
    let result = try sandbox.run(
      "key", "passwd", "s.coffer", "--key-file", "wrong.key", "--new-key-file", "next.key")
    #expect(result.status == 12)
    #expect(try sandbox.read("s.coffer") == before)
  }

  @Test func addsAndRemovesSlot() throws {
    let sandbox = try Sandbox.withStore()
    let added = try sandbox.succeed(
      "key", "add", "s.coffer", "--new-passphrase-file", "passphrase.txt", "--label", "spare")
    #expect(added.text == "2\n")
    let list = try sandbox.succeed("key", "list", "s.coffer", "--passphrase-file", "passphrase.txt")
    #expect(list.lines.count == 2)
    #expect(list.lines[1].hasPrefix("2\tpassphrase\tspare\t") && list.lines[1].hasSuffix("\ttrue"))
    let removed = try sandbox.succeed("key", "remove", "s.coffer", "1", "--passphrase-file", "passphrase.txt")
    #expect(!removed.errors.contains("warning: slot"))
    #expect(try sandbox.run("collection", "list", "s.coffer").status == 12)
  }

  @Test func warnsAboutRemovalOfOwnSlot() throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.succeed("key", "add", "s.coffer", "--new-key-file", "next.key")
    let removed = try sandbox.succeed("key", "remove", "s.coffer", "1")
    #expect(removed.errors.contains("warning: slot 1 opened the store just now: its key no longer does\n"))
    try sandbox.succeed("collection", "list", "s.coffer", "--key-file", "next.key")
  }

  @Test func keepsLastSlot() throws {
    let sandbox = try Sandbox.withStore()
    let result = try sandbox.run("key", "remove", "s.coffer", "1")
    #expect(result.status == 64)
    try sandbox.succeed("collection", "list", "s.coffer")
  }

  @Test func identityOpensRecipientSlot() throws {
    let sandbox = try Sandbox.withStore()
    let recipient = try sandbox.succeed("keygen", "-y", "identity.key").text.dropLast()
    try sandbox.succeed("key", "add", "s.coffer", "--recipient", String(recipient))
    try sandbox.succeed("collection", "list", "s.coffer", "--key-file", "identity.key")
    #expect(try sandbox.run("key", "passwd", "s.coffer", "--recipient", String(recipient)).status == 64)
  }

  @Test func rekeyChangesPinAndKeepsTexts() throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.succeed("put", "s.coffer", "--text", "kept")
    let before = try sandbox.succeed("info", "s.coffer").lines.first { $0.hasPrefix("pin (unproved):") }
    let result = try sandbox.succeed("rekey", "s.coffer", "--new-key-file", "next.key", "--json")
    struct Report: Decodable {
      let documents: Int
      let skipped: [Int]
      let finished: Bool
      let pin: String
    }
    let report = try result.json(Report.self)
    #expect(report.documents == 1 && report.skipped.isEmpty && report.finished)
    #expect(before?.hasSuffix(report.pin) == false)
    #expect(try sandbox.run("show", "s.coffer", "1").status == 12)
    #expect(try sandbox.succeed("show", "s.coffer", "1", "--key-file", "next.key").text == "kept")
  }

  @Test func rekeyListsDamagedAttachments() throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.succeed("put", "s.coffer", "--text", "kept")
    for name in ["a", "b"] {
      try sandbox.write(name, "content")
      try sandbox.succeed("attachment", "add", "s.coffer", "1", name)
    }
    let database = try Database(sandbox.path("s.coffer"))
    try database.execute("UPDATE coffer_chunk SET ct = zeroblob(length(ct))")
    try database.close()
    struct Report: Decodable {
      let skipped: [Int]
      let skippedAttachments: [Int]
      let finished: Bool
    }
    let result = try sandbox.run("rekey", "s.coffer", "--json")
    let report = try result.json(Report.self)
    #expect(result.status == 3 && report.skipped.isEmpty && report.skippedAttachments == [1, 2] && !report.finished)
    #expect(try sandbox.run("rekey", "s.coffer", "--status", "--json").text.contains("\"remaining\":1,"))
    let resumed = try sandbox.run("rekey", "s.coffer", "--resume")
    #expect(resumed.status == 3)
    #expect(resumed.diagnostics.contains("attachment 2 of document 1 stays under its old key: "))
    #expect(resumed.diagnostics.contains("2 attachments could not be opened and stay under the old keys"))
  }

  @Test func reportsStatusOfTwoStepRekey() throws {
    let sandbox = try Sandbox.withStore()
    for text in ["a", "b", "c"] { try sandbox.succeed("put", "s.coffer", "--text", text) }
    try sandbox.succeed("rekey", "s.coffer", "--keys-only")
    let unfinished = try sandbox.run("rekey", "s.coffer", "--status", "--json")
    #expect(unfinished.status == 23)
    #expect(unfinished.text.hasPrefix("{\"finished\":false,\"remaining\":3,\"documents\":3,"))
    try sandbox.succeed("rekey", "s.coffer", "--resume", "--batch", "1")
    let finished = try sandbox.run("rekey", "s.coffer", "--status")
    #expect(finished.status == 1 && finished.text.contains("finished:"))
    let resumed = try sandbox.run("rekey", "s.coffer", "--resume")
    for result in [finished, resumed] {
      #expect(result.diagnostics.contains("s.coffer has no unfinished rekey\n"), "\(result.errors)")
    }
    #expect(resumed.status == 1)
    #expect(try sandbox.succeed("show", "s.coffer", "1", "2", "3").text == "abc")
    try sandbox.succeed("verify", "s.coffer")
  }

  @Test func rekeyRequiresSecretOfEverySlot() throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.succeed("key", "add", "s.coffer", "--new-key-file", "next.key")
    let before = try sandbox.read("s.coffer")
    let result = try sandbox.run("rekey", "s.coffer")
    #expect(result.status == 13)
    #expect(result.errors.contains("2"))
    #expect(try sandbox.read("s.coffer") == before)
    try sandbox.succeed("rekey", "s.coffer", "--key-file", "primary.key", "--key-file", "next.key")
    for key in ["primary.key", "next.key"] {
      try sandbox.succeed("collection", "list", "s.coffer", "--key-file", key)
    }
    try sandbox.succeed("rekey", "s.coffer", "--drop-slots")
    #expect(try sandbox.run("collection", "list", "s.coffer", "--key-file", "next.key").status == 12)
  }
}
