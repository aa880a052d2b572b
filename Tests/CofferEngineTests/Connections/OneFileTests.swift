import Coffer
import CofferPlatform
import CofferSQLite
import CofferTestSupport
import Dispatch
import Foundation
import Synchronization
import Testing

@testable import CofferEngine
@testable import CofferStoreTestSupport

/// Two handles on a file in one process follow the same rules as a single handle.
struct OneFileTests {
  @Test(arguments: CreateOptions.Journal.allCases)
  func rejectsWriteNestedInOtherHandlesWrite(_ journal: CreateOptions.Journal) throws {
    var options = OpenOptions.testing
    options.wait = nil
    let test = try TestStore({ $0.journal = journal }, options: options)
    let other = try test.reopened(.published("primary"), options)
    try test.store.write { writer in
      try writer.insert(Document(text: "outer"), into: test.notes)
      expect(.misuse) { try other.write { try $0.insert(Document(text: "inner"), into: test.notes) } }
      expect(.misuse) { try other.compact() }
      expect(.misuse) { try DocumentStore.compact(at: test.url, wait: nil) }
      expect(.misuse) { try other.rekey { _ in } }
      expect(.misuse) { try other.keys.remove(slot: 1) }
    }
    #expect(try other.everything()["notes"]?.map(\.text) == ["outer"])
    try other.close()
    try test.expectSound()
  }

  /// SQLite's locks on a file end when any descriptor of the file is closed, but its connections still need them.
  @Test func closingOneHandlePreservesLocksOfOthers() throws {
    let test = try TestStore { $0.journal = .writeAheadLog }
    let raw = try test.raw()
    for _ in 0..<2 {
      let other = try test.reopened()
      try other.write { _ = try $0.insert(Document(text: "text"), into: test.notes) }
      try other.close()
      try DocumentStore.compact(at: test.url)
      #expect(try isLocked(test.url))
    }
    #expect(try raw.firstValue("SELECT count(*) FROM coffer_record") == .integer(2))
    try test.store.close()
    #expect(try isLocked(test.url))
    try raw.close()
    let last = try test.reopened()
    try last.close()
    #expect(try !isLocked(test.url))
    var status = stat()
    #expect(stat(test.url.path, &status) == 0 && !OpenFiles.isOpen(status))
  }

  /// Returns whether another process finds SQLite's lock on the file.
  private func isLocked(_ url: URL) throws -> Bool {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = [
      "python3", "-c",
      """
      import fcntl, sys
      try:
          fcntl.lockf(open(sys.argv[1], "r+b"), fcntl.LOCK_EX | fcntl.LOCK_NB, 512, 0x40000000)
      except BlockingIOError:
          sys.exit(3)
      """, url.path,
    ]
    try process.run()
    process.waitUntilExit()
    try #require([0, 3].contains(process.terminationStatus))
    return process.terminationStatus == 3
  }

  @Test func rejectsNestedReadInRollbackJournal() throws {
    try withTestStore { test in
      let other = try test.reopened()
      try test.store.write { writer in
        try writer.insert(Document(text: "outer"), into: test.notes)
        expect(.misuse) { try other.read { try $0.collections() } }
        expect(.misuse) { try other.backup(to: test.place.file("copy.coffer")) }
      }
      try test.store.read { _ in
        expect(.misuse) { try other.write { try $0.insert(Document(text: "inner"), into: test.notes) } }
        let count = try other.read { $0.documentCount }
        #expect(count == 1)
      }
      try other.close()
    }
  }

  @Test func nestedReadInWALSeesLastCommit() throws {
    try withTestStore({ $0.journal = .writeAheadLog }) { test in
      let other = try test.reopened()
      try test.store.write { writer in
        try writer.insert(Document(text: "outer"), into: test.notes)
        let count = try other.read { $0.documentCount }
        #expect(count == 0)
      }
      try test.store.read { reader in
        try other.write { try $0.insert(Document(text: "inner"), into: test.notes) }
        #expect(reader.documentCount == 1)
      }
      try other.close()
    }
  }

