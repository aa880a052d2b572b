import Coffer
import CofferCopies
import CofferSQLite
import CofferTestSupport
import Foundation
import Testing

import struct CofferEngine.Attachment

@testable import CofferEngine
@testable import CofferRecords
@testable import CofferStoreTestSupport

/// Merging the attachments of copies.
struct AttachmentMergeTests {
  /// An original with two documents, the first of which has two attachments, and its copy.
  private struct Pair {
    let test: TestStore
    let copy: DocumentStore
    let small: Attachment
    let large: Attachment
    var original: DocumentStore { test.store }

    init() throws {
      test = try TestStore()
      (small, large) = try test.store.write { [notes = test.notes] tx in
        for number in 1...2 { try tx.insert(Document(title: "Title \(number)", text: "text \(number)"), into: notes) }
        return (
          try tx.attach([1, 2, 3], to: 1, name: "small", type: "text/plain"),
          try tx.attach(AttachmentMergeTests.bytes(200_000), to: 1, name: "large")
        )
      }
      copy = try Self.fork(test, "copy.coffer")
    }

    func fork(_ name: String) throws -> DocumentStore { try Self.fork(test, name) }

    static func fork(_ test: TestStore, _ name: String) throws -> DocumentStore {
      try DocumentStore.openEditableCopy(
        of: test.url, at: test.place.file(name), key: .published("primary"), options: .testing)
    }

    /// The copy as stock tools open it. Close its store first.
    func raw() throws -> Database { try Database(test.place.file("copy.coffer").path, mode: .readWrite) }

    func reopenedCopy() throws -> DocumentStore {
      try DocumentStore.open(at: test.place.file("copy.coffer"), key: .published("primary"), options: .testing)
    }
  }

  static func bytes(_ count: Int, seed: UInt64 = 1) -> [UInt8] {
    var random = Pseudorandom(seed: seed)
    return (0..<count).map { _ in UInt8(truncatingIfNeeded: random.next()) }
  }

  private func names(_ store: DocumentStore, _ id: DocumentID = 1) throws -> [String] {
    try store.read { try $0.attachments(of: id).map(\.name).sorted() }
  }

  private func attachment(_ name: String, _ store: DocumentStore, _ id: DocumentID = 1) throws -> Attachment {
    try #require(try store.read { try $0.attachment(named: name, of: id) })
  }

  private func content(_ name: String, _ store: DocumentStore, _ id: DocumentID = 1) throws -> [UInt8] {
    let attachment = try attachment(name, store, id)
    return try store.read { try $0.content(of: attachment.id) }
  }

