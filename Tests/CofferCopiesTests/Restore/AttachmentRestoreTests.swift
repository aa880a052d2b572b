import Coffer
import CofferCopies
import CofferSQLite
import CofferTestSupport
import Foundation
import Testing

import struct CofferEngine.Attachment

@testable import CofferStoreTestSupport

/// Restoring single documents with their attachments.
struct AttachmentRestoreTests {
  private let test: TestStore
  private let backup: DocumentStore

  /// A store whose document 1 has two attachments, and a backup.
  init() throws {
    test = try TestStore()
    try test.store.write { [notes = test.notes] tx in
      for number in 1...2 { try tx.insert(Document(text: "text \(number)"), into: notes) }
      try tx.attach([1, 2, 3], to: 1, name: "small", type: "text/plain")
      try tx.attach(AttachmentMergeTests.bytes(200_000), to: 1, name: "large")
    }
    let url = test.place.file("backup.coffer")
    try test.store.backup(to: url)
    backup = try DocumentStore.open(at: url, key: .published("primary"), options: .testing)
  }

  private func id(_ name: String) throws -> Attachment.ID {
    try #require(try test.store.read { try $0.attachment(named: name, of: 1) }).id
  }

  private func expectBackup(_ store: DocumentStore? = nil, _ location: SourceLocation = #_sourceLocation) throws {
    let store = store ?? test.store
    try store.read { tx in
      let found = try tx.attachments(of: 1).sorted { $0.name < $1.name }
      #expect(found.map(\.name) == ["large", "small"], sourceLocation: location)
      #expect(found.map(\.mediaType) == ["", "text/plain"], sourceLocation: location)
      #expect(
        try found.map { try tx.content(of: $0.id) } == [AttachmentMergeTests.bytes(200_000), [1, 2, 3]],
        sourceLocation: location)
    }
    #expect(try store.verify().isSound, sourceLocation: location)
    #expect(try backup.differences(to: store).changed.isEmpty, sourceLocation: location)
  }

  @Test func deletedDocumentComesWithAttachments() throws {
    try test.store.write { try $0.delete(1) }
    #expect(try test.store.restore([1], from: backup) == [.added])
    try expectBackup()
    #expect(try test.store.restore([1], from: backup) == [.unchanged])
  }

  /// What is there already stays, so nothing is copied again.
  @Test func restoresNamesAndRemovedAttachments() throws {
    let (small, large) = (try id("small"), try id("large"))
    try test.store.write { tx in
      try tx.rename(large, to: "renamed")
      try tx.detach(small)
      try tx.attach([9], to: 1, name: "small")
    }
    #expect(try test.store.restore([1], from: backup) == [.changed])
    #expect(try id("large") == large)
    try expectBackup()
    #expect(try test.store.restore([1], from: backup) == [.unchanged])
  }

  @Test(arguments: [
    "DELETE FROM coffer_chunk WHERE chunk=(SELECT max(chunk) FROM coffer_chunk)",
    "UPDATE coffer_chunk SET ct=zeroblob(length(ct)) WHERE chunk>=2<<24",
  ]) func replacesDamagedContent(_ sql: String) throws {
    try test.store.close()
    try test.raw().execute(sql)
    let store = try test.reopened()
    #expect(try store.restore([1], from: backup) == [.changed])
    try expectBackup(store)
  }

  @Test func damagedContentInBackupLeavesStoreUnchanged() throws {
    try test.store.write { try $0.delete(1) }
    try backup.close()
    let url = test.place.file("backup.coffer")
    let raw = try Database(url.path, mode: .readWrite)
    try raw.execute("DELETE FROM coffer_chunk WHERE chunk=(SELECT max(chunk) FROM coffer_chunk)")
    try raw.close()
    let damaged = try DocumentStore.open(at: url, key: .published("primary"), options: .testing)
    let error = #expect(throws: StoreError.self) { try test.store.restore([1], from: damaged) }
    #expect(error?.code == .damaged && error?.message.hasPrefix(url.path) == true)
    #expect(try test.store.read { try $0.exists(1) } == false)
    try test.expectSound()
  }

  /// A restored attachment isn't removed again by a copy that knows its removal.
  @Test func restoredAttachmentsOutliveMerges() throws {
    let url = test.place.file("copy.coffer")
    let copy = try DocumentStore.openEditableCopy(
      of: test.url, at: url, key: .published("primary"), options: .testing)
    let small = try id("small")
    try test.store.write { try $0.detach(small) }
    #expect(try copy.merge(test.store).isMerged)
    #expect(try test.store.restore([1], from: backup) == [.changed])
    for (mine, theirs) in [(copy, test.store), (test.store, copy)] {
      #expect(try mine.merge(theirs).isMerged)
      try expectBackup(mine)
    }
    // A deleted document gets the attachments that other copies have, too, and no second ones.
    try test.store.write { try $0.delete(1) }
    #expect(try test.store.restore([1], from: backup) == [.added])
    for (mine, theirs) in [(copy, test.store), (test.store, copy)] {
      #expect(try mine.merge(theirs).isMerged)
      #expect(try mine.read { try $0.attachments(of: 1).filter { $0.name == "large" }.count } == 1)
      #expect(try mine.verify().isSound)
    }
  }

  /// The document is inserted again, without the attachment that it got after the backup.
  @Test func documentWithDamagedTextForgetsLaterAttachmentInCopies() throws {
    try test.store.write { try $0.attach([7], to: 1, name: "later") }
    let fork = try DocumentStore.openEditableCopy(
      of: test.url, at: test.place.file("fork.coffer"), key: .published("primary"), options: .testing)
    try test.store.close()
    try test.raw().execute("UPDATE coffer_body SET ct=zeroblob(length(ct)) WHERE id=1")
    let store = try test.reopened()
    #expect(try store.restore([1], from: backup) == [.changed])
    try expectBackup(store)
    _ = try store.merge(fork)
    try expectBackup(store)
    _ = try fork.merge(store)
    #expect(try fork.read { try $0.attachment(named: "later", of: 1) } == nil)
  }

  /// The first write of a restored file takes a new identity, which deletions must have, too.
  @Test func restoredFileNotesDeletionsUnderItsNewIdentity() throws {
    try test.store.write { try $0.attach([7], to: 1, name: "later") }
    let (copy, restored) = (test.place.file("copy.coffer"), test.place.file("restored.coffer"))
    try test.store.backup(to: copy)
    try DocumentStore.restore(at: restored, from: copy)
    let raw = try Database(restored.path, mode: .readWrite)
    try raw.execute("UPDATE coffer_body SET ct=zeroblob(length(ct)) WHERE id=1")
    try raw.close()
    let store = try DocumentStore.open(at: restored, key: .published("primary"), options: .testing)
    #expect(try store.restore([1], from: backup) == [.changed])
    try expectBackup(store)
  }
}
