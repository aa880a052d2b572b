import Coffer
import CofferPlatform
import CofferRecords
import CofferSQLite
import CofferTestSupport
import Foundation
import Testing

@testable import CofferSearch
@testable import CofferStoreTestSupport

/// Links, renames, lost journals, and forks while a store is open.
struct FileNameTests {
  private func content(_ store: DocumentStore) throws -> [String] {
    try store.read { reader in
      let headers = try reader.headers(in: DocumentCollection("notes"))
      return try headers.map { try reader.text(of: $0.id) }
    }
  }

  private func open(_ url: URL) throws -> DocumentStore {
    try DocumentStore.open(at: url, key: .published("primary"), options: .testing)
  }

  // MARK: Symbolic links

  @Test(arguments: CreateOptions.Journal.allCases)
  func opensStoreBySymbolicLink(_ journal: CreateOptions.Journal) throws {
    try withTestStore({ $0.journal = journal }) { test in
      let elsewhere = try Workplace()
      let link = elsewhere.file("link.coffer")
      try FileManager.default.createSymbolicLink(at: link, withDestinationURL: test.url)
      let linked = try open(link)
      try linked.write { try $0.insert(Document(text: "by the link"), into: test.notes) }
      try test.store.write { try $0.insert(Document(text: "by the name"), into: test.notes) }
      #expect(try content(linked) == ["by the link", "by the name"])
      #expect(try content(test.store) == ["by the link", "by the name"])
      #expect(try FileManager.default.contentsOfDirectory(atPath: elsewhere.url.path) == ["link.coffer"])
      try linked.close()
    }
  }

  @Test func checkpointsLogOfLinkedStore() throws {
    let test = try TestStore { $0.journal = .writeAheadLog }
    let link = test.place.file("link.coffer")
    try FileManager.default.createSymbolicLink(at: link, withDestinationURL: test.url)
    let linked = try open(link)
    let text = String(repeating: "x", count: 1 << 20)
    for _ in 0..<24 { try linked.write { try $0.insert(Document(text: text), into: test.notes) } }
    let log = try FileManager.default.attributesOfItem(atPath: test.url.path + "-wal")[.size] as? NSNumber
    #expect(try #require(log).intValue < 16 << 20)
  }

  // MARK: Hard links

  @Test func hardLinkedStoreRejectsWrites() throws {
    try withTestStore { test in
      try test.store.write { try $0.insert(Document(text: "before"), into: test.notes) }
      let second = test.place.file("second.coffer")
      try FileManager.default.linkItem(at: test.url, to: second)
      for store in [test.store, try open(second)] {
        #expect(try content(store) == ["before"])
        expect(.readOnly) { try store.write { try $0.insert(Document(text: "no"), into: test.notes) } }
        expect(.readOnly) { try store.rekey { _ in } }
        expect(.readOnly) { try store.compact() }
      }
      expect(.readOnly) { try DocumentStore.compact(at: second) }
      try FileManager.default.removeItem(at: second)
      try test.store.write { try $0.insert(Document(text: "after"), into: test.notes) }
      #expect(try content(test.store) == ["before", "after"])
    }
  }

  @Test func rejectsHardLinkedStoreWithLog() throws {
    try withTestStore({ $0.journal = .writeAheadLog }) { test in
      try test.store.write { try $0.insert(Document(text: "before"), into: test.notes) }
      let second = test.place.file("second.coffer")
      try FileManager.default.linkItem(at: test.url, to: second)
      for url in [test.url, second] { expect(.readOnly) { try open(url) } }
      expect(.readOnly) { try test.store.write { try $0.insert(Document(text: "no"), into: test.notes) } }
      #expect(!FileManager.default.fileExists(atPath: second.path + "-wal"))
      try FileManager.default.removeItem(at: second)
    }
  }

  // MARK: Renamed or replaced while open

