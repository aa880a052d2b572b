import CofferTestSupport
import Foundation
import Testing

/// Tests which descriptors the commands that dbtool runs can read.
@Suite struct KeyDescriptorTests {
  /// Creates a store with document 1, and an editor that lists what its descriptors refer to.
  private func sandbox() throws -> Sandbox {
    let sandbox = try Sandbox.withStore()
    try sandbox.succeed("put", "s.coffer", "--text", "Sail at dawn.")
    sandbox.environment["DBTOOL_KEY_FILE"] = nil
    try sandbox.write("notes.txt", "notes")
    sandbox.environment["EDITOR"] = "f() { ls -l /proc/$$/fd > seen; cat > input; }; f"
    return sandbox
  }

  /// Runs a shell command in which `dbtool` is the tested command, and returns the editor's descriptors.
  private func descriptors(_ command: String, in sandbox: Sandbox) throws -> String {
    let run = try sandbox.run([command], under: ["bash", "-c", "dbtool() { \"$0\" \"$@\"; }; eval \"$1\""])
    #expect(run.status == 0, "\(run.errors)")
    return try sandbox.text(of: "seen")
  }

  @Test(arguments: [
    "--key-file /dev/fd/9 9< primary.key", "--key-file primary.key 9< primary.key",
    "--key-file /proc/self/fd/9 9< primary.key", "--key-file link 9< primary.key",
    "--key-command 'cat primary.key'",
  ])
  func editorInheritsNoKey(_ words: String) throws {
    let sandbox = try sandbox()
    try FileManager.default.createSymbolicLink(
      atPath: sandbox.path("link"), withDestinationPath: "/dev/fd/9")
    let seen = try descriptors("dbtool edit s.coffer 1 \(words) 7< notes.txt", in: sandbox)
    #expect(!seen.contains("primary.key") && seen.contains("notes.txt"), "\(seen)")
  }

  @Test(arguments: ["--key-file", "--passphrase-file"])
  func editorInheritsNoKeyOfPipe(_ option: String) throws {
    let sandbox = try sandbox()
    try sandbox.succeed("key", "add", "s.coffer", "--new-passphrase-file", "passphrase.txt", "-k", "primary.key")
    let file = option == "--key-file" ? "primary.key" : "passphrase.txt"
    let seen = try descriptors("dbtool edit s.coffer 1 \(option) <(cat \(file)) 7< notes.txt", in: sandbox)
    // The pipe of the folder's guard is shared with the editor.
    #expect(seen.matches(of: /-> pipe:/).count <= 1 && seen.contains("notes.txt"), "\(seen)")
    #expect(!seen.contains(" 63 -> "), "\(seen)")
  }

  @Test func editorReadsNoKeyFromStandardInput() throws {
    let sandbox = try sandbox()
    let seen = try descriptors("dbtool edit s.coffer 1 --key-file /dev/stdin < primary.key", in: sandbox)
    #expect(!seen.contains("primary.key") && seen.contains("0 -> /dev/null"), "\(seen)")
    #expect(try sandbox.text(of: "input").isEmpty)
  }

  /// A command may read the descriptors that the user passes to it.
  @Test func keyCommandInheritsOtherDescriptorsOnly() throws {
    let sandbox = try sandbox()
    let command = "--key-command 'ls -l /proc/$$/fd > seen; cat <&7'"
    let seen = try descriptors(
      "dbtool ls s.coffer --key-file /dev/fd/9 \(command) 9< wrong.key 7< primary.key", in: sandbox)
    #expect(!seen.contains("wrong.key") && seen.contains("primary.key"), "\(seen)")
  }

  @Test(arguments: [
    ("rekey s.coffer --new-key-file", "next.key"), ("key add s.coffer --new-key-file", "next.key"),
    ("key add s.coffer --new-passphrase-file", "passphrase.txt"), ("key passwd s.coffer --new-key-file", "next.key"),
    ("copy s.coffer n.coffer --new-key-file", "next.key"), ("release make s.coffer --signing", "signing.key"),
    ("release publish s.coffer public --customers customers.txt --signing", "signing.key"),
  ])
  func keyCommandInheritsNoNewKeyOrSigningKey(_ words: String, file: String) throws {
    let sandbox = try sandbox()
    try sandbox.succeed("release", "make", "s.coffer", "--signing", "signing.key", "-k", "primary.key")
    let recipient = try sandbox.succeed("keygen", "-y", "identity.key").text
    try sandbox.write("customers.txt", "anna \(recipient)")
    let command = "--key-command 'ls -l /proc/$$/fd > seen; cat primary.key'"
    let seen = try descriptors("dbtool \(words) /dev/fd/9 \(command) 9< \(file) 7< notes.txt", in: sandbox)
    #expect(!seen.contains(file) && seen.contains("notes.txt"), "\(seen)")
  }

  @Test(arguments: [["--key-command", "cat primary.key"], ["--passphrase-file", "/dev/stdin"]])
  func rekeyReadsAnswerOnce(_ options: [String]) throws {
    let sandbox = try Sandbox()
    let words = try sandbox.text(of: "passphrase.txt")
    try sandbox.succeed(
      "create", "s.coffer", "--test", "--key-file", "primary.key", "--passphrase-file", "passphrase.txt")
    try sandbox.succeed(["rekey", "s.coffer", "--drop-slots"] + options, input: words)
  }
}
