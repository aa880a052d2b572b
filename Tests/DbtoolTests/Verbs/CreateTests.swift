import Foundation
import Testing

@Suite struct CreateTests {
  private struct Report: Decodable {
    let storeId: String
    let pin: String
  }

  @Test func printsStoreIDAndPin() throws {
    let sandbox = try Sandbox()
    let result = try sandbox.succeed("create", "s.coffer", "--key-file", "primary.key", "--json")
    let report = try result.json(Report.self)
    #expect(report.storeId.count == 32)
    #expect(report.pin.hasPrefix("coffer-pin-3-" + report.storeId))
    #expect(report.pin.count == 13 + 128)
  }

  @Test func keepsExistingFile() throws {
    let sandbox = try Sandbox()
    try sandbox.write("s.coffer", "something else")
    let result = try sandbox.run("create", "s.coffer", "--key-file", "primary.key")
    #expect(result.status == 1)
    #expect(result.output.isEmpty)
    #expect(try sandbox.text(of: "s.coffer") == "something else")
  }

  @Test func rejectsExpectOption() throws {
    let sandbox = try Sandbox()
    let pin = "coffer-pin-3-" + String(repeating: "1", count: 128)
    let result = try sandbox.run("create", "s.coffer", "--key-file", "primary.key", "--pin", pin)
    #expect(result.status == 64)
    #expect(!sandbox.exists("s.coffer"))
  }

  @Test func requiresKey() throws {
    let sandbox = try Sandbox()
    for arguments in [["create", "s.coffer"], ["create", "s.coffer", "--no-input"]] {
      let result = try sandbox.run(arguments)
      #expect(result.status == 13)
      #expect(!sandbox.exists("s.coffer"))
    }
  }

  @Test func createsSlotsInKeyOrder() throws {
    let sandbox = try Sandbox()
    try sandbox.succeed(
      "create", "s.coffer", "--passphrase-file", "passphrase.txt", "--key-file", "primary.key", "--key-file",
      "next.key", "--test")
    let slots = try sandbox.succeed("key", "list", "s.coffer", "--key-file", "next.key")
    let kinds = slots.lines.map { $0.split(separator: "\t", omittingEmptySubsequences: false)[1] }
    #expect(kinds == ["passphrase", "key-file", "key-file"])
    #expect(slots.lines.map { $0.hasSuffix("true") } == [false, false, true])
  }

  @Test func createsStoreForRecipientOnly() throws {
    let sandbox = try Sandbox()
    sandbox.environment["DBTOOL_KEY_FILE"] = "none.key"
    let recipient = try sandbox.succeed("keygen", "-y", "identity.key").text.dropLast()
    try sandbox.succeed("create", "s.coffer", "--recipient", String(recipient))
    try sandbox.succeed("collection", "list", "s.coffer", "--key-file", "identity.key")
    let refused = try sandbox.run("collection", "list", "s.coffer", "--key-file", "primary.key")
    #expect(refused.status == 12)
  }

  @Test func appliesLabelToOneSlot() throws {
    let sandbox = try Sandbox()
    let two = try sandbox.run(
      "create", "s.coffer", "--key-file", "primary.key", "--key-file", "next.key", "--label", "-mine-")
    #expect(two.status == 64)
    #expect(!sandbox.exists("s.coffer"))
    try sandbox.succeed("create", "s.coffer", "--key-file", "primary.key", "--label", "-mine-")
    #expect(try sandbox.succeed("info", "s.coffer").text.contains("-mine-"))
  }

  @Test func testKeysRequireAllowance() throws {
    let sandbox = try Sandbox()
    sandbox.environment = [:]
    for arguments in [["--key-file", "primary.key"], ["--passphrase-file", "passphrase.txt", "--test"]] {
      let result = try sandbox.run(["create", "s.coffer"] + arguments)
      #expect(result.status == 16)
      #expect(!sandbox.exists("s.coffer"))
    }
    sandbox.environment["DBTOOL_ALLOW_TEST_KEYS"] = "1"
    try sandbox.succeed("create", "s.coffer", "--key-file", "primary.key")
  }

  @Test func reportsTestStore() throws {
    let sandbox = try Sandbox()
    let loud = try sandbox.succeed("create", "s.coffer", "--key-file", "primary.key")
    #expect(loud.errors == "dbtool: warning: s.coffer is a TEST store: its keys may be published\n")
    let quiet = try sandbox.succeed("collection", "list", "s.coffer", "--key-file", "primary.key", "--quiet")
    #expect(quiet.errors.isEmpty)
  }

  @Test func rejectsMixedRealAndTestKeys() throws {
    let sandbox = try Sandbox()
    try sandbox.succeed("keygen", "real.key")
    let result = try sandbox.run("create", "s.coffer", "--key-file", "real.key", "--key-file", "primary.key")
    #expect(result.status == 16)
    #expect(!sandbox.exists("s.coffer"))
  }

  @Test func appliesTitlesJournalAndPaddingOptions() throws {
    let sandbox = try Sandbox.withStore("--titles", "clear", "--wal", "--no-padding")
    let info = try sandbox.succeed("info", "s.coffer").text
    #expect(info.contains("journal:") && info.contains("wal\n"))
    #expect(info.contains("clear\n"))
    #expect(info.range(of: "padded: +false", options: .regularExpression) != nil)
  }
}