  @Test(arguments: CreateOptions.Journal.allCases)
  func movedStoreRejectsWrites(_ journal: CreateOptions.Journal) throws {
    let test = try TestStore { $0.journal = journal }
    try test.store.write { try $0.insert(Document(text: "before"), into: test.notes) }
    let moved = test.place.file("moved.coffer")
    for suffix in ["", "-wal", "-shm"] where FileManager.default.fileExists(atPath: test.url.path + suffix) {
      try FileManager.default.moveItem(atPath: test.url.path + suffix, toPath: moved.path + suffix)
    }
    expect(.noSuchFile) { try test.store.write { try $0.insert(Document(text: "no"), into: test.notes) } }
    expect(.noSuchFile) { try test.store.compact() }
    let again = try open(moved)
    #expect(try content(again) == ["before"])
    try again.write { try $0.insert(Document(text: "after"), into: test.notes) }
    #expect(try again.verify().isSound)
  }

  @Test(arguments: CreateOptions.Journal.allCases)
  func detectsReplacedStore(_ journal: CreateOptions.Journal) throws {
    let test = try TestStore { $0.journal = journal }
    try test.store.write { try $0.insert(Document(text: "before"), into: test.notes) }
    let copy = test.place.file("copy.coffer")
    try test.store.backup(to: copy)
    try test.store.write { try $0.insert(Document(text: "later"), into: test.notes) }
    _ = rename(copy.path, test.url.path)
    expect(.noSuchFile) { try test.store.write { try $0.insert(Document(text: "no"), into: test.notes) } }
    // A concurrent reader needs a second connection.
    try test.store.read { _ in
      expect(.noSuchFile) { try Background { [store = test.store] in try store.read { _ in } }.value() }
    }
  }

  // MARK: A lost journal

  @Test func detectsLostJournal() throws {
    let test = try TestStore()
    try test.store.write { writer in
      for number in 1...30 {
        try writer.insert(Document(text: String(repeating: "\(number)", count: 900)), into: test.notes)
      }
    }
    let copies = try Workplace()
    try test.store.write { writer in
      // Pages evicted from the cache are written to the file before the commit.
      try writer.transaction.database.connection.spillEarly()
      for id in 1...30 {
        try writer.update(DocumentID(id)) { $0.text = String(repeating: "y", count: 20_000) }
      }
      _ = try copies.copy(test.url)
    }
    let damaged = try? open(copies.file("test.coffer")).verify().isSound
    #expect(damaged != true)
  }

  @Test func anchorDetectsLostLog() throws {
    let test = try TestStore { $0.journal = .writeAheadLog }
    try test.store.write { try $0.insert(Document(text: "in the file"), into: test.notes) }
    try test.store.compact()
    try test.store.write { try $0.insert(Document(text: "in the log"), into: test.notes) }
    let anchor = try test.store.anchor()
    let copies = try Workplace()
    let store = try open(try copies.copy(test.url))
    #expect(try content(store) == ["in the file"])
    #expect(try store.verify().isSound)
    expect(.rolledBack) { try store.relation(to: anchor) }
  }

  // MARK: Fork

  /// Calls fork(2), which Swift marks as unavailable.
  private func fork() throws -> pid_t {
    typealias Fork = @convention(c) () -> pid_t
    return unsafeBitCast(try #require(dlsym(nil, "fork")), to: Fork.self)()
  }

  /// Returns a bit mask of the operations that a forked child is refused, taken from its exit code.
  private func refusals(_ work: [() throws -> Void]) throws -> Int32 {
    let child = try fork()
    guard child == 0 else {
      var status: Int32 = 0
      try #require(waitpid(child, &status, 0) == child)
      return status >> 8
    }
    var refused: Int32 = 0
    for (index, work) in work.enumerated() {
      do { try work() } catch let error as StoreError where error.code == .misuse { refused |= 1 << index } catch {}
    }
    _exit(refused)
  }

  /// Runs in a separate process, because a lock held by another test's thread would remain locked in the child.
  @Test func rejectsUseInForkedChild() async {
    await #expect(processExitsWith: .success) {
      for journal in CreateOptions.Journal.allCases { try FileNameTests().forkIsRefused(journal) }
    }
  }

