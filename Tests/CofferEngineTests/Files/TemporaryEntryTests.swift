import CofferEngine
import CofferPlatform
import CofferSQLite
import CofferTestSupport
import Foundation
import Testing

@testable import CofferStoreTestSupport

/// Temporary files and folders, and the removal of those that killed processes have left.
@Suite struct TemporaryEntryTests {
  private let place: Workplace

  init() throws {
    place = try Workplace()
  }

  private var folder: String { place.url.path }

  private func names() throws -> Set<String> {
    Set(try FileManager.default.contentsOfDirectory(atPath: folder))
  }

  /// Creates entries that no process holds.
  private func abandon(_ names: String...) throws {
    for name in names { try Data("x".utf8).write(to: place.file(name)) }
  }

  @Test func recognizesOwnNames() {
    for name in ["s.coffer", "é", "a b", String(repeating: "ü", count: 120)] {
      let temporary = TemporaryName.beside(name)
      #expect(TemporaryName.isOurs(temporary) && temporary.utf8.count <= 230)
    }
    for name in [TemporaryName.output(), TemporaryName.draft(), TemporaryName.privateCopy()] {
      #expect(TemporaryName.isOurs(name))
    }
  }

  @Test func rejectsNamesOfOtherPrograms() {
    let ours = TemporaryName.beside("s.coffer")
    for name in [
      "", ".", ".new", "..new", "s.coffer", ".s.coffer.new", ".s.coffer.0123456789abcdef.new", ".0123456789abcdef.new",
      ".dbtool-aB3xY9", ".dbtool-0123456789abcdef", "coffer-0123456789abcdef", String(ours.dropFirst()),
      String(ours.dropLast()), ours + "~", ours.uppercased(), ours.replacing("s.coffer", with: "t.coffer"),
      ours.replacing(".new", with: ".tmp"), TemporaryName.output().replacing("dbtool", with: "other"),
    ] {
      #expect(!TemporaryName.isOurs(name), "\(name)")
    }
  }

  @Test func removesAbandonedEntries() throws {
    let (store, output, copy) = (TemporaryName.beside("s.coffer"), TemporaryName.output(), TemporaryName.privateCopy())
    try abandon(store, store + "-journal", store + "-wal", store + "-shm", output, TemporaryName.beside("t") + "-wal")
    try FileManager.default.createDirectory(
      at: place.file(copy).appending(path: "inner"), withIntermediateDirectories: true)
    try Data("x".utf8).write(to: place.file(copy).appending(path: "inner/text"))
    let foreign = ["s.coffer", ".s.coffer.0123456789abcdef.new", ".x.new", "coffer-notes"]
    for name in foreign { try abandon(name) }
    TemporaryEntry.removeAbandoned(in: folder)
    #expect(try names() == Set(foreign))
  }

  /// In such a folder, another user could have renamed the folder.
  @Test(arguments: [0o1777, 0o777, 0o770])
  func keepsFoldersThatOthersCanRename(mode: mode_t) throws {
    let copy = TemporaryName.privateCopy()
    try FileManager.default.createDirectory(at: place.file(copy), withIntermediateDirectories: false)
    try abandon(TemporaryName.output())
    try #require(chmod(folder, mode) == 0)
    TemporaryEntry.removeAbandoned(in: folder)
    #expect(try names() == (mode == 0o1777 ? [] : [copy]))
  }

