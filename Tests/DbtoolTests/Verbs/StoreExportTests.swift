import Foundation
import Testing

/// Tests `copy`, which creates a store for another user.
@Suite struct CopyTests {
  private struct Report: Decodable {
    var path: String
    var documents: Int
    var parentsDropped: Int
    var storeId: String
    var pin: String
  }

  /// Creates a store with three documents in two collections, and returns a recipient line.
  private func filled() throws -> (sandbox: Sandbox, recipient: String) {
    let sandbox = try Sandbox.withStore()
    try sandbox.succeed("put", "s.coffer", "--text", "one", "--title", "first")
    try sandbox.succeed("put", "s.coffer", "--text", "two")
    try sandbox.succeed("put", "s.coffer", "-c", "other", "--text", "three")
    let recipient = try sandbox.text(of: "recipient.txt").split(separator: "\n").map(String.init)
      .first { $0.hasPrefix("coffer-") }
    return (sandbox, try #require(recipient))
  }

  // MARK: Rejected copies

  @Test func newStoreIgnoresSourceKeyAndVariables() throws {
    let (sandbox, _) = try filled()
    let result = try sandbox.run("copy", "s.coffer", "c.coffer", "--no-input")
    #expect(result.status == 13)
    #expect(result.diagnostics.contains("a new key is needed") && !result.diagnostics.contains("DBTOOL_KEY_FILE"))
    #expect(!sandbox.exists("c.coffer"))
  }

  @Test func replacingOutputRequiresForce() throws {
    let (sandbox, recipient) = try filled()
    try sandbox.write("c.coffer", "mine")
    for options in [[], ["--force"]] {
      let refused = try sandbox.run(["copy", "s.coffer", "c.coffer", "--recipient", recipient] + options)
      #expect(refused.status == 1 && refused.output.isEmpty)
      #expect(try sandbox.text(of: "c.coffer") == "mine")
    }
    try sandbox.succeed("create", "c.coffer2", "--test")
    try sandbox.write("c.coffer", bytes: sandbox.read("c.coffer2"))
    let before = try sandbox.names()
    let refused = try sandbox.run("copy", "s.coffer", "c.coffer", "--recipient", recipient)
    #expect(refused.status == 1 && refused.output.isEmpty)
    try sandbox.succeed("copy", "s.coffer", "c.coffer", "-c", "documents", "--recipient", recipient, "--force")
    #expect(try sandbox.succeed("ls", "c.coffer", "--key-file", "identity.key").lines.count == 2)
    #expect(try sandbox.names() == before)
    // The source is never the new store.
    let over = try sandbox.run(
      "copy", "s.coffer", "s.coffer", "--recipient", recipient, "--force")
    #expect(over.status == 1)
    #expect(try sandbox.succeed("ls", "s.coffer").lines.count == 3)
  }

  @Test(arguments: [
    [], ["c.coffer", "--editable", "--salvage"], ["c.coffer", "--editable", "1"],
    ["c.coffer", "--editable", "-c", "documents"], ["c.coffer", "--salvage", "--key-name", "k"],
    ["c.coffer", "--salvage", "--force"], ["c.coffer", "--editable", "--force"],
    ["c.coffer", "-c", "documents", "-c", "other", "1"],
    ["c.coffer", "--new-key-file", "next.key", "--new-passphrase-file", "passphrase.txt", "--label", "x"],
  ])
  func rejectsConflictingOptions(_ options: [String]) throws {
    let (sandbox, _) = try filled()
    let result = try sandbox.run(["copy", "s.coffer"] + options)
    #expect(result.status == 64, "\(result.errors)")
    #expect(!sandbox.exists("c.coffer"))
  }

  @Test func missingDocumentExitsWith14() throws {
    let (sandbox, recipient) = try filled()
    for options in [["1", "9"], ["-c", "none"]] {
      let result = try sandbox.run(["copy", "s.coffer", "c.coffer", "--recipient", recipient] + options)
      #expect(result.status == 14)
      #expect(!sandbox.exists("c.coffer"))
    }
  }

  @Test func missingTargetFolderLeavesNoOutput() throws {
    let (sandbox, recipient) = try filled()
    let result = try sandbox.run("copy", "s.coffer", "none/c.coffer", "--recipient", recipient)
    #expect(result.status != 0 && result.output.isEmpty)
    #expect(!sandbox.exists("none"))
  }

  // MARK: Contents

  @Test func reportsStoreForRecipient() throws {
    let (sandbox, recipient) = try filled()
    let report = try sandbox.succeed(
      "copy", "s.coffer", "c.coffer", "-c", "documents", "--recipient", recipient, "--json"
    )
    .json(Report.self)
    #expect(report.path == "c.coffer" && report.documents == 2)
    let shown = try sandbox.succeed("show", "c.coffer", "1", "2", "--key-file", "identity.key", "--pin", report.pin)
    #expect(shown.text == "onetwo")
    #expect(try sandbox.run("ls", "c.coffer").status == 12)
    #expect(try sandbox.run("show", "c.coffer", "3", "--key-file", "identity.key").status == 14)
    #expect(try sandbox.mode(of: "c.coffer") == 0o600)
  }

  @Test func copiesEveryDocumentUnchanged() throws {
    let (sandbox, _) = try filled()
    try sandbox.succeed(
      "copy", "s.coffer", "c", "--new-passphrase-file", "passphrase.txt", "--test")
    let before = try sandbox.succeed("export", "s.coffer").text
    #expect(try sandbox.succeed("export", "c", "--passphrase-file", "passphrase.txt").text == before)
  }

  @Test func appliesNewStoreOptions() throws {
    let (sandbox, recipient) = try filled()
    try sandbox.succeed(
      "copy", "s.coffer", "c.coffer", "--recipient", recipient, "--titles", "clear", "--no-padding",
      "--wal", "--label", "customer 1")
    let info = try sandbox.succeed("info", "c.coffer").text
    for line in ["titles:                  clear", "padded:                  false", "journal:                 wal"] {
      #expect(info.contains(line), "\(info)")
    }
    #expect(info.contains("customer 1"))
  }

  // MARK: TEST

  @Test func copiesTestStoreToRealKey() throws {
    let (sandbox, _) = try filled()
    try sandbox.succeed("keygen", "real.key")
    try sandbox.succeed("copy", "s.coffer", "c.coffer", "-c", "documents", "--new-key-file", "real.key")
    sandbox.environment["DBTOOL_ALLOW_TEST_KEYS"] = nil
    let listed = try sandbox.succeed("ls", "c.coffer", "--key-file", "real.key")
    #expect(listed.errors.isEmpty && listed.lines.count == 2)
    // A copy for a test key still requires permission.
    let back = try sandbox.run(
      "copy", "c.coffer", "t.coffer", "--key-file", "real.key", "--new-key-file", "next.key")
    #expect(back.status == 16 && !sandbox.exists("t.coffer"))
    sandbox.environment["DBTOOL_ALLOW_TEST_KEYS"] = "1"
    let allowed = try sandbox.run(
      "copy", "c.coffer", "t.coffer", "--key-file", "real.key", "--new-key-file", "next.key")
    #expect(allowed.status == 0 && allowed.errors.contains("t.coffer is a TEST store"))
    let mixed = try sandbox.run(
      "copy", "c.coffer", "m.coffer", "--key-file", "real.key", "--new-key-file", "next.key",
      "--new-key-file", "real.key")
    #expect(mixed.status == 16 && !sandbox.exists("m.coffer"))
  }
}
