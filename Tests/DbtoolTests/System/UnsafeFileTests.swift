import CofferPlatform
import CofferSQLite
import CofferTestSupport
import Foundation
import Testing

/// Tests that journals, logs and `-shm` files planted next to a store or import source cause exit code 20 or 22, and
/// that no file changes.
@Suite struct UnsafeFileTests {
  enum Plant: CaseIterable, CustomTestStringConvertible {
    case symbolicLink, hardLink, pipe, directory
    /// A journal that would truncate the store to one page and make SQLite delete the victim.
    case superJournal
    /// A log from another database.
    case log

    var testDescription: String { "\(self)" }

    func put(at name: String, in sandbox: Sandbox) throws {
      let path = sandbox.path(name)
      switch self {
      case .symbolicLink: #expect(symlink(sandbox.path("victim"), path) == 0)
      case .hardLink: #expect(link(sandbox.path("victim"), path) == 0)
      case .pipe: #expect(mkfifo(path, 0o600) == 0)
      case .directory: #expect(mkdir(path, 0o700) == 0)
      case .superJournal:
        try sandbox.write(name, bytes: Self.cuttingJournal() + Self.end(naming: sandbox.path("victim")))
      case .log:
        let other = try Database(sandbox.path("other.db"), mode: .createNew)
        try other.execute("PRAGMA journal_mode = WAL; CREATE TABLE t(a)")
        try FileManager.default.copyItem(atPath: sandbox.path("other.db-wal"), toPath: path)
        try other.close()
        try sandbox.remove("other.db")
      }
    }

    private static let magic: [UInt8] = [0xD9, 0xD5, 0x05, 0xF9, 0x20, 0xA1, 0x63, 0xD7]

    private static func bigEndian(_ numbers: Int...) -> [UInt8] {
      numbers.flatMap { number in (0..<4).reversed().map { UInt8(truncatingIfNeeded: number >> (8 * $0)) } }
    }

    /// Returns a journal without page records, with an original size of one page and sectors of 512 bytes.
    static func cuttingJournal(pageSize: Int = 4096) -> [UInt8] {
      let header = magic + bigEndian(0, 0, 1, 512, pageSize)
      return header + [UInt8](repeating: 0, count: 512 - header.count)
    }

    private static func end(naming path: String) -> [UInt8] {
      let name = Array(path.utf8)
      let sum = name.reduce(0) { $0 + Int(Int8(bitPattern: $1)) }
      return bigEndian(0x4000_0000 / 4096 + 1) + name + bigEndian(name.count, sum) + magic
    }
  }

  struct Case: CustomTestStringConvertible {
    let journal: String
    let suffix: String
    let plant: Plant

    var testDescription: String { "\(plant) as \(suffix), \(journal)" }
  }

  private static let links: [Plant] = [.symbolicLink, .hardLink, .pipe, .directory]
  private static let cases: [Case] =
    (links + [.superJournal]).map { Case(journal: "rollback", suffix: "-journal", plant: $0) }
    + (links + [.log]).map { Case(journal: "rollback", suffix: "-wal", plant: $0) }
    + links.flatMap { plant in ["-wal", "-shm"].map { Case(journal: "wal", suffix: $0, plant: plant) } }

  /// Every verb that opens a store. All succeed without planted files.
  private static let verbs = [
    ["info", "s.coffer"], ["verify", "--keyless", "s.coffer"], ["verify", "s.coffer"],
    ["verify", "--anchor-only", "--save-anchor", "-", "s.coffer"],
    ["collection", "list", "s.coffer"], ["collection", "drop", "s.coffer", "notes", "--force"], ["ls", "s.coffer"],
    ["show", "s.coffer", "1"], ["search", "s.coffer", "one"], ["query", "s.coffer", "SELECT title FROM documents"],
    ["put", "s.coffer", "-c", "notes", "--text", "more"], ["put", "s.coffer", "--id", "1", "--text", "other"],
    ["edit", "s.coffer", "1"], ["rm", "s.coffer", "1"], ["mv", "s.coffer", "2", "--to", "top"],
    ["collection", "sort", "s.coffer", "notes", "--by", "title"],
    ["collection", "clear", "s.coffer", "notes", "--force"],
    ["import", "s.coffer", "in.csv", "-c", "notes"],
    ["export", "s.coffer"], ["export", "s.coffer", "-o", "out.ndjson"],
    ["copy", "s.coffer", "out.coffer", "--new-key-file", "next.key"],
    ["copy", "s.coffer", "out.coffer", "--salvage", "--new-key-file", "next.key"],
    ["backup", "s.coffer", "out.coffer"], ["compact", "s.coffer"],
    ["rekey", "s.coffer", "--new-key-file", "next.key", "--drop-slots"],
    ["rekey", "s.coffer", "--status"], ["key", "list", "s.coffer"],
    ["key", "add", "s.coffer", "--new-key-file", "next.key"],
    ["key", "passwd", "s.coffer", "--new-key-file", "next.key"],
    ["key", "remove", "s.coffer", "2"],
  ]

