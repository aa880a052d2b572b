import CofferTestSupport
import Testing

@Suite struct ErrorTests {
  @Test func usageErrorsShowCauseAndHelp() throws {
    let result = try Sandbox().run("ls", "s.coffer", "--bogus")
    #expect(result.status == 64)
    #expect(result.output.isEmpty)
    #expect(result.errors == "dbtool: error: unknown option '--bogus'\nhint: see 'dbtool ls --help'\n")
  }

  /// A word behind an unknown option isn't reported in its place.
  @Test func reportsUnknownOptionBeforeItsWord() throws {
    let sandbox = try Sandbox()
    let result = try sandbox.run("put", "s.coffer", "--key", "a", "--text", "x")
    #expect(
      result.errors.hasPrefix(
        "dbtool: error: unknown option '--key'; did you mean --key-command or --key-file or --key-name?\n"),
      "\(result.errors)")
    #expect(try sandbox.run("rm", "s.coffer", "--titel", "a", "1").errors.contains("did you mean --title?"))
    #expect(try sandbox.run("ls", "s.coffer", "--label=x", "y", "z").errors.contains("unknown option '--label'\n"))
    for words in [
      ["put", "s.coffer", "-q", "--key", "a", "--text", "x"], ["put", "s.coffer", "--text=x", "--key", "a"],
      ["put", "s.coffer", "--json", "--key", "a", "--text", "x"], ["put", "s.coffer", "-c", "n", "--key", "a", "b"],
    ] {
      #expect(try sandbox.run(words).errors.contains("unknown option '--key'"), "\(words)")
    }
    #expect(try sandbox.run("put", "s.coffer", "-z", "f", "--text", "x").errors.contains("unknown option '-z'"))
    // Values can begin with dashes.
    #expect(try !sandbox.run("search", "s.coffer", "-e", "--key", "x", "y", "z").errors.contains("unknown option"))
  }

  @Test func hintIncludesSubcommand() throws {
    let result = try Sandbox().run("key", "list", "--bogus")
    #expect(result.errors.hasSuffix("hint: see 'dbtool key list --help'\n"))
  }

  @Test func printsJSONErrorOnLastLine() throws {
    let result = try Sandbox().run("info", "none.coffer", "--json")
    #expect(result.status == 10)
    #expect(result.output.isEmpty)
    let last = result.errors.split(separator: "\n").last
    #expect(last?.hasPrefix(#"{"error":{"code":10,"kind":"no-such-file","message":""#) == true)
  }

  @Test func printsUsageErrorsAsJSON() throws {
    let result = try Sandbox().run("ls", "--json")
    let last = try #require(result.errors.split(separator: "\n").last)
    #expect(last.hasPrefix(#"{"error":{"code":64,"kind":"usage","message":""#))
  }

  @Test func hidesMisplacedPassphrase() throws {
    for arguments in [["--passphrase", "hunter2"], ["--passphrase=hunter2"]] {
      let result = try Sandbox().run(["ls", "s.coffer"] + arguments)
      #expect(result.status == 64)
      #expect(!result.errors.contains("hunter2"))
    }
  }

  @Test func hidesKeyGivenAsPath() throws {
    let sandbox = try Sandbox()
    let key = try sandbox.text(of: "primary.key").split(separator: "\n").last.map(String.init) ?? ""
    let result = try sandbox.run("ls", "s.coffer", "--key-file", key)
    #expect(result.status == 64)
    #expect(!result.errors.contains(key.dropFirst(20)))
  }

  @Test(
    .slow,
    arguments: [
      ["import", "s.coffer", "x", "--encoding", "foo"], ["import", "s.coffer", "x", "--from", "foo"],
      ["convert", "x", "--to", "auto"], ["create", "s.coffer", "--titles", "foo"], ["ls", "-cl"], ["ls"], ["nonsense"],
      ["ls", "s.coffer", "--wait", "a\nb"], ["--generate-completion-script=foo"],
    ])
  func usageErrorHasOneLineAndHint(arguments: [String]) throws {
    let result = try Sandbox().run(arguments)
    #expect(result.status == 64)
    let lines = result.errors.split(separator: "\n", omittingEmptySubsequences: false)
    #expect(lines.count == 3 && lines[2].isEmpty, "\(result.errors)")
    #expect(lines[0].hasPrefix("dbtool: error: "))
    #expect(lines[1].hasPrefix("hint: "))
  }

  @Test func hintListsOptionValues() throws {
    let result = try Sandbox().run("import", "s.coffer", "x", "--from", "foo")
    #expect(
      result.errors == """
        dbtool: error: the value 'foo' is invalid for '--from <format>'
        hint: choose auto, text, lines, csv, tsv, json, ndjson, plist, keyed-archive or sqlite

        """)
  }

  @Test func escapesLineEndInName() throws {
    let result = try Sandbox().run("info", "a\ndbtool: error: b\u{1B}")
    #expect(result.status == 10)
    #expect(result.errors.contains("error: a\\ndbtool: error: b\\u{1B}: no such file\n"))
    #expect(result.errors.split(separator: "\n").count == 2)
  }

  @Test(.slow) func hidesMisplacedKey() throws {
    let digits = String(repeating: "5e", count: 36)
    for kind in ["key", "identity", "test-key", "test-identity"] {
      let key = "coffer-\(kind)-1-\(digits)"
      for arguments in [["ls", key], ["ls", "s.coffer", key], ["keygen", "-y", key], ["ls", "--\(key)"]] {
        let result = try Sandbox().run(arguments + ["--json"])
        #expect(result.status != 0)
        #expect(!result.errors.contains("5e5e"), "\(result.errors)")
      }
    }
  }

  @Test(
    .slow,
    arguments: [
      ["put", "s.coffer", "--title", "my", "private", "title"],
      ["put", "s.coffer", "--title=my", "private", "title", "of", "mine"],
      ["ls", "s.coffer", "--key-command", "echo", "private"],
      ["key", "add", "s.coffer", "--new-provider", "vault=ask", "private", "--label", "a", "b"],
    ])
  func hidesWordsOfUnquotedValue(arguments: [String]) throws {
    let result = try Sandbox().run(arguments)
    #expect(result.status == 64)
    #expect(!result.errors.contains("private") && !result.errors.contains("mine"), "\(result.errors)")
    #expect(result.errors.contains("quotes"))
  }

  // MARK: Misplaced words

  @Test(arguments: [
    ("lst s.coffer", "lst; did you mean ls?"), ("cat s.coffer 1", "cat; did you mean show?"),
    ("get s.coffer 1", "get; did you mean show?"), ("list s.coffer", "list; did you mean ls?"),
    ("delete s.coffer 1", "delete; did you mean rm?"),
    ("key rm s.coffer 2", "key rm; did you mean key remove?"),
    ("key lst s.coffer", "key lst; did you mean key list?"), ("serch s.coffer x", "serch; did you mean search?"),
    ("--quiet lst s.coffer", "lst; did you mean ls?"),
  ])
  func suggestsVerbForMisspelling(_ line: String, _ end: String) throws {
    let result = try Sandbox().run(line.split(separator: " ").map(String.init))
    #expect(result.status == 64)
    #expect(result.errors.hasPrefix("dbtool: error: there is no verb \(end)\nhint: "), "\(result.errors)")
  }

  /// An unknown word can be a misplaced key.
  @Test(arguments: [
    "hunter2 s.coffer", "hunter2", "hunter2 --key-file x", "key hunter2 s.coffer", "--quiet hunter2 ls s.coffer",
    "ls s.coffer hunter2", "ls s.coffer x hunter2", "collections s.coffer hunter2",
    "--passphrase hunter2 ls s.coffer", "--passphrase=hunter2 ls s.coffer",
  ])
  func hidesUnknownWord(_ line: String) throws {
    let result = try Sandbox().run(line.split(separator: " ").map(String.init))
    #expect(result.status == 64)
    #expect(!result.errors.contains("hunter2") && result.errors.contains("hint: "), "\(result.errors)")
  }

  // MARK: Message texts

  @Test func reportsWrongKeyByName() throws {
    let sandbox = try Sandbox.withStore()
    let wrong = try sandbox.run("ls", "s.coffer", "--key-file", "wrong.key")
    #expect(wrong.status == 12)
    #expect(wrong.errors.hasPrefix("dbtool: error: the key from wrong.key opens no slot of s.coffer\nhint: "))
    let two = try sandbox.run("ls", "s.coffer", "--key-file", "wrong.key", "--passphrase-file", "passphrase.txt")
    #expect(two.errors.contains("no slot of s.coffer opens with the key from wrong.key or the passphrase in pass"))
  }

  @Test func rejectsNegativeLimits() throws {
    let sandbox = try Sandbox()
    let result = try sandbox.run("ls", "s.coffer", "-n", "-1")
    #expect(result.status == 64)
    #expect(result.errors.hasPrefix("dbtool: error: -n takes a number from 0\n"), "\(result.errors)")
  }

  @Test func acceptsOptionsBeforeVerb() throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.succeed("put", "s.coffer", "--text", "x")
    #expect(try sandbox.succeed("--quiet", "--format", "ndjson", "ls", "s.coffer").text.hasPrefix(#"{"collection""#))
    #expect(try sandbox.run("--key-file", "wrong.key", "--json", "key", "list", "s.coffer").status == 12)
    // A file named like a verb isn't a verb.
    try sandbox.write("rm", bytes: try sandbox.read("primary.key"))
    try sandbox.setMode("rm", 0o600)
    #expect(try sandbox.succeed("--key-file", "rm", "show", "s.coffer", "1").text == "x")
    // A verb's own options belong after the verb.
    #expect(try sandbox.run("--title", "rm", "put", "s.coffer", "--text", "y").status == 64)
    #expect(try sandbox.succeed("ls", "s.coffer").lines.count == 1)
  }

  @Test(.enabled(if: NoMemory.isPossible, "a process can't get a file system of its own"))
  func reportsReadOnlyFileSystem() throws {
    let sandbox = try Sandbox.withStore()
    let readOnly = "mount --bind \"$PWD\" \"$PWD\" && mount -o remount,ro,bind \"$PWD\" && cd \"$PWD\" && exec \"$@\""
    for arguments in [["put", "s.coffer", "--text", "x"], ["compact", "s.coffer"], ["rekey", "s.coffer"]] {
      let result = try sandbox.run(arguments, under: ["unshare", "-m", "sh", "-c", readOnly, "sh"])
      #expect(result.status == 1)
      #expect(result.diagnostics.contains("s.coffer: its file system is read-only\nhint: "), "\(result.diagnostics)")
    }
  }

  /// Swift reads the command line from /proc.
  @Test(.enabled(if: NoMemory.isPossible, "needs root, to hide /proc in a mount namespace"))
  func everyVerbReportsMissingProc() throws {
    let sandbox = try Sandbox.withStore()
    let hidden = "mount -t tmpfs none /proc && exec \"$@\""
    for arguments in [["ls", "s.coffer"], ["put", "s.coffer", "--text", "x"], ["--version"], ["ls", "--help"], []] {
      let result = try sandbox.run(arguments, under: ["unshare", "-m", "sh", "-c", hidden, "sh"])
      #expect(result.status == 1)
      #expect(result.output.isEmpty)
      #expect(
        result.errors == """
          dbtool: error: the command line can't be read, because /proc is not mounted
          hint: mount it (mount -t proc proc /proc), and try again

          """)
    }
    #expect(try sandbox.succeed("ls", "s.coffer").lines.isEmpty)
  }

  @Test func reportsForeignTable() throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.python("import sqlite3; sqlite3.connect('s.coffer').execute('CREATE TABLE notes_of_mine(a)')")
    let result = try sandbox.run("ls", "s.coffer")
    #expect(result.status == 20)
    #expect(result.diagnostics.contains("an unknown table notes_of_mine"), "\(result.diagnostics)")
  }

  @Test func usesSingularForOne() throws {
    let sandbox = try Sandbox.withStore()
    let row = try sandbox.run("import", "s.coffer", "-", "--from", "csv", input: "a,b\n1\n")
    #expect(row.errors.contains("1 field in a row, where the first has 2"), "\(row.errors)")
    let id = try sandbox.succeed("put", "s.coffer", "--text", "x").lines[0]
    #expect(try sandbox.run("mv", "s.coffer", id, "--to", "9").errors.contains("the collection has 1 document\n"))
  }
}
