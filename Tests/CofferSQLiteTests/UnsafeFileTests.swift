import Foundation
import Testing

@testable import CofferSQLite

/// Tests which journals, logs and `-shm` files a hardened connection rejects and accepts.
@Suite struct UnsafeFileTests {
  /// A file planted next to a database.
  enum Plant: String, CaseIterable {
    case symbolicLink, danglingLink, hardLink, emptyHardLink, pipe, directory

    /// Whether SQLite ignores the file until it writes, as for an empty file or a dangling link.
    var showsOnlyWhenWritten: Bool { self == .danglingLink || self == .emptyHardLink }

    /// The description in the error message.
    var word: String {
      switch self {
      case .symbolicLink, .danglingLink: "symbolic link"
      case .hardLink, .emptyHardLink: "hard link"
      case .pipe: "pipe"
      case .directory: "directory"
      }
    }

    func put(at path: String, victim: String) {
      switch self {
      case .symbolicLink: #expect(symlink(victim, path) == 0)
      case .danglingLink: #expect(symlink(victim + "-none", path) == 0)
      case .hardLink: #expect(link(victim, path) == 0)
      case .emptyHardLink:
        #expect(FileManager.default.createFile(atPath: victim + "-empty", contents: nil))
        #expect(link(victim + "-empty", path) == 0)
      case .pipe: #expect(mkfifo(path, 0o600) == 0)
      case .directory: #expect(mkdir(path, 0o700) == 0)
      }
    }
  }

  let scratch: Scratch
  let path: String
  let victim: String

  init() throws {
    scratch = try Scratch()
    path = scratch.file("file.db")
    victim = scratch.file("victim")
    try Data(repeating: 0x76, count: 100_000).write(to: URL(fileURLWithPath: victim))
  }

  private func make(writeAhead: Bool = false) throws {
    let database = try Database(path, mode: .createNew)
    if writeAhead { try database.execute("PRAGMA journal_mode = WAL") }
    try database.execute("CREATE TABLE t(a); INSERT INTO t VALUES(7)")
    try database.close()
  }

  private func open(_ mode: Database.Mode = .readWrite) throws -> Database {
    try Database(path, mode: mode, configuration: .init(busyTimeout: .zero, isHardened: true))
  }

  private func read(_ database: Database) throws { #expect(try database.query("SELECT a FROM t").rows[0][0] == 7) }

  /// Returns the contents of all regular files, and empty values for other files.
  private func fileContents() throws -> [String: Data] {
    var files: [String: Data] = [:]
    for name in try scratch.names() {
      var status = stat()
      let isFile = lstat(scratch.file(name), &status) == 0 && status.st_mode & S_IFMT == S_IFREG
      files[name] = isFile ? try Data(contentsOf: URL(fileURLWithPath: scratch.file(name))) : Data()
    }
    return files
  }

  /// Expects an error with the file's path, unchanged files, and a working connection after deleting the file.
  private func expectRefused(
    _ refused: String, _ word: String, _ mode: Database.Mode = .readWrite, by sql: String = "SELECT a FROM t",
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let before = try fileContents()
    let database = try open(mode)
    let error = thrown { try database.execute(sql) }
    #expect(error?.code == .unsafeFile, "\(error?.description ?? "no error")", sourceLocation: sourceLocation)
    #expect(error?.message.hasPrefix(refused + " ") == true, sourceLocation: sourceLocation)
    #expect(error?.message.contains(word) == true, sourceLocation: sourceLocation)
    #expect(error?.hint != nil, sourceLocation: sourceLocation)
    #expect(try fileContents() == before, sourceLocation: sourceLocation)
    try FileManager.default.removeItem(atPath: refused)
    try read(database)
    try database.close()
    try read(open(mode))
    #expect(
      try Data(contentsOf: URL(fileURLWithPath: victim)).allSatisfy { $0 == 0x76 }, sourceLocation: sourceLocation)
  }

  /// The seconds until a process that waits for a pipe is ended.
  private static let limit: UInt32 = 60

  // MARK: Journals

