import Foundation
import Testing

/// Tests the shell completion scripts.
@Suite struct CompletionTests {
  /// Returns bash's completions for the last of `words`.
  private func offered(_ words: [String], in sandbox: Sandbox) throws -> [String] {
    let script = """
      . ./completion.bash
      COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE="$*"; COMP_POINT=${#COMP_LINE}
      _dbtool "$1" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
      printf '%s\\n' "${COMPREPLY[@]}"
      """
    let process = Process()
    process.executableURL = URL(filePath: "/bin/bash")
    process.arguments = ["-c", script, "bash", Sandbox.dbtool] + words
    process.currentDirectoryURL = sandbox.directory
    process.environment = sandbox.environment
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    return text.split(separator: "\n").map(String.init)
  }

  @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: "/bin/bash"), "bash isn't installed"))
  func completesFilesVerbsAndOptionsInBash() throws {
    let sandbox = try Sandbox.withStore("--titles", "clear")
    try sandbox.succeed("put", "s.coffer", "--title", "t", "--text", "x")
    // Completion must not run a key command or open a store with a key.
    sandbox.environment["DBTOOL_KEY_COMMAND"] = "touch ran"
    sandbox.environment["DBTOOL_KEY_FILE"] = nil
    try sandbox.write(
      "completion.bash", try sandbox.succeed("--generate-completion-script", "bash").text)
    func offered(_ words: String...) throws -> [String] {
      try self.offered(words, in: sandbox)
    }
    #expect(try offered("ls", "s.c") == ["s.coffer"])
    #expect(try offered("import", "s.coffer", "recip") == ["recipient.txt"])
    #expect(try offered("ls", "--key-file", "prim") == ["primary.key"])
    #expect(try offered("key", "add", "s.coffer", "--new-key-file", "ne") == ["next.key"])
    #expect(try offered("export", "s.coffer", "-o", "pass") == ["passphrase.txt"])
    #expect(try offered("verify", "s.coffer", "--anchor", "pass") == ["passphrase.txt"])
    #expect(try offered("sea") == ["search"])
    #expect(try offered("key", "li") == ["list"])
    #expect(try offered("ls", "s.coffer", "--keyl") == ["--keyless"])
    #expect(try offered("ls", "s.coffer", "--keyless", "-c", "") == ["#1"])
    #expect(try offered("ls", "s.coffer", "--key-command", "touch ran", "-c", "") == [])
    #expect(!sandbox.exists("ran"))
  }

  @Test func completesFilesInZshAndFish() throws {
    let sandbox = try Sandbox()
    let zsh = try sandbox.succeed("--generate-completion-script", "zsh").text
    #expect(zsh.contains("':store:_files'"))
    #expect(zsh.contains("{-k,--key-file}'[The key file or identity file; or set DBTOOL_KEY_FILE.]:file:_files'"))
    let fish = try sandbox.succeed("--generate-completion-script", "fish").text
    let keyFile = "\"dbtool ls\"' -s 'k' -l 'key-file' -d 'The key file or identity file; or set DBTOOL_KEY_FILE.' -rF"
    #expect(fish.contains(keyFile))
  }
}
