import Coffer
import CofferPlatform
import CofferRecords
import CofferTestSupport
import Foundation
import Testing

@testable import CofferEngine
@testable import CofferStoreTestSupport

/// The attachments of documents that are deleted, restored, duplicated, moved and replaced.
struct AttachmentUndoTests {
  private static let notes = DocumentCollection("notes")

  /// An attachment as it comes back: everything but its number.
  private struct Seen: Equatable {
    let name: String
    let type: String
    let date: Timestamp
    let content: [UInt8]
  }

  private static func insert(_ text: String, into store: DocumentStore) throws -> DocumentID {
    try store.write { try $0.insert(Document(text: text, key: DocumentKey(text)), into: notes) }
  }

  /// Attaches a small and a large file.
  private static func attach(to id: DocumentID, _ store: DocumentStore) throws {
    try store.write { tx throws in
      try tx.attach([1, 2, 3], to: id, name: "small", type: "text/plain", date: Timestamp(millisecondsSince1970: 5))
      try tx.attach(AttachmentTests.bytes(1_500_000), to: id, name: "large")
    }
  }

  private static func seen(_ id: DocumentID, _ store: DocumentStore) throws -> [Seen] {
    try store.read { reader throws in
      var seen: [Seen] = []
      for attachment in try reader.attachments(of: id) {
        seen.append(
          Seen(
            name: attachment.name, type: attachment.mediaType, date: attachment.date,
            content: try reader.content(of: attachment.id)))
      }
      return seen
    }
  }

  private static func records(of id: DocumentID, _ store: DocumentStore) throws -> [AttachmentRecord] {
    try store.engine.reading { transaction throws(StoreError) in try transaction.attachmentRecords(of: id) }
  }

  private static func chunkCount(_ test: TestStore) throws -> Int64? {
    try test.raw().query("SELECT count(*) FROM coffer_chunk").rows[0][0].integer
  }

  // MARK: Restoring

  @Test(arguments: [false, true]) func restoresAttachments(isPadded: Bool) throws {
    try withTestStore({ $0.isPadded = isPadded }) { test in
      let (one, two) = (try Self.insert("one", into: test.store), try Self.insert("two", into: test.store))
      for id in [one, two] { try Self.attach(to: id, test.store) }
      let before = [try Self.seen(one, test.store), try Self.seen(two, test.store)]
      let former = try Self.records(of: one, test.store)
      let deleted = try test.store.write { try $0.deleteUndoably([one, two]) }
      #expect(try Self.chunkCount(test) == 0 && test.store.verify().attachments == 0)
      try test.store.write { try $0.restore(deleted) }
      #expect(try [Self.seen(one, test.store), Self.seen(two, test.store)] == before)
      let records = try Self.records(of: one, test.store)
      #expect(records.map(\.uid) == former.map(\.uid) && records.map(\.born) == former.map(\.born))
      #expect(records.map(\.nameDot) == former.map(\.nameDot))
      #expect(Set(records.map(\.number)).isDisjoint(with: former.map(\.number)))
    }
  }

