import Coffer
import CofferCopies
import CofferSQLite
import CofferTestSupport
import Foundation
import Testing

@testable import CofferEngine
@testable import CofferRecords
@testable import CofferStoreTestSupport

/// Attachments in copies of a store.
struct AttachmentCopyTests {
  /// A store with documents in two collections, an attachment each, and a removed attachment.
  private func original() throws -> TestStore {
    let test = try TestStore()
    try test.store.write { tx in
      for (number, name) in ["notes", "notes", "plans"].enumerated() {
        let id = try tx.insert(Document(text: "text"), into: DocumentCollection(name))
        try tx.attach(Self.bytes(number), to: id, name: "file \(id)", type: "a/b")
      }
    }
    try test.store.write { tx in
      let removed = try tx.attach([1], to: 1, name: "removed")
      _ = removed
    }
    try test.store.write { tx in
      try tx.detach(try #require(try tx.attachment(named: "removed", of: 1)).id)
    }
    return test
  }

  private static func bytes(_ number: Int) -> [UInt8] { AttachmentMergeTests.bytes(60_000 * (number + 1)) }

  /// The names of all attachments, after their contents are compared.
  private func names(_ store: DocumentStore, _ location: SourceLocation = #_sourceLocation) throws -> [String] {
    try store.read { tx in
      var names: [String] = []
      for id: DocumentID in [1, 2, 3] where try tx.exists(id) {
        for attachment in try tx.attachments(of: id) {
          names.append(attachment.name)
          #expect(attachment.mediaType == "a/b", sourceLocation: location)
          #expect(
            try tx.content(of: attachment.id) == Self.bytes(Int(id.rawValue) - 1), sourceLocation: location)
        }
      }
      return names
    }
  }

  private func identities(_ store: DocumentStore) throws -> Set<UniqueID> {
    try store.engine.reading { transaction throws(StoreError) in
      var identities: Set<UniqueID> = []
      try transaction.forEachAttachmentRow { row throws(StoreError) in
        identities.insert(try AttachmentRecord(row, transaction.keys).uid)
      }
      return identities
    }
  }

  private func deletions(_ store: DocumentStore) throws -> UInt64 {
    try store.engine.reading { transaction throws(StoreError) in transaction.state.deletionCount }
  }

  @Test func copiesAttachmentsOfSelection() throws {
    let test = try original()
    let selections: [(Selection, [String])] = [
      (.everything, ["file 1", "file 2", "file 3"]), (.documents([2]), ["file 2"]),
      (.collections(["plans"]), ["file 3"]), (.documents([1, 3]), ["file 1", "file 3"]),
    ]
    for (number, (selection, expected)) in selections.enumerated() {
      let url = test.place.file("copy \(number).coffer")
      let report = try test.store.copy(selection, to: url, keys: [.published("primary")])
      #expect(report.isComplete)
      let copy = try DocumentStore.open(at: url, key: .published("primary"), options: .testing)
      #expect(try names(copy) == expected)
      // Nothing links the new store to this one.
      #expect(try identities(copy).isDisjoint(with: identities(test.store)) && deletions(copy) == 0)
      #expect(try copy.verify().isSound)
    }
  }

  @Test func damagedAttachmentEndsCopyOfItsDocument() throws {
    let test = try original()
    try test.raw().execute("DELETE FROM coffer_chunk WHERE chunk>=3<<24")
    let store = try test.reopened()
    let url = test.place.file("copy.coffer")
    expect(.damaged) { try store.copy(to: url, keys: [.published("primary")]) }
    #expect(!FileManager.default.fileExists(atPath: url.path))
    try store.copy(.documents([1, 2]), to: url, keys: [.published("primary")])
    #expect(
      try names(try DocumentStore.open(at: url, key: .published("primary"), options: .testing)) == ["file 1", "file 2"])
  }

  @Test func stoppedCopyLeavesNoFile() throws {
    let test = try original()
    let url = test.place.file("copy.coffer")
    var stopped = 0
    for stop in 1... {
      var left = stop
      do {
        try test.store.copy(to: url, keys: [.published("primary")]) { _ in
          left -= 1
          if left == 0 { throw Interruption() }
        }
        break
      } catch {
        stopped += 1
        #expect(!FileManager.default.fileExists(atPath: url.path))
      }
    }
    // Each chunk is a chance to stop.
    #expect(stopped > 7)
    #expect(try DocumentStore.open(at: url, key: .published("primary"), options: .testing).verify().isSound)
  }

  @Test func editableCopyKeepsIdentities() throws {
    let test = try original()
    let url = test.place.file("copy.coffer")
    func open(_ choice: DocumentStore.NewerOriginal = .keep) throws -> DocumentStore {
      try DocumentStore.openEditableCopy(
        of: test.url, at: url, key: .published("primary"), onNewerOriginal: choice, options: .testing)
    }
    let copy = try open()
    #expect(try names(copy) == ["file 1", "file 2", "file 3"])
    #expect(try identities(copy) == identities(test.store) && deletions(copy) == deletions(test.store))
    #expect(try copy.verify().isSound)
    // A newer original is merged, or replaces what the copy has.
    let mine = try #require(try copy.read { try $0.attachment(named: "file 2", of: 2) })
    try copy.write { tx in
      try tx.detach(mine.id)
      try tx.attach(Self.bytes(0), to: 1, name: "mine", type: "a/b")
    }
    try copy.close()
    try test.store.write { try $0.attach(Self.bytes(2), to: 3, name: "more", type: "a/b") }
    let merged = try open(.merge(.fail))
    #expect(try names(merged) == ["file 1", "mine", "file 3", "more"])
    try merged.close()
    try test.store.write { try $0.attach(Self.bytes(1), to: 2, name: "again", type: "a/b") }
    let replaced = try open(.replace)
    #expect(replaced.original == .replaced)
    #expect(try names(replaced) == ["file 1", "file 2", "again", "file 3", "more"])
    #expect(try identities(replaced) == identities(test.store))
    #expect(try replaced.verify().isSound)
    // What replaced the copy can be merged again.
    try replaced.write { try $0.attach(Self.bytes(0), to: 1, name: "later", type: "a/b") }
    #expect(try test.store.merge(replaced).isMerged)
    #expect(try names(test.store) == ["file 1", "later", "file 2", "again", "file 3", "more"])
    try test.expectSound()
  }
}
