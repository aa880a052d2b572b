import Coffer
import CofferSQLite
import Foundation
import Testing

@testable import CofferStoreTestSupport

/// Backing up and restoring a store without a key.
struct BackupTests {
  private func fill(_ test: TestStore) throws {
    try test.store.write { writer in
      for number in 0..<100 {
        try writer.insert(Document(title: "\(number)", text: "text \(number)"), into: test.notes)
      }
    }
  }

  @Test(arguments: CreateOptions.Journal.allCases)
  func copiesEntireStore(journal: CreateOptions.Journal) throws {
    try withTestStore({ $0.journal = journal }) { test in
      try fill(test)
      let target = test.place.file("copy.coffer")
      try test.store.backup(to: target)
      let names = try FileManager.default.contentsOfDirectory(atPath: test.place.url.path)
      #expect(names.filter { !$0.hasPrefix("test.coffer") } == ["copy.coffer"])
      let copy = try DocumentStore.open(at: target, key: .published("primary"), options: .testing)
      #expect(try copy.everything() == test.store.everything())
      #expect(try copy.verify().isSound)
      #expect(try copy.anchor() == test.store.anchor())
      #expect(try DocumentStore.info(at: target).journal == DocumentStore.info(at: test.url).journal)
      try copy.close()
    }
  }

  @Test func preservesFilePermissions() throws {
    try withTestStore { test in
      let target = test.place.file("copy.coffer")
      try test.store.backup(to: target)
      let mode = try FileManager.default.attributesOfItem(atPath: target.path)[.posixPermissions] as? Int
      #expect(mode == 0o600)
    }
  }

  @Test func replacesOnlyStoresOnRequest() throws {
    try withTestStore { test in
      let target = test.place.file("copy.coffer")
      try Data("mine".utf8).write(to: target)
      for isReplacing in [false, true] {
        expect(.alreadyExists) { try test.store.backup(to: target, replacing: isReplacing) }
        expect(.alreadyExists) {
          try test.store.copy(to: target, keys: [.published("primary")], replacing: isReplacing)
        }
        #expect(try Data(contentsOf: target) == Data("mine".utf8))
      }
      try FileManager.default.removeItem(at: target)
      try test.store.backup(to: target)
      let before = try Data(contentsOf: target)
      try test.store.write { _ = try $0.insert(Document(text: "more"), into: test.notes) }
      expect(.alreadyExists) { try test.store.backup(to: target) }
      #expect(try Data(contentsOf: target) == before)
      try test.store.backup(to: target, replacing: true)
      #expect(try Data(contentsOf: target) != before)
      #expect(try DocumentStore.check(at: target).isSound)
    }
  }

  /// A store that this process had open can be replaced once it's closed.
  @Test(arguments: CreateOptions.Journal.allCases)
  func replacesCopyAfterUse(journal: CreateOptions.Journal) throws {
    try withTestStore({ $0.journal = journal }) { test in
      try fill(test)
      let target = test.place.file("copy.coffer")
      for number in 0..<3 {
        try test.store.write { _ = try $0.insert(Document(text: "round \(number)"), into: test.notes) }
        try test.store.backup(to: target, replacing: true)
        let copy = try DocumentStore.open(at: target, key: .published("primary"), options: .testing)
        #expect(try copy.everything() == test.store.everything())
        try copy.write { try $0.delete(1) }
        expect(.locked) { try test.store.backup(to: target, replacing: true) }
        try copy.close()
        try DocumentStore.compact(at: target)
        #expect(try DocumentStore.check(at: target).isSound)
      }
    }
  }

  @Test func refusesToOverwriteSourceStore() throws {
    try withTestStore { test in
      let before = try Data(contentsOf: test.url)
      expect(.alreadyExists) { try test.store.backup(to: test.url, replacing: true) }
      let link = test.place.file("link.coffer")
      try FileManager.default.createSymbolicLink(at: link, withDestinationURL: test.url)
      expect(.alreadyExists) { try test.store.backup(to: link, replacing: true) }
      #expect(try Data(contentsOf: test.url) == before)
    }
  }

  @Test(arguments: ["-journal", "-wal"])
  func refusesLeftoverJournalAtDestination(suffix: String) throws {
    try withTestStore { test in
      let target = test.place.file("copy.coffer")
      try Data("old".utf8).write(to: test.place.file("copy.coffer" + suffix))
      expect(.alreadyExists) { try test.store.backup(to: target) }
      #expect(!FileManager.default.fileExists(atPath: target.path))
    }
  }

  @Test func cancelingRemovesPartialCopy() throws {
    try withTestStore { test in
      // The text is large enough for the copy to take several steps.
      try test.store.write {
        try $0.insert(Document(text: String(repeating: "long ", count: 2_000_000)), into: test.notes)
      }
      let target = test.place.file("copy.coffer")
      expect(.cancelled) { try test.store.backup(to: target) { _ in throw Interruption() } }
      #expect(try FileManager.default.contentsOfDirectory(atPath: test.place.url.path) == ["test.coffer"])
    }
  }