  private func expectSound(_ stores: DocumentStore..., location: SourceLocation = #_sourceLocation) throws {
    for store in stores { #expect(try store.verify().isSound, sourceLocation: location) }
  }

  // MARK: Changes of one store

  @Test func bringsAttachmentsNamesAndRemovals() throws {
    let pair = try Pair()
    try pair.original.write { tx in
      try tx.attach(
        Self.bytes(70_000, seed: 2), to: 2, name: "new", type: "image/png", date: Timestamp(millisecondsSince1970: 5))
      try tx.rename(pair.large.id, to: "renamed")
      try tx.detach(pair.small.id)
    }
    let report = try pair.copy.merge(pair.original)
    #expect(report.isMerged && report.conflicts.isEmpty)
    #expect(report.entries.map(\.action) == [.changed, .changed] && report.entries.map(\.id) == [1, 2])
    #expect(try names(pair.copy) == ["renamed"] && names(pair.copy, 2) == ["new"])
    let new = try attachment("new", pair.copy, 2)
    #expect(new.mediaType == "image/png" && new.date == Timestamp(millisecondsSince1970: 5))
    #expect(try content("new", pair.copy, 2) == Self.bytes(70_000, seed: 2))
    #expect(try content("renamed", pair.copy) == Self.bytes(200_000))
    for (mine, theirs) in [(pair.copy, pair.original), (pair.original, pair.copy), (pair.copy, pair.original)] {
      let again = try mine.merge(theirs)
      #expect(again.isMerged && again.entries.isEmpty)
    }
    #expect(try names(pair.original) == ["renamed"] && names(pair.original, 2) == ["new"])
    try expectSound(pair.original, pair.copy)
  }

  /// A document keeps its attachments under another ID.
  @Test func newDocumentComesWithAttachments() throws {
    let pair = try Pair()
    let id = try pair.original.write { [notes = pair.test.notes] tx in
      let id = try tx.insert(Document(text: "theirs"), into: notes)
      try tx.attach(Self.bytes(100_000), to: id, name: "file")
      return id
    }
    try pair.copy.write { [notes = pair.test.notes] tx in
      try tx.insert(Document(text: "mine"), into: notes, id: id)
      try tx.attach([1], to: id, name: "mine")
    }
    let report = try pair.copy.merge(pair.original)
    let added = try #require(report.entries.first { $0.action == .added }?.id)
    #expect(added != id && report.entries.count == 1)
    #expect(try names(pair.copy, id) == ["mine"] && names(pair.copy, added) == ["file"])
    #expect(try content("file", pair.copy, added) == Self.bytes(100_000))
    // Later changes find the document.
    let file = try attachment("file", pair.original, id)
    try pair.original.write { try $0.rename(file.id, to: "later") }
    #expect(try pair.copy.merge(pair.original).isMerged)
    #expect(try names(pair.copy, added) == ["later"])
    try expectSound(pair.copy)
  }

  @Test func deletionOfDocumentTakesAttachments() throws {
    let pair = try Pair()
    try pair.original.write { try $0.delete(1) }
    let report = try pair.copy.merge(pair.original)
    #expect(report.conflicts.isEmpty && report.entries.map(\.reason) == [.deletedThere])
    let verdict = try pair.copy.verify()
    #expect(verdict.isSound && verdict.attachments == 0)
  }

  // MARK: Changes of both stores

  @Test func attachmentsOfBothStoresStay() throws {
    let pair = try Pair()
    try pair.original.write { try $0.attach([4], to: 1, name: "same") }
    try pair.copy.write { try $0.attach([5], to: 1, name: "same") }
    #expect(try pair.copy.merge(pair.original).conflicts.isEmpty)
    #expect(try pair.original.merge(pair.copy).conflicts.isEmpty)
    for store in [pair.original, pair.copy] {
      #expect(try names(store) == ["large", "same", "same", "small"])
      #expect(
        try store.read { tx in try tx.attachments(of: 1).suffix(2).map { try tx.content(of: $0.id) } }.sorted {
          $0[0] < $1[0]
        } == [[4], [5]])
    }
    try expectSound(pair.original, pair.copy)
  }

  @Test func laterNameWins() throws {
    let pair = try Pair()
    try pair.original.write { try $0.rename(pair.small.id, to: "there") }
    let mine = try attachment("small", pair.copy)
    try pair.copy.write { try $0.rename(mine.id, to: "earlier") }
    try pair.copy.write { try $0.rename(mine.id, to: "here") }
    #expect(try pair.original.merge(pair.copy).conflicts.isEmpty)
    #expect(try pair.copy.merge(pair.original).conflicts.isEmpty)
    #expect(try names(pair.original) == ["here", "large"] && names(pair.copy) == ["here", "large"])
    try expectSound(pair.original, pair.copy)
  }

  @Test(arguments: [false, true]) func removalWinsOverName(_ isRemovedHere: Bool) throws {
    let pair = try Pair()
    let (removing, naming) = isRemovedHere ? (pair.copy, pair.original) : (pair.original, pair.copy)
    let (removed, named) = (try attachment("small", removing), try attachment("small", naming))
    try removing.write { try $0.detach(removed.id) }
    try naming.write { try $0.rename(named.id, to: "kept") }
    for (mine, theirs) in [(pair.copy, pair.original), (pair.original, pair.copy)] {
      #expect(try mine.merge(theirs).conflicts.isEmpty)
    }
    #expect(try names(pair.original) == ["large"] && names(pair.copy) == ["large"])
    try expectSound(pair.original, pair.copy)
  }

