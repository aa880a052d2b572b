import Coffer
import CofferSQLite
import Foundation
import Testing

@testable import CofferStoreTestSupport

/// The log of a replicated store, which only the replication program may restart.
struct ReplicatedLogTests {
  /// A process that holds a connection to the store, like a replication program, until its input ends.
  private final class Onlooker {
    private let process = Process()
    private let input = Pipe()

    init(_ url: URL) throws {
      let output = Pipe()
      process.executableURL = URL(filePath: "/usr/bin/env")
      process.arguments = [
        "python3", "-c",
        """
        import sqlite3, sys
        connection = sqlite3.connect(sys.argv[1])
        connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        print("open", flush=True)
        sys.stdin.read()
        """, url.path,
      ]
      (process.standardInput, process.standardOutput) = (input, output)
      try process.run()
      _ = try output.fileHandleForReading.read(upToCount: 1)
    }

    func end() {
      try? input.fileHandleForWriting.close()
      process.waitUntilExit()
    }
  }

  private func replicated() throws -> TestStore {
    let test = try TestStore { $0.journal = .writeAheadLog }
    let raw = try test.raw()
    try raw.execute("CREATE TABLE _litestream_seq (id INTEGER PRIMARY KEY, seq INTEGER)")
    try raw.close()
    return test
  }

  /// Writes enough to exceed the length at which the log restarts.
  private func writeLongLog(_ test: TestStore) throws {
    for _ in 0..<8 {
      try test.store.write { writer in
        _ = try writer.insert(Document(text: String(repeating: "x", count: 1 << 20)), into: test.notes)
      }
    }
  }

  private func logSize(_ test: TestStore) throws -> Int {
    try Data(contentsOf: test.place.file("test.coffer-wal")).count
  }

  @Test func keepsLongLogForReplicationProgram() throws {
    let test = try replicated()
    let onlooker = try Onlooker(test.url)
    try writeLongLog(test)
    #expect(try logSize(test) > 8 << 20)
    expect(.locked) { try test.store.compact() }
    var options = OpenOptions.testing
    options.wait = .zero
    let hasty = try test.reopened(.published("primary"), options)
    expect(.locked) { try hasty.rekey() }
    let status = try hasty.rekeyStatus()
    #expect(!status.isFinished || status.hasOldPages)
    try hasty.close()
    #expect(try logSize(test) > 8 << 20)
    onlooker.end()
    try test.store.rekey(options: .resuming)
    let finished = try test.store.rekeyStatus()
    #expect(finished.isFinished && !finished.hasOldPages)
    try test.expectSound()
  }

  @Test func restartsLogWithoutReplication() throws {
    let test = try TestStore { $0.journal = .writeAheadLog }
    let onlooker = try Onlooker(test.url)
    try writeLongLog(test)
    #expect(try logSize(test) < 8 << 20)
    onlooker.end()
    // The store still contains the tables of an uninstalled program.
    let former = try replicated()
    try writeLongLog(former)
    #expect(try logSize(former) < 8 << 20)
  }
}
