import CofferPlatform
import Foundation
import Testing

/// Tests every way to provide a key, and commands without a key.
@Suite struct KeyOptionTests {
  @Test func readsEnvironmentVariablesInOrder() throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.succeed("collection", "list", "s.coffer")
    // A wrong key in one variable doesn't make the command try the next variable.
    sandbox.environment["DBTOOL_KEY_FILE"] = "wrong.key"
    sandbox.environment["DBTOOL_KEY_COMMAND"] = "cat primary.key"
    #expect(try sandbox.run("collection", "list", "s.coffer").status == 12)
    sandbox.environment["DBTOOL_KEY_FILE"] = nil
    try sandbox.succeed("collection", "list", "s.coffer")
  }

  @Test func optionOverridesVariables() throws {
    let sandbox = try Sandbox.withStore()
    #expect(try sandbox.run("collection", "list", "s.coffer", "--key-file", "wrong.key").status == 12)
  }

  @Test func triesKeysInOrder() throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.succeed("collection", "list", "s.coffer", "--key-file", "wrong.key", "--key-file", "primary.key")
  }

  @Test func wrongKeyLeavesTheStoreUnchanged() throws {
    let sandbox = try Sandbox.withStore()
    let before = try sandbox.read("s.coffer")
    let result = try sandbox.run("put", "s.coffer", "--text", "x", "--key-file", "wrong.key")
    #expect(result.status == 12)
    #expect(result.output.isEmpty)
    #expect(result.errors.hasPrefix("dbtool: error: "))
    #expect(try sandbox.read("s.coffer") == before)
  }

  @Test func missingKeyWithoutTerminalExitsWith13() throws {
    let sandbox = try Sandbox.withStore()
    let result = try sandbox.run(["collection", "list", "s.coffer"], without: ["DBTOOL_KEY_FILE"])
    #expect(result.status == 13)
    #expect(result.output.isEmpty)
    #expect(result.errors.hasPrefix("dbtool: error: a key is needed, and there is no terminal to ask on\nhint: give "))
    let hint = try #require(result.errors.split(separator: "\n").last)
    for name in ["--key-file", "--passphrase-file", "--key-command"] {
      #expect(hint.contains("\(name),") || hint.contains("\(name);"))
    }
    for name in ["DBTOOL_KEY_FILE", "DBTOOL_PASSPHRASE_FILE", "DBTOOL_KEY_COMMAND"] {
      #expect(hint.contains(name))
    }
  }

  @Test func reportsMissingStoreBeforeAskingForKey() throws {
    let result = try Sandbox().run("ls", "none.coffer")
    #expect(result.status == 10)
  }

  @Test func reportsMissingKeyFile() throws {
    let sandbox = try Sandbox.withStore()
    let result = try sandbox.run("ls", "s.coffer", "--key-file", "none.key")
    #expect(result.status == 1)
    #expect(result.errors == "dbtool: error: the key file none.key: no such file or directory\n")
    let folder = try sandbox.run("ls", "s.coffer", "--key-file", ".")
    #expect(folder.status == 1 && folder.errors.contains("the key file . is a folder"))
  }

  @Test func rejectsDashAsKeyFile() throws {
    let sandbox = try Sandbox.withStore()
    let key = try sandbox.text(of: "primary.key")
    for (words, kind) in [
      (["ls", "s.coffer", "-k", "-"], "key file"), (["ls", "s.coffer", "--passphrase-file", "-"], "passphrase file"),
      (["key", "add", "s.coffer", "--new-key-file", "-"], "key file"), (["keygen", "-y", "-"], "key file"),
      (["release", "make", "s.coffer", "--signing", "-"], "key file"),
    ] {
      let refused = try sandbox.run(words, input: Array(key.utf8))
      #expect(refused.status == 64, "\(words)")
      #expect(refused.errors.contains("error: '-' is no \(kind)\nhint: /dev/stdin reads it"), "\(refused.errors)")
    }
    sandbox.environment["DBTOOL_KEY_FILE"] = "-"
    #expect(try sandbox.run("ls", "s.coffer", input: key).status == 64)
    sandbox.environment["DBTOOL_KEY_FILE"] = "/dev/stdin"
    #expect(try sandbox.run("ls", "s.coffer", input: key).status == 0)
    let identity = try sandbox.text(of: "identity.key")
    #expect(try sandbox.run("keygen", "-y", "/dev/stdin", input: identity).status == 0)
  }

  @Test func readsKeyFileOrPassphraseFromCommand() throws {
    let sandbox = try Sandbox()
    try sandbox.succeed(
      "create", "s.coffer", "--test", "--key-file", "primary.key", "--passphrase-file", "passphrase.txt")
    try sandbox.succeed("collection", "list", "s.coffer", "--key-command", "cat primary.key")
    try sandbox.succeed("collection", "list", "s.coffer", "--key-command", "cat passphrase.txt")
  }

  @Test func reportsFailedKeyCommandByOption() throws {
    let sandbox = try Sandbox.withStore()
    let result = try sandbox.run("ls", "s.coffer", "--key-command", "echo s3cret >/dev/null; exit 3")
    #expect(result.status == 1)
    #expect(result.diagnostics.contains("--key-command ended with 3"))
    #expect(!result.errors.contains("s3cret"))
  }

  @Test func readsKeyFromDescriptor() throws {
    let sandbox = try Sandbox.withStore()
    let key = try sandbox.read("primary.key")
    #expect(try sandbox.run(["collection", "list", "s.coffer", "-k", "/dev/fd/0"], input: key).status == 0)
    #expect(try sandbox.run("ls", "s.coffer", "-k", "/dev/fd/77").status == 1)
  }

  /// Keys are tried in the order of the command line, by their letters, too.
  @Test func acceptsShortOptions() throws {
    let sandbox = try Sandbox.withStore()
    sandbox.environment["DBTOOL_KEY_FILE"] = nil
    try sandbox.succeed("put", "s.coffer", "--text", "x", "-qk", "primary.key")
    #expect(try sandbox.succeed("ls", "s.coffer", "-tqk", "primary.key").text.hasPrefix("ID"))
    let refused = try sandbox.run("ls", "s.coffer", "-k", "wrong.key", "--passphrase-file", "passphrase.txt")
    #expect(refused.errors.contains("the key from wrong.key or the passphrase in passphrase.txt"))
    let recipient = String(try sandbox.succeed("keygen", "-y", "identity.key").text.dropLast())
    try sandbox.write("them.txt", recipient + "\n")
    try sandbox.succeed("create", "a.coffer", "--test", "-r", recipient)
    try sandbox.succeed("create", "b.coffer", "--test", "-R", "them.txt")
    for name in ["a.coffer", "b.coffer"] { try sandbox.succeed("ls", name, "-k", "identity.key") }
    #expect(try sandbox.succeed("rm", "s.coffer", "1", "-nk", "primary.key").lines.count == 1)
    #expect(try sandbox.succeed("ls", "s.coffer", "-rn", "5", "-k", "primary.key").lines.count == 1)
    #expect(try sandbox.succeed("search", "s.coffer", "-Em", "1", "^x$", "-k", "primary.key").lines.count == 1)
    try sandbox.succeed("rm", "s.coffer", "1-9", "-fk", "primary.key")
  }

  @Test func commandGetsVariablesByteForByte() throws {
    let sandbox = try Sandbox.withStore()
    let setting = #"V=$(printf 'p\351w') && export V && exec "$@""#
    let command = #"test "$(printf %s "$V" | od -An -tx1)" = ' 70 e9 77' && cat primary.key"#
    let result = try sandbox.run(["ls", "s.coffer", "--key-command", command], under: ["sh", "-c", setting, "sh"])
    #expect(result.status == 0, "\(result.errors)")
  }

  @Test func providerUnwrapsSlot() throws {
    let sandbox = try Sandbox()
    let command = "test=$(sha256sum | cut -c1-64); echo $test"
    try sandbox.succeed("create", "s.coffer", "--test", "--provider", "vault=\(command)")
    try sandbox.succeed("collection", "list", "s.coffer", "--provider", "vault=\(command)")
    let other = try sandbox.run("collection", "list", "s.coffer", "--provider", "vault=printf %064d 0")
    #expect(other.status == 12)
    let malformed = try sandbox.run("collection", "list", "s.coffer", "--provider", "vault=echo no")
    #expect(malformed.status == 1)
    #expect(malformed.errors.contains("64 hex digits"))
  }

  @Test func reportsKeyFileReadableByOthers() throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.setMode("primary.key", 0o644)
    let warned = try sandbox.run("collection", "list", "s.coffer")
    #expect(warned.status == 0)
    #expect(warned.errors.contains("dbtool: warning: primary.key can be read by others"))
  }

  @Test func rejectsStoreWithOtherPin() throws {
    let sandbox = try Sandbox.withStore()
    let wrong = "coffer-pin-3-" + String(repeating: "1", count: 128)
    for arguments in [["ls", "s.coffer"], ["info", "s.coffer"], ["verify", "--keyless", "s.coffer"]] {
      #expect(try sandbox.run(arguments + ["--pin", wrong]).status == 21)
    }
    #expect(try sandbox.run("ls", "s.coffer", "--pin", "me").status == 64)
  }

  @Test func opensStoreWithMatchingPin() throws {
    let sandbox = try Sandbox.withStore()
    let line = try sandbox.succeed("info", "s.coffer").lines.first { $0.hasPrefix("pin ") }
    let pin = try #require(line?.split(separator: " ").last)
    try sandbox.succeed("collection", "list", "s.coffer", "--pin", String(pin))
  }
}