  /// A new attachment and a new name are edits, which conflict with the deletion of the document.
  @Test(arguments: [false, true], [false, true])
  func editOfAttachmentsOutlivesDeletion(_ isDeletedHere: Bool, _ isName: Bool) throws {
    for (policy, stays) in [(MergePolicy.both, true), (.mine, !isDeletedHere), (.theirs, isDeletedHere)] {
      let pair = try Pair()
      let (deleting, editing) = isDeletedHere ? (pair.copy, pair.original) : (pair.original, pair.copy)
      try deleting.write { try $0.delete(1) }
      let small = try attachment("small", editing)
      try editing.write { tx in
        if isName { try tx.rename(small.id, to: "name") } else { try tx.attach([7], to: 1, name: "name") }
      }
      let reason: MergeReport.Reason = isDeletedHere ? .deletedHereEditedThere : .editedHereDeletedThere
      #expect(try pair.copy.merge(pair.original).conflicts.map(\.reason) == [reason])
      #expect(try pair.copy.merge(pair.original, policy: policy).isMerged)
      #expect(try pair.original.merge(pair.copy).conflicts.isEmpty)
      for store in [pair.original, pair.copy] {
        #expect(try store.read { try $0.exists(1) } == stays)
        if stays { #expect(try names(store) == (isName ? ["large", "name"] : ["large", "name", "small"])) }
      }
      try expectSound(pair.original, pair.copy)
    }
  }

  /// The other version of a text is another document, and attachments stay with the first one.
  @Test func otherVersionHasNoAttachments() throws {
    let pair = try Pair()
    for store in [pair.original, pair.copy] {
      try store.write { try $0.update(1) { $0.text = "\(store === pair.copy)" } }
    }
    try pair.original.write { try $0.attach([1], to: 1, name: "new") }
    let report = try pair.copy.merge(pair.original, policy: .both)
    let beside = try #require(report.entries.first { $0.action == .copied }?.id)
    #expect(try names(pair.copy) == ["large", "new", "small"] && names(pair.copy, beside) == [])
    try expectSound(pair.copy)
  }

  /// A document that was deleted with an attachment, and came back from a store without it, gets it from a third one.
  @Test func returningDocumentGetsAttachmentsOfThirdStore() throws {
    let pair = try Pair()
    let third = try pair.fork("third.coffer")
    try pair.original.write { try $0.attach([9], to: 1, name: "new") }
    #expect(try third.merge(pair.original).isMerged)
    try pair.original.write { try $0.delete(1) }
    try pair.copy.write { try $0.update(1) { $0.text = "edited" } }
    #expect(try pair.original.merge(pair.copy, policy: .both).isMerged)
    #expect(try names(pair.original) == ["large", "small"])
    #expect(try third.merge(pair.original).isMerged)
    #expect(try pair.original.merge(third).isMerged)
    #expect(try pair.copy.merge(pair.original).isMerged)
    for store in [pair.original, pair.copy, third] {
      #expect(try names(store) == ["large", "new", "small"])
      try expectSound(store)
    }
  }

  @Test func mergesFilesOfOneStoreByBase() throws {
    let pair = try Pair()
    func open(_ name: String) throws -> DocumentStore {
      let url = pair.test.place.file(name)
      try pair.original.backup(to: url)
      return try DocumentStore.open(at: url, key: .published("primary"), options: .testing)
    }
    let (base, other) = (try open("base.coffer"), try open("other.coffer"))
    for store in [pair.original, other] {
      let isOther = store === other
      try store.write { tx in
        try tx.attach(Self.bytes(80_000, seed: isOther ? 5 : 6), to: 1, name: isOther ? "there" : "here")
        if isOther { try tx.detach(pair.small.id) } else { try tx.rename(pair.large.id, to: "renamed") }
      }
    }
    expect(.anchorMismatch) { try pair.original.merge(other) }
    #expect(try pair.original.merge(other, base: base).isMerged)
    #expect(try names(pair.original) == ["here", "renamed", "there"])
    #expect(try content("there", pair.original) == Self.bytes(80_000, seed: 5))
    #expect(try pair.original.merge(other, base: base).entries.isEmpty)
    #expect(try pair.copy.merge(pair.original).isMerged)
    #expect(try names(pair.copy) == ["here", "renamed", "there"])
    try expectSound(pair.original, pair.copy)
  }

  // MARK: Proof and damage

  /// The list of changes doesn't name attachments, so a removed or earlier row is noticed by the set hash.
  @Test(arguments: [
    "DELETE FROM coffer_attachment WHERE attachment=(SELECT max(attachment) FROM coffer_attachment)",
    "UPDATE coffer_attachment SET id=2 WHERE attachment=(SELECT max(attachment) FROM coffer_attachment)",
    "DELETE FROM coffer_gone",
  ]) func rejectsChangedRows(_ sql: String) throws {
    let pair = try Pair()
    let small = try attachment("small", pair.copy)
    try pair.copy.write { tx in
      try tx.detach(small.id)
      try tx.update(1) { $0.text = "edited" }
      try tx.attach([8], to: 1, name: "new")
    }
    try pair.copy.close()
    let raw = try pair.raw()
    try raw.execute(sql)
    try raw.close()
    let before = try (pair.original.everything(), names(pair.original))
    expect(sql.contains("UPDATE") ? .damaged : .setMismatch) {
      try pair.original.merge(try pair.reopenedCopy(), policy: .both)
    }
    #expect(try (pair.original.everything(), names(pair.original)) == before)
    try expectSound(pair.original)
  }

  /// A merge is one transaction: damage in the last attachment leaves nothing of the others.
  @Test(arguments: [false, true]) func damagedContentLeavesStoreUnchanged(_ isDryRun: Bool) throws {
    let pair = try Pair()
    try pair.copy.write { tx in
      try tx.update(2) { $0.text = "edited" }
      try tx.attach(Self.bytes(70_000), to: 1, name: "sound")
      try tx.attach(Self.bytes(70_000, seed: 3), to: 2, name: "damaged")
    }
    try pair.copy.close()
    let raw = try pair.raw()
    try raw.execute("DELETE FROM coffer_chunk WHERE chunk=(SELECT max(chunk) FROM coffer_chunk)")
    try raw.close()
    let copy = try pair.reopenedCopy()
    let before = try (pair.original.everything(), names(pair.original))
    var options = MergeOptions()
    options.isDryRun = isDryRun
    let error = #expect(throws: StoreError.self) { try pair.original.merge(copy, options: options) }
    #expect(
      error?.code == .damaged && error?.message.hasPrefix(copy.engine.path) == true, "\(String(describing: error))")
    #expect(try (pair.original.everything(), names(pair.original)) == before)
    options.skipsDamaged = true
    let report = try pair.original.merge(copy, options: options)
    #expect(report.isMerged == !isDryRun)
    #expect(report.entries.contains { $0.action == .skipped && $0.reason == .damagedThere && $0.otherID == 2 })
    if !isDryRun {
      #expect(try names(pair.original) == ["large", "small", "sound"] && names(pair.original, 2) == [])
      #expect(try pair.original.read { try $0.text(of: 2) } == "edited")
    }
    try expectSound(pair.original)
  }

