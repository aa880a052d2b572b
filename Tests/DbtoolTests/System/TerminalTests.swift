import CofferPlatform
import CofferTestSupport
import Testing

/// Tests prompts without echo, tables and escaped control characters on a terminal.
@Suite struct TerminalTests {
  @Test func asksTwiceForNewPassphraseWithoutEcho() throws {
    let sandbox = try Sandbox()
    let terminal = try PseudoTerminal()
    let child = try Child(
      ["create", "s.coffer", "--test", "--passphrase"], in: sandbox, streams: .terminal(terminal.path))
    #expect(terminal.waitFor("New passphrase for s.coffer: "))
    terminal.type("blue whale 7")
    #expect(terminal.waitFor("The same again: "))
    terminal.type("blue whale 7")
    terminal.readToEnd()
    #expect(child.wait() == 0, "\(terminal.shown)")
    #expect(!terminal.shown.contains("whale"))
    #expect(terminal.shown.contains("coffer-pin-3-"))

    try sandbox.write("p.txt", "blue whale 7\n")
    try sandbox.setMode("p.txt", 0o600)
    try sandbox.succeed("collection", "list", "s.coffer", "--passphrase-file", "p.txt")
  }

  @Test func showsLocalTimeOnTerminalOnly() throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.write(
      "in.ndjson", #"{"text":"x","created":"2026-07-01T22:30:05.123Z","modified":"2026-07-01T22:30:05.123Z"}"# + "\n")
    try sandbox.succeed("import", "s.coffer", "in.ndjson")
    sandbox.environment["TZ"] = "XXX-05:30"
    func shown(_ words: String...) throws -> String {
      let terminal = try PseudoTerminal()
      let child = try Child(["ls", "s.coffer"] + words, in: sandbox, streams: .terminal(terminal.path))
      terminal.readToEnd()
      #expect(child.wait() == 0)
      return terminal.shown
    }
    #expect(try shown().contains("2026-07-02 04:00:05"))
    #expect(try shown("--format", "csv").contains("2026-07-01T22:30:05.123Z"))
    for format in ["table", "csv", "json"] {
      #expect(try sandbox.succeed("ls", "s.coffer", "--format", format).text.contains("2026-07-01T22:30:05.123Z"))
    }
  }

