import Coffer
import CofferRecords
import CofferReplication
import CofferSQLite
import CofferTestSupport
import Foundation
import Testing

@testable import CofferStoreTestSupport

/// Promotion, which changes the pin but not the documents or slots.
struct PromotionTests {
  private func filled(_ change: (inout CreateOptions) -> Void = { _ in }) throws -> TestStore {
    let test = try TestStore(change)
    for number in 1...4 {
      try test.store.write { _ = try $0.insert(Document(title: "\(number)", text: "text \(number)"), into: test.notes) }
    }
    return test
  }

  /// Returns a copy of the store, like a restored replica.
  private func restored(_ test: TestStore, _ name: String = "restored.coffer") throws -> DocumentStore {
    try test.store.backup(to: test.place.file(name))
    return try DocumentStore.open(at: test.place.file(name), key: .published("primary"), options: .testing)
  }

  private func opened(_ url: URL, pin: StorePin) throws -> DocumentStore {
    var options = OpenOptions.testing
    options.pin = pin
    return try DocumentStore.open(at: url, key: .published("primary"), options: options)
  }

  @Test(arguments: CreateOptions.Journal.allCases)
  func newPinRejectsOldBranch(_ journal: CreateOptions.Journal) throws {
    let test = try filled { $0.journal = journal }
    let confirmed = try test.store.anchor()
    let copy = try restored(test)
    let pin = copy.pin
    let promotion = try copy.promote(anchor: confirmed)
    #expect(promotion.relation == .same && promotion.base == confirmed && promotion.documents == 4)
    #expect(promotion.pin == copy.pin && promotion.pin != pin)
    #expect(try promotion.anchor == copy.anchor())
    // The old machine continues to write and overtakes the new branch.
    for _ in 0..<3 {
      expect(.rolledBack) { try opened(test.url, pin: promotion.pin) }
      try test.store.write { _ = try $0.insert(Document(text: "lost"), into: test.notes) }
    }
    expect(.rolledBack) { try test.store.relation(to: promotion.anchor) }
    #expect(try opened(test.place.file("restored.coffer"), pin: promotion.pin).verify().isSound)
    // A pin sets a minimum, so the old pin also matches the new branch.
    #expect(try opened(test.place.file("restored.coffer"), pin: pin).verify().isSound)
    #expect(
      try copy.relation(to: confirmed) == .descendant(by: copy.read { $0.generation } - confirmed.generation))
  }

  @Test func keepsCiphertextsAndSlots() throws {
    let test = try filled()
    let copy = try restored(test)
    let raw = try Database(test.place.file("restored.coffer").path, mode: .readWrite)
    func rows(_ sql: String) throws -> [[SQLiteValue]] { try raw.query(sql).rows.map(\.values) }
    let tables = ["coffer_record", "coffer_body", "coffer_collection", "coffer_slot"]
    let before = try tables.map { try rows("SELECT * FROM \($0)") }
    let header = try rows("SELECT phase, rk_generation, rk_commit, keyring, mac FROM coffer_header")[0]
    try copy.promote(anchor: nil)
    #expect(try tables.map { try rows("SELECT * FROM \($0)") } == before)
    let after = try rows("SELECT phase, rk_generation, rk_commit, keyring, mac FROM coffer_header")[0]
    #expect(after[0].integer == header[0].integer! + 1 && after[1] == header[1])
    #expect(after[2] != header[2] && after[3] != header[3] && after[4] != header[4])
    try copy.close()
    let again = try DocumentStore.open(
      at: test.place.file("restored.coffer"), key: .published("primary"), options: .testing)
    #expect(try again.verify().isSound)
    #expect(try again.rekeyStatus().isFinished)
  }

  @Test func rejectsOlderCopy() throws {
    let test = try filled()
    let copy = try restored(test)
    try test.store.write { _ = try $0.insert(Document(text: "confirmed"), into: test.notes) }
    let confirmed = try test.store.anchor()
    let before = try Data(contentsOf: test.place.file("restored.coffer"))
    expect(.rolledBack) { try copy.promote(anchor: confirmed) }
    expect(.anchorMismatch) { try copy.promote(anchor: try TestStore().store.anchor()) }
    #expect(try Data(contentsOf: test.place.file("restored.coffer")) == before)
  }

  @Test func rejectsDamagedCopy() throws {
    let test = try filled()
    let url = test.place.file("restored.coffer")
    try restored(test).close()
    let raw = try Database(url.path, mode: .readWrite)
    try raw.execute("DELETE FROM coffer_record WHERE id = 2")
    try raw.close()
    let copy = try DocumentStore.open(at: url, key: .published("primary"), options: .testing)
    let pin = copy.pin
    expect(.setMismatch) { try copy.promote(anchor: nil, verifying: .quick) }
    #expect(copy.pin == pin)
  }

  @Test func requiresFinishedRekey() throws {
    let test = try filled()
    try test.store.rekey(options: .keysOnly)
    let copy = try restored(test)
    expect(.rekeyUnfinished) { try copy.promote(anchor: nil) }
    try copy.rekey(options: .resuming)
    let pin = copy.pin
    try copy.promote(anchor: nil)
    #expect(copy.pin != pin)
  }

  @Test func rejectsCommitDuringVerification() throws {
    let test = try filled { $0.journal = .writeAheadLog }
    let copy = try restored(test)
    let other = try DocumentStore.open(
      at: test.place.file("restored.coffer"), key: .published("primary"), options: .testing)
    let pin = copy.pin
    expect(.locked) {
      try copy.promote(anchor: nil) { _ in
        try Background { try other.write { _ = try $0.insert(Document(text: ""), into: test.notes) } }.value()
      }
    }
    #expect(copy.pin == pin)
    expect(.cancelled) { try copy.promote(anchor: nil) { _ in throw Interruption() } }
    #expect(copy.pin == pin)
  }

  @Test func rejectsReadOnlyStoreAndNestedCall() throws {
    let test = try filled()
    var options = OpenOptions.testing
    options.isReadOnly = true
    let reader = try test.reopened(.published("primary"), options)
    expect(.readOnly) { try reader.promote(anchor: nil) }
    try test.store.read { _ in expect(.misuse) { try test.store.promote(anchor: nil) } }
  }

  @Test func openSessionsFollowPromotion() throws {
    let test = try filled()
    var options = OpenOptions.testing
    options.pin = test.store.pin
    let other = try test.reopened(.published("primary"), options)
    let promotion = try test.store.promote(anchor: nil)
    #expect(try other.read { try $0.headers(in: test.notes) }.count == 4)
    #expect(other.pin == promotion.pin)
  }

  /// A pin identifies a phase of the root key, not a state.
  @Test func separatePromotionsShareOnlyPin() throws {
    let test = try filled()
    let (one, other) = (try restored(test, "one.coffer"), try restored(test, "other.coffer"))
    let (first, second) = (try one.promote(anchor: nil), try other.promote(anchor: nil))
    #expect(first.pin == second.pin && first.base == second.base && first.anchor != second.anchor)
    expect(.anchorMismatch) { try other.relation(to: first.anchor) }
  }

  @Test func keepsAttachmentsOfBothBranches() throws {
    let test = try filled()
    let photo = [UInt8](repeating: 7, count: 200_000)
    let removed = try test.store.write { tx throws in
      try tx.attach(photo, to: 1, name: "photo.jpeg")
      return try tx.attach([1], to: 2, name: "removed later").id
    }
    let copy = try restored(test)
    try copy.promote(anchor: try test.store.anchor())
    try copy.write { _ = try $0.attach([2], to: 1, name: "new branch") }
    try test.store.write { tx throws in
      try tx.attach([3], to: 1, name: "old branch")
      try tx.detach(removed)
    }
    #expect(try copy.merge(test.store, policy: .fail).isMerged)
    try copy.read { reader throws in
      let attachments = try reader.attachments(of: 1)
      #expect(Set(attachments.map(\.name)) == ["photo.jpeg", "new branch", "old branch"])
      let kept = try #require(attachments.first { $0.name == "photo.jpeg" })
      #expect(try reader.content(of: kept.id) == photo)
      #expect(try reader.attachments(of: 2).isEmpty)
    }
    #expect(try copy.verify().isSound)
  }

  @Test func mergesOldBranchWithoutBase() throws {
    let test = try filled()
    let copy = try restored(test)
    try copy.promote(anchor: nil)
    try copy.write { _ = try $0.insert(Document(text: "new branch"), into: test.notes) }
    try test.store.write { writer in
      try writer.update(2) { $0.text = "late edit" }
      try writer.delete(3)
      _ = try writer.insert(Document(text: "late"), into: test.notes)
    }
    #expect(try copy.merge(test.store, policy: .fail).isMerged)
    let texts = try copy.everything()["notes", default: []].map(\.text)
    #expect(Set(texts) == ["text 1", "late edit", "text 4", "new branch", "late"])
    #expect(try copy.verify().isSound)
  }
}
