import CofferPlatform
import CofferTestSupport
import Foundation
import Testing

/// Searches the memory of dbtool for secrets and texts that it must not keep.
@Suite(.enabled(if: ProcessMemory.isReadable && WaitingChild.isPossible, "needs root and /proc"))
struct CommandMemoryTests {
  /// Words of a passphrase that occur nowhere else.
  private struct Words {
    let text = "größt " + UUID().uuidString.lowercased() + " 글 " + UUID().uuidString.lowercased()

    var needles: [String: [UInt8]] {
      ["front": Array(text.utf8.prefix(40)), "back": Array(text.utf8.suffix(30))]
    }
  }

  /// Creates a store with texts that opens with the test key and with a passphrase in `words.txt`.
  private func sandbox(_ words: Words) throws -> Sandbox {
    let sandbox = try Sandbox.withStore()
    try sandbox.write("words.txt", words.text + "\n")
    try sandbox.setMode("words.txt", 0o600)
    try sandbox.succeed("key", "add", "s.coffer", "--new-passphrase-file", "words.txt")
    try sandbox.succeed("put", "s.coffer", "--title", "Plans", "--text", "Sail at dawn.")
    sandbox.environment["DBTOOL_KEY_FILE"] = nil
    return sandbox
  }

  /// Every verb asks through the same calls. The needles are also found in the process that typed or printed them.
  @Test(arguments: [
    ["ls", "s.coffer"], ["show", "s.coffer", "1"], ["search", "s.coffer", "dawn"], ["export", "s.coffer"],
    ["query", "s.coffer", "SELECT title FROM documents"], ["verify", "s.coffer"], ["key", "list", "s.coffer"],
    ["collection", "list", "s.coffer"], ["put", "s.coffer", "--text", "x"],
    ["diff", "s.coffer", "b.coffer"], ["merge", "s.coffer", "e.coffer", "--format", "json"],
    ["rekey", "s.coffer", "--drop-slots"],
    ["copy", "s.coffer", "e2.coffer", "--editable"],
    ["copy", "s.coffer", "n.coffer", "--new-key-command", "cat words.txt"],
    ["copy", "s.coffer", "v.coffer", "--salvage", "--new-key-command", "cat words.txt"],
    ["key", "add", "s.coffer", "--new-key-command", "cat next.txt"],
    ["key", "passwd", "s.coffer", "--new-key-command", "cat next.txt"],
    ["create", "c.coffer", "--test"], ["restore", "s.coffer", "b.coffer", "1"],
  ])
  func verbErasesPrintedPassphrase(_ arguments: [String]) throws {
    let (words, next) = (Words(), Words())
    let sandbox = try sandbox(words)
    try sandbox.write("next.txt", next.text)
    try sandbox.succeed("copy", "s.coffer", "e.coffer", "--editable", "--key-command", "cat words.txt")
    try sandbox.succeed("backup", "s.coffer", "b.coffer")
    try sandbox.succeed("put", "s.coffer", "--text", "Sail at dusk.", "--key-command", "cat words.txt")
    let waiting = try WaitingChild(arguments + ["--key-command", "cat words.txt"], in: sandbox)
    let found = try ProcessMemory(of: waiting.child.process).found(
      words.needles.merging(next.needles.map { ("next \($0)", $1) }) { first, _ in first })
    #expect(found.isEmpty)
  }

  /// The text fills the terminal's buffer, so the process waits with the open store or after it.
  @Test(arguments: [["--passphrase"], []])
  func verbErasesTypedPassphrase(_ options: [String]) throws {
    let words = Words()
    let sandbox = try sandbox(words)
    try sandbox.succeed(
      "put", "s.coffer", "-k", "primary.key", input: "BEGIN " + String(repeating: "dawn\n", count: 1 << 18))
    let terminal = try PseudoTerminal()
    let child = try Child(["show", "s.coffer", "2"] + options, in: sandbox, streams: .terminal(terminal.path))
    #expect(terminal.waitFor("Passphrase for s.coffer:"))
    terminal.type(words.text)
    #expect(terminal.waitFor("BEGIN"))
    #expect(try ProcessMemory(of: child.process).found(words.needles).isEmpty)
    child.signal(SIGKILL)
    _ = child.wait()
  }

  @Test func openStoreKeepsNoPassphrase() throws {
    let words = Words()
    let sandbox = try sandbox(words)
    try #require(mkfifo(sandbox.path("gate"), 0o600) == 0)
    sandbox.environment["EDITOR"] = "f() { echo open > gate; cat gate > seen; }; f"
    let child = try Child(
      ["edit", "s.coffer", "1", "--key-command", "cat words.txt"], in: sandbox,
      streams: .descriptors(input: nil, output: nil, errors: nil))
    #expect(try sandbox.readAll(of: "gate") == "open\n")
    #expect(try ProcessMemory(of: child.process).found(words.needles).isEmpty)
    try sandbox.write(into: "gate", "go on")
    #expect(child.wait() == 0)
  }