  @Test func allowsWritesWithWriteAheadLog() throws {
    try withTestStore({ $0.journal = .writeAheadLog }) { test in
      try fill(test)
      // The text is large enough for the copy to take several steps.
      let text = String(repeating: "long ", count: 4_000_000)
      try test.store.write { try $0.insert(Document(text: text), into: test.notes) }
      let before = try test.store.anchor()
      let other = try test.reopened()
      let target = test.place.file("copy.coffer")
      var steps = 0
      try test.store.backup(to: target) { _ in
        if steps == 0 { _ = try? other.write { try $0.insert(Document(text: "meanwhile"), into: test.notes) } }
        steps += 1
      }
      #expect(steps > 1)
      #expect(try test.store.anchor() != before)
      let copy = try DocumentStore.open(at: target, key: .published("primary"), options: .testing)
      #expect(try copy.anchor() == before)
      #expect(try copy.verify().isSound)
      try copy.close()
    }
  }

  @Test func rejectsBackupInsideWrite() throws {
    try withTestStore { test in
      try test.store.write { _ in expect(.misuse) { try test.store.backup(to: test.place.file("copy.coffer")) } }
    }
  }

  @Test(.enabled(if: SmallDisk.isPossible, "a small disk can't be mounted"))
  func fullDiskRemovesPartialCopy() throws {
    try withTestStore { test in
      try fill(test)
      let disk = try SmallDisk(kilobytes: 64)
      expect(.diskFull) { try test.store.backup(to: disk.url.appending(path: "copy.coffer")) }
      #expect(try FileManager.default.contentsOfDirectory(atPath: disk.url.path).isEmpty)
    }
  }

  @Test func rejectsNonStoreFile() throws {
    try withTestStore { test in
      let file = test.place.file("text.txt")
      try Data("no store".utf8).write(to: file)
      expect(.notAStore) { try DocumentStore.backup(at: file, to: test.place.file("copy.coffer")) }
      expect(.noSuchFile) {
        try DocumentStore.backup(at: test.place.file("none"), to: test.place.file("copy.coffer"))
      }
      #expect(!FileManager.default.fileExists(atPath: test.place.file("copy.coffer").path))
    }
  }

  // MARK: - Restore

  /// Closing any descriptor of the file would release all locks that this process holds on it.
  @Test func refusesToReplaceOpenStore() throws {
    let test = try TestStore()
    try test.store.write { try $0.insert(Document(text: "one"), into: test.notes) }
    let copy = test.place.file("copy.coffer")
    try test.store.backup(to: copy)
    let before = try Data(contentsOf: test.url)
    expect(.locked) { try DocumentStore.restore(at: test.url, from: copy, replacing: true) }
    #expect(try Data(contentsOf: test.url) == before)
    try test.store.write { try $0.insert(Document(text: "two"), into: test.notes) }
    try test.store.close()
    try DocumentStore.restore(at: test.url, from: copy, replacing: true)
    #expect(try test.reopened().read { try $0.count(in: test.notes) } == 1)
    expect(.alreadyExists) { try DocumentStore.restore(at: test.url, from: copy) }
  }

  @Test func missingBackupIsNotToBeCreated() throws {
    let place = try Workplace()
    let error = #expect(throws: StoreError.self) {
      try DocumentStore.restore(at: place.file("new.coffer"), from: place.file("missing.coffer"))
    }
    #expect(error?.code == .noSuchFile && error?.hint == "check the path")
    #expect(place.names == [])
  }

  @Test func restorePreservesSymbolicLink() throws {
    let test = try TestStore()
    let (copy, link) = (test.place.file("copy.coffer"), test.place.file("link.coffer"))
    try test.store.backup(to: copy)
    try test.store.write { try $0.insert(Document(text: "one"), into: test.notes) }
    try test.store.close()
    try FileManager.default.createSymbolicLink(at: link, withDestinationURL: test.url)
    try DocumentStore.restore(at: link, from: copy, replacing: true)
    #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link.path) == test.url.path)
    #expect(try test.reopened().read { $0.documentCount } == 0)
  }

  /// A commit waits for the backup, and the backup's closure reads.
  @Test func readWithinBackupEndsBesideCommit() throws {
    var options = OpenOptions.testing
    options.wait = .milliseconds(20)
    let test = try TestStore(options: options)
    try test.store.write { tx in
      for number in 0..<400 {
        try tx.insert(Document(text: String(repeating: "text \(number) ", count: 200)), into: test.notes)
      }
    }
    var commits: [Background<DocumentID>] = []
    try test.store.backup(to: test.place.file("backup.coffer")) { _ in
      if commits.count < 8 {
        commits.append(Background { try test.store.write { try $0.insert(Document(text: "new"), into: test.notes) } })
      }
      _ = try? test.store.read { try $0.collections() }
    }
    for commit in commits { _ = try? commit.value() }
    try test.expectSound()
  }
}
