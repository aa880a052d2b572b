import Coffer
import CofferCopies
import CofferSQLite
import CofferTestSupport
import Foundation
import Testing

@testable import CofferStoreTestSupport

/// The rules that all operations on two stores share.
struct PairedStoreTests {
  private enum Operation: String, CaseIterable {
    case merge, restore, differences, differencesFromOther = "differences from the other"

    func run(_ store: DocumentStore, _ other: DocumentStore, allowingRekey: Bool) throws {
      switch self {
      case .merge:
        var options = MergeOptions()
        options.allowsRekey = allowingRekey
        #expect(try store.merge(other, options: options).isMerged)
      case .restore: #expect(try store.restore([1], from: other, allowingRekey: allowingRekey) == [.changed])
      case .differences:
        #expect(try store.differences(to: other, allowingRekey: allowingRekey).changed.count == 1)
      case .differencesFromOther:
        #expect(try other.differences(to: store, allowingRekey: allowingRekey).changed.count == 1)
      }
    }
  }

  /// A backup that an earlier key holder can have changed isn't read without consent.
  @Test(arguments: [false, true]) func readsFileFromBeforeRekeyOnlyWithConsent(_ isRekeyed: Bool) throws {
    for operation in Operation.allCases {
      let test = try TestStore()
      let id = try test.store.write { try $0.insert(Document(text: "old"), into: test.notes) }
      #expect(id == 1)
      let backup = test.place.file("backup.coffer")
      try test.store.backup(to: backup)
      _ = try test.store.rekey { _ in }
      try test.store.write { try $0.update(1) { $0.text = "new" } }
      let old = try DocumentStore.open(at: backup, key: .published("primary"), options: .testing)
      // A former key holder can rekey the old file, too.
      if isRekeyed { _ = try old.rekey { _ in } }
      let generation = try test.store.read { $0.generation }
      let error = #expect(throws: StoreError.self) { try operation.run(test.store, old, allowingRekey: false) }
      #expect(error?.code == .rolledBack && error?.message.contains(backup.path) == true)
      #expect(try test.store.read { $0.generation } == generation)
      // A rekey is a write, and two files of one store that were both written to don't merge.
      if operation == .merge, isRekeyed { continue }
      try operation.run(test.store, old, allowingRekey: true)
      try test.expectSound()
    }
  }

  /// A former key holder can change the documents that a rekey hasn't sealed again, and only the proof of all rows
  /// notices it.
  @Test func refusesDocumentsWithFormerKeyFromUnprovedBackup() throws {
    let test = try TestStore()
    for number in 1...3 {
      try test.store.write { _ = try $0.insert(Document(text: "text \(number)"), into: test.notes) }
    }
    var options = RekeyOptions()
    options.isKeysOnly = true
    _ = try test.store.rekey(options: options) { _ in }
    let id = try test.store.write { try $0.insert(Document(text: "text 4"), into: test.notes) }
    let url = test.place.file("backup.coffer")
    try test.store.backup(to: url)
    options = RekeyOptions()
    options.isResuming = true
    _ = try test.store.rekey(options: options) { _ in }
    try test.store.write { try $0.delete([1, id]) }
    let raw = try Database(url.path)
    try raw.execute("DELETE FROM coffer_record WHERE id=3")
    try raw.close()
    let backup = try DocumentStore.open(at: url, key: .published("primary"), options: .testing)
    expect(.setMismatch) { try test.store.restore([id], from: backup) }
    expect(.setMismatch) { try test.store.restore([1, id], from: backup, allowingDamage: true) }
    #expect(try test.store.read { try $0.count(in: test.notes) } == 2)
    #expect(try test.store.restore([id], from: backup, allowingDamage: true) == [.added])
    try test.expectSound()
  }

  /// The backup's index of positions decides on the place, so the index is compared with the rows.
  @Test func refusesBackupWithOtherOrder() throws {
    let test = try TestStore()
    for number in 1...4 {
      try test.store.write { _ = try $0.insert(Document(text: "text \(number)"), into: test.notes) }
    }
    let url = test.place.file("backup.coffer")
    try test.store.backup(to: url)
    try test.store.write { try $0.delete(3) }
    let raw = try Database(url.path)
    let index = "CREATE INDEX coffer_record_pos ON coffer_record(coll,pos,id,title)"
    try raw.execute(
      """
      DROP INDEX coffer_record_pos;
      \(index) WHERE id<>2;
      PRAGMA writable_schema = ON;
      UPDATE sqlite_schema SET sql = '\(index)' WHERE name = 'coffer_record_pos'
      """)
    try raw.close()
    let backup = try DocumentStore.open(at: url, key: .published("primary"), options: .testing)
    let error = #expect(throws: StoreError.self) { try test.store.restore([3], from: backup) }
    #expect(error?.code == .damaged && error?.message.contains(url.path) == true)
    #expect(try test.store.restore([3], from: backup, allowingDamage: true) == [.added])
  }

  /// A copy has a root key of its own, so it doesn't know the original's last rekey. A merge sees that the other file has
  /// other commits than those known, but for a single document only the pin does.
  @Test func copyKnowsRekeyOfOriginalByPin() throws {
    let test = try TestStore()
    try test.store.write { _ = try $0.insert(Document(text: "old"), into: test.notes) }
    let backup = test.place.file("backup.coffer")
    try test.store.backup(to: backup)
    _ = try test.store.rekey { _ in }
    let copy = try DocumentStore.openEditableCopy(
      of: test.url, at: test.place.file("copy.coffer"), key: .published("primary"), options: .testing)
    let old = try DocumentStore.open(at: backup, key: .published("primary"), options: .testing)
    try old.write { try $0.update(1) { $0.text = "by a former key holder" } }
    expect(.anchorMismatch) { try copy.merge(old, policy: .theirs) }
    var options = OpenOptions.testing
    options.pin = test.store.pin
    expect(.rolledBack) { try DocumentStore.open(at: backup, key: .published("primary"), options: options) }
    #expect(try copy.restore([1], from: old) == [.changed])
  }

  /// Root keys of different stores are independent.
  @Test func acceptsRekeyedCopyOfAnotherStore() throws {
    for operation in Operation.allCases {
      let test = try TestStore()
      try test.store.write { _ = try $0.insert(Document(text: "old"), into: test.notes) }
      let copy = try DocumentStore.openEditableCopy(
        of: test.url, at: test.place.file("copy.coffer"), key: .published("primary"), options: .testing)
      _ = try test.store.rekey { _ in }
      try copy.write { try $0.update(1) { $0.text = "new" } }
      try operation.run(test.store, copy, allowingRekey: false)
    }
  }
}
