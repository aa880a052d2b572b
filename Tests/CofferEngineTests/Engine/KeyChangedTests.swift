import Coffer
import CofferEngine
import CofferRecords
import CofferSQLite
import Foundation
import Synchronization
import Testing

@testable import CofferStoreTestSupport

/// Root key changes by another handle while a store is open.
struct KeyChangedTests {
  private func filled(_ journal: CreateOptions.Journal = .rollback) throws -> TestStore {
    let test = try TestStore { $0.journal = journal }
    try test.fillForRekey()
    return test
  }

  @Test func discardsKeysOfRejectedFile() throws {
    let test = try TestStore()
    try test.store.write { try $0.insert(Document(text: "one"), into: test.notes) }
    let copy = test.place.file("copy.coffer")
    try FileManager.default.copyItem(at: test.url, to: copy)
    for number in 0..<20 { try test.store.write { try $0.insert(Document(text: "\(number)"), into: test.notes) } }
    let right = try Data(contentsOf: test.url)
    let other = try DocumentStore.open(at: copy, key: .published("primary"), options: .testing)
    _ = try other.rekey { _ in }
    try other.close()
    let pin = test.store.pin
    // Replaces the file with an older copy that was rekeyed elsewhere, then restores the file.
    try Data(contentsOf: copy).write(to: test.url)
    expect(.rolledBack) { try test.store.read { try $0.count(in: test.notes) } }
    expect(.rolledBack) { try test.store.unlock(with: .published("primary")) }
    #expect(test.store.pin == pin)
    try right.write(to: test.url)
    #expect(try test.store.read { try $0.count(in: test.notes) } == 21)
    try test.expectSound()
  }

  /// A former key holder can write states of any generation, but an open store has seen a later root key.
  @Test func rejectsOldRootKeyWithNewerState() throws {
    let test = try TestStore()
    try test.store.write { try $0.insert(Document(text: "one"), into: test.notes) }
    let copy = test.place.file("copy.coffer")
    try FileManager.default.copyItem(at: test.url, to: copy)
    _ = try test.store.rekey(to: [.published("next")], options: .keysOnly) { _ in }
    let old = try DocumentStore.open(at: copy, key: .published("primary"), options: .testing)
    for number in 0..<20 { try old.write { try $0.insert(Document(text: "\(number)"), into: test.notes) } }
    try old.close()
    try Data(contentsOf: copy).write(to: test.url)
    expect(.rolledBack) { try test.store.unlock(with: .published("primary")) }
    expect(.rolledBack) { try test.store.read { try $0.count(in: test.notes) } }
  }

  @Test func rekeysOwnSlotAndOtherSlots() throws {
    let test = try TestStore(keys: [.published("primary"), .published("next")])
    var options = RekeyOptions()
    options.otherKeys = [.published("next")]
    _ = try test.store.rekey(options: options) { _ in }
    for name in ["primary", "next"] {
      let opened = try test.reopened(.published(name))
      try opened.close()
    }
  }

  @Test(arguments: CreateOptions.Journal.allCases)
  func followsRekeyWithSameSecret(_ journal: CreateOptions.Journal) throws {
    let test = try filled(journal)
    let other = try test.reopened()
    let before = try test.store.everything()
    for options in [RekeyOptions.keysOnly, .batched, .keysOnly] {
      try other.rekey(options: options) { _ in }
      // Different operations notice the change first.
      switch options.isKeysOnly {
      case true: #expect(try test.store.everything() == before)
      case false: #expect(try test.store.keys.list().map(\.opened) == [true])
      }
      #expect(test.store.pin == other.pin)
      #expect(try test.store.verify().isSound)
    }
    try other.rekey(options: .keysOnly) { _ in }
    let id = try test.store.write { try $0.insert(Document(text: "after"), into: test.notes) }
    #expect(try other.read { try $0.text(of: id) } == "after")
    try other.rekey(options: .keysOnly) { _ in }
    #expect(try test.store.keys.add(.published("next")) == 2)
    try test.expectSound()
  }

  @Test func followsSeveralKeyChanges() throws {
    let test = try filled()
    let other = try test.reopened()
    for _ in 0..<3 { try other.rekey(options: .keysOnly) { _ in } }
    #expect(try test.store.read { try $0.collections().count } == 2)
    #expect(test.store.pin == other.pin)
  }

  @Test func threadsShareSingleKeyRequest() throws {
    let asked = Mutex(0)
    let test = try TestStore(keys: [.words("words")])
    try test.fillForRekey()
    let store = try test.reopened(
      .passphrase {
        asked.withLock { $0 += 1 }
        return .text("words")
      })
    try test.store.rekey(options: .keysOnly) { _ in }
    DispatchQueue.concurrentPerform(iterations: 8) { number in
      do {
        if number.isMultiple(of: 2) {
          try store.read { _ = try $0.collections() }
        } else {
          try store.write { try $0.insert(Document(text: "\(number)"), into: DocumentCollection("notes")) }
        }
      } catch {
        Issue.record(error)
      }
    }
    #expect(asked.withLock { $0 } == 2)
    #expect(try test.store.read { $0.documentCount } == 33)
  }