  @Test func forkedChildLeavesParentsWorkAlone() async {
    await #expect(processExitsWith: .success) {
      for journal in CreateOptions.Journal.allCases { try FileNameTests().forksInWrite(journal) }
      try FileNameTests().forksWithTemporaryStore()
      try FileNameTests().forksDuringIndexUpkeep()
    }
  }

  /// In a new namespace of process IDs, a child can have its parent's process ID.
  @Test func distinguishesChildFromParentWithEqualID() async {
    await #expect(processExitsWith: .success) {
      let (id, parent) = (getpid(), OwnProcess.number)
      let child = try FileNameTests().fork()
      if child == 0 { _exit(OwnProcess.number(id: id) == parent ? 1 : 0) }
      var status: Int32 = 0
      try #require(waitpid(child, &status, 0) == child)
      #expect(status == 0)
    }
  }

  private func forksInWrite(_ journal: CreateOptions.Journal) throws {
    try withTestStore({ $0.journal = journal }) { test in
      var (child, refused): (pid_t, Int32) = (-1, 0)
      do {
        try test.store.write { writer in
          try writer.insert(Document(text: "parent"), into: test.notes)
          let locks = try HeldLocks.ofFiles(in: test.place.url).count
          child = try fork()
          if child == 0 {
            do {
              try writer.insert(Document(text: "child"), into: test.notes)
            } catch let error as StoreError where error.code == .misuse {
              refused |= 1
            }
          } else {
            // The child leaves its copy of the transaction before it exits.
            var status: Int32 = 0
            try #require(waitpid(child, &status, 0) == child)
            #expect(status >> 8 == 0b11)
            #expect(try HeldLocks.ofFiles(in: test.place.url).count == locks)
          }
        }
      } catch {
        guard child == 0 else { throw error }
        if (error as? StoreError)?.code == .misuse { refused |= 0b10 }
      }
      if child == 0 { _exit(refused) }
      #expect(try content(test.store) == ["parent"])
      #expect(try content(test.reopened()) == ["parent"])
    }
  }

  private func forksWithTemporaryStore() throws {
    var store: DocumentStore? = try .temporary()
    let folder = (try #require(store).engine.path as NSString).deletingLastPathComponent
    _ = try refusals([{ store = nil }])
    #expect(FileManager.default.fileExists(atPath: folder))
    try store?.close()
    #expect(!FileManager.default.fileExists(atPath: folder))
  }

  /// The thread that updates indexes isn't in the child, which doesn't wait for it.
  private func forksDuringIndexUpkeep() throws {
    try withTestStore { test in
      let (begun, end) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
      test.store.engine.session.companion(IndexUpkeep.self).queue.async {
        begun.signal()
        end.wait()
      }
      begun.wait()
      let refused = try refusals([{ try test.store.close() }])
      end.signal()
      #expect(refused == 1)
    }
  }

  private func forkIsRefused(_ journal: CreateOptions.Journal) throws {
    try withTestStore({ $0.journal = journal }) { test in
      try test.store.write { try $0.insert(Document(text: "before"), into: test.notes) }
      let work: [() throws -> Void] = [
        { _ = try content(test.store) },
        { try test.store.write { _ = try $0.insert(Document(text: "no"), into: test.notes) } },
        { try test.store.close() },
        // SQLite would assume that the child holds the parent's locks.
        { _ = try test.reopened() },
      ]
      try #require(try refusals(work) == 0b1111)
      try test.store.write { try $0.insert(Document(text: "after"), into: test.notes) }
      #expect(try content(test.store) == ["before", "after"])
      #expect(try content(test.reopened()) == ["before", "after"])
    }
  }
}