  @Test(arguments: CreateOptions.Journal.allCases)
  func servesWritersOfBothHandlesInOrder(_ journal: CreateOptions.Journal) throws {
    var options = OpenOptions.testing
    options.wait = nil
    let test = try TestStore({ $0.journal = journal }, options: options)
    let stores = [test.store, try test.reopened(.published("primary"), options)]
    let queue = test.store.engine.connections.locks.writers
    let notes = test.notes
    let meeting = Meeting()
    let holder = Background { try stores[0].write { _ in meeting.stop() } }
    meeting.waitForArrival()
    let writers = (0..<8).map { number in
      // The handles alternate, so neither acquires the lock twice in a row.
      let store = stores[(number + 1) % 2]
      let writer = Background { try store.write { try $0.insert(Document(text: "\(number)"), into: notes) } }
      waitUntil { queue.waiterCount == number + 1 }
      return writer
    }
    meeting.letGo()
    try holder.value()
    for writer in writers { _ = try writer.value() }
    #expect(try stores[1].everything()["notes"]?.map(\.text) == (0..<8).map(String.init))
    try stores[1].close()
    try test.expectSound()
  }

  @Test(arguments: CreateOptions.Journal.allCases)
  func closesInsideOtherHandlesWrite(_ journal: CreateOptions.Journal) throws {
    var options = OpenOptions.testing
    options.wait = nil
    let test = try TestStore({ $0.journal = journal }, options: options)
    let other = try test.reopened(.published("primary"), options)
    try other.write { try $0.insert(Document(text: "0"), into: test.notes) }
    try test.store.write { writer in
      try other.close()
      try writer.insert(Document(text: "1"), into: test.notes)
    }
    #expect(try test.store.everything()["notes"]?.map(\.text) == ["0", "1"])
    try test.expectSound()
  }

  @Test func twoHandlesLeaveFileUnchanged() throws {
    let test = try TestStore { $0.journal = .writeAheadLog }
    func names() throws -> Set<String> {
      Set(try FileManager.default.contentsOfDirectory(atPath: test.place.url.path))
    }
    func texts(_ store: DocumentStore) throws -> [String]? { try store.everything()["notes"]?.map(\.text) }
    try test.store.write { try $0.insert(Document(text: "0"), into: test.notes) }
    try test.store.close()
    let before = try names()
    var options = OpenOptions.testing
    options.leavesFileUnchanged = true
    let stores = [try test.reopened(.published("primary"), options), try test.reopened(.published("primary"), options)]
    for store in stores { #expect(try texts(store) == ["0"]) }
    #expect(try names() == before)
    for store in stores { try store.close() }
    #expect(try names() == before)
    // Beside a writer, its log is read.
    let writer = try test.reopened()
    try writer.write { try $0.insert(Document(text: "1"), into: test.notes) }
    let reader = try test.reopened(.published("primary"), options)
    #expect(try texts(reader) == ["0", "1"])
    try reader.close()
    try writer.close()
  }

  /// The log of a killed writer, in a file that the process has open in another way.
  @Test func readsLogOfOpenFileWithoutIndex() throws {
    let test = try TestStore { $0.journal = .writeAheadLog }
    try test.store.write { try $0.insert(Document(text: "0"), into: test.notes) }
    let copy = test.place.file("copy.coffer")
    for suffix in ["", "-wal"] {
      try FileManager.default.copyItem(atPath: test.url.path + suffix, toPath: copy.path + suffix)
    }
    let handle = try FileHandle(forReadingFrom: copy)
    defer { try? handle.close() }
    var options = OpenOptions.testing
    options.leavesFileUnchanged = true
    let reader = try DocumentStore.open(at: copy, key: .published("primary"), options: options)
    #expect(try reader.everything()["notes"]?.map(\.text) == ["0"])
  }

  @Test func sharesLocksOnlyBetweenHandlesOfSameFile() throws {
    let test = try TestStore()
    let link = test.place.file("link.coffer")
    try FileManager.default.createSymbolicLink(at: link, withDestinationURL: test.url)
    let same = try DocumentStore.open(at: link, key: .published("primary"), options: .testing)
    let another = try TestStore()
    #expect(same.engine.connections.locks === test.store.engine.connections.locks)
    #expect(another.store.engine.connections.locks !== test.store.engine.connections.locks)
  }
}
