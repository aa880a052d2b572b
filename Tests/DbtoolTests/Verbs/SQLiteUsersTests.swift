import CofferPlatform
import CofferTestSupport
import Foundation
import Testing

/// Tests importing databases that another process has open or left unfinished with a stock SQLite.
@Suite(.enabled(if: ForeignProcess.isPossible, "python3 with its sqlite3 module is absent"))
struct SQLiteUsersTests {
  private static let table = """
    c.execute("CREATE TABLE records(id INTEGER PRIMARY KEY, title, txt)")
    c.executemany("INSERT INTO records VALUES(?, 't', ?)", [(i, "old" + "x" * 300) for i in range(1, 201)])
    """

  private func files(_ sandbox: Sandbox) throws -> [String: [UInt8]] {
    let names = try sandbox.names().filter { $0.hasPrefix("in.db") }
    return try Dictionary(uniqueKeysWithValues: names.map { ($0, try sandbox.read($0)) })
  }

  private func texts(_ sandbox: Sandbox) throws -> Set<String> {
    let ids = (1...200).map(String.init)
    let shown = try sandbox.run(["show", "s.coffer", "--format", "ndjson"] + ids)
    struct Shown: Decodable { var text: String }
    return Set(try shown.lines.map { try JSONDecoder().decode(Shown.self, from: Data($0.utf8)).text })
  }

  @Test(.slow) func lockedDatabaseExitsWith11() throws {
    let sandbox = try Sandbox.withStore()
    let user = try ForeignProcess(
      """
      \(Self.table)
      c.execute("BEGIN EXCLUSIVE")
      c.execute("UPDATE records SET txt = 'new'")
      """, in: sandbox)
    let (store, before) = (try sandbox.read("s.coffer"), try files(sandbox))
    let locked = try sandbox.run("import", "s.coffer", "in.db", "--json")
    #expect(locked.status == 11)
    #expect(locked.errors.contains("\"kind\":\"locked\""))
    #expect(try sandbox.read("s.coffer") == store)
    #expect(try files(sandbox) == before)
    user.kill()
    // The killed process leaves a journal with the old pages.
    #expect(try sandbox.run("import", "s.coffer", "in.db").status == 0)
    #expect(try texts(sandbox) == ["old" + String(repeating: "x", count: 300)])
  }

  @Test func readsDatabaseDuringForeignRead() throws {
    let sandbox = try Sandbox.withStore()
    let user = try ForeignProcess(
      """
      \(Self.table)
      c.execute("BEGIN")
      c.execute("SELECT * FROM records").fetchone()
      """, in: sandbox)
    #expect(try sandbox.run("import", "s.coffer", "in.db").status == 0)
    user.kill()
  }

  /// The file already contains pages of an unfinished transaction, and the journal contains the old pages.
  @Test func rollsBackHotJournalInCopy() throws {
    let sandbox = try Sandbox.withStore()
    let user = try ForeignProcess(
      """
      \(Self.table)
      c.execute("PRAGMA cache_size = 1")
      c.execute("PRAGMA cache_spill = 1")
      c.execute("BEGIN")
      c.execute("UPDATE records SET txt = 'new' || hex(zeroblob(200))")
      """, in: sandbox)
    user.kill()
    let before = try files(sandbox)
    #expect(before.keys.sorted() == ["in.db", "in.db-journal"])
    #expect(before["in.db"].map { String(decoding: $0, as: UTF8.self).contains("new000") } == true)
    let imported = try sandbox.run("import", "s.coffer", "in.db")
    #expect(imported.status == 0)
    #expect(imported.diagnostics.contains("was copied to a private temporary file, now deleted, because "))
    #expect(try texts(sandbox) == ["old" + String(repeating: "x", count: 300)])
    #expect(try files(sandbox) == before)
  }

  @Test(arguments: [true, false]) func readsWriteAheadLogWithoutChanges(isKilled: Bool) throws {
    let sandbox = try Sandbox.withStore()
    let user = try ForeignProcess(
      """
      c.execute("PRAGMA journal_mode = WAL")
      \(Self.table)
      c.execute("PRAGMA wal_checkpoint(TRUNCATE)")
      c.execute("UPDATE records SET txt = 'committed'")
      c.execute("BEGIN")
      c.execute("UPDATE records SET txt = 'not committed'")
      """, in: sandbox)
    if isKilled { user.kill() }
    let before = try files(sandbox)
    #expect(before.keys.sorted() == ["in.db", "in.db-shm", "in.db-wal"])
    #expect(try sandbox.run("import", "s.coffer", "in.db").status == 0)
    #expect(try texts(sandbox) == ["committed"])
    #expect(try files(sandbox) == before)
    user.kill()
  }
}

/// A python3 process with the connection `c` to `in.db`, paused within a script.
private final class ForeignProcess {
  private let process = Process()
  private let input = Pipe()

  static let isPossible: Bool = {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = ["python3", "-c", "import sqlite3"]
    process.standardError = FileHandle.nullDevice
    guard (try? process.run()) != nil else { return false }
    process.waitUntilExit()
    return process.terminationStatus == 0
  }()

  init(_ script: String, in sandbox: Sandbox) throws {
    let output = Pipe()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = [
      "python3", "-c",
      """
      import sqlite3, sys
      c = sqlite3.connect(sys.argv[1], isolation_level=None)
      \(script)
      print("ready", flush=True)
      sys.stdin.read()
      """, sandbox.path("in.db"),
    ]
    process.standardInput = input
    process.standardOutput = output
    try process.run()
    // A failed script doesn't print a line.
    try #require(!output.fileHandleForReading.availableData.isEmpty)
  }

  deinit {
    kill()
  }

  /// Kills the process without cleanup.
  func kill() {
    guard process.isRunning else { return }
    CofferPlatform.kill(process.processIdentifier, SIGKILL)
    process.waitUntilExit()
  }
}