  @Test func rejectsSpecialJournalFile() async {
    await #expect(processExitsWith: .success) {
      alarm(Self.limit)
      for plant in Plant.allCases {
        for mode in [Database.Mode.readOnly, .readWrite] {
          let test = try UnsafeFileTests()
          try test.make()
          plant.put(at: test.path + "-journal", victim: test.victim)
          if plant.showsOnlyWhenWritten { try test.read(test.open(mode)) }
          let isWritten = plant.showsOnlyWhenWritten
          if isWritten && mode == .readOnly { continue }
          try test.expectRefused(
            test.path + "-journal", plant.word, mode, by: isWritten ? "UPDATE t SET a = 8" : "SELECT a FROM t")
        }
      }
    }
  }

  /// Writes a killed writer's journal, optionally with a super-journal's name at its end.
  private func plantJournal(naming superJournal: String?) throws {
    var journal = Journal.magic + Journal.bigEndian(0) + Journal.bigEndian(1)
    // The journal would truncate the database to its first page.
    journal += Journal.bigEndian(1) + Journal.bigEndian(512) + Journal.bigEndian(4096)
    journal += [UInt8](repeating: 0, count: 512 - journal.count)
    if let superJournal { journal += Journal.end(naming: superJournal) }
    try Data(journal).write(to: URL(fileURLWithPath: path + "-journal"))
  }

  @Test(arguments: [Database.Mode.readOnly, .readWrite])
  func rejectsJournalWithSuperJournal(mode: Database.Mode) throws {
    try make()
    try plantJournal(naming: victim)
    try expectRefused(path + "-journal", "super-journal", mode)
  }

  /// SQLite considers the transaction committed, and deletes the journal.
  @Test func rejectsJournalWithMissingSuperJournal() throws {
    try make()
    try plantJournal(naming: scratch.file("none"))
    try expectRefused(path + "-journal", "super-journal")
  }

  /// The journal isn't hot, because its first byte is zero. But the next writer's journal would keep its end.
  @Test func writerRejectsFinishedJournalWithSuperJournal() throws {
    try make()
    try Data([UInt8](repeating: 0, count: 512) + Journal.end(naming: victim))
      .write(to: URL(fileURLWithPath: path + "-journal"))
    try expectRefused(path + "-journal", "super-journal", by: "UPDATE t SET a = 8")
  }

  @Test func preventsCreatingSuperJournal() throws {
    try make()
    let database = try open()
    try Database(scratch.file("second.db"), mode: .create).execute("CREATE TABLE u(a)")
    try database.execute("ATTACH '\(scratch.file("second.db"))' AS second")
    try database.execute("BEGIN; UPDATE t SET a = 8; INSERT INTO u VALUES(1)")
    let error = thrown { try database.execute("COMMIT") }
    #expect(error?.code == .unsafeFile && error?.message.contains("several databases") == true)
    try database.close()
    try read(open())
    #expect(try Database(scratch.file("second.db")).query("SELECT * FROM u").rows.isEmpty)
  }

  @Test func reportsJournalOfAttachedDatabase() throws {
    try make()
    let second = scratch.file("second.db")
    try Database(second, mode: .create).execute("CREATE TABLE u(a)")
    #expect(symlink(victim, second + "-journal") == 0)
    let database = try open()
    let error = thrown { try database.execute("ATTACH '\(second)' AS second; SELECT * FROM second.u") }
    #expect(error?.code == .unsafeFile && error?.message.hasPrefix(second + "-journal ") == true)
  }

  // MARK: Logs

  @Test func rejectsSpecialLogFile() async {
    await #expect(processExitsWith: .success) {
      alarm(Self.limit)
      for suffix in ["-wal", "-shm"] {
        for plant in Plant.allCases {
          for mode in [Database.Mode.readOnly, .readWrite] {
            let test = try UnsafeFileTests()
            try test.make(writeAhead: true)
            plant.put(at: test.path + suffix, victim: test.victim)
            try test.expectRefused(test.path + suffix, plant.word, mode)
          }
        }
      }
    }
  }

  /// Writes a log next to `path` that changes 7 to 8, like a killed writer.
  private func plantLog() throws {
    let other = scratch.file("other.db")
    let database = try Database(other, mode: .createNew)
    try database.execute("PRAGMA journal_mode = WAL; CREATE TABLE t(a); INSERT INTO t VALUES(8)")
    try FileManager.default.copyItem(atPath: other + "-wal", toPath: path + "-wal")
    try database.close()
    try FileManager.default.removeItem(atPath: other)
  }

  @Test(arguments: [Database.Mode.readOnly, .readWrite])
  func rejectsLogOfRollbackDatabase(mode: Database.Mode) throws {
    try make()
    try plantLog()
    try expectRefused(path + "-wal", "write-ahead log", mode)
  }

  @Test(arguments: ["-journal", "-wal", "-shm"], [false, true])
  func acceptsEmptyFiles(suffix: String, writeAhead: Bool) throws {
    try make(writeAhead: writeAhead)
    try Data().write(to: URL(fileURLWithPath: path + suffix))
    let database = try open()
    try read(database)
    try database.execute("UPDATE t SET a = 9")
  }

  @Test func immutableDatabaseIgnoresSideFiles() throws {
    try make(writeAhead: true)
    for suffix in ["-journal", "-wal", "-shm"] { #expect(mkfifo(path + suffix, 0o600) == 0) }
    try read(open(.immutable))
  }

  // MARK: The database

  @Test func rejectsSpecialDatabaseFile() async {
    await #expect(processExitsWith: .success) {
      alarm(Self.limit)
      let test = try UnsafeFileTests()
      #expect(mkfifo(test.path, 0o600) == 0)
      for mode in [Database.Mode.readOnly, .readWrite, .create, .immutable] {
        let error = thrown { _ = try test.open(mode) }
        #expect(error?.code == .unsafeFile && error?.message.hasPrefix(test.path + " is a pipe") == true)
      }
    }
  }

  @Test func followsSymbolicLinkToDatabase() throws {
    try make()
    try FileManager.default.createSymbolicLink(atPath: scratch.file("link.db"), withDestinationPath: path)
    #expect(symlink(victim, scratch.file("link.db-journal")) == 0)
    let database = try Database(scratch.file("link.db"), configuration: .init(isHardened: true))
    try read(database)
    try database.execute("UPDATE t SET a = 7")
  }

  // MARK: Owners

  @Test(
    .enabled(if: geteuid() == 0, "only root gives files away"),
    arguments: [
      (owner: 0, group: 0, mode: 0o644, fileGroup: 0, accepted: false),
      (owner: 1001, group: 0, mode: 0o644, fileGroup: 0, accepted: false),
      (owner: 1002, group: 0, mode: 0o644, fileGroup: 0, accepted: true),
      (owner: 1001, group: 50, mode: 0o664, fileGroup: 50, accepted: true),
      (owner: 1001, group: 50, mode: 0o664, fileGroup: 51, accepted: false),
      (owner: 1001, group: 50, mode: 0o644, fileGroup: 50, accepted: false),
      (owner: 1001, group: 50, mode: 0o646, fileGroup: 51, accepted: true),
    ])
  func rejectsFilesOfUnprivilegedOwners(
    owner: UInt32, group: UInt32, mode: mode_t, fileGroup: UInt32, accepted: Bool
  ) throws {
    try make(writeAhead: true)
    #expect(chown(path, owner, group) == 0 && chmod(path, mode) == 0)
    for suffix in ["-journal", "-wal", "-shm"] {
      try Data().write(to: URL(fileURLWithPath: path + suffix))
      #expect(chown(path + suffix, 1002, fileGroup) == 0)
      let result = Result { () throws(FileCheck.Failure) in
        try FileCheck.checkFile(suffix == "-shm" ? "-shm" : suffix == "-wal" ? "-wal" : "-journal", beside: path)
      }
      if case .success = result { #expect(accepted) } else { #expect(!accepted) }
      unlink(path + suffix)
    }
    try Data().write(to: URL(fileURLWithPath: path + "-shm"))
    #expect(chown(path + "-shm", 1002, fileGroup) == 0)
    if accepted { try read(open()) } else { try expectRefused(path + "-shm", "a user who may not write") }
  }

  @Test(.enabled(if: geteuid() == 0, "only root gives files away"))
  func rollsBackJournalOfSharedDatabase() throws {
    try killedWriter()
    #expect(chown(path, 1001, 50) == 0 && chmod(path, 0o660) == 0)
    #expect(chown(path + "-journal", 1002, 50) == 0 && chmod(path + "-journal", 0o660) == 0)
    try expectRolledBack()
  }

  // MARK: Accepted files

  /// Leaves the files of a writer killed in a transaction.
  private func killedWriter() throws {
    let live = scratch.file("live.db")
    let database = try Database(live, mode: .createNew)
    try database.execute("PRAGMA page_size = 512; CREATE TABLE t(a)")
    for _ in 0..<100 { try database.execute("INSERT INTO t VALUES(7), (zeroblob(300))") }
    try database.execute("PRAGMA cache_size = 2; PRAGMA cache_spill = 1")
    try database.execute("BEGIN; UPDATE t SET a = zeroblob(200)")
    for suffix in ["", "-journal"] {
      try FileManager.default.copyItem(atPath: live + suffix, toPath: path + suffix)
    }
    try database.execute("ROLLBACK")
    try database.close()
  }

  private func expectRolledBack() throws {
    let database = try open()
    #expect(try database.query("SELECT count(*) FROM t WHERE a = 7").rows[0][0] == 100)
    #expect(try database.textPragma("integrity_check") == "ok")
    #expect(!FileManager.default.fileExists(atPath: path + "-journal"))
  }

  @Test func rollsBackJournalOfKilledWriter() throws {
    try killedWriter()
    try expectRolledBack()
  }

  @Test func readsLogOfKilledWriter() throws {
    let live = scratch.file("live.db")
    let database = try Database(live, mode: .createNew)
    try database.execute("PRAGMA journal_mode = WAL; CREATE TABLE t(a); INSERT INTO t VALUES(7)")
    for suffix in ["", "-wal"] { try FileManager.default.copyItem(atPath: live + suffix, toPath: path + suffix) }
    try read(open())
    try database.close()
  }

  @Test(arguments: ["DELETE", "TRUNCATE", "PERSIST", "MEMORY", "OFF", "WAL"])
  func everyJournalModeWorks(mode: String) throws {
    try make()
    let database = try open()
    let reader = try open()
    _ = try database.textPragma("journal_mode = \(mode)")
    for number in 0..<3 {
      try database.execute("UPDATE t SET a = ?", number)
      #expect(try reader.query("SELECT a FROM t").rows[0][0] == .integer(Int64(number)))
    }
    try database.execute("UPDATE t SET a = 7")
    for _ in 0..<50 { try database.execute("INSERT INTO t VALUES(zeroblob(5000))") }
    try database.execute("DELETE FROM t WHERE a <> 7; VACUUM")
    try database.backup(to: scratch.file("copy.db"))
    try read(Database(scratch.file("copy.db"), configuration: .init(isHardened: true)))
    #expect(try database.textPragma("integrity_check") == "ok")
  }

  @Test func supportsTemporaryAndInMemoryDatabases() throws {
    let database = try emptyDatabase(.init(isHardened: true))
    try database.execute("PRAGMA temp_store = FILE; PRAGMA cache_size = 1; CREATE TEMP TABLE big(a)")
    try database.transaction {
      for number in 0..<500 { try database.execute("INSERT INTO big VALUES(zeroblob(3000) || ?)", number) }
    }
    #expect(try database.query("SELECT a FROM big ORDER BY a DESC").rows.count == 500)
    let target = try emptyDatabase(.init(isHardened: true))
    try database.execute("CREATE TABLE t(a); INSERT INTO t VALUES(7)")
    try database.backup(to: target)
    try read(target)
  }

  @Test func unhardenedConnectionSkipsChecks() throws {
    try make()
    try plantLog()
    #expect(try Database(path).query("SELECT a FROM t").rows[0][0] == 8)
  }

  @Test func errorsNameFileOfEachThread() async throws {
    let scratch = scratch
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<8 {
        group.addTask {
          try await onThread {
            let path = scratch.file("\(number).db")
            try Database(path, mode: .createNew).execute("CREATE TABLE t(a)")
            #expect(symlink(scratch.file("victim"), path + "-journal") == 0)
            for _ in 0..<100 {
              let error = thrown {
                _ = try Database(path, configuration: .init(isHardened: true)).query("SELECT * FROM t")
              }
              #expect(error?.message.hasPrefix(path + "-journal ") == true)
            }
          }
        }
      }
      try await group.waitForAll()
    }
  }
}

/// The parts of SQLite's rollback journal.
private enum Journal {
  static let magic: [UInt8] = [0xD9, 0xD5, 0x05, 0xF9, 0x20, 0xA1, 0x63, 0xD7]

  static func bigEndian(_ number: Int) -> [UInt8] {
    (0..<4).reversed().map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
  }

  static func end(naming superJournal: String) -> [UInt8] {
    let name = Array(superJournal.utf8)
    let sum = name.reduce(0) { $0 + Int(Int8(bitPattern: $1)) }
    return bigEndian(0x4000_0000 / 4096 + 1) + name + bigEndian(name.count) + bigEndian(sum) + magic
  }
}
