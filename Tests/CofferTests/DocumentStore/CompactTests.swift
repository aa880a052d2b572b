import Coffer
import CofferRecords
import CofferSQLite
import CofferTestSupport
import Foundation
import Testing

@testable import CofferStoreTestSupport

/// Compaction, which rewrites a store without free pages.
struct CompactTests {
  private func fillAndDeleteMost(_ test: TestStore) throws {
    let ids = try test.store.write { writer in
      try (0..<300).map {
        try writer.insert(Document(text: String(repeating: "\($0) ", count: 1000)), into: test.notes)
      }
    }
    try test.store.write { writer in for id in ids.dropFirst(3) { try writer.delete(id) } }
  }

  @Test(arguments: CreateOptions.Journal.allCases)
  func removesFreePages(journal: CreateOptions.Journal) throws {
    try withTestStore({ $0.journal = journal }) { test in
      try fillAndDeleteMost(test)
      let (before, anchor) = (try test.store.everything(), try test.store.anchor())
      #expect(try DocumentStore.info(at: test.url).freePages > 50)
      let size = try test.store.compact()
      let info = try DocumentStore.info(at: test.url)
      #expect(info.freePages == 0 && info.fileBytes == size.after)
      #expect(size.after < size.before / 3)
      #expect(try test.store.everything() == before)
      #expect(try test.store.anchor() == anchor)
      let id = try test.store.write { try $0.insert(Document(text: "after"), into: test.notes) }
      #expect(id == 301)
    }
  }

  @Test(arguments: CreateOptions.Journal.allCases)
  func compactsClosedStoreWithoutKey(journal: CreateOptions.Journal) throws {
    let test = try TestStore { $0.journal = journal }
    try fillAndDeleteMost(test)
    try test.store.close()
    let size = try DocumentStore.compact(at: test.url)
    #expect(size.after < size.before)
    #expect(try FileManager.default.contentsOfDirectory(atPath: test.place.url.path) == ["test.coffer"])
    let reopened = try test.reopened()
    #expect(try reopened.verify().isSound)
    try reopened.close()
  }

  /// Adds and deletes plaintext titles, which are easy to find in the file.
  private func fillWithDeletedTitles(_ test: TestStore) throws -> (live: Residue, dead: Residue) {
    var random = Pseudorandom(seed: 5)
    var made: Set<String> = []
    func title(_ number: Int) -> String {
      let title = "Klartitel \(10_000 + made.count) " + String(repeating: "t", count: random.number(below: 300))
      made.insert(title)
      return title
    }
    for round in 0..<3 {
      try test.store.write { writer in
        for number in 1...150 {
          let text = String(repeating: "x", count: random.number(below: number.isMultiple(of: 9) ? 30_000 : 900))
          try writer.insert(Document(title: title(number), text: text), into: test.notes, at: .top)
        }
        for header in try writer.headers(in: test.notes) {
          switch random.number(below: 4 + round) {
          case 0, 1: try writer.delete(header.id)
          case 2: try writer.update(header.id) { $0.title = title(0) }
          default: try writer.move(header.id, to: .bottom)
          }
        }
      }
    }
    let kept = Set(try test.store.titles(in: test.notes).compactMap { $0 })
    var (live, dead) = (Residue(), Residue())
    for title in kept { live.add(Data(title.utf8.prefix(16))) }
    for title in made.subtracting(kept) { dead.add(Data(title.utf8.prefix(16))) }
    #expect(live.count(in: try test.bytesOnDisk()) == kept.count && made.count > kept.count + 200)
    return (live, dead)
  }

  @Test(.slow, arguments: CreateOptions.Journal.allCases)
  func removesDeletedTitlesFromFile(journal: CreateOptions.Journal) throws {
    try withTestStore({
      $0.journal = journal; $0.titles = .clear
    }) { test in
      let (live, dead) = try fillWithDeletedTitles(test)
      let before = live.count(in: try test.bytesOnDisk())
      try test.store.compact()
      let bytes = try test.bytesOnDisk()
      #expect(dead.count(in: bytes) == 0)
      #expect(live.count(in: bytes) == before)
    }
  }

  /// An earlier reader keeps the new pages in the log and the old pages in the file.
  @Test func succeedsAfterBlockingReaderCloses() throws {
    let test = try TestStore {
      $0.journal = .writeAheadLog; $0.titles = .clear
    }
    let (_, dead) = try fillWithDeletedTitles(test)
    let before = try test.store.everything()
    try test.store.close()
    let reader = try test.reopened()
    try reader.read { reader in
      _ = try reader.collections()
      do throws(StoreError) {
        try DocumentStore.compact(at: test.url, wait: .zero)
        Issue.record("nothing was thrown")
      } catch {
        #expect(error.code == .locked && error.message.contains("still in its log"))
      }
      #expect(try reader.headers(in: test.notes).count == before["notes"]?.count)
    }
    #expect(try reader.everything() == before)
    #expect(try reader.verify().isSound)
    try reader.close()
    try DocumentStore.compact(at: test.url)
    #expect(dead.count(in: try test.bytesOnDisk()) == 0)
    let reopened = try test.reopened()
    #expect(try reopened.everything() == before)
    try reopened.close()
  }

  @Test func rejectsCompactInsideRead() throws {
    for journal in CreateOptions.Journal.allCases {
      try withTestStore({ $0.journal = journal }) { test in
        try test.store.read { _ in expect(.misuse) { try test.store.compact() } }
      }
    }
  }

  @Test func blockingReaderLeavesFileUnchanged() throws {
    var options = OpenOptions.testing
    options.wait = .zero
    let test = try TestStore(options: options)
    try fillAndDeleteMost(test)
    let before = try Data(contentsOf: test.url)
    // A connection without the locks of this process's stores has those of another process.
    let other = try test.raw()
    try other.begin(.deferred)
    _ = try other.query("SELECT count(*) FROM sqlite_schema")
    expect(.locked) { try DocumentStore.compact(at: test.url, wait: .zero) }
    try other.commit()
    try test.store.read { reader in
      _ = try reader.collections()
      expect(.misuse) { try DocumentStore.compact(at: test.url, wait: .zero) }
      expect(.misuse) { try test.store.compact() }
    }
    #expect(try Data(contentsOf: test.url) == before)
    try test.expectSound()
  }

  @Test(.enabled(if: SmallDisk.isPossible, "a small disk can't be mounted"))
  func fullDiskLeavesStoreUnchanged() throws {
    let disk = try SmallDisk(kilobytes: 1200)
    let url = disk.url.appending(path: "s.coffer")
    var creation = CreateOptions()
    creation.isTest = true
    let store = try DocumentStore.create(
      at: url, keys: [.published("primary")], creation: creation, options: .testing)
    let notes = DocumentCollection("notes")
    try store.write { writer in
      for number in 0..<300 {
        try writer.insert(Document(text: String(repeating: "\(number) ", count: 500)), into: notes)
      }
    }
    let before = try Data(contentsOf: url)
    expect(.diskFull) { try store.compact() }
    #expect(try Data(contentsOf: url) == before)
    #expect(try store.verify().isSound)
    try store.close()
  }
}