  /// Bytes that a terminal can't show are written to a file, as the hint says.
  @Test(arguments: [
    ["export", "s.coffer", "--to", "plist"], ["export", "s.coffer", "--encoding", "utf-16le", "--to", "csv"],
    ["convert", "in.txt", "--to", "utf-16"],
  ])
  func writesUnprintableOutputToFile(_ command: [String]) throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.succeed("put", "s.coffer", "--text", "x")
    try sandbox.write("in.txt", "text\n")
    let terminal = try PseudoTerminal()
    let child = try Child(command, in: sandbox, streams: .terminal(terminal.path))
    terminal.readToEnd()
    #expect(child.wait() == 64 && terminal.shown.contains("hint: write it to a file with -o"), "\(terminal.shown)")
    try sandbox.succeed(command + ["-o", "out"])
    #expect(try !sandbox.read("out").isEmpty)
  }

  @Test(arguments: [
    ["show", "s.coffer", "1", "--attachment", "a.png"], ["attachment", "get", "s.coffer", "1", "a.png"],
  ])
  func writesUnprintableAttachmentToFile(_ command: [String]) throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.write("a.png", bytes: [0, 1, 2])
    try sandbox.succeed("put", "s.coffer", "--text", "x", "--attach", "a.png")
    let terminal = try PseudoTerminal()
    let child = try Child(command, in: sandbox, streams: .terminal(terminal.path))
    terminal.readToEnd()
    #expect(child.wait() == 64, "\(terminal.shown)")
    #expect(terminal.shown.contains("hint: 'attachment get -o FILE' writes it"), "\(terminal.shown)")
    try sandbox.succeed("attachment", "get", "s.coffer", "1", "a.png", "-o", "out.png")
    #expect(try sandbox.read("out.png") == [0, 1, 2])
  }

  @Test func rejectsDifferentPassphrases() throws {
    let sandbox = try Sandbox()
    let terminal = try PseudoTerminal()
    let child = try Child(["create", "s.coffer", "--test"], in: sandbox, streams: .terminal(terminal.path))
    #expect(terminal.waitFor("New passphrase"))
    terminal.type("one")
    #expect(terminal.waitFor("again"))
    terminal.type("two")
    terminal.readToEnd()
    #expect(child.wait() == 1)
    #expect(terminal.shown.contains("differ"))
    #expect(!sandbox.exists("s.coffer"))
  }

  @Test func asksForPassphraseWithoutKey() throws {
    let sandbox = try Sandbox()
    try sandbox.succeed("create", "s.coffer", "--test", "--passphrase-file", "passphrase.txt")
    let words = try sandbox.text(of: "passphrase.txt").split(separator: "\n").map(String.init)
    let terminal = try PseudoTerminal()
    let child = try Child(["collection", "list", "s.coffer"], in: sandbox, streams: .terminal(terminal.path))
    #expect(terminal.waitFor("Passphrase for s.coffer: "))
    terminal.type(words[0])
    terminal.readToEnd()
    #expect(child.wait() == 0, "\(terminal.shown)")
    #expect(!terminal.shown.contains(words[0]))
  }

  @Test func interruptedPromptRestoresEcho() throws {
    let sandbox = try Sandbox()
    let terminal = try PseudoTerminal()
    let child = try Child(["create", "s.coffer", "--test"], in: sandbox, streams: .terminal(terminal.path))
    #expect(terminal.waitFor("New passphrase"))
    child.signal(SIGINT)
    #expect(child.wait() == 130)
    #expect(!sandbox.exists("s.coffer"))
    #expect(terminal.echoes)
  }

  @Test func repeatsPromptAfterCtrlZ() throws {
    let sandbox = try Sandbox()
    let terminal = try PseudoTerminal()
    // Use a shell with job control, which turns the echo on while the command is stopped.
    let shell = "set -m; \"$@\"; stty echo; echo STOPPED; read line; fg"
    let child = try Child(
      ["create", "s.coffer", "--test", "--passphrase"], in: sandbox, under: ["sh", "-c", shell, "sh"],
      streams: .terminal(terminal.path))
    for question in ["New passphrase for s.coffer: ", "The same again: "] {
      #expect(terminal.waitFor(question))
      if question.hasPrefix("New") {
        terminal.type("half\u{1A}", end: "")
        #expect(terminal.waitFor("STOPPED"))
        #expect(terminal.echoes)
        terminal.type("")
        #expect(terminal.waitFor(question))
      }
      #expect(!terminal.echoes)
      terminal.type("blue whale 7")
    }
    terminal.readToEnd()
    #expect(child.wait() == 0, "\(terminal.shown)")
    #expect(!terminal.shown.contains("whale"))
    #expect(terminal.echoes)
    try sandbox.write("p.txt", "blue whale 7\n")
    try sandbox.setMode("p.txt", 0o600)
    try sandbox.succeed("collection", "list", "s.coffer", "--passphrase-file", "p.txt")
  }

  @Test(arguments: [SIGSTOP, SIGTSTP]) func repeatsPromptAfterStopSignal(_ number: Int32) throws {
    let sandbox = try Sandbox()
    let terminal = try PseudoTerminal()
    let child = try Child(["create", "s.coffer", "--test"], in: sandbox, streams: .terminal(terminal.path))
    #expect(terminal.waitFor("New passphrase"))
    if number == SIGSTOP {
      #expect(child.stop())
      terminal.turnEchoOn()
      child.signal(SIGCONT)
    } else {
      // The kernel doesn't stop this process, because no shell could continue it.
      child.signal(number)
    }
    #expect(terminal.waitFor("New passphrase"))
    #expect(!terminal.echoes)
    child.signal(SIGINT)
    #expect(child.wait() == 130)
    #expect(terminal.echoes)
  }

  @Test func noInputOptionDisablesPrompts() throws {
    let sandbox = try Sandbox()
    let terminal = try PseudoTerminal()
    let child = try Child(
      ["create", "s.coffer", "--no-input", "--passphrase"], in: sandbox, streams: .terminal(terminal.path))
    terminal.readToEnd()
    #expect(child.wait() == 13)
    #expect(!terminal.shown.contains("New passphrase"))
  }

  @Test func printsListAsTableOnTerminal() throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.succeed("put", "s.coffer", "--text", "x", "--title", "Plan A")
    let terminal = try PseudoTerminal()
    let child = try Child(["ls", "s.coffer", "--quiet"], in: sandbox, streams: .terminal(terminal.path))
    terminal.readToEnd()
    #expect(child.wait() == 0)
    #expect(terminal.shown.hasPrefix("ID  TITLE   SIZE  MODIFIED"))
    #expect(terminal.shown.contains(" 1  Plan A     1  2"))
  }

  /// Lists 1,001 documents, including a long ID at the end, on a terminal with 80 columns.
  @Test func keepsIDsAndDatesWhole() throws {
    let sandbox = try Sandbox.withStore()
    let title = String(repeating: "long title ", count: 9)
    let rows = ((1...1000).map(String.init) + ["1234567890123456"]).map { "\($0),\(title),x,key of \($0)\n" }.joined()
    try sandbox.succeed("import", "s.coffer", "-", "--from", "csv", "--keep-ids", input: "id,title,text,key\n" + rows)
    for arguments in [
      ["ls", "s.coffer", "--quiet"], ["ls", "s.coffer", "--quiet", "-l"],
      ["query", "s.coffer", "--quiet", "SELECT id, title, text, modified, key FROM documents"],
    ] {
      let terminal = try PseudoTerminal()
      let child = try Child(arguments, in: sandbox, streams: .terminal(terminal.path))
      terminal.readToEnd()
      #expect(child.wait() == 0)
      let lines = terminal.shown.split(separator: "\r\n")
      #expect(lines.count == 1002)
      let last = try #require(lines.last)
      #expect(last.contains("1234567890123456") && last.contains("…"), "\(last)")
      #expect(last.contains(#/20\d\d-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d\d\dZ)?/#), "\(last)")
      if arguments.count == 3 { #expect(lines.allSatisfy { $0.count <= 80 }) }
    }
  }

  @Test func keepsFingerprintsWhole() throws {
    let sandbox = try Sandbox.withStore()
    let label = String(repeating: "long label ", count: 3) + "of a recipient"
    try sandbox.succeed("key", "add", "s.coffer", "--recipients-file", "recipient.txt", "--label", label)
    let provider = "a-secret-service-of-the-office=printf %064d 1"
    try sandbox.succeed("key", "add", "s.coffer", "--new-provider", provider)
    let terminal = try PseudoTerminal()
    let child = try Child(["key", "list", "s.coffer", "--quiet"], in: sandbox, streams: .terminal(terminal.path))
    terminal.readToEnd()
    #expect(child.wait() == 0)
    let line = try #require(terminal.shown.split(separator: "\r\n").first { $0.contains("long label") })
    #expect(line.contains("…") && line.contains(#/ [0-9a-f]{16} /#) && line.count <= 80, "\(line)")
  }

  @Test func keysAndTitlesShareRemainingWidth() throws {
    let sandbox = try Sandbox.withStore()
    let (key, title) = (String(repeating: "k", count: 70), String(repeating: "t", count: 60))
    try sandbox.succeed("put", "s.coffer", "--key-name", key, "--title", title, "--text", "x")
    let terminal = try PseudoTerminal()
    let sql = "SELECT id, title, key, modified FROM documents"
    let child = try Child(["query", "s.coffer", "--quiet", sql], in: sandbox, streams: .terminal(terminal.path))
    terminal.readToEnd()
    #expect(child.wait() == 0)
    let line = try #require(terminal.shown.split(separator: "\r\n").last)
    #expect(line.hasPrefix(" 1  \(title.prefix(23))…  \(key.prefix(23))…  20"), "\(line)")
    #expect(line.count == 80)
  }

  @Test func escapesControlCharactersOnTerminal() throws {
    let sandbox = try Sandbox.withStore()
    let hostile = "red\u{1B}[31m\u{9B}2J"
    try sandbox.succeed("put", "s.coffer", "--text", hostile, "--title", hostile)
    try sandbox.succeed("collection", "create", "s.coffer", hostile)
    try sandbox.succeed("key", "add", "s.coffer", "--new-key-file", "next.key", "--label", hostile)
    let verbs = [
      ["ls", "s.coffer"], ["search", "s.coffer", "red"], ["query", "s.coffer", "SELECT title FROM documents"],
      ["collection", "list", "s.coffer"], ["info", "s.coffer"], ["key", "list", "s.coffer"],
      ["rm", "s.coffer", "1", "--dry-run"],
      ["collection", "sort", "s.coffer", "documents", "--by", "title", "--dry-run"],
    ]
    let inFormats = verbs.flatMap { verb in ["csv", "tsv", "json", "table"].map { verb + ["--format", $0] } }
    for arguments in [
      ["ls", "s.coffer"], ["show", "s.coffer", "1"], ["export", "s.coffer", "-c", "documents", "--to", "csv"],
      ["show", "s.coffer", "1", "--json"], ["export", "s.coffer"],
    ] + inFormats {
      let terminal = try PseudoTerminal()
      let child = try Child(arguments, in: sandbox, streams: .terminal(terminal.path))
      terminal.readToEnd()
      #expect(child.wait() == 0)
      #expect(!terminal.shown.contains("\u{1B}[31m"), "\(arguments)")
      #expect(!terminal.shown.contains("\u{9B}"), "\(arguments)")
    }
    #expect(try sandbox.succeed("show", "s.coffer", "1").text == hostile)
    for verb in verbs.dropLast(4) {
      #expect(try sandbox.succeed(verb + ["--format", "csv"]).text.contains(hostile), "\(verb)")
    }
  }
}
