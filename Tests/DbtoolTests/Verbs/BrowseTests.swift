import CofferPlatform
import CofferTestSupport
import Foundation
import Testing

/// Tests browse, which shows a store in full screen, on a real terminal.
@Suite(.enabled(if: Tmux.isPossible, "tmux is not installed")) struct BrowseTests {
  private static let documents = """
    {"title":"Harbour","text":"The harbour lies in fog.\\nNo ship may leave.","key":"h-1","attributes":{"tags":["sea"]},"modified":"2026-01-02T03:04:05Z"}
    {"title":"Ärger im Büro","text":"Nichts geht mehr.","modified":"2026-01-01T00:00:00Z"}
    {"title":"東京の港","text":"港は霧の中。\\tTab\\u001b[31m","modified":"2026-01-03T00:00:00Z"}

    """

  private func sandbox() throws -> Sandbox {
    let sandbox = try Sandbox.withStore()
    try sandbox.write("in.ndjson", Self.documents)
    try sandbox.succeed("import", "s.coffer", "in.ndjson", "-c", "notes")
    return sandbox
  }

  /// Opens a terminal with the list of titles.
  private func browse(_ sandbox: Sandbox, _ options: String = "", columns: Int = 80, rows: Int = 10) throws -> Tmux {
    let terminal = try Tmux(sandbox, columns: columns, rows: rows)
    terminal.enter("dbtool browse s.coffer \(options); echo \"ended: $?\"")
    terminal.waitFor("documents")
    return terminal
  }

  @Test func showsTitlesAndSelectedText() throws {
    let terminal = try browse(try sandbox())
    #expect(
      terminal.screen.dropLast() == [
        " s.coffer  notes  3 documents  TEST store",
        " Harbour                     43  │ Harbour",
        " Ärger im Büro               17  │ document 1 · 43 bytes · 2026-01-02 03:04:05 …",
        " 東京の港                    27  │ ─────────────────────────────────────────────",
        "                                 │ The harbour lies in fog.",
        "                                 │ No ship may leave.",
        "                                 │",
        "                                 │",
        "                                 │",
        "Return text  & titles  / search  s sort  = facts  v edit  h help  q end",
      ])
    terminal.press("G")
    // Wide characters, a tab and a control character don't shift the columns.
    let rows = terminal.waitFor("港は霧の中")
    #expect(rows[4] == "                                 │ 港は霧の中。    Tab\\u{1B}[31m")
    #expect(rows.dropFirst().dropLast(2).allSatisfy { $0.contains("│") })
    terminal.press("q")
    terminal.waitFor("ended: 0")
  }

  @Test func quittingClearsTerminal() throws {
    let terminal = try browse(try sandbox())
    #expect(terminal.isAlternate)
    terminal.press("Enter")
    terminal.waitFor("q titles")
    terminal.press("j", "G", "q", "j", "q")
    terminal.waitFor("ended: 0")
    #expect(!terminal.isAlternate)
    for secret in ["Harbour", "fog", "Ärger", "Nichts", "東京"] { #expect(!terminal.history.contains(secret)) }
  }

  @Test func clearsTerminalWithoutAlternateScreen() throws {
    let sandbox = try sandbox()
    let terminal = try Tmux(sandbox, rows: 10)
    try terminal.set("alternate-screen", "off")
    terminal.enter("dbtool browse s.coffer; echo \"ended: $?\"")
    terminal.waitFor("No ship may leave.")
    terminal.press("L")
    terminal.waitFor("Locked: at your request.")
    #expect(!terminal.history.contains("Harbour"))
    terminal.press("Enter")
    terminal.waitFor("No ship may leave.")
    terminal.press("q")
    terminal.waitFor("ended: 0")
    #expect(!terminal.history.contains("Harbour") && !terminal.history.contains("fog"))
  }

  @Test func handlesFastKeysInOrder() throws {
    let terminal = try browse(try sandbox())
    terminal.type("&buro\rj=")
    #expect(terminal.waitFor("collection   notes").contains { $0.contains("id           2") })
    terminal.type("q")
    terminal.waitFor("titles with 'buro': 1 of 3")
    terminal.press("Escape")
    terminal.waitFor("3 documents")
    terminal.type("gj=")
    terminal.wait { $0.contains { $0.contains("id           2") } || $0.contains { $0.contains("id           3") } }
  }

  @Test func wrapsRowsWithoutLosingLetters() throws {
    let sandbox = try sandbox()
    try sandbox.succeed(
      "put", "s.coffer", "-c", "notes", "--title", "Wide", input: " " + String(repeating: "a", count: 39) + "世END")
    let terminal = try browse(sandbox, columns: 40)
    terminal.press("G", "Enter")
    #expect(terminal.waitFor("END").joined().contains("世END"))
  }

  @Test func choosesCollectionFirst() throws {
    let sandbox = try sandbox()
    try sandbox.succeed("put", "s.coffer", "-c", "plans", "--text", "Sail.")
    let terminal = try Tmux(sandbox, rows: 8)
    terminal.enter("dbtool browse s.coffer")
    #expect(
      terminal.waitFor("2 collections")[1...2].map { $0.split(separator: " ").joined(separator: " ") } == [
        "notes 3", "plans 1",
      ])
    terminal.press("j", "Enter")
    terminal.waitFor("plans  1 document")
    terminal.press("q")
    terminal.waitFor("2 collections")
    terminal.press("k", "Enter")
    terminal.waitFor("notes  3 documents")
    terminal.press("Q")
    terminal.waitFor("READY>")
  }

  @Test func acceptsCollectionOption() throws {
    let sandbox = try sandbox()
    try sandbox.succeed("put", "s.coffer", "-c", "plans", "--text", "Sail.")
    let terminal = try Tmux(sandbox)
    terminal.enter("dbtool browse s.coffer -c plans")
    terminal.waitFor("plans  1 document")
    terminal.press("Q")
    // browse reads typed letters until the shell regains the terminal.
    terminal.wait { $0.last { !$0.isEmpty } == "READY>" }
    terminal.enter("dbtool browse s.coffer -c missing; echo \"ended: $?\"")
    terminal.waitFor("ended: 14")
    #expect(terminal.history.contains("notes"))
  }

  @Test func opensCollectionOfGivenComposition() throws {
    let sandbox = try sandbox()
    for name in ["\u{E9}", "e\u{301}", "e\u{301}"] {
      try sandbox.succeed("put", "s.coffer", "-c", name, "--text", "Sail.")
    }
    let terminal = try Tmux(sandbox)
    terminal.enter(#"dbtool browse s.coffer -c "$(printf 'e\314\201')""#)
    terminal.waitFor("  2 documents")
    terminal.press("Q")
  }

  @Test func filtersTitlesWithEachLetter() throws {
    let terminal = try browse(try sandbox())
    terminal.press("&")
    terminal.type("AR")
    terminal.waitFor("no title holds these letters")
    terminal.press("BSpace", "BSpace")
    terminal.waitFor("3 documents")
    terminal.type("a")
    terminal.waitFor("titles with 'a': 2 of 3")
    terminal.type("rb")
    let rows = terminal.waitFor("titles with 'arb': 1 of 3")
    #expect(rows[1].hasPrefix(" Harbour") && rows[2].hasPrefix("   "))
    terminal.press("Enter")
    terminal.waitFor("Return text")
    terminal.press("Escape")
    terminal.waitFor("3 documents")
    // Plain letters match accented letters.
    terminal.press("&")
    terminal.type("arger")
    terminal.waitFor("titles with 'arger': 1 of 3")
    terminal.press("Escape")
    terminal.waitFor("3 documents")
  }

  @Test func highlightsSearchHits() throws {
    let terminal = try browse(try sandbox())
    terminal.press("/")
    terminal.type("nichts")
    terminal.press("Enter")
    let rows = terminal.waitFor("found 'nichts': 1 of 3")
    #expect(rows[1].hasPrefix(" Ärger"))
    #expect(terminal.styled.contains("\u{1B}[1m\u{1B}[31mNichts"))
    terminal.press("n")
    terminal.waitFor("the last hit")
    terminal.press("/")
    terminal.type("absent")
    terminal.press("Enter")
    #expect(terminal.waitFor("not found: absent").contains { $0.contains("3 documents") })
  }

  @Test func visitsHitsAcrossTexts() throws {
    let sandbox = try sandbox()
    let long = (1...60).map { "line \($0)\($0 % 20 == 0 ? " needle" : "")" }.joined(separator: "\n")
    try sandbox.succeed("put", "s.coffer", "-c", "notes", "--title", "Long", input: long)
    try sandbox.succeed("put", "s.coffer", "-c", "notes", "--title", "Short", "--text", "A needle.")
    let terminal = try browse(sandbox)
    terminal.press("/")
    terminal.type("needle")
    terminal.press("Enter")
    terminal.waitFor("line 20 needle")
    terminal.press("n")
    terminal.waitFor("line 40 needle")
    terminal.press("n")
    #expect(terminal.waitFor("line 60 needle").contains { $0.contains("hit 3 of 3") })
    terminal.press("n")
    terminal.waitFor("A needle.")
    terminal.press("N")
    terminal.waitFor("line 60 needle")
  }

  @Test func sortsListByKeyPress() throws {
    let terminal = try browse(try sandbox())
    terminal.press("s", "m")
    #expect(terminal.waitFor("by modified")[1...3].map { $0.prefix(4) } == [" Ärg", " Har", " 東京の"])
    terminal.press("s", "S")
    #expect(terminal.waitFor("sorted by size, descending")[1...3].map { $0.prefix(4) } == [" Har", " 東京の", " Ärg"])
    terminal.press("s", "p")
    terminal.wait { !$0[0].contains(" by ") && $0[1].hasPrefix(" Harbour") }
  }

  @Test func showsDocumentProperties() throws {
    let terminal = try browse(try sandbox(), rows: 20)
    terminal.press("=")
    let rows = terminal.waitFor("attributes").map { $0.split(separator: " ").joined(separator: " ") }
    for fact in [
      "id 1", "collection notes", "title Harbour", "key h-1", "size 43 bytes", "modified 2026-01-02 03:04:05",
      "\"sea\"",
    ] {
      #expect(rows.contains(fact), "\(rows)")
    }
    terminal.press("q")
    terminal.waitFor("3 documents")
  }

  @Test func storesEditedText() throws {
    let sandbox = try sandbox()
    sandbox.environment["EDITOR"] = "sed -i s/fog/sun/"
    let terminal = try browse(sandbox)
    terminal.press("v")
    let rows = terminal.waitFor("document 1 stored")
    #expect(rows[4].hasSuffix("The harbour lies in sun."))
    #expect(try sandbox.succeed("show", "s.coffer", "1").text.hasPrefix("The harbour lies in sun."))
    terminal.press("Q")
    terminal.waitFor("ended: 0")
    #expect(!terminal.history.contains("harbour"))
  }

  @Test func readOnlyModeDisablesEditing() throws {
    let sandbox = try sandbox()
    sandbox.environment["EDITOR"] = "false"
    let terminal = try browse(sandbox, "--read-only")
    terminal.press("v")
    terminal.waitFor("the store is open for reading only")
  }

  @Test func failedEditorLeavesTextUnchanged() throws {
    let sandbox = try sandbox()
    sandbox.environment["EDITOR"] = "false"
    let before = try sandbox.read("s.coffer")
    let terminal = try browse(sandbox)
    terminal.press("v")
    terminal.waitFor("nothing was changed")
    #expect(try sandbox.read("s.coffer") == before)
  }

  @Test func browsingLeavesStoreUnchanged() throws {
    let sandbox = try sandbox()
    let before = try sandbox.read("s.coffer")
    let terminal = try browse(sandbox)
    terminal.press("/")
    terminal.type("geht")
    terminal.press("Enter")
    terminal.waitFor("found 'geht': 1 of 3")
    terminal.press("Q")
    terminal.waitFor("ended: 0")
    #expect(try sandbox.read("s.coffer") == before)
  }

  @Test func showsChangesByOtherProcesses() throws {
    let sandbox = try sandbox()
    let terminal = try browse(sandbox)
    try sandbox.succeed("put", "s.coffer", "-c", "notes", "--title", "Fresh", "--text", "new")
    #expect(terminal.waitFor("4 documents").contains { $0.hasPrefix(" Fresh") })
    try sandbox.succeed("rm", "s.coffer", "1")
    #expect(terminal.waitFor("3 documents")[1].hasPrefix(" Ärger"))
  }

  @Test func lockedScreenHidesContentUntilUnlocked() throws {
    let sandbox = try sandbox()
    try sandbox.write("pass.txt", "blue whale 7\n")
    try sandbox.setMode("pass.txt", 0o600)
    try sandbox.succeed("key", "add", "s.coffer", "--new-passphrase-file", "pass.txt")
    sandbox.environment["DBTOOL_KEY_FILE"] = nil
    let terminal = try Tmux(sandbox)
    terminal.enter("dbtool browse s.coffer --passphrase; echo \"ended: $?\"")
    terminal.waitFor("Passphrase for s.coffer:")
    terminal.enter("blue whale 7")
    terminal.waitFor("3 documents")
    terminal.press("L")
    let rows = terminal.waitFor("Locked: at your request.")
    #expect(!rows.joined().contains("Harbour") && !rows.joined().contains("notes"))
    terminal.press("j", "Enter")
    terminal.waitFor("Passphrase for s.coffer:")
    terminal.enter("wrong")
    terminal.waitFor("that is not the passphrase")
    terminal.enter("blue whale 7")
    #expect(terminal.waitFor("3 documents")[1].hasPrefix(" Harbour"))
    terminal.press("Q")
    terminal.waitFor("ended: 0")
    #expect(!terminal.history.contains("whale") && !terminal.history.contains("Harbour"))
  }

  @Test func locksAfterIdleTime() throws {
    let terminal = try Tmux(try sandbox())
    terminal.enter("dbtool browse s.coffer --lock-after 0.001; echo \"ended: $?\"")
    let rows = terminal.waitFor("Locked: no key was pressed")
    #expect(!rows.joined().contains("Harbour"))
    terminal.press("q")
    terminal.waitFor("ended: 0")
  }

  @Test func locksAfterKeyChange() throws {
    let sandbox = try sandbox()
    let terminal = try browse(sandbox)
    try sandbox.succeed("rekey", "s.coffer", "--new-key-file", "next.key")
    terminal.press("j", "R")
    let rows = terminal.waitFor("Locked: another process has changed")
    #expect(!rows.joined().contains("Harbour"))
    terminal.press("Enter")
    terminal.waitFor("ended: 12")
    #expect(!terminal.isAlternate)
  }

  @Test func reportsDamagedDocumentAndShowsOthers() throws {
    let sandbox = try sandbox()
    let terminal = try browse(sandbox)
    try sandbox.python(
      """
      import sqlite3
      store = sqlite3.connect('s.coffer')
      store.execute('UPDATE coffer_record SET body = zeroblob(length(body)) WHERE id = 2')
      store.commit()
      """)
    terminal.press("j")
    terminal.waitFor("(can't be read)")
    terminal.press("j")
    terminal.waitFor("港は霧の中")
  }

  @Test func signalRestoresTheTerminal() throws {
    let sandbox = try sandbox()
    let terminal = try browse(sandbox)
    terminal.press("C-z")
    terminal.waitFor("Stopped")
    #expect(!terminal.isAlternate)
    terminal.enter("fg")
    terminal.wait { $0.count > 1 && $0[1].hasPrefix(" Harbour") }
    #expect(terminal.isAlternate)
    kill(try #require(terminal.child), SIGTERM)
    terminal.wait { !$0.joined().contains("Harbour") }
    #expect(!terminal.isAlternate)
    // Echo and line wrapping are restored.
    terminal.enter("echo again")
    terminal.wait { $0.contains("again") }
  }

  @Test func stopSignalRestoresTerminal() throws {
    let terminal = try browse(try sandbox())
    terminal.press("Enter")
    terminal.waitFor("q titles")
    for _ in 0..<2 {
      kill(try #require(terminal.child), SIGTSTP)
      terminal.waitFor("Stopped")
      #expect(!terminal.isAlternate && !terminal.screen.joined().contains("Harbour"))
      terminal.enter("clear; fg; echo \"ended: $?\"")
      #expect(terminal.waitFor("No ship may leave.")[1].hasPrefix(" Harbour"))
      #expect(terminal.isAlternate)
    }
    terminal.press("Q")
    terminal.waitFor("ended: 0")
    #expect(!terminal.history.contains("Harbour"))
  }

  @Test func stopSignalAtKeyPromptRestoresTerminal() throws {
    let sandbox = try sandbox()
    try sandbox.write("pass.txt", "blue whale 7\n")
    try sandbox.setMode("pass.txt", 0o600)
    try sandbox.succeed("key", "add", "s.coffer", "--new-passphrase-file", "pass.txt")
    sandbox.environment["DBTOOL_KEY_FILE"] = nil
    let terminal = try Tmux(sandbox)
    terminal.enter("dbtool browse s.coffer --passphrase; echo \"ended: $?\"")
    terminal.waitFor("Passphrase for s.coffer:")
    terminal.enter("blue whale 7")
    terminal.waitFor("3 documents")
    terminal.press("L")
    terminal.waitFor("Locked: at your request.")
    terminal.press("Enter")
    terminal.waitFor("Passphrase for s.coffer:")
    kill(try #require(terminal.child), SIGTSTP)
    terminal.waitFor("Stopped")
    #expect(!terminal.isAlternate)
    terminal.enter("clear; fg; echo \"ended: $?\"")
    // The prompt from before the stop is on the same screen.
    terminal.wait { $0[0].hasPrefix("dbtool browse") && $0.joined().contains("Passphrase for s.coffer:") }
    terminal.enter("blue whale 7")
    terminal.waitFor("3 documents")
    #expect(terminal.isAlternate)
    // A later stop works the same way.
    terminal.press("C-z")
    terminal.waitFor("Stopped")
    terminal.enter("clear; fg; echo \"ended: $?\"")
    terminal.waitFor("3 documents")
    terminal.press("Q")
    terminal.waitFor("ended: 0")
    #expect(!terminal.history.contains("whale") && !terminal.history.contains("Harbour"))
  }

  @Test func rejectsOtherPinBeforeDrawing() throws {
    let sandbox = try sandbox()
    let other = try Sandbox.withStore()
    struct Info: Decodable { var pin: String }
    let pin = try other.succeed("info", "s.coffer", "--json").json(Info.self).pin
    let terminal = try Tmux(sandbox)
    terminal.enter("PIN=\(pin)")
    terminal.enter("dbtool browse s.coffer --pin $PIN; echo \"ended: $?\"")
    #expect(!terminal.waitFor("ended: 21").joined().contains("Harbour"))
  }

  @Test func showsEmptyStoreAndCollection() throws {
    let sandbox = try Sandbox.withStore()
    let terminal = try Tmux(sandbox)
    terminal.enter("dbtool browse s.coffer; echo \"ended: $?\"")
    terminal.waitFor("this store has no collection yet")
    terminal.press("Enter", "/", "&", "s", "v", "=", "n", "G", "j")
    try sandbox.write("in.ndjson", Self.documents)
    try sandbox.succeed("import", "s.coffer", "in.ndjson", "-c", "notes")
    terminal.waitFor("1 collection")
    terminal.press("Enter")
    terminal.waitFor("3 documents")
    try sandbox.succeed("rm", "s.coffer", "1", "2", "3")
    terminal.waitFor("this collection is empty")
    terminal.press("Enter", "v", "=", "n", "G", "j", "Space", "s", "t")
    terminal.waitFor("0 documents  sorted by title")
    terminal.press("Q")
    terminal.waitFor("ended: 0")
  }

  @Test func showsEndOfLongInput() throws {
    let terminal = try browse(try sandbox(), columns: 80)
    terminal.press("/")
    terminal.type(String(repeating: "港", count: 3000) + "END")
    #expect(terminal.waitFor("港END").last { !$0.isEmpty }?.hasSuffix("港港END▏") == true)
    try terminal.resize(columns: 40, rows: 10)
    let rows = terminal.wait { $0.contains { $0.hasSuffix("港END▏") && $0.count < 30 } }
    #expect(rows[1].hasPrefix(" Harbour"))
    terminal.press("Enter")
    terminal.waitFor("not found: 港")
  }

  @Test(.slow) func highlightsHitsInEveryDocument() throws {
    let sandbox = try sandbox()
    try sandbox.write("many.txt", (1...10_050).map { "row \($0) needle\n" }.joined())
    try sandbox.succeed("import", "s.coffer", "many.txt", "-c", "many", "--from", "lines")
    let terminal = try Tmux(sandbox, rows: 8)
    terminal.enter("dbtool browse s.coffer -c many; echo \"ended: $?\"")
    terminal.waitFor("10,050 documents")
    terminal.press("/")
    terminal.type("needle")
    terminal.press("Enter")
    terminal.waitFor("found 'needle': 10,050")
    terminal.press("G")
    terminal.waitFor("document 10053")
    terminal.wait { _ in terminal.styled.contains("row 10050 \u{1B}[1m\u{1B}[31mneedle") }
    terminal.press("g")
    terminal.waitFor("document 4 ")
    // A count beyond the last hit stops there with a message.
    terminal.press("2", "0", "0", "0", "0", "n")
    terminal.waitFor("the last hit")
    terminal.waitFor("document 10053")
  }

  @Test func lineEndAfterLongPartAddsNoRow() throws {
    let sandbox = try sandbox()
    try sandbox.succeed(
      "put", "s.coffer", "-c", "notes", "--title", "Part", input: String(repeating: "x", count: 32 << 10) + "\r\nnext")
    let terminal = try browse(sandbox, columns: 60, rows: 12)
    terminal.press("G", "Enter", "G")
    let rows = terminal.waitFor("next")
    let last = try #require(rows.firstIndex { $0 == "next" })
    #expect(rows[last - 1].hasPrefix("xxxx"))
  }

  @Test func killedEditorLeavesTextUnchanged() throws {
    let sandbox = try sandbox()
    sandbox.environment["EDITOR"] = "sh -c 'kill -9 $$'"
    let before = try sandbox.read("s.coffer")
    let terminal = try browse(sandbox)
    terminal.press("v")
    terminal.waitFor("nothing was changed")
    #expect(try sandbox.read("s.coffer") == before)
    #expect(terminal.isAlternate)
  }

  @Test func narrowTerminalShowsListOrText() throws {
    let terminal = try browse(try sandbox(), columns: 40)
    #expect(terminal.screen[1].hasPrefix(" Harbour") && !terminal.screen.joined().contains("│"))
    terminal.press("Enter")
    #expect(terminal.waitFor("No ship may leave.")[1] == "Harbour")
    try terminal.resize(columns: 100, rows: 12)
    terminal.wait { $0.joined().contains("│") && $0.joined().contains("fog") }
    try terminal.resize(columns: 19, rows: 4)
    terminal.waitFor("too small")
    try terminal.resize(columns: 40, rows: 10)
    terminal.waitFor("No ship may leave.")
  }

  @Test func scrollsLongTextLikeLess() throws {
    let sandbox = try sandbox()
    let text =
      (1...500).map { "row \($0)" }.joined(separator: "\n") + "\n" + String(repeating: "äb", count: 20_000) + "END"
    try sandbox.succeed("put", "s.coffer", "-c", "notes", "--title", "Long", input: text)
    let terminal = try browse(sandbox, columns: 60, rows: 13)
    terminal.press("G", "Enter")
    #expect(terminal.waitFor("row 1")[4...11].map { $0 } == (1...8).map { "row \($0)" })
    terminal.press("Space")
    #expect(terminal.waitFor("row 16")[4] == "row 9")
    terminal.press("b", "j", "j", "k")
    #expect(terminal.wait { $0[4] == "row 2" }[11] == "row 9")
    terminal.press("G")
    #expect(terminal.waitFor("äbEND")[11].hasSuffix("END"))
    terminal.press("1", "0", "k")
    terminal.wait { !$0.joined().contains("END") }
    terminal.press("g", "1", "0", "0", "j")
    #expect(terminal.wait { $0[4] == "row 101" }[11] == "row 108")
  }

  @Test func showsIndentedValues() throws {
    let sandbox = try sandbox()
    try sandbox.python(
      """
      import sqlite3
      old = sqlite3.connect('old.db')
      old.execute('CREATE TABLE t(name TEXT, price REAL)')
      old.execute("INSERT INTO t VALUES('Grüße, {\\"a\\"}', 1.5)")
      old.commit()
      """)
    try sandbox.succeed("import", "s.coffer", "old.db", "-c", "values", "--values", "--table", "t")
    let terminal = try Tmux(sandbox)
    terminal.enter("dbtool browse s.coffer -c values")
    let rows = terminal.waitFor("1.5").map { $0.split(separator: "│").last.map(String.init) ?? "" }
    #expect(Array(rows[4...7]) == [" {", #"   "name": "Grüße, {\"a\"}","#, #"   "price": 1.5"#, " }"])
  }

  @Test func helpListsKeys() throws {
    let terminal = try browse(try sandbox(), rows: 40)
    terminal.press("h")
    #expect(terminal.waitFor("draw the screen again").contains { $0.contains("Ctrl-Z") })
    terminal.press("q")
    terminal.waitFor("3 documents")
  }

  @Test func lockingSmallWindowHidesContent() throws {
    let terminal = try browse(try sandbox(), columns: 40)
    terminal.press("Enter")
    terminal.waitFor("No ship may leave.")
    try terminal.resize(columns: 19, rows: 24)
    #expect(terminal.waitFor("too small").allSatisfy { $0.isEmpty || $0 == "too small" })
    terminal.press("L")
    let rows = terminal.waitFor("Return opens")
    #expect(!rows.joined().contains("Harbour") && !rows.joined().contains("fog"))
    terminal.press("q")
    terminal.waitFor("ended: 0")
  }

  @Test func locksBeforeDrawingAfterLongStop() throws {
    let sandbox = try sandbox()
    let terminal = try Tmux(sandbox)
    terminal.enter("dbtool browse s.coffer --lock-after 0.05; echo \"ended: $?\"")
    func isLocked(_ rows: [String]) -> Bool { rows.joined().contains("Locked: no key was pressed") }
    terminal.wait { $0.joined().contains("Harbour") || isLocked($0) }
    terminal.press("C-z")
    terminal.wait { rows in
      if rows.joined().contains("Stopped") { return true }
      // A key is lost while the program starts again, which it does if it locked before reading the key.
      if isLocked(rows) { terminal.press("C-z") }
      return false
    }
    let end = ContinuousClock.now + .milliseconds(3001)
    while ContinuousClock.now < end { _ = terminal.screen }
    try terminal.record(to: sandbox.path("output"))
    terminal.enter("clear; fg; echo \"ended: $?\"")
    terminal.waitFor("Locked: no key was pressed")
    terminal.press("q")
    terminal.waitFor("ended: 0")
    let output = String(decoding: try sandbox.read("output"), as: UTF8.self)
    #expect(output.contains("Locked") && !output.contains("Harbour"))
  }

  @Test func locksAfterKeyChangeWithoutKeyPress() throws {
    let sandbox = try sandbox()
    let terminal = try browse(sandbox)
    terminal.press("/")
    terminal.waitFor("▏")
    try sandbox.succeed("rekey", "s.coffer", "--new-key-file", "next.key")
    #expect(!terminal.waitFor("Locked: another process has changed").joined().contains("Harbour"))
  }

  @Test func locksQuitsAndStopsInEveryView() throws {
    let terminal = try browse(try sandbox())
    terminal.press("h")
    terminal.waitFor("q back")
    terminal.press("L")
    terminal.waitFor("Locked: at your request.")
    terminal.press("Enter")
    terminal.waitFor("3 documents")
    for (key, shown) in [("=", "q back"), ("/", "/ ▏"), ("&", "& ▏"), ("s", "sort by:")] {
      terminal.press(key, "C-z")
      terminal.waitFor("Stopped")
      terminal.enter("clear; fg; echo \"ended: $?\"")
      terminal.waitFor(shown)
      terminal.press("Escape")
      terminal.waitFor("3 documents")
    }
    terminal.press("=")
    terminal.waitFor("q back")
    terminal.press("Q")
    terminal.waitFor("ended: 0")
  }

  @Test func continuingRestoresScreenAfterForcedStop() throws {
    let terminal = try browse(try sandbox())
    kill(try #require(terminal.child), SIGSTOP)
    terminal.waitFor("Stopped")
    terminal.enter("clear; fg; echo \"ended: $?\"")
    // The stopped screen also contained the text.
    terminal.wait { $0.joined().contains("No ship may leave.") && !$0.joined().contains("Stopped") }
    terminal.press("Q")
    terminal.waitFor("ended: 0")
    #expect(!terminal.isAlternate)
  }

  @Test func quitSignalRestoresTheTerminal() throws {
    let terminal = try browse(try sandbox())
    kill(try #require(terminal.child), SIGQUIT)
    terminal.waitFor("ended: 131")
    #expect(!terminal.isAlternate && !terminal.history.contains("Harbour"))
    terminal.enter("echo again")
    terminal.wait { $0.contains("again") }
  }

  @Test func repeatsQuestionAfterEachInvalidEdit() throws {
    let sandbox = try sandbox()
    // The first two edits produce an empty text.
    try sandbox.write(
      "edit.sh", "echo run >> runs; if [ $(wc -l < runs) -lt 3 ]; then : > \"$1\"; else echo new > \"$1\"; fi")
    sandbox.environment["EDITOR"] = "sh edit.sh"
    let terminal = try browse(sandbox)
    terminal.press("v")
    terminal.waitFor("Return edits again")
    terminal.press("C-d")
    terminal.waitFor("the text is empty; rm deletes")
    terminal.press("v")
    terminal.waitFor("Return edits again")
    terminal.press("Enter")
    #expect(terminal.waitFor("document 1 stored")[4].hasSuffix("│ new"))
  }

  @Test func deletingShownDocumentReturnsToTitles() throws {
    let sandbox = try sandbox()
    let terminal = try browse(sandbox)
    terminal.press("Enter")
    terminal.waitFor("q titles")
    try sandbox.succeed("rm", "s.coffer", "1")
    terminal.waitFor("document 1 was deleted")
    // The key q now quits, because the list of titles has the focus.
    terminal.press("q")
    terminal.waitFor("ended: 0")
  }

  @Test func showsLongMessageInFull() throws {
    let sandbox = try sandbox()
    try sandbox.write("edit.sh", "dbtool rm s.coffer 1 > rm.txt; echo mine > \"$1\"")
    sandbox.environment["EDITOR"] = "sh edit.sh"
    let terminal = try browse(sandbox)
    terminal.press("v")
    let rows = terminal.waitFor("delete one: rm")
    #expect(rows.joined(separator: " ").contains("your text was stored as document 4;"), "\(rows)")
    terminal.press("j")
    terminal.waitFor("Return text")
  }

  @Test func waitsForLockedStoreVisibly() throws {
    let sandbox = try sandbox()
    let terminal = try browse(sandbox)
    let lock = try HeldStore(sandbox.path("s.coffer"))
    terminal.press("G")
    terminal.waitFor("waiting for another process")
    lock.release()
    // A temporary error disappears.
    terminal.waitFor("港は霧の中")
    lock.hold()
    terminal.type("/fog\r")
    terminal.waitFor("waiting for another process; Escape stops it")
    terminal.press("Escape")
    terminal.waitFor("stopped")
    terminal.type("/fog\r")
    terminal.waitFor("waiting for another process; Escape stops it")
    terminal.press("q")
    terminal.waitFor("ended: 0")
  }

  @Test func keepsHitAfterForeignCommit() throws {
    let sandbox = try sandbox()
    let long = (1...60).map { "line \($0)\($0 % 20 == 0 ? " needle" : "")" }.joined(separator: "\n")
    try sandbox.succeed("put", "s.coffer", "-c", "notes", "--title", "Long", input: long)
    let terminal = try browse(sandbox)
    terminal.type("/needle\rn")
    terminal.waitFor("hit 2 of 3")
    try sandbox.succeed("put", "s.coffer", "-c", "notes", "--text", "more")
    #expect(terminal.waitFor("found 'needle': 1 of 5").contains { $0.contains("hit 2 of 3") })
  }

  @Test func showsLowerBoundForManyHits() throws {
    let sandbox = try sandbox()
    try sandbox.succeed(
      "put", "s.coffer", "-c", "notes", "--title", "Many", input: String(repeating: "needle ", count: 300))
    let terminal = try browse(sandbox, columns: 100)
    terminal.type("/needle\r")
    terminal.waitFor("hit 1 of 100+")
  }

  @Test func appliesFilterBeforeNextKey() throws {
    let terminal = try browse(try sandbox())
    terminal.press("&")
    terminal.type("arb\u{1B}[B")
    terminal.waitFor("titles with 'arb': 1 of 3")
  }

  @Test func filteringNarrowTerminalShowsTitles() throws {
    let terminal = try browse(try sandbox(), columns: 40)
    terminal.press("Enter")
    terminal.waitFor("No ship may leave.")
    terminal.press("&")
    terminal.type("rb")
    let rows = terminal.waitFor("titles with 'rb'")
    #expect(rows[1].hasPrefix(" Harbour") && rows[1].hasSuffix("43"))
  }

  @Test func jumpsToLineOrPartByNumber() throws {
    let sandbox = try sandbox()
    let text = (1...500).map { "row \($0)" }.joined(separator: "\n")
    try sandbox.succeed("put", "s.coffer", "-c", "notes", "--title", "Long", input: text)
    let terminal = try browse(sandbox, columns: 60, rows: 13)
    terminal.press("G", "Enter")
    terminal.waitFor("row 8")
    terminal.type("17g")
    terminal.wait { $0[4] == "row 17" }
    terminal.type("300G")
    terminal.wait { $0[4] == "row 300" }
    terminal.type("50%")
    terminal.wait { $0[4] == "row 257" }
    terminal.type("9999G")
    terminal.waitFor("row 500")
    // An empty search repeats the previous search.
    terminal.type("/row 7\r")
    terminal.waitFor("hit 1 of 11")
    terminal.type("/\r")
    terminal.waitFor("hit 2 of 11")
  }

  @Test func unlockingRestoresPosition() throws {
    let sandbox = try sandbox()
    try sandbox.succeed("put", "s.coffer", "-c", "plans", "--text", "Sail.")
    let terminal = try Tmux(sandbox)
    terminal.enter("dbtool browse s.coffer -c notes; echo \"ended: $?\"")
    terminal.waitFor("3 documents")
    terminal.type("sm&a\rj")
    terminal.waitFor("document 1 ")
    let before = terminal.wait { $0[0].contains("titles with 'a': 2 of 3  sorted by modified") }
    terminal.press("L")
    terminal.waitFor("Locked: at your request.")
    terminal.press("Enter")
    #expect(terminal.waitFor("document 1 ").prefix(5) == before.prefix(5))
  }

  @Test func breaksLongLineBetweenWords() throws {
    let sandbox = try sandbox()
    try sandbox.succeed(
      "put", "s.coffer", "-c", "notes", "--title", "Words", input: String(repeating: "abcde ", count: 8000) + "END")
    let terminal = try browse(sandbox, columns: 60, rows: 13)
    terminal.press("G", "Enter")
    terminal.waitFor("abcde")
    terminal.type("68%")
    let rows = terminal.wait { $0[2].contains(" 68 %") || $0[2].contains(" 69 %") }
    #expect(rows[4...11].allSatisfy { !$0.isEmpty && $0.split(separator: " ").allSatisfy { $0 == "abcde" } }, "\(rows)")
    terminal.press("G")
    terminal.waitFor("END")
  }

  @Test func showsInvisibleCharacters() throws {
    let sandbox = try sandbox()
    try sandbox.succeed(
      "put", "s.coffer", "-c", "notes", "--title", "a\u{200B}b", input: "c\u{2028}d\u{2029}e\u{FEFF}f\u{AD}g👩‍🚀")
    let terminal = try browse(sandbox, columns: 100)
    terminal.press("G")
    let rows = terminal.waitFor(#"c\u{2028}d\u{2029}e\u{FEFF}f\u{AD}g👩"#)
    #expect(rows.contains { $0.hasPrefix(#" a\u{200B}b"#) })
  }

  @Test func requiresTerminal() throws {
    let sandbox = try sandbox()
    let result = try sandbox.run("browse", "s.coffer")
    #expect(result.status == 64 && result.errors.contains("needs a terminal"))
    let terminal = try Tmux(sandbox)
    terminal.enter("TERM=dumb dbtool browse s.coffer; echo \"ended: $?\"")
    terminal.waitFor("ended: 64")
  }

  @Test func rejectsWrongKeyBeforeDrawing() throws {
    let sandbox = try sandbox()
    let terminal = try Tmux(sandbox)
    terminal.enter("dbtool browse s.coffer --key-file wrong.key; echo \"ended: $?\"")
    #expect(terminal.waitFor("ended: 12").joined().contains("wrong.key opens no slot"))
  }
}

/// A lock that SQLite takes for a commit, which prevents other processes from reading the store.
private final class HeldStore {
  private let descriptor: Int32

  init(_ path: String) throws {
    descriptor = open(path, O_RDWR)
    try #require(descriptor >= 0)
    hold()
  }

  deinit {
    close(descriptor)
  }

  func hold() { set(F_WRLCK) }

  func release() { set(F_UNLCK) }

  /// Sets the lock after waiting for readers. It belongs to the descriptor, so closing other tests' files doesn't
  /// release it.
  private func set(_ kind: Int32) {
    // SQLite's 510 SHARED bytes (os.h).
    var lock = flock(l_type: Int16(kind), l_whence: Int16(SEEK_SET), l_start: 0x4000_0002, l_len: 510, l_pid: 0)
    // F_OFD_SETLKW in fcntl.h.
    #expect(fcntl(descriptor, 38, &lock) == 0)
  }
}
