import Foundation
import Testing

/// A verb that runs while another process changes the root key, and so has to open the store again.
@Suite struct KeyChangeTests {
  /// Creates a store with document 1, and an editor that rekeys the store, and then changes the text.
  private func sandbox() throws -> Sandbox {
    let sandbox = try Sandbox.withStore()
    try sandbox.succeed("put", "s.coffer", "--text", "first")
    try sandbox.succeed("key", "add", "s.coffer", "--new-passphrase-file", "passphrase.txt")
    sandbox.environment["DBTOOL_KEY_FILE"] = nil
    sandbox.environment["EDITOR"] =
      "f() { '\(Sandbox.dbtool)' rekey s.coffer -k primary.key --passphrase-file passphrase.txt --quiet > rekey.txt 2>&1"
      + " < /dev/null && printf second > \"$1\"; }; f"
    return sandbox
  }

  /// Runs `dbtool` with these words in a shell.
  private func run(_ words: String, in sandbox: Sandbox) throws -> Sandbox.Outcome {
    try sandbox.run(
      ["dbtool \(words)"], under: ["bash", "-c", "dbtool() { \"$0\" \"$@\"; }; eval \"$1\""])
  }

  private func text(_ sandbox: Sandbox) throws -> String {
    try sandbox.succeed("show", "s.coffer", "1", "-k", "primary.key").text
  }

  @Test(arguments: [
    "--key-file primary.key", "--passphrase-file passphrase.txt", "--key-file /dev/fd/9 9< primary.key",
    "--passphrase-file /dev/fd/9 9< passphrase.txt",
  ])
  func readsFileAgain(_ words: String) throws {
    let sandbox = try sandbox()
    let result = try run("edit s.coffer 1 \(words)", in: sandbox)
    #expect(result.status == 0, "\(result.errors) \((try? sandbox.text(of: "rekey.txt")) ?? "")")
    #expect(try text(sandbox) == "second")
  }

  /// The secret was erased when the store was open, or its pipe is empty.
  @Test(arguments: [
    "--key-command 'cat passphrase.txt'", "--key-command 'cat primary.key'", "--key-file <(cat primary.key)",
    "--passphrase-file <(cat passphrase.txt)",
  ])
  func endsWithoutErasedSecret(_ words: String) throws {
    let sandbox = try sandbox()
    let result = try run("edit s.coffer 1 \(words)", in: sandbox)
    #expect(result.status == 12, "\(result.errors)")
    #expect(result.diagnostics.contains("another process changed the store's root key"), "\(result.errors)")
    #expect(try text(sandbox) == "first")
    // The hint stores the text, with the same secret.
    let hint = try #require(result.diagnostics.firstMatch(of: /dbtool put --store s.coffer --id 1 (\S+); then/))
    let stored = try run("put s.coffer --id 1 \(hint.1) \(words)", in: sandbox)
    #expect(stored.status == 0, "\(stored.errors)")
    #expect(try text(sandbox) == "second")
    try FileManager.default.removeItem(at: URL(filePath: String(hint.1)).deletingLastPathComponent())
  }
}