  @Test func restoresAfterFailedRestore() throws {
    try withTestStore { test in
      let id = try Self.insert("one", into: test.store)
      try Self.attach(to: id, test.store)
      let before = try Self.seen(id, test.store)
      let deleted = try test.store.write { try $0.deleteUndoably([id]) }
      for _ in 0..<2 {
        #expect(throws: Interruption()) {
          try test.store.write { tx throws in
            try tx.restore(deleted)
            throw Interruption()
          }
        }
      }
      let other = try Self.insert("one", into: test.store)
      expect(.duplicateKey) { try test.store.write { try $0.restore(deleted) } }
      try test.store.write { try $0.delete(other) }
      #expect(try Self.chunkCount(test) == 0)
      try test.store.write { try $0.restore(deleted) }
      #expect(try Self.seen(id, test.store) == before)
      expect(.alreadyExists) { try test.store.write { try $0.restore(deleted) } }
      #expect(try Self.seen(id, test.store) == before)
    }
  }

  /// A deletion that a merge brought meanwhile would remove an attachment of the same identity again.
  @Test func attachmentRemovedElsewhereComesBackAsNewOne() throws {
    try withTestStore { test in
      let id = try Self.insert("one", into: test.store)
      try Self.attach(to: id, test.store)
      let (before, former) = (try Self.seen(id, test.store), try Self.records(of: id, test.store))
      let deleted = try test.store.write { try $0.deleteUndoably([id]) }
      try test.store.engine.writing { transaction throws(StoreError) in
        let writer = try transaction.writer
        try writer.willWrite()
        try writer.insertDeletion(uid: former[0].uid, dots: [writer.dot], stamp: writer.dot)
        try transaction.commit()
      }
      try test.store.write { try $0.restore(deleted) }
      #expect(try Self.seen(id, test.store) == before)
      let records = try Self.records(of: id, test.store)
      #expect(records[0].uid != former[0].uid && records[0].born > former[0].born)
      #expect(records[1].uid == former[1].uid)
    }
  }

  /// Another store doesn't know the commits that attached the files.
  @Test func restoresIntoAnotherStore() throws {
    let source = try TestStore()
    try withTestStore { test in
      for _ in 0..<20 { try source.store.write { try $0.delete(try $0.insert(Document(text: "x"), into: Self.notes)) } }
      let id = try Self.insert("one", into: source.store)
      try Self.attach(to: id, source.store)
      let before = try Self.seen(id, source.store)
      let deleted = try source.store.write { try $0.deleteUndoably([id]) }
      try test.store.write { try $0.restore(deleted) }
      #expect(try Self.seen(id, test.store) == before)
    }
  }

  @Test func damagedAttachmentPreventsUndoableDeletion() throws {
    let test = try TestStore()
    let id = try Self.insert("one", into: test.store)
    try Self.attach(to: id, test.store)
    try test.raw().execute("DELETE FROM coffer_chunk WHERE chunk=(SELECT max(chunk) FROM coffer_chunk)")
    let store = try test.reopened()
    expect(.damaged) { try store.write { try $0.deleteUndoably([id]) } }
    #expect(try store.read { try $0.attachments(of: id).count } == 2)
    // The document can still be deleted.
    try store.write { try $0.delete(id) }
    #expect(try store.verify().isSound)
  }

  @Test(.enabled(if: SmallDisk.isPossible, "needs root")) func fullTemporaryFolderPreventsUndoableDeletion() async {
    await #expect(processExitsWith: .success) {
      try withTestStore { test in
        let id = try Self.insert("one", into: test.store)
        try Self.attach(to: id, test.store)
        let before = try Self.seen(id, test.store)
        let disk = try SmallDisk(kilobytes: 512)
        setenv("TMPDIR", disk.url.path, 1)
        try test.store.write { tx throws in
          expect(.diskFull) { try tx.deleteUndoably([id]) }
          // The transaction goes on.
          try tx.update(id) { $0.title = "kept" }
        }
        #expect(try Self.seen(id, test.store) == before)
        #expect(try test.store.titles(in: Self.notes) == ["kept"])
      }
    }
  }

  // MARK: Duplicates

  @Test func duplicateHasCopiesOfAttachments() throws {
    try withTestStore { test in
      let id = try Self.insert("one", into: test.store)
      try Self.attach(to: id, test.store)
      let before = try Self.seen(id, test.store)
      let copy = try test.store.write { try $0.duplicate(id) }
      #expect(try Self.seen(id, test.store) == before && Self.seen(copy, test.store) == before)
      let (old, new) = (try Self.records(of: id, test.store), try Self.records(of: copy, test.store))
      #expect(Set(new.map(\.uid)).isDisjoint(with: old.map(\.uid)) && new[0].born > old[0].born)
      #expect(Set(new.map(\.number)).isDisjoint(with: old.map(\.number)))
      let chunks = try test.raw().query("SELECT ct FROM coffer_chunk").rows.map { $0[0] }
      #expect(chunks.count == 2 * (1 + 23) && Set(chunks).count == chunks.count)
      try test.store.write { try $0.delete(id) }
      #expect(try Self.seen(copy, test.store) == before)
    }
  }

  @Test func damagedAttachmentPreventsDuplicate() throws {
    let test = try TestStore()
    let id = try Self.insert("one", into: test.store)
    try Self.attach(to: id, test.store)
    try test.raw().execute("DELETE FROM coffer_chunk WHERE chunk=(SELECT max(chunk) FROM coffer_chunk)")
    let store = try test.reopened()
    try store.write { tx throws in
      expect(.damaged) { try tx.duplicate(id) }
      try tx.update(id) { $0.title = "kept" }
    }
    #expect(try store.titles(in: Self.notes) == ["kept"] && store.verify().attachments == 2)
  }

  // MARK: Moves, replacements, deletions

  @Test func documentsKeepAttachmentsWhenRowsChange() throws {
    try withTestStore { test in
      let id = try Self.insert("one", into: test.store)
      try Self.attach(to: id, test.store)
      let before = try Self.seen(id, test.store)
      func check(_ change: (inout WriteTransaction) throws -> Void) throws {
        try test.store.write { try change(&$0) }
        #expect(try Self.seen(id, test.store) == before)
      }
      try check { _ = try $0.put(Document(text: "put"), into: Self.notes, key: "one") }
      try check { try $0.update(id) { $0.text = String(repeating: "longer ", count: 2000) } }
      try check { _ = try $0.put(Document(text: "replaced"), id: id, into: Self.notes) }
      var options = BulkOptions()
      options.onConflict = .update
      let upserted = [Document(text: "upserted", key: "one"), Document(text: "new", key: "two")]
      try check { tx in
        let report = try tx.insert(contentsOf: upserted, into: Self.notes, options: options)
        #expect(report.updated == 1)
      }
      try check { try $0.move(id, to: .top) }
      try check { try $0.move(id, into: DocumentCollection("others")) }
    }
  }

  enum Deletion: CaseIterable {
    case document, several, byKey, dropped, emptied, replaced, synchronized, descendant
  }

  /// Each way to delete a document deletes its attachments in the same transaction.
  @Test(arguments: Deletion.allCases) func deletionDeletesAttachments(_ deletion: Deletion) throws {
    try withTestStore { test in
      let other = try test.store.write { try $0.insert(Document(text: "stays"), into: DocumentCollection("others")) }
      let id = try Self.insert("one", into: test.store)
      for id in [other, id] { try Self.attach(to: id, test.store) }
      let before = try Self.seen(other, test.store)
      try test.store.write { tx throws in
        switch deletion {
        case .document: try tx.delete(id)
        case .several: try tx.delete([id])
        case .byKey: try tx.delete(forKey: "one", in: Self.notes)
        case .dropped: try tx.drop(Self.notes)
        case .emptied: try tx.truncate(Self.notes)
        case .replaced: try tx.replaceAll(in: Self.notes, with: [Document(text: "new")], restartingIDs: true)
        case .synchronized:
          var options = SyncOptions()
          options.stale = .remove(atMost: 1)
          try tx.synchronize(Self.notes, with: [SyncItem](), options: options)
        case .descendant:
          let parent = try tx.insert(Document(text: "parent"), into: Self.notes)
          try tx.setParent(of: id, to: parent)
          try tx.delete(parent, includingDescendants: true)
        }
      }
      #expect((try? test.store.read { try $0.attachments(of: id) }) ?? [] == [])
      #expect(try Self.chunkCount(test) == 1 + 23 && test.store.verify().attachments == 2)
      #expect(try Self.seen(other, test.store) == before)
    }
  }

  @Test func deletingEverythingDeletesAttachments() throws {
    try withTestStore { test in
      let id = try Self.insert("one", into: test.store)
      try Self.attach(to: id, test.store)
      try test.store.engine.write { try $0.writer.deleteEverything() }
      #expect(try Self.chunkCount(test) == 0 && test.store.verify().attachments == 0)
      // Numbers aren't given again.
      let other = try Self.insert("two", into: test.store)
      #expect(try test.store.write { try $0.attach([1], to: other, name: "small") }.id.rawValue == 3)
    }
  }
}