  /// The keys have changed when the pin of the end is printed, but not all documents.
  @Test func rekeyErasesPassphrasesBeforeDocuments() throws {
    let (words, next) = (Words(), Words())
    let sandbox = try sandbox(words)
    try sandbox.write("next.txt", next.text)
    let lines = (0..<2000).map { "{\"text\":\"text \($0)\"}\n" }.joined()
    try sandbox.succeed("import", "s.coffer", "-", "--from", "ndjson", "-k", "primary.key", input: lines)
    var ends: [Int32] = [0, 0]
    try #require(pipe(&ends) == 0)
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    let child = try Child(
      ["rekey", "s.coffer", "--key-command", "cat words.txt", "--new-key-command", "cat next.txt", "--drop-slots"]
        + ["--batch", "1"], in: sandbox, streams: .descriptors(input: nil, output: nil, errors: ends[1]))
    close(ends[1])
    var errors = ""
    var buffer = [UInt8](repeating: 0, count: 4096)
    while !errors.contains("pin at the end") {
      let count = read(ends[0], &buffer, buffer.count)
      try #require(count > 0, "\(errors)")
      errors += String(decoding: buffer[..<count], as: UTF8.self)
    }
    try #require(child.stop())
    let found = try ProcessMemory(of: child.process).found(
      words.needles.merging(next.needles.map { ("next \($0)", $1) }) { first, _ in first })
    #expect(found.isEmpty)
    close(ends[0])
    child.signal(SIGKILL)
    _ = child.wait()
    let status = try sandbox.run("rekey", "s.coffer", "--status", "--key-command", "cat next.txt")
    #expect(status.status == 23, "the process had ended: \(status.errors)")
  }

  // MARK: browse

  /// The texts of the store on all screens of browse.
  private static let texts = [
    "title": "Quellwolken über dem Hafen", "text": "Nebelbänke ziehen ostwärts, 港は霧の中",
    "attribute": "Windstärke sieben bis acht", "name": "Wetterberichte der Küste",
  ]

  private func browsed(_ options: [String], words: Words) throws -> Set<String> {
    let sandbox = try sandbox(words)
    let texts = Self.texts
    try sandbox.write(
      "in.ndjson",
      """
      {"title":"\(texts["title"]!)","text":"\(texts["text"]!) findbar","attributes":{"wind":"\(texts["attribute"]!)"}}
      {"title":"Leer","text":"Nichts, findbar"}

      """)
    try sandbox.succeed("import", "s.coffer", "in.ndjson", "-c", texts["name"]!, "-k", "primary.key")
    sandbox.environment["TERM"] = "xterm"
    let terminal = try PseudoTerminal()
    let child = try Child(
      ["browse", "s.coffer", "-c", texts["name"]!] + options, in: sandbox, streams: .terminal(terminal.path))
    defer {
      child.signal(SIGKILL)
      _ = child.wait()
    }
    if options.first != "--key-command" {
      #expect(terminal.waitFor("Passphrase for s.coffer:"))
      terminal.type(words.text)
    }
    #expect(terminal.waitFor("2 documents"))
    terminal.type("/findbar")
    #expect(terminal.waitFor("2 of 2"))
    terminal.type("=", end: "")
    #expect(terminal.waitFor("Windst"))
    let memory = ProcessMemory(of: child.process)
    var needles = words.needles
    for (name, text) in texts {
      // The halves are searched for too, because a row can show a part.
      needles[name] = Array(text.utf8.prefix(14))
      needles[name + ", end"] = Array(text.utf8.suffix(14))
    }
    // Finding the texts of the open store shows that the search works.
    let whileOpen = try memory.found(needles)
    #expect(whileOpen.isSuperset(of: ["title", "text", "attribute", "name"]), "\(whileOpen)")
    #expect(whileOpen.isDisjoint(with: words.needles.keys), "\(whileOpen)")
    terminal.type("L", end: "")
    #expect(terminal.waitFor("Locked: at your request."))
    // The collection's name is on the command line.
    return try memory.found(needles).filter { !$0.hasPrefix("name") }
  }

  @Test func lockedBrowserKeepsNoTypedPassphraseAndText() throws {
    #expect(try browsed(["--passphrase"], words: Words()).isEmpty)
    #expect(try browsed([], words: Words()).isEmpty)
  }

  @Test func lockedBrowserKeepsNoPrintedPassphraseAndText() throws {
    #expect(try browsed(["--key-command", "cat words.txt"], words: Words()).isEmpty)
  }
}

extension Sandbox {
  /// Reads a FIFO to its end.
  fileprivate func readAll(of name: String) throws -> String {
    let file = try FileHandle(forReadingFrom: directory.appending(path: name))
    return String(decoding: try file.readToEnd() ?? Data(), as: UTF8.self)
  }

  /// Writes to an existing file or FIFO.
  fileprivate func write(into name: String, _ text: String) throws {
    let file = try FileHandle(forWritingTo: directory.appending(path: name))
    try file.write(contentsOf: Data(text.utf8))
    try file.close()
  }
}