  /// Where other users can rename the folder, one of them can give its name to another folder.
  @Test func removesOnlyFolderThatItHolds() throws {
    let entry = try #require(TemporaryEntry(folder: folder + "/" + TemporaryName.privateCopy()))
    for inner in [entry.path + "/inner", folder + "/mine/inner"] {
      try FileManager.default.createDirectory(atPath: inner, withIntermediateDirectories: true)
      try Data("x".utf8).write(to: URL(filePath: inner + "/text"))
    }
    #expect(rename(entry.path, folder + "/away") == 0 && rename(folder + "/mine", entry.path) == 0)
    entry.removeFolder()
    #expect(FileManager.default.fileExists(atPath: entry.path + "/inner/text"))
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder + "/away").isEmpty)
  }

  @Test func removesFilesWithAnyNames() throws {
    let entry = try #require(TemporaryEntry(folder: folder + "/" + TemporaryName.output()))
    for name: [UInt8] in [[0x66, 0xFF], Array("é".utf8), Array("e\u{301}".utf8)] {
      let path = Array(entry.path.utf8) + [UInt8(ascii: "/")] + name + [0]
      let file = path.withUnsafeBytes {
        open($0.baseAddress!.assumingMemoryBound(to: CChar.self), O_CREAT | O_WRONLY | O_CLOEXEC, 0o600)
      }
      try #require(file >= 0)
      close(file)
    }
    entry.removeFolder()
    #expect(try names().isEmpty)
  }

  @Test func keepsHeldEntries() throws {
    let file = try #require(TemporaryEntry(file: folder + "/" + TemporaryName.beside("s")))
    let directory = try #require(TemporaryEntry(folder: folder + "/" + TemporaryName.output()))
    // Another process, which knows the entries only by their locks.
    let other = TemporaryName.beside("other")
    try abandon(other)
    let lock = open(place.file(other).path, O_RDWR | O_CLOEXEC)
    try #require(RangeLock.take(RangeLock.incomplete, of: lock))
    TemporaryEntry.removeAbandoned(in: folder)
    #expect(try names().count == 3)
    close(lock)
    file.release()
    directory.release()
    TemporaryEntry.removeAbandoned(in: folder)
    #expect(try names().isEmpty)
  }

  @Test func followsNoLinks() throws {
    try abandon("victim")
    try FileManager.default.createDirectory(at: place.file("folder"), withIntermediateDirectories: false)
    try Data("x".utf8).write(to: place.file("folder").appending(path: "inside"))
    let (link, folderLink) = (TemporaryName.beside("s"), TemporaryName.output())
    #expect(symlink(place.file("victim").path, place.file(link).path) == 0)
    #expect(symlink(place.file("folder").path, place.file(folderLink).path) == 0)
    let copy = TemporaryName.privateCopy()
    try FileManager.default.createDirectory(at: place.file(copy), withIntermediateDirectories: false)
    #expect(symlink(place.file("folder").path, place.file(copy).appending(path: "link").path) == 0)
    TemporaryEntry.removeAbandoned(in: folder)
    #expect(try names() == ["victim", "folder", link, folderLink])
    #expect(FileManager.default.fileExists(atPath: place.file("folder").appending(path: "inside").path))
  }

  @Test func removesOnlyTemporaryNameOfLinkedStore() throws {
    let name = TemporaryName.beside("s")
    try abandon("s")
    #expect(link(place.file("s").path, place.file(name).path) == 0)
    TemporaryEntry.removeAbandoned(in: folder)
    #expect(try names() == ["s"])
  }

  @Test func keepsRenamedFileWithItsLock() throws {
    let entry = try #require(TemporaryEntry(file: folder + "/" + TemporaryName.beside("s")))
    #expect(rename(entry.path, place.file("s").path) == 0)
    entry.release()
    TemporaryEntry.removeAbandoned(in: folder)
    #expect(try names() == ["s"])
  }

  /// Another thread can open a new store right after the store gets its name.
  @Test func keepsSQLiteLocksOfRenamedFile() throws {
    let entry = try #require(TemporaryEntry(file: folder + "/" + TemporaryName.beside("s")))
    #expect(rename(entry.path, place.file("s").path) == 0)
    let database = try Database(place.file("s").path, mode: .readWrite)
    try database.begin(.exclusive)
    entry.release()
    #expect(try !HeldLocks.ofFiles(in: place.url).isEmpty)
    try database.commit()
    try database.close()
    #expect(try HeldLocks.ofFiles(in: place.url).isEmpty)
  }

  @Test func ignoresMissingFolder() {
    TemporaryEntry.removeAbandoned(in: folder + "/none")
    #expect(TemporaryEntry(file: folder + "/none/x") == nil && errno == ENOENT)
  }

  /// Threads create, hold and publish entries while others remove abandoned ones.
  @Test func concurrentRunsKeepEachOthersEntries() throws {
    let folder = folder
    let threads = (0..<4).map { thread in
      Background {
        for round in 0..<50 {
          TemporaryEntry.removeAbandoned(in: folder)
          guard let entry = TemporaryEntry(file: folder + "/" + TemporaryName.beside("s")),
            write(entry.descriptor, "x", 1) == 1, rename(entry.path, "\(folder)/\(thread)-\(round)") == 0
          else { throw Interruption() }
          entry.release()
        }
      }
    }
    for thread in threads { try thread.value() }
    #expect(try names().count == 200)
  }
}