  private func sandbox(_ journal: String) throws -> Sandbox {
    let sandbox = try Sandbox.withStore(journal: journal)
    sandbox.environment["EDITOR"] = "true"
    try sandbox.write("in.csv", "text\na\n")
    for text in ["one", "two"] { try sandbox.succeed("put", "s.coffer", "--title", text, "--text", text) }
    try sandbox.succeed("put", "s.coffer", "-c", "notes", "--text", "note")
    try sandbox.succeed("key", "add", "s.coffer", "--new-passphrase-file", "passphrase.txt")
    try sandbox.write("victim", String(repeating: "precious", count: 10_000))
    return sandbox
  }

  /// Runs the command with a timeout, which ends it with code 137.
  private func run(_ words: [String], in sandbox: Sandbox) throws -> Sandbox.Outcome {
    try sandbox.run(words, under: ["timeout", "-s", "KILL", "60"])
  }

  /// Returns the contents of all regular files, and empty values for other files.
  private func fileContents(_ sandbox: Sandbox) throws -> [String: [UInt8]] {
    var files: [String: [UInt8]] = [:]
    for name in try sandbox.names() {
      var status = stat()
      let isFile = lstat(sandbox.path(name), &status) == 0 && status.st_mode & S_IFMT == S_IFREG
      files[name] = isFile ? try sandbox.read(name) : []
    }
    return files
  }

  @Test(.slow, arguments: ["rollback", "wal"]) func everyVerbWorksWithoutPlantedFile(journal: String) throws {
    let sandbox = try sandbox(journal)
    let store = try sandbox.read("s.coffer")
    for verb in Self.verbs {
      let result = try run(verb, in: sandbox)
      // Without an unfinished rekey, --status ends with 1.
      #expect(result.status == (verb.contains("--status") ? 1 : 0), "\(verb): \(result.errors)")
      for name in ["out.ndjson", "out.coffer"] where sandbox.exists(name) { try sandbox.remove(name) }
      try sandbox.write("s.coffer", bytes: store)
    }
  }

  @Test(.slow, arguments: cases) func everyVerbRejectsPlantedFile(_ each: Case) throws {
    let sandbox = try sandbox(each.journal)
    let name = "s.coffer" + each.suffix
    try each.plant.put(at: name, in: sandbox)
    let before = try fileContents(sandbox)
    for verb in Self.verbs {
      let result = try run(verb, in: sandbox)
      #expect(result.status == 20, "\(verb): \(result.errors)")
      #expect(result.output.isEmpty, "\(verb)")
      #expect(result.errors.contains(" \(name) "), "\(verb): \(result.errors)")
      #expect(result.errors.contains("hint: nothing was changed"), "\(verb): \(result.errors)")
      #expect(try fileContents(sandbox) == before, "\(verb)")
    }
    try sandbox.remove(name)
    let verified = try sandbox.run("verify", "s.coffer")
    #expect(verified.status == 0, "\(verified.errors)")
  }

  @Test(arguments: cases) func infoReportsPlantedFile(_ each: Case) throws {
    let sandbox = try Sandbox.withStore(journal: each.journal)
    try sandbox.write("victim", "precious")
    let name = "s.coffer" + each.suffix
    try each.plant.put(at: name, in: sandbox)
    let before = try fileContents(sandbox)
    let result = try run(["info", "s.coffer", "--json"], in: sandbox)
    #expect(result.status == 20)
    #expect(result.errors.contains(#""kind":"unsafe-file""#) && result.errors.contains(" \(name) "))
    #expect(try fileContents(sandbox) == before)
  }