  @Test func stoppedMergeLeavesStoreUnchanged() throws {
    let pair = try Pair()
    try pair.copy.write { tx in
      for number in 1...3 { try tx.attach(Self.bytes(200_000), to: 1, name: "\(number)") }
    }
    let before = try (pair.original.everything(), names(pair.original))
    var calls = 0
    for stop in 1... {
      var left = stop
      do {
        _ = try pair.original.merge(pair.copy) { _ in
          left -= 1
          if left == 0 { throw Interruption() }
        }
        break
      } catch {
        calls += 1
        #expect(error is Interruption || (error as? StoreError)?.code == .cancelled)
        #expect(try (pair.original.everything(), names(pair.original)) == before)
      }
    }
    #expect(calls > 9)
    #expect(try names(pair.original) == ["1", "2", "3", "large", "small"])
    try expectSound(pair.original)
  }

  /// Contents never change, so another one under the same identity is damage.
  @Test func rejectsOtherContentUnderOneIdentity() throws {
    let pair = try Pair()
    let uid = try pair.original.engine.reading { transaction throws(StoreError) in
      try transaction.attachmentRecords(of: 1)[0].uid
    }
    let small = try attachment("small", pair.copy)
    try pair.copy.engine.write { transaction in
      let writer = try transaction.writer
      let row = try transaction.attachmentRow(small.id)
      let fields = try #require(try transaction.unverifiedFields(of: 1))
      try writer.deleteAttachment(row, of: fields, notingDeletion: false)
      let builder = try AttachmentBuilder(
        transaction, 1,
        AttachmentBuilder.Description(
          uid: uid, born: writer.dot, nameDot: writer.dot, name: "small", mediaType: "", date: 0))
      try [UInt8]([3, 2, 1]).withUnsafeBytes { try builder.append($0) }
      _ = try builder.finish()
    }
    let error = #expect(throws: StoreError.self) { try pair.original.merge(pair.copy) }
    #expect(error?.code == .damaged && error?.message.contains("copy.coffer") == true)
    #expect(try content("small", pair.original) == [1, 2, 3])
  }
}
