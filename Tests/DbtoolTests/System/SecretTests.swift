import CofferPlatform
import CofferSQLite
import Foundation
import Testing

/// Tests process protection, the cost of opening a store, and invalid key files.
@Suite struct SecretTests {
  @Test(.enabled(if: WaitingChild.isPossible, "needs root and /proc"))
  func disablesCoreDumps() throws {
    let sandbox = try Sandbox.withStore()
    let waiting = try WaitingChild(["key", "list", "s.coffer"], in: sandbox)
    let line = try #require(
      try waiting.fact("limits").split(separator: "\n").first { $0.hasPrefix("Max core file size") })
    #expect(line.split(separator: " ").suffix(3) == ["0", "0", "bytes"])
  }

  private static let asNobody = ["setpriv", "--reuid", "65534", "--clear-groups"]
  /// Whether every user can run the command in its build folder.
  private static let canBeNobody =
    system((asNobody + ["'\(Sandbox.dbtool)'", "--version", "> /dev/null 2>&1"]).joined(separator: " ")) == 0

  /// The /proc files of a process without dumps and tracing belong to root.
  @Test(
    .enabled(if: WaitingChild.isPossible && canBeNobody, "needs root, /proc, setpriv, and a build that others may run"))
  func preventsDumpsAndTracing() throws {
    let waiting = try WaitingChild(["--help"], in: try Sandbox(), under: Self.asNobody)
    var status = stat()
    try #require(stat("/proc/\(waiting.child.process)/status", &status) == 0)
    #expect(status.st_uid == 0)
  }

  @Test(.enabled(if: WaitingChild.isPossible, "needs root and /proc"))
  func keyFileSkipsPassphraseSlots() throws {
    let sandbox = try Sandbox()
    try sandbox.succeed("keygen", "real.key")
    try sandbox.write("other.txt", "other words")
    try sandbox.succeed(
      "create", "s.coffer", "--passphrase-file", "passphrase.txt", "--passphrase-file", "other.txt", "--key-file",
      "real.key")
    // A key derivation takes 128 MiB.
    #expect(try WaitingChild(["key", "list", "s.coffer", "--key-file", "real.key"], in: sandbox).peak() < 100_000)
    #expect(
      try WaitingChild(["key", "list", "s.coffer", "--passphrase-file", "passphrase.txt"], in: sandbox).peak() > 131_072
    )
  }

  // MARK: Invalid secrets

  private func expectInvalid(_ arguments: [String], _ message: String, status: Int32 = 1) throws {
    let sandbox = try Sandbox.withStore()
    let before = try sandbox.read("s.coffer")
    let text = try sandbox.text(of: "identity.key")
    try sandbox.write("broken.identity", text.replacing(/-1-./) { $0.output.hasSuffix("0") ? "-1-1" : "-1-0" })
    try sandbox.setMode("broken.identity", 0o600)
    let result = try sandbox.run(arguments)
    #expect(result.status == status, "\(arguments): \(result.errors)")
    #expect(result.diagnostics.contains(message), "\(arguments): \(result.errors)")
    #expect(result.output.isEmpty)
    #expect(try sandbox.read("s.coffer") == before)
  }

  @Test func reportsWrongIdentityChecksum() throws {
    let message = "broken.identity: the checksum of an identity does not fit: it was changed or mistyped"
    try expectInvalid(["ls", "s.coffer", "--key-file", "broken.identity"], message)
    try expectInvalid(["key", "add", "s.coffer", "--new-key-file", "broken.identity"], message)
    try expectInvalid(["keygen", "-y", "broken.identity"], message)
  }

  @Test func reportsRecipientGivenAsSecret() throws {
    let message = "recipient.txt holds a recipient, which is public and opens nothing"
    try expectInvalid(["ls", "s.coffer", "--key-file", "recipient.txt"], message)
    try expectInvalid(["key", "add", "s.coffer", "--new-key-file", "recipient.txt"], message)
    try expectInvalid(
      ["ls", "s.coffer", "--key-command", "cat recipient.txt"], "a recipient was delivered as a key")
  }

  @Test func reportsSigningKeyGivenAsSecret() throws {
    let message = "signing.key holds a signing key, which belongs to signatures and opens nothing"
    try expectInvalid(["ls", "s.coffer", "--key-file", "signing.key"], message)
    try expectInvalid(["key", "add", "s.coffer", "--new-key-file", "signing.key"], message)
    try expectInvalid(
      ["ls", "s.coffer", "--key-command", "cat publisher.txt"], "a publisher was delivered as a key")
  }

  @Test func reportsFileGivenAsRecipient() throws {
    let message = "--recipient takes the line, not a file: use --recipients-file"
    try expectInvalid(["key", "add", "s.coffer", "--recipient", "recipient.txt"], message, status: 64)
    try expectInvalid(["create", "t.coffer", "--recipient", "primary.key"], message, status: 64)
  }

  @Test func hidesSecretGivenAsRecipient() throws {
    let sandbox = try Sandbox.withStore()
    for name in ["primary.key", "identity.key"] {
      let line = try #require(try sandbox.text(of: name).split(separator: "\n").last.map(String.init))
      for arguments in [["key", "add", "s.coffer"], ["create", "t.coffer"]] {
        let result = try sandbox.run(arguments + ["--recipient", line])
        #expect(result.status == 64)
        #expect(result.errors.contains("an argument holds a key"))
        #expect(!result.errors.contains(line.suffix(72).prefix(6)))
      }
    }
    #expect(!sandbox.exists("t.coffer"))
  }

  @Test(arguments: [
    ("--key-file", "identity.key"), ("--passphrase-file", "passphrase.txt"), ("--key-file", "primary.key"),
  ])
  func reportsSecretsReadableByOthers(_ option: String, _ file: String) throws {
    let sandbox = try Sandbox()
    let recipient = try sandbox.succeed("keygen", "-y", "identity.key").text.dropLast()
    try sandbox.succeed(
      "create", "s.coffer", "--test", "--key-file", "primary.key", "--passphrase-file", "passphrase.txt", "--recipient",
      String(recipient))
    for mode in [0o640, 0o604, 0o644] {
      try sandbox.setMode(file, mode)
      let warned = try sandbox.succeed("collection", "list", "s.coffer", option, file)
      #expect(warned.errors.contains("dbtool: warning: \(file) can be read by others"))
    }
    try sandbox.setMode(file, 0o400)
    #expect(try sandbox.succeed("collection", "list", "s.coffer", option, file).diagnostics.isEmpty)
  }

  // MARK: Messages

  @Test func removingSlotWarnsAboutRevocation() throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.succeed("put", "s.coffer", "--text", "x")
    try sandbox.succeed("key", "add", "s.coffer", "--new-key-file", "next.key")
    for arguments in [["key", "list", "s.coffer"], ["info", "s.coffer"]] {
      #expect(try sandbox.run(arguments).diagnostics.isEmpty, "\(arguments)")
    }
    let removed = try sandbox.run("key", "remove", "s.coffer", "2")
    #expect(removed.diagnostics.contains("removing a slot is not revocation"))
    try sandbox.succeed("rekey", "s.coffer", "--keys-only")
    try sandbox.succeed("put", "s.coffer", "--text", "under the new key")
    #expect(try sandbox.run("info", "s.coffer").diagnostics.contains("rekey --resume"))
    let status = try sandbox.run("rekey", "s.coffer", "--status")
    #expect(status.status == 23 && status.diagnostics.contains("rekey --resume"))
  }
}
