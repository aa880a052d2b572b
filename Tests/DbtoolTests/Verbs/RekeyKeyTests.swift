import CofferTestSupport
import Foundation
import Testing

/// Tests the keys that open a store after a rekey, and the pins during and after it.
@Suite struct RekeyKeyTests {
  private struct Report: Decodable {
    let finished: Bool
    let pin: String
    let finalPin: String?
  }

  private struct Slot: Decodable {
    let slot: Int
    let kind: String
    let label: String
    let fingerprint: String?
  }

  private func recipient(of identity: String, in sandbox: Sandbox) throws -> String {
    String(try sandbox.succeed("keygen", "-y", identity).text.dropLast())
  }

  private func slots(_ sandbox: Sandbox, _ key: String = "primary.key") throws -> [Slot] {
    try sandbox.succeed("key", "list", "s.coffer", "--key-file", key, "--json").json([Slot].self)
  }

  // MARK: Recipients

  /// Repeats the attack kit's session "own-recipient-under-a-friendly-label".
  @Test func labeledRecipientStopsRekey() throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.succeed("put", "s.coffer", "--text", "kept")
    try sandbox.succeed("keygen", "--test", "--identity", "insider.identity")
    let insider = try recipient(of: "insider.identity", in: sandbox)
    try sandbox.succeed("key", "add", "s.coffer", "--recipient", insider, "--label", "backup")
    let fingerprint = try #require(try slots(sandbox)[1].fingerprint)
    let before = try sandbox.read("s.coffer")
    for options in [[], ["--new-key-file", "next.key"], ["--keys-only"], ["--key-file", "primary.key"]] {
      let result = try sandbox.run(["rekey", "s.coffer"] + options)
      #expect(result.status == 13 && result.output.isEmpty)
      #expect(result.diagnostics.contains("2, fingerprint \(fingerprint) (backup)"), "\(result.errors)")
      #expect(result.diagnostics.contains("hint: keep recipients that you know with --keep-recipient SLOT"))
      #expect(try sandbox.read("s.coffer") == before)
    }
    let kept = try sandbox.succeed("rekey", "s.coffer", "--keep-recipient", "all")
    #expect(kept.diagnostics.contains("slot 2, recipient, fingerprint \(fingerprint) (backup): kept for \(insider)\n"))
    try sandbox.succeed("show", "s.coffer", "1", "--key-file", "insider.identity")
    try sandbox.succeed("rekey", "s.coffer", "--drop-slots")
    #expect(try sandbox.run("show", "s.coffer", "1", "--key-file", "insider.identity").status == 12)
  }

  @Test func keepsRecipientBySlotLineOrIdentity() throws {
    let sandbox = try Sandbox.withStore()
    let line = try recipient(of: "identity.key", in: sandbox)
    try sandbox.succeed("key", "add", "s.coffer", "--recipient", line, "--label", "hers")
    for options in [
      ["--keep-recipient", "2"], ["--keep-recipient", line], ["--keep-recipient", "all"],
      ["--key-file", "primary.key", "--key-file", "identity.key"],
      ["--key-file", "primary.key", "--key-command", "cat identity.key"],
      ["--key-file", "identity.key", "--key-file", "primary.key"],
    ] {
      let result = try sandbox.run(["rekey", "s.coffer"] + options)
      #expect(result.status == 0, "\(options): \(result.errors)")
      // Standard error lists all slots except the user's own slot.
      #expect(
        result.diagnostics.contains("(hers): kept for \(line)") == (options.dropFirst().first != "identity.key"),
        "\(options)")
      try sandbox.succeed("collection", "list", "s.coffer", "--key-file", "identity.key")
    }
    let quiet = try sandbox.succeed("rekey", "s.coffer", "--keep-recipient", "all", "--quiet")
    #expect(quiet.diagnostics.isEmpty)
  }

  /// Each sync of the disk fails in turn, before and after the keys change.
  @Test(.enabled(if: FailedSync.isPossible, "strace can't run here"))
  func failureAfterKeyChangeExitsWith23() throws {
    var statuses: Set<Int32> = []
    for number in 1...12 {
      let sandbox = try Sandbox.withStore()
      try sandbox.succeed("put", "s.coffer", "--text", "kept")
      let result = try FailedSync.run("rekey", "s.coffer", failing: "fdatasync", at: number, in: sandbox)
      guard result.status != 0 else { continue }
      let isUnfinished = try sandbox.run("rekey", "s.coffer", "--status").status == 23
      #expect(result.status == (isUnfinished ? 23 : 1), "\(number): \(result.errors)")
      statuses.insert(result.status)
    }
    #expect(statuses == [1, 23])
  }

  @Test func missingSecretsSuggestResuming() throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.succeed("put", "s.coffer", "--text", "kept")
    let line = try recipient(of: "identity.key", in: sandbox)
    try sandbox.succeed("key", "add", "s.coffer", "--recipient", line)
    try sandbox.succeed("rekey", "s.coffer", "--keys-only", "--keep-recipient", "all")
    let result = try sandbox.run("rekey", "s.coffer")
    #expect(result.status == 13)
    #expect(result.errors.contains("s.coffer has an unfinished rekey; "), "\(result.errors)")
    #expect(result.errors.contains("hint: finish it with rekey --resume; "), "\(result.errors)")
    try sandbox.succeed("rekey", "s.coffer", "--resume")
  }

  @Test func rejectsUnknownRecipientToKeep() throws {
    let sandbox = try Sandbox.withStore()
    let line = try recipient(of: "identity.key", in: sandbox)
    let before = try sandbox.read("s.coffer")
    for value in ["2", "1", "0", "hers", "", "-1", line] {
      #expect(try sandbox.run("rekey", "s.coffer", "--keep-recipient", value).status == 64, "\(value)")
    }
    #expect(try sandbox.run("rekey", "s.coffer", "--keep-recipient", String(line.dropLast()) + "g").status == 1)
    for option in ["--status", "--resume"] {
      #expect(try sandbox.run("rekey", "s.coffer", option, "--keep-recipient", "all").status == 64)
      #expect(try sandbox.run("rekey", "s.coffer", option, "--keep-recipient", "2").status == 64)
    }
    let lines = try sandbox.text(of: "identity.key").split(separator: "\n")
    let key = try #require(lines.first { $0.hasPrefix("coffer-") })
    let secret = try sandbox.run("rekey", "s.coffer", "--keep-recipient", String(key))
    #expect(secret.status == 64 && !secret.errors.contains(key.suffix(40)))
    #expect(try sandbox.read("s.coffer") == before)
  }

  // MARK: The same secret

  @Test func reportsKeyStillOpeningStore() throws {
    let sandbox = try Sandbox()
    try sandbox.write("words.txt", "some words\n")
    try sandbox.setMode("words.txt", 0o600)
    let after = "still opens this store; after a leak give"
    for (options, words) in [
      (["--key-file", "primary.key"], "primary.key \(after) --new-key-file"),
      (["--key-file", "identity.key"], "identity.key \(after) --new-key-file"),
      (["--passphrase-file", "words.txt"], "the passphrase in words.txt \(after) --new-passphrase-file"),
      (["--key-command", "cat primary.key"], "the key that --key-command prints \(after) --new-key-command"),
    ] {
      try sandbox.succeed(["create", "s.coffer", "--test"] + options)
      let same = try sandbox.succeed(["rekey", "s.coffer"] + options)
      #expect(same.diagnostics.contains("dbtool: \(words)\n"), "\(same.errors)")
      let json = try sandbox.succeed(["rekey", "s.coffer", "--keys-only", "--json"] + options)
      #expect(json.diagnostics.contains("dbtool: \(words)\n"))
      #expect(try sandbox.succeed(["rekey", "s.coffer", "--quiet"] + options).diagnostics.isEmpty)
      let new = try sandbox.succeed(["rekey", "s.coffer", "--new-key-file", "next.key"] + options)
      #expect(!new.diagnostics.contains("still opens"))
      try sandbox.remove("s.coffer")
    }
  }

  @Test func reportsKeyFromVariableAndTypedPassphrase() throws {
    let sandbox = try Sandbox.withStore()
    let named = try sandbox.succeed("rekey", "s.coffer")
    #expect(named.diagnostics.contains("primary.key still opens this store; after a leak give --new-key-file"))
    try sandbox.write("p.txt", "typed words")
    try sandbox.setMode("p.txt", 0o600)
    try sandbox.succeed("key", "passwd", "s.coffer", "--new-passphrase-file", "p.txt")
    let terminal = try PseudoTerminal()
    let child = try Child(["rekey", "s.coffer", "--passphrase"], in: sandbox, streams: .terminal(terminal.path))
    #expect(terminal.waitFor("Passphrase for s.coffer: "))
    terminal.type("typed words")
    terminal.readToEnd()
    #expect(child.wait() == 0, "\(terminal.shown)")
    #expect(terminal.shown.contains("the same passphrase still opens this store; after a leak give --new-passphrase"))
  }

  /// Other keys also remain, and the new key can equal the old key.
  @Test func reportsSlotsKeepingSecret() throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.succeed("key", "add", "s.coffer", "--new-key-file", "next.key", "--label", "spare")
    let spare = try #require(try slots(sandbox)[1].fingerprint)
    let keys = ["--key-file", "primary.key", "--key-file", "next.key"]
    let both = try sandbox.succeed(["rekey", "s.coffer"] + keys)
    #expect(both.diagnostics.contains("slot 2, key-file, fingerprint \(spare) (spare): the same key still opens"))
    #expect(both.diagnostics.contains("slot 1, key-file, fingerprint"))
    try sandbox.succeed("key", "remove", "s.coffer", "2")
    let same = try sandbox.succeed("rekey", "s.coffer", "--new-key-file", "primary.key")
    #expect(same.diagnostics.contains("primary.key still opens this store"))
  }

  @Test func helpExplainsKeptSecret() throws {
    let help = try Sandbox().succeed("rekey", "--help").text.split(separator: "\n").joined(separator: " ")
    #expect(help.contains("my.key still opens this store, so give --new-key-file after a leak"))
  }

  // MARK: Pins

  @Test func reportsFinalPinAtStart() throws {
    let sandbox = try Sandbox.withStore()
    for text in ["a", "b"] { try sandbox.succeed("put", "s.coffer", "--text", text) }
    let whole = try sandbox.succeed("rekey", "s.coffer", "--json")
    let done = try whole.json(Report.self)
    #expect(done.finished && done.finalPin == nil)
    #expect(whole.diagnostics.contains("dbtool: pin at the end of this rekey: \(done.pin)\n"))

    let begun = try sandbox.succeed("rekey", "s.coffer", "--keys-only", "--json")
    let report = try begun.json(Report.self)
    let final = try #require(report.finalPin)
    #expect(!report.finished && final != report.pin && report.pin != done.pin)
    #expect(begun.diagnostics.contains("dbtool: pin at the end of this rekey: \(final)\n"))
    let status = try sandbox.run("rekey", "s.coffer", "--status", "--json")
    #expect(status.status == 23)
    #expect(try status.json(Report.self).pin == report.pin && status.json(Report.self).finalPin == final)
    #expect(try sandbox.run("rekey", "s.coffer", "--status").lines.last == "final pin: \(final)")

    let resumed = try sandbox.succeed("rekey", "s.coffer", "--resume", "--json")
    #expect(resumed.diagnostics == "dbtool: pin at the end of this rekey: \(final)\n")
    #expect(try resumed.json(Report.self).pin == final)
    let ended = try sandbox.run("rekey", "s.coffer", "--status", "--json").json(Report.self)
    #expect(ended.finished && ended.pin == final && ended.finalPin == nil)
  }

  @Test func onlyResumeAndStatusAcceptFinalPin() throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.succeed("put", "s.coffer", "--text", "a")
    let report = try sandbox.succeed("rekey", "s.coffer", "--keys-only", "--json").json(Report.self)
    let final = try #require(report.finalPin)
    let before = try sandbox.read("s.coffer")
    for verb in [
      ["ls", "s.coffer"], ["show", "s.coffer", "1"], ["put", "s.coffer", "--text", "x"], ["verify", "s.coffer"],
      ["verify", "--anchor-only", "--save-anchor", "-", "s.coffer"], ["key", "list", "s.coffer"],
      ["rekey", "s.coffer"], ["rekey", "s.coffer", "--keys-only"],
    ] {
      let refused = try sandbox.run(verb + ["--pin", final, "--json"])
      #expect(refused.status == 21 && refused.errors.contains("rekey is unfinished"), "\(verb): \(refused.errors)")
      #expect(refused.errors.contains(#""kind":"pin-unfinished""#) && refused.output.isEmpty)
    }
    for words in [["info"], ["verify", "--keyless"], ["backup", "copy.coffer"], ["compact"]] {
      let refused = try sandbox.run(words + ["--store", "s.coffer", "--pin", final])
      #expect(refused.status == 21 && refused.errors.contains("hint: a rekey"), "\(words): \(refused.errors)")
    }
    #expect(try sandbox.read("s.coffer") == before && !sandbox.exists("copy.coffer"))
    #expect(try sandbox.run("rekey", "s.coffer", "--status", "--pin", final).status == 23)
    try sandbox.succeed("rekey", "s.coffer", "--resume", "--pin", final)
    for pin in [report.pin, final] { try sandbox.succeed("ls", "s.coffer", "--pin", pin) }
    // Restore the state during the rekey.
    try sandbox.write("s.coffer", bytes: before)
    #expect(try sandbox.run("ls", "s.coffer", "--pin", final).status == 21)
  }

  @Test func infoWarnsOfUnverifiedPin() throws {
    struct Info: Decodable {
      let pin: String
      let pinProved: Bool
    }
    let sandbox = try Sandbox.withStore()
    let lines = try sandbox.succeed("info", "s.coffer").lines
    let info = try sandbox.succeed("info", "s.coffer", "--json").json(Info.self)
    #expect(lines.contains { $0.hasPrefix("pin (unproved): ") && $0.hasSuffix(" " + info.pin) })
    #expect(!lines.contains { $0.hasPrefix("pin:") || $0.hasPrefix("pin proved:") } && !info.pinProved)
    let csv = try sandbox.succeed("info", "s.coffer", "--format", "csv").lines
    #expect(csv.contains("pin,\(info.pin)") && csv.contains("pin_proved,false"))
    for verb in [["verify", "s.coffer"], ["rekey", "s.coffer", "--status"]] {
      #expect(try sandbox.run(verb).lines.contains { $0.hasPrefix("pin:") && $0.hasSuffix(" " + info.pin) }, "\(verb)")
    }
  }

  // MARK: Fingerprints

  @Test func showsFingerprintsInListsAndInfo() throws {
    struct Info: Decodable { let slots: [Slot] }
    let sandbox = try Sandbox.withStore()
    try sandbox.succeed("key", "add", "s.coffer", "--new-key-file", "next.key")
    try sandbox.succeed("key", "add", "s.coffer", "--new-passphrase-file", "passphrase.txt")
    try sandbox.succeed("key", "add", "s.coffer", "--recipient", recipient(of: "identity.key", in: sandbox))
    let listed = try slots(sandbox)
    #expect(listed.map { $0.fingerprint?.count } == [16, 16, nil, 16])
    #expect(Set(listed.map(\.fingerprint)).count == 4)
    let info = try sandbox.succeed("info", "s.coffer", "--json").json(Info.self)
    #expect(info.slots.map(\.fingerprint) == listed.map(\.fingerprint))
    let rows = try sandbox.succeed("key", "list", "s.coffer").lines.map { $0.components(separatedBy: "\t") }
    #expect(rows.map { $0[4] } == listed.map { $0.fingerprint ?? "" })
    let table = try sandbox.succeed("key", "list", "s.coffer", "--format", "table").lines
    let fingerprint = try #require(listed[0].fingerprint)
    #expect(table[0].contains("FINGERPRINT") && table[1].contains(fingerprint))
    let text = try sandbox.succeed("info", "s.coffer").text
    #expect(listed.compactMap(\.fingerprint).allSatisfy { text.contains($0) })
  }

  @Test func rejectsDuplicateKey() throws {
    let sandbox = try Sandbox.withStore()
    let line = try recipient(of: "identity.key", in: sandbox)
    try sandbox.succeed("key", "add", "s.coffer", "--recipient", line)
    try sandbox.succeed("key", "add", "s.coffer", "--new-passphrase-file", "passphrase.txt")
    let before = try sandbox.read("s.coffer")
    for (slot, options) in [
      (1, ["--new-key-file", "primary.key"]), (1, ["--new-key-command", "cat primary.key"]),
      (2, ["--recipient", line]), (2, ["--new-key-file", "identity.key"]),
      (3, ["--new-passphrase-file", "passphrase.txt"]),
    ] {
      let result = try sandbox.run(["key", "add", "s.coffer", "--json"] + options)
      #expect(result.status == 1 && result.errors.contains(#""kind":"already-exists""#), "\(options): \(result.errors)")
      #expect(result.diagnostics.contains("error: slot \(slot) has this key already"))
    }
    let other = try sandbox.run("key", "passwd", "s.coffer", "--new-passphrase-file", "passphrase.txt")
    #expect(other.status == 1 && other.diagnostics.contains("slot 3 has this key already"))
    #expect(try sandbox.read("s.coffer") == before)
    let twice = ["--key-file", "primary.key", "--key-file", "primary.key"]
    #expect(try sandbox.run(["create", "new.coffer"] + twice).status == 64 && !sandbox.exists("new.coffer"))
  }
}
