import Coffer
import CofferEngine
import CofferRecords
import CofferSQLite
import Foundation
import Testing

@testable import CofferStoreTestSupport

/// Rekeys that fail or remain unfinished, and the resulting store.
struct RekeyErrorTests {
  /// Keys that created or opened the store don't keep their slots if new keys replace the session's slot.
  @Test(arguments: [false, true]) func requiresKeysOfKeptSlots(reopens: Bool) throws {
    let keys: [StoreKey] = [.published("primary"), .published("wrong")]
    let test = try TestStore(keys: keys)
    let store = reopens ? try test.reopened(.anyOf(keys)) : test.store
    expect(.keyNeeded) { try store.rekey(to: [.published("next")]) }
    var options = RekeyOptions()
    options.otherKeys = [.published("wrong")]
    #expect(try store.rekey(to: [.published("next")], options: options).isFinished)
    for name in ["next", "wrong"] { try test.reopened(.published(name)).close() }
    expect(.cannotUnlock) { try test.reopened(.published("primary")) }
  }

  @Test func missingSecretPreventsRekey() throws {
    let test = try TestStore(
      keys: [.published("primary"), .words("words")], recipients: [PublishedKeys.recipient]
    ) {
      $0.labels = ["mine", "hers"]
    }
    try test.fillForRekey()
    let before = try Data(contentsOf: test.url)
    let store = try test.reopened()
    do {
      try store.rekey { _ in }
      Issue.record("a slot was dropped in silence")
    } catch {
      #expect(error.code == .keyNeeded && error.message.contains("2 (hers)"))
      #expect(!error.message.contains("mine") && error.message.contains("3, fingerprint "))
    }
    #expect(try Data(contentsOf: test.url) == before)

    var options = RekeyOptions()
    options.dropsOtherSlots = true
    options.keptRecipients = [.recipient(try PublishedKeys.recipient)]
    #expect(try store.rekey(options: options) { _ in }.isFinished)
    #expect(try store.keys.list().map(\.slot) == [1, 3])
    expect(.cannotUnlock) { try test.reopened(.words("words")) }
    try test.reopened(.identity(PublishedKeys.url("identity"))).close()
    try test.reopened().close()
    #expect(try store.verify().isSound)
  }

  @Test func skipsDamagedRowAndKeepsOldKeys() throws {
    let test = try TestStore()
    try test.fillForRekey()
    let whole = try test.store.everything()
    try test.raw().execute("UPDATE coffer_record SET body = zeroblob(length(body)) WHERE id = 11")
    let report = try test.store.rekey(options: .batched) { _ in }
    #expect(!report.isFinished && report.skipped.map(\.id) == [11] && report.documents == 28)
    let status = try test.store.rekeyStatus()
    #expect(!status.isFinished && status.remaining == 1 && status.epochs == [1, 2])

    let reopened = try test.reopened()
    expect(.damaged) { try reopened.read { try $0.text(of: 11) } }
    // A skipped row isn't trusted, because a former key holder could have inserted it.
    expect(.damaged) { try reopened.read { try $0.header(of: 11) } }
    #expect(try reopened.read { try $0.text(of: 12) } == whole["folded"]?.first { $0.header.id == 12 }?.text)
    let verdict = try reopened.verify()
    #expect(verdict.damaged.map(\.id) == [11] && verdict.setMatches)
    // Resuming skips the row again, and finishes after the row is deleted.
    #expect(try reopened.rekey(options: .resuming) { _ in }.skipped.map(\.id) == [11])
    try reopened.write { try $0.delete(11) }
    #expect(try reopened.rekey(options: .resuming) { _ in }.isFinished)
    #expect(try reopened.rekeyStatus().epochs == [2])
    #expect(try reopened.verify().isSound)
  }

  @Test func skipsEachDamagedAttachment() throws {
    let test = try TestStore()
    try test.fillForRekey()
    let attached = try test.store.write { tx throws in
      try ["a", "b", "c"].map { try tx.attach([1, 2], to: 7, name: $0).id }
    }
    let damaged = Array(attached.prefix(2))
    try test.raw().execute("UPDATE coffer_chunk SET ct = zeroblob(length(ct)) WHERE chunk < 3 << 24")
    let report = try test.store.rekey(options: .batched) { _ in }
    #expect(!report.isFinished && report.skipped.isEmpty && report.documents == 29 && report.remaining == 1)
    #expect(report.skippedAttachments.map(\.id) == damaged)
    #expect(report.skippedAttachments.map(\.document) == [7, 7])
    let status = try test.store.rekeyStatus()
    #expect(!status.isFinished && status.remaining == 1 && status.epochs == [1, 2])
    try test.store.write { tx throws in
      for id in damaged { try tx.detach(id) }
    }
    #expect(try test.store.rekey(options: .resuming) { _ in }.isFinished)
    #expect(try test.store.rekeyStatus().epochs == [2])
    try test.expectSound()
  }