  /// SQLite doesn't open these links to read, but a writer would write through them.
  @Test func rejectsLinkToMissingOrEmptyFile() throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.write("empty", "")
    for plant in [{ symlink(sandbox.path("none"), $0) }, { link(sandbox.path("empty"), $0) }] {
      #expect(plant(sandbox.path("s.coffer-journal")) == 0)
      let before = try fileContents(sandbox)
      for verb in [["ls", "s.coffer"], ["put", "s.coffer", "--text", "x"]] {
        let result = try run(verb, in: sandbox)
        #expect(result.status == 20 && result.errors.contains("error: s.coffer-journal "), "\(result.errors)")
        #expect(try fileContents(sandbox) == before)
      }
      try sandbox.remove("s.coffer-journal")
    }
    try sandbox.succeed("put", "s.coffer", "--text", "x")
    try sandbox.succeed("verify", "s.coffer")
  }

  /// SQLite maps the file into memory, so the kernel ends a process that reads past the new end.
  @Test func truncatedLogIndexLeavesDocumentsIntact() throws {
    let sandbox = try Sandbox.withStore("--wal")
    try sandbox.succeed("import", "s.coffer", "-", "--from", "lines", input: String(repeating: "text\n", count: 30_000))
    var ends: [Int32] = [0, 0]
    try #require(pipe(&ends) == 0)
    defer { close(ends[0]) }
    let nowhere = open("/dev/null", O_RDWR | O_CLOEXEC)
    defer { close(nowhere) }
    let reader = try Child(
      ["export", "s.coffer", "--to", "ndjson"], in: sandbox,
      streams: .descriptors(input: nowhere, output: ends[1], errors: nowhere))
    close(ends[1])
    var bytes = [UInt8](repeating: 0, count: 1 << 16)
    #expect(read(ends[0], &bytes, 1) == 1)
    #expect(truncate(sandbox.path("s.coffer-shm"), 0) == 0)
    while read(ends[0], &bytes, bytes.count) > 0 {}
    #expect(reader.wait() == -SIGBUS)
    try sandbox.succeed("verify", "s.coffer")
    #expect(try sandbox.succeed("ls", "s.coffer").lines.count == 30_000)
  }

  /// SQLite plays the journal back, because it looks like a killed writer's journal. dbtool detects the damage, and
  /// other files remain unchanged.
  @Test func plantedPlainJournalDamagesStoreOnly() throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.write("s.coffer-journal", bytes: Plant.cuttingJournal(pageSize: 8192))
    for verb in ["ls", "verify"] {
      let result = try run([verb, "s.coffer"], in: sandbox)
      // The journal truncates the store, which is then damaged or unrecognizable.
      #expect([10, 20].contains(result.status), "\(result.errors)")
    }
  }

  // MARK: Sources of import

  @Test(arguments: cases) func importRejectsPlantedFile(_ each: Case) throws {
    let sandbox = try Sandbox.withStore()
    let database = try Database(sandbox.path("in.db"), mode: .createNew)
    if each.journal == "wal" { try database.execute("PRAGMA journal_mode = WAL") }
    try database.execute("CREATE TABLE records(id INTEGER PRIMARY KEY, title, txt)")
    try database.execute("INSERT INTO records VALUES(1, 'a', 'b')")
    try database.close()
    try sandbox.write("victim", String(repeating: "precious", count: 10_000))
    try each.plant.put(at: "in.db" + each.suffix, in: sandbox)
    let before = try fileContents(sandbox)
    let result = try run(["import", "s.coffer", "in.db"], in: sandbox)
    #expect(try fileContents(sandbox).filter { $0.key != "s.coffer" } == before.filter { $0.key != "s.coffer" })
    // The import never opens -shm, because it reads a log from a copy. The journal's copy doesn't contain the
    // super-journal's name, and this journal truncates the database copy.
    if each.suffix == "-shm" {
      #expect(result.status == 0, "\(result.errors)")
    } else {
      #expect(result.status == 22, "\(result.errors)")
      #expect(try fileContents(sandbox) == before)
    }
    if each.plant != .superJournal && each.suffix != "-shm" {
      #expect(result.errors.contains("in.db\(each.suffix) "), "\(result.errors)")
    }
    try sandbox.remove("in.db" + each.suffix)
    try sandbox.succeed("import", "s.coffer", "in.db")
  }
}