  @Test func requiresNewKeyAfterReplacement() throws {
    let test = try filled()
    let other = try test.reopened()
    let whole = try test.store.everything()
    try other.rekey(to: [.published("next")], options: .batched) { _ in }
    let before = try Data(contentsOf: test.url)
    expect(.keyChanged) { try test.store.read { _ in } }
    expect(.keyChanged) { try test.store.write { try $0.create(DocumentCollection("x")) } }
    expect(.keyChanged) { try test.store.verify() }
    expect(.keyChanged) { try test.store.keys.add(.published("next")) }
    expect(.keyChanged) { try test.store.rekey(options: .batched) { _ in } }
    expect(.cannotUnlock) { try test.store.unlock(with: .published("wrong")) }
    expect(.keyChanged) { try test.store.read { _ in } }
    #expect(try Data(contentsOf: test.url) == before)

    try test.store.unlock(with: .published("next"))
    #expect(try test.store.everything() == whole)
    // The store keeps using this key.
    try other.rekey(options: .keysOnly) { _ in }
    #expect(try test.store.everything() == whole)
    try test.expectSound()
  }

  @Test func requiresNewPinAfterRekey() throws {
    let test = try filled()
    var options = OpenOptions.testing
    options.pin = test.store.pin
    let store = try test.reopened(.published("primary"), options)
    let pin = test.store.pin
    try test.store.rekey(options: .keysOnly) { _ in }
    expect(.keyChanged) { try store.read { _ in } }
    expect(.pinMismatch) { try store.unlock(with: .published("primary"), expecting: pin) }
    expect(.keyChanged) { try store.read { _ in } }
    try store.unlock(with: .published("primary"), expecting: test.store.pin)
    #expect(try store.everything() == test.store.everything())
  }

  @Test func requiresIdentityAfterRekey() throws {
    let test = try TestStore(recipients: [PublishedKeys.recipient])
    let store = try test.reopened(.identity(PublishedKeys.url("identity")))
    var options = RekeyOptions.keysOnly
    options.keptRecipients = [.slot(2)]
    try test.store.rekey(options: options) { _ in }
    expect(.keyChanged) { try store.read { _ in } }
    try store.unlock(with: .identity(PublishedKeys.url("identity")))
    try store.read { _ in }
  }

  @Test func followsRekeyAfterOwnKeyChange() throws {
    let test = try filled()
    try test.store.keys.replace(with: .published("next"))
    let other = try test.reopened(.published("next"))
    try other.rekey(options: .keysOnly) { _ in }
    try test.store.read { _ in }
    try test.store.rekey(to: [.words("third")], options: .keysOnly) { _ in }
    try other.unlock(with: .words("third"))
    try other.rekey(options: .keysOnly) { _ in }
    try test.store.read { _ in }
  }

  @Test func supersededRekeyContinuesOrReportsKeyChange() throws {
    let test = try filled()
    let before = try test.store.everything()
    for replacement in [[], [StoreKey.published("next")]] {
      var other: DocumentStore?
      do throws(StoreError) {
        let report = try test.store.rekey(options: .batched) { step in
          guard step.phase == .working, step.done == 14, other == nil else { return }
          other = try test.reopened()
          try other?.rekey(to: replacement, options: .keysOnly) { _ in }
        }
        _ = try other?.relation(to: try test.store.anchor())
        #expect(report.isFinished && report.pin == other?.pin)
      } catch {
        #expect(error.code == .keyChanged && !error.message.contains("unfinished"))
      }
      #expect(try other?.everything() == before)
      #expect(try other?.verify().isSound == true)
    }
    let next = try test.reopened(.published("next"))
    #expect(try next.rekey(options: .resuming) { _ in }.isFinished)
    #expect(try next.everything() == before)
  }

  /// The restored header, slots and state belong to a former root key, which the store's secret still opens.
  @Test func rejectsRestoredOldRootKey() throws {
    let test = try filled()
    let copy = try test.place.copy(test.url, as: "old.coffer")
    try test.reopened().rekey(options: .keysOnly) { _ in }
    try test.store.read { _ in }
    try test.raw().execute(
      """
      ATTACH '\(copy.path)' AS old;
      DELETE FROM coffer_header; INSERT INTO coffer_header SELECT * FROM old.coffer_header;
      DELETE FROM coffer_slot; INSERT INTO coffer_slot SELECT * FROM old.coffer_slot;
      UPDATE coffer_state SET sealed = (SELECT sealed FROM old.coffer_state);
      """)
    let before = try Data(contentsOf: test.url)
    expect(.rolledBack) { try test.store.read { _ in } }
    expect(.rolledBack) { try test.store.write { try $0.create(DocumentCollection("x")) } }
    expect(.rolledBack) { try test.store.unlock(with: .published("primary")) }
    #expect(try Data(contentsOf: test.url) == before)
  }
}