  @Test(arguments: [false, true]) func reportsMissingRowAndKeepsOldKeys(_ hasIndexes: Bool) throws {
    let test = try TestStore()
    try test.fillForRekey()
    if hasIndexes {
      for collection in try test.store.read({ try $0.collections() }) {
        try test.store.index(collection.handle, .words(), .titles)
      }
    }
    try test.raw().execute("DELETE FROM coffer_record WHERE id = 4; DELETE FROM coffer_body WHERE id = 4")
    let report = try test.store.rekey(options: .batched) { _ in }
    #expect(!report.isFinished && !report.setMatches && report.skipped.isEmpty)
    #expect(try test.store.rekeyStatus().epochs == [1, 2])
    #expect(try test.store.verify().error == StoreError(.setMismatch, ""))
  }

  @Test(arguments: 0..<9)
  func resumesInterruptedRekey(_ step: Int) throws {
    let test = try TestStore()
    try test.fillForRekey()
    let before = try test.store.everything()
    let anchor = try test.store.anchor()
    var steps = 0
    var store = test.store
    do {
      try store.rekey(to: [.published("next")], options: .batched) { _ in
        if steps == step { throw Interruption() }
        steps += 1
      }
      // 29 documents in batches of 7 take these steps: keys, documents, five batches, finishing.
      #expect(step > 7)
    } catch {
      #expect(error.code == .cancelled)
    }
    let isChanged = step > 0
    expect(.cannotUnlock) { try test.reopened(.published(isChanged ? "primary" : "next")) }
    store = try test.reopened(.published(isChanged ? "next" : "primary"))
    #expect(try store.everything() == before)
    #expect(try store.verify().isSound)
    #expect(try store.rekeyStatus().isFinished != (1...7).contains(step))
    if step == 0 { return #expect(try store.relation(to: anchor) == .same) }

    if step <= 7 { #expect(try store.rekey(options: .resuming) { _ in }.isFinished) }
    #expect(try store.everything() == before)
    #expect(try store.verify().isSound)
    #expect(try store.rekeyStatus().epochs == [2])
    expect(.noUnfinishedRekey) { try store.rekey(options: .resuming) { _ in } }
  }

  @Test func takesOverUnfinishedRekey() throws {
    let test = try TestStore()
    try test.fillForRekey()
    let before = try test.store.everything()
    for step in [1, 3, 4] {
      var steps = 0
      expect(.cancelled) {
        try test.store.rekey(options: .batched) { _ in
          if steps == step { throw Interruption() }
          steps += 1
        }
      }
    }
    #expect(try test.store.rekeyStatus().epochs == [1, 2, 3, 4])
    #expect(try test.store.everything() == before)
    try test.expectSound()
    #expect(try test.store.rekey(options: .batched) { _ in }.isFinished)
    #expect(try test.store.rekeyStatus().epochs == [5])
    #expect(try test.store.everything() == before)
    try test.expectSound()
  }

  @Test func cancelsWaitForBlockingReader() throws {
    let test = try TestStore { $0.journal = .writeAheadLog }
    try test.fillForRekey()
    var options = OpenOptions.testing
    options.wait = nil
    let other = try test.reopened(.published("primary"), options)
    try test.store.read { reader in
      _ = try reader.headers(in: test.notes)
      var told = 0
      expect(.cancelled) {
        try other.rekey(options: .batched) { step in
          guard step.phase == .waiting else { return }
          told += 1
          // Another handle can still write.
          try test.reopened().write { try $0.insert(Document(text: "\(told)"), into: test.notes) }
          if told == 3 { throw Interruption() }
        }
      }
      #expect(told == 3)
    }
    #expect(try other.rekey(options: .resuming) { _ in }.isFinished)
    #expect(try other.verify().isSound)
    #expect(try other.read { $0.documentCount } == 32)
  }

  @Test func readerKeepsSnapshotDuringRekey() throws {
    let test = try TestStore { $0.journal = .writeAheadLog }
    try test.fillForRekey()
    let before = try test.store.everything()
    var options = OpenOptions.testing
    options.wait = .zero
    let other = try test.reopened(.published("primary"), options)
    try test.store.read { reader in
      let first = try reader.headers(in: test.notes)
      // The log can't be truncated during this read, so the rekey reports an error instead of finishing.
      expect(.locked) { try other.rekey(options: .batched) { _ in } }
      #expect(try reader.headers(in: test.notes) == first)
      for document in before["notes"]! { #expect(try reader.text(of: document.header.id) == document.text) }
    }
    #expect(try test.store.everything() == before)
    let status = try other.rekeyStatus()
    #expect(!status.isFinished && status.remaining == 0)
    #expect(try other.rekey(options: .resuming) { _ in }.isFinished)
    #expect(try other.everything() == before)
    #expect(try other.verify().isSound)
  }
}
