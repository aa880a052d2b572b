import CofferPlatform
import CofferSQLite
import CofferTestSupport
import Foundation
import Testing

@Suite(.slow) struct InterruptTests {
  @Test(arguments: [SIGINT, SIGTERM], ["-", "/dev/stdin"])
  func interruptedImportLeavesStoreUnchanged(signal: Int32, input: String) throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.succeed("put", "s.coffer", "--text", "before")
    #expect(try RunningImport([], of: input, in: sandbox).end(by: signal) == 130)
    #expect(try sandbox.text(of: "err").hasSuffix("dbtool: error: interrupted\n"))
    #expect(try sandbox.succeed("ls", "s.coffer").lines.count == 1)
    try sandbox.succeed("verify", "s.coffer")
  }

  @Test func interruptedCreationLeavesNoFile() throws {
    let sandbox = try Sandbox()
    let names = try sandbox.names()
    let running = try RunningImport(["--create", "--key-file", "primary.key"], in: sandbox)
    #expect(running.end(by: SIGINT) == 130)
    #expect(try sandbox.names() == (names + ["err"]).sorted())
  }

  /// Filling a new store doesn't replace a file that another process creates at the same path.
  @Test func keepsStoreCreatedByOtherProcess() throws {
    let sandbox = try Sandbox()
    let running = try RunningImport(["--create", "--key-file", "primary.key"], in: sandbox)
    #expect(!sandbox.exists("s.coffer"))
    try sandbox.succeed("create", "s.coffer", "--test", "--key-file", "primary.key")
    try sandbox.succeed("put", "s.coffer", "--text", "acknowledged", "--key-file", "primary.key")
    #expect(running.end() == 1)
    #expect(try sandbox.text(of: "err").contains("was made by another process meanwhile"))
    #expect(try sandbox.succeed("ls", "s.coffer", "--key-file", "primary.key").lines.count == 1)
    #expect(try !sandbox.names().contains { $0.hasPrefix(".s.coffer") })
  }

  /// Interrupts the command while it waits for a writer's lock.
  @Test func interruptedCompactPrintsNextStep() throws {
    let sandbox = try Sandbox.withStore()
    let running = try RunningImport([], in: sandbox)
    let errors = open(sandbox.path("compact.err"), O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
    let nowhere = open("/dev/null", O_RDWR | O_CLOEXEC)
    defer {
      close(errors)
      close(nowhere)
    }
    let child = try Child(
      ["compact", "s.coffer", "--wait", "1000", "--json"], in: sandbox,
      streams: .descriptors(input: nowhere, output: nowhere, errors: errors))
    // The command sets its handler before it opens the store.
    waitUntil { Self.hasOpened("s.coffer", child) }
    child.signal(SIGINT)
    #expect(child.wait() == 130)
    let lines = try sandbox.text(of: "compact.err").split(separator: "\n").suffix(2)
    #expect(lines.first?.hasSuffix("then run compact again") == true)
    #expect(lines.last == #"{"error":{"code":130,"kind":"interrupted","message":"interrupted"}}"#)
    #expect(running.end() == 0)
    try sandbox.succeed("compact", "s.coffer")
  }

  /// Returns whether a command has a file open, or has ended.
  private static func hasOpened(_ name: String, _ child: Child) -> Bool {
    let folder = "/proc/\(child.process)/fd"
    guard let numbers = try? FileManager.default.contentsOfDirectory(atPath: folder), !numbers.isEmpty else {
      return true
    }
    return numbers.contains { number in
      let path = try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\(number)")
      return path?.hasSuffix("/\(name)") ?? false
    }
  }

  /// Interrupts a search for a long phrase in a text of one word.
  @Test func interruptedRankedSearchEndsAtOnce() throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.write("long", String(repeating: "the ", count: 200_000))
    try sandbox.succeed("import", "s.coffer", "long", "-c", "notes")
    try sandbox.succeed("index", "add", "s.coffer", "-c", "notes", "words")
    let phrase = "\"\(String(repeating: "the ", count: 24))\""
    let nowhere = open("/dev/null", O_RDWR | O_CLOEXEC)
    defer { close(nowhere) }
    var outcome: Int32 = 0
    for _ in 0..<100 where outcome == 0 {
      let child = try Child(
        ["search", "s.coffer", "-c", "notes", "--ranked", phrase], in: sandbox,
        streams: .descriptors(input: nowhere, output: nowhere, errors: nowhere))
      waitUntil { Self.hasOpened("s.coffer", child) }
      child.signal(SIGINT)
      // The search may have ended before the signal.
      outcome = child.wait()
    }
    #expect(outcome == 130)
    try sandbox.succeed("verify", "s.coffer")
  }

  @Test func killedImportLeavesReadableStore() throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.succeed("put", "s.coffer", "--text", "before")
    #expect(try RunningImport([], in: sandbox).end(by: SIGKILL) == -SIGKILL)
    #expect(try sandbox.succeed("ls", "s.coffer").lines.count == 1)
    try sandbox.succeed("verify", "s.coffer")
  }

  /// Sends the signal while the command fills the new store under a temporary name.
  @Test(arguments: [SIGINT, SIGTERM, SIGKILL])
  func interruptedCopyLeavesNoStore(signal: Int32) throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.succeed("import", "s.coffer", "-", "--from", "lines", input: String(repeating: "text\n", count: 60_000))
    let before = try sandbox.read("s.coffer")
    let names = try sandbox.names()
    let child = try stopped(
      ["copy", "s.coffer", "n.coffer", "--new-key-file", "next.key"], in: sandbox, whileThereIs: ".n.coffer.",
      output: "n.coffer")
    child.signal(signal)
    child.signal(SIGCONT)
    #expect(child.wait() == (signal == SIGKILL ? -SIGKILL : 130))
    if signal != SIGKILL { #expect(try sandbox.names() == names) }
    #expect(!sandbox.exists("n.coffer"))
    #expect(try sandbox.read("s.coffer") == before)
    try sandbox.succeed("copy", "s.coffer", "n.coffer", "7", "--new-key-file", "next.key")
    try sandbox.succeed("verify", "n.coffer", "--key-file", "next.key")
  }

  /// Kills the command while it writes the texts to a temporary folder.
  @Test func killedExportLeavesNoTexts() throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.succeed("import", "s.coffer", "-", "--from", "lines", input: String(repeating: "text\n", count: 20_000))
    let names = try sandbox.names()
    let child = try stopped(
      ["export", "s.coffer", "-o", "texts", "--to", "text"], in: sandbox, whileThereIs: ".dbtool-", output: "texts")
    child.signal(SIGKILL)
    #expect(child.wait() == -SIGKILL)
    // The shell that removes the texts ends shortly after the command.
    try waitUntil { try sandbox.names() == names }
  }

  @Test func killedExportLeavesNoDatabase() throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.succeed("import", "s.coffer", "-", "--from", "lines", input: String(repeating: "text\n", count: 20_000))
    let nowhere = open("/dev/null", O_RDWR | O_CLOEXEC)
    defer { close(nowhere) }
    let child = try Child(
      ["export", "s.coffer", "-o", "o.sqlite"], in: sandbox,
      streams: .descriptors(input: nowhere, output: nowhere, errors: nowhere))
    var status: Int32 = 0
    var named: Set<String> = []
    while waitpid(child.process, &status, WNOHANG) == 0 {
      for name in try sandbox.names() where name.hasPrefix(".dbtool-") {
        if let size = try? sandbox.read(name).count, size > 0 { named.insert(name) }
      }
    }
    #expect(status == 0)
    #expect(named.isEmpty)
    #expect(sandbox.exists("o.sqlite"))
  }

  @Test func resumesInterruptedRekey() throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.succeed(
      "import", "s.coffer", "-", "--from", "lines", input: (1...3000).map { "text \($0)\n" }.joined())
    // Repeat the rekey if it ended before the interrupt.
    var (outcome, errors): (Int32, String) = (0, "")
    while outcome == 0 {
      (outcome, errors) = try run(["rekey", "s.coffer", "--batch", "1"], in: sandbox, endedBy: SIGINT)
    }
    #expect(outcome == 130)
    #expect(errors.contains("hint: go on with rekey --resume\n"), "\(errors)")
    let status = try sandbox.run("rekey", "s.coffer", "--status")
    #expect(status.status == 23)
    try sandbox.succeed("verify", "s.coffer")
    try sandbox.succeed("rekey", "s.coffer", "--resume")
    #expect(try sandbox.run("rekey", "s.coffer", "--status").status == 1)
    try sandbox.succeed("verify", "s.coffer")
  }

  @Test(arguments: [["add", "s.coffer", "words"], ["update", "s.coffer"]])
  func interruptEndsWaitForLock(_ words: [String]) throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.succeed("put", "s.coffer", "--text", "before")
    let other = try Database(sandbox.path("s.coffer"), mode: .readWrite)
    try other.execute("BEGIN IMMEDIATE")
    let nowhere = open("/dev/null", O_RDWR | O_CLOEXEC)
    defer { close(nowhere) }
    let child = try Child(
      ["index"] + words + ["--wait", "60"], in: sandbox,
      streams: .descriptors(input: nowhere, output: nowhere, errors: nowhere))
    waitUntil { Self.hasOpened("s.coffer", child) }
    child.signal(SIGINT)
    #expect(child.wait() == 130)
    try other.execute("ROLLBACK")
  }

  /// Interrupts an import that waits in its transaction for the writer of a named pipe.
  @Test func interruptEndsWaitForWriterOfPipe() throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.write("first.txt", "first")
    try #require(mkfifo(sandbox.path("pipe"), 0o600) == 0)
    let nowhere = open("/dev/null", O_RDWR | O_CLOEXEC)
    defer { close(nowhere) }
    let child = try Child(
      ["import", "s.coffer", "first.txt", "pipe"], in: sandbox,
      streams: .descriptors(input: nowhere, output: nowhere, errors: nowhere))
    waitUntil { Self.hasOpened("pipe", child) }
    child.signal(SIGTERM)
    waitUntil { !child.isRunning }
    child.signal(SIGKILL)
    #expect(child.wait() == 130)
    #expect(try sandbox.succeed("ls", "s.coffer").lines.isEmpty)
  }

  /// Interrupts an export whose reader doesn't read.
  @Test func interruptEndsWaitForReader() throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.write("long.txt", String(repeating: "a line of text\n", count: 200_000))
    try sandbox.succeed("import", "s.coffer", "long.txt", "--from", "text")
    let (child, output) = try sandbox.start(["export", "s.coffer"])
    defer { close(output) }
    // The export has begun when there's something to read. This is FIONREAD of asm-generic/ioctls.h.
    var waiting: Int32 = 0
    waitUntil { ioctl(output, 0x541B, &waiting) == 0 && waiting > 0 }
    child.signal(SIGTERM)
    waitUntil { !child.isRunning }
    child.signal(SIGKILL)
    #expect(child.wait() == 130)
  }

  /// An index that isn't complete is undone before the command ends.
  @Test func interruptedIndexLeavesNoJournal() throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.succeed(
      "import", "s.coffer", "-", "--from", "lines", input: (1...20_000).map { "text \($0)\n" }.joined())
    let names = try sandbox.names()
    var outcome: Int32 = 0
    while outcome == 0 {
      try sandbox.succeed("index", "drop", "s.coffer")
      outcome = try run(["index", "add", "s.coffer", "words", "substrings"], in: sandbox, endedBy: SIGINT).0
    }
    #expect(outcome == 130)
    #expect(try sandbox.names() == names)
    #expect(try sandbox.succeed("index", "list", "s.coffer").lines == [])
    try sandbox.succeed("verify", "s.coffer")
  }

  /// Starts a command, stops it while a temporary file with this prefix exists, and returns it.
  ///
  /// On a busy machine the command can end too early. The function then starts another one.
  private func stopped(
    _ words: [String], in sandbox: Sandbox, whileThereIs prefix: String, output: String
  ) throws -> Child {
    let isThere = { try sandbox.names().contains { $0.hasPrefix(prefix) } }
    let nowhere = open("/dev/null", O_RDWR | O_CLOEXEC)
    defer { close(nowhere) }
    for _ in 0..<100 {
      let child = try Child(
        words, in: sandbox,
        streams: .descriptors(input: nowhere, output: nowhere, errors: nowhere))
      try waitUntil { try !child.isRunning || isThere() }
      if child.stop() {
        if try isThere() { return child }
        child.signal(SIGCONT)
        _ = child.wait()
      }
      try sandbox.remove(output)
    }
    throw POSIXError(.ETIMEDOUT)
  }

  /// Signals a command after its first step, and returns the exit code and standard error.
  private func run(_ words: [String], in sandbox: Sandbox, endedBy signal: Int32) throws -> (Int32, String) {
    var ends: [Int32] = [0, 0]
    try #require(pipe(&ends) == 0)
    defer { close(ends[0]) }
    let nowhere = open("/dev/null", O_RDWR | O_CLOEXEC)
    defer { close(nowhere) }
    let child = try Child(
      words + ["--progress", "json"], in: sandbox,
      streams: .descriptors(input: nowhere, output: nowhere, errors: ends[1]))
    close(ends[1])
    var told = ""
    var bytes = [UInt8](repeating: 0, count: 4096)
    while told.firstMatch(of: /"done":[1-9]/) == nil, case let count = read(ends[0], &bytes, bytes.count), count > 0 {
      told += String(decoding: bytes[..<count], as: UTF8.self)
    }
    child.signal(signal)
    let status = child.wait()
    // Another child may hold the writing end, so don't wait for the end of the stream.
    _ = fcntl(ends[0], F_SETFL, O_NONBLOCK)
    while case let count = read(ends[0], &bytes, bytes.count), count > 0 {
      told += String(decoding: bytes[..<count], as: UTF8.self)
    }
    return (status, told)
  }
}

/// An import that has read many lines from standard input and waits for more.
private struct RunningImport {
  let child: Child
  private let feeding: Int32

  /// - Parameters:
  ///   - input: The word that names standard input.
  ///   - errors: The file in the sandbox for standard error.
  init(_ options: [String], of input: String = "-", in sandbox: Sandbox, errors: String = "err") throws {
    var ends: [Int32] = [0, 0]
    try #require(pipe(&ends) == 0)
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    let output = open(sandbox.path(errors), O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
    child = try Child(
      ["import", "s.coffer", input, "--from", "lines"] + options, in: sandbox,
      streams: .descriptors(input: ends[0], output: output, errors: output))
    close(ends[0])
    close(output)
    feeding = ends[1]
    // Send more data than pipe and buffers hold, so the import has started storing documents when all data is read.
    let lines = [UInt8](String(repeating: "a line of text\n", count: 150_000).utf8)
    var sent = 0
    while sent < lines.count {
      let count = lines.withUnsafeBytes { write(feeding, $0.baseAddress! + sent, lines.count - sent) }
      try #require(count > 0)
      sent += count
    }
  }

  /// Closes the input, and waits for the end.
  func end() -> Int32 {
    close(feeding)
    return child.wait()
  }

  func end(by signal: Int32) -> Int32 {
    child.signal(signal)
    defer { close(feeding) }
    return child.wait()
  }
}
