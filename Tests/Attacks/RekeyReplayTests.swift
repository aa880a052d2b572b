import Coffer
import CofferRecords
import CofferSQLite
import CofferTestSupport
import Foundation
import Testing

@testable import CofferStoreTestSupport

/// Replays of values from before a rekey by an attacker without keys.
struct RekeyReplayTests {
  /// Returns a store with 29 documents after a rekey to the same or another secret, and leaves an earlier copy.
  private func rekeyed(to key: [StoreKey] = []) throws -> TestStore {
    let test = try TestStore()
    try test.fillForRekey()
    _ = try test.place.copy(test.url, as: "old.coffer")
    #expect(try test.store.rekey(to: key, options: .batched) { _ in }.isFinished)
    return test
  }

  private func replay(_ test: TestStore, _ statements: String, from old: String = "old.coffer") throws {
    let database = try test.raw()
    try database.execute("ATTACH '\(test.place.file(old).path)' AS old; \(statements)")
    try database.close()
  }

  static let header = "DELETE FROM main.coffer_header; INSERT INTO main.coffer_header SELECT * FROM old.coffer_header;"
  static let slots = "DELETE FROM main.coffer_slot; INSERT INTO main.coffer_slot SELECT * FROM old.coffer_slot;"
  static let state = "UPDATE main.coffer_state SET sealed = (SELECT sealed FROM old.coffer_state);"
  static let collections =
    "DELETE FROM main.coffer_collection; INSERT INTO main.coffer_collection SELECT * FROM old.coffer_collection;"

  @Test(arguments: [
    (header, StoreError.Code.cannotUnlock), (slots, .cannotUnlock), (state, .damaged), (header + slots, .damaged),
    (header + state, .cannotUnlock), (slots + state, .cannotUnlock),
  ])
  func rejectsPartialHeadReplay(_ statements: String, _ code: StoreError.Code) throws {
    let test = try rekeyed()
    try replay(test, statements)
    expect(code) { try test.reopened() }
    // An open session trusts its cached header, but calls that change keys check the header and slots.
    if statements != Self.slots {
      #expect(throws: StoreError.self) { try test.store.read { _ in } }
      #expect(throws: StoreError.self) { try test.store.write { try $0.create(DocumentCollection("x")) } }
    }
    #expect(throws: StoreError.self) { try test.store.keys.add(.published("next")) }
    #expect(throws: StoreError.self) { try test.store.rekey { _ in } }
  }

  @Test func fullHeadReplayLeavesDocumentsUnreadable() throws {
    let test = try rekeyed(to: [.published("next")])
    let pin = test.store.pin
    try replay(test, Self.header + Self.slots + Self.state)
    expect(.cannotUnlock) { try test.reopened(.published("next")) }
    // The replicas are those of the rekeyed store.
    expect(.damaged) { try test.reopened(.published("primary")) }
    try replay(test, "UPDATE main.coffer_replica SET sealed = (SELECT sealed FROM old.coffer_replica);")
    let store = try test.reopened(.published("primary"))
    #expect(store.pin != pin)
    expect(.damaged) { try store.read { try $0.collections() } }
    for id in 1...4 { expect(.damaged) { try store.read { try $0.text(of: DocumentID(id)) } } }
    #expect(try store.verify().error == StoreError(.setMismatch, ""))
  }

  @Test func rejectsReplayedRow() throws {
    let test = try rekeyed()
    try replay(
      test,
      """
      DELETE FROM main.coffer_record WHERE id = 7; DELETE FROM main.coffer_body WHERE id = 7;
      INSERT INTO main.coffer_record SELECT * FROM old.coffer_record WHERE id = 7;
      INSERT INTO main.coffer_body SELECT * FROM old.coffer_body WHERE id = 7;
      """)
    expect(.damaged) { try test.store.read { try $0.text(of: 7) } }
    let verdict = try test.store.verify()
    #expect(verdict.damaged.map(\.id) == [7] && !verdict.setMatches)
    // The row doesn't open under the new epoch either.
    try test.raw().execute("UPDATE coffer_record SET epoch = 2 WHERE id = 7")
    expect(.damaged) { try test.store.read { try $0.text(of: 7) } }
    #expect(try test.store.verify().damaged.map(\.id) == [7])
  }

  @Test func rejectsReplayedCollections() throws {
    let test = try rekeyed()
    try replay(test, Self.collections)
    expect(.damaged) { try test.reopened().read { try $0.collections() } }
    #expect(try test.store.verify().error == StoreError(.setMismatch, ""))
  }

  /// During a rekey, the old keys still open values sealed with them.
  @Test func reportsRowReplayedDuringRekey() throws {
    let test = try TestStore()
    try test.fillForRekey()
    _ = try test.place.copy(test.url, as: "old.coffer")
    try test.store.write { try $0.update(2) { $0.text = "newer" } }
    let report = try test.store.rekey(options: .batched) { step in
      guard step.done == 14 else { return }
      try replay(
        test,
        """
        DELETE FROM main.coffer_record WHERE id = 2; DELETE FROM main.coffer_body WHERE id = 2;
        INSERT INTO main.coffer_record SELECT * FROM old.coffer_record WHERE id = 2;
        INSERT INTO main.coffer_body SELECT * FROM old.coffer_body WHERE id = 2;
        """)
    }
    #expect(!report.isFinished && !report.setMatches && report.documents == 29 && report.skipped.map(\.id) == [2])
    #expect(try test.store.rekeyStatus().epochs == [1, 2])
    #expect(try test.store.verify().error == StoreError(.setMismatch, ""))
  }

  @Test func detectsReplayedCursor() throws {
    let test = try TestStore()
    try test.fillForRekey()
    var steps = 0
    expect(.cancelled) {
      try test.store.rekey(options: .batched) { step in
        if step.done == 7 { _ = try test.place.copy(test.url, as: "old.coffer") }
        if step.done == 21 { throw Interruption() }
        steps += 1
      }
    }
    try replay(test, Self.state)
    expect(.rolledBack) { try test.store.rekey(options: .resuming) { _ in } }
    let store = try test.reopened()
    #expect(try store.verify().error == StoreError(.setMismatch, ""))
    let report = try store.rekey(options: .resuming) { _ in }
    #expect(!report.isFinished && !report.setMatches)
    #expect(try store.rekeyStatus().epochs == [1, 2])
  }

  /// Anyone can give a row on a page another ID, so that SQLite returns the row after rows with greater IDs.
  @Test func cursorPassesRowOutOfItsOrder() throws {
    let test = try TestStore()
    try test.store.write { tx in
      for number in 1...9 { try tx.insert(Document(text: "\(number)"), into: test.notes) }
    }
    _ = try test.store.rekey(options: .keysOnly)
    try test.store.write { _ = try $0.insert(Document(text: "10"), into: test.notes) }
    try test.store.close()
    let database = try test.raw()
    let root = try database.query("SELECT rootpage FROM sqlite_schema WHERE name = 'coffer_record'").rows[0][0].integer
    let pageSize = try database.query("PRAGMA page_size").rows[0][0].integer
    try database.close()
    var bytes = [UInt8](try Data(contentsOf: test.url))
    let page = (Int(try #require(root)) - 1) * Int(try #require(pageSize))
    // The page is a leaf with ten rows. A row begins with its size, followed by its ID.
    try #require(bytes[page] == 13 && bytes[page + 4] == 10)
    var place = page + Int(bytes[page + 24]) << 8 + Int(bytes[page + 25])
    while bytes[place] >= 0x80 { place += 1 }
    try #require(bytes[place + 1] == 9)
    bytes[place + 1] = 0
    try Data(bytes).write(to: test.url)
    let store = try test.reopened()
    var steps = 0
    let report = try store.rekey(options: .resuming) { _ in
      steps += 1
      if steps > 20 { throw Interruption() }
    }
    #expect(!report.isFinished && report.documents == 8 && report.skipped.map(\.id) == [0])
    #expect(try store.rekeyStatus().epochs == [1, 2])
  }

  @Test(.slow) func detectsChangedStateBytes() throws {
    let test = try TestStore()
    try test.fillForRekey()
    expect(.cancelled) {
      try test.store.rekey(options: .batched) { if $0.done == 14 { throw Interruption() } }
    }
    let sound = try #require(try test.raw().query("SELECT sealed FROM coffer_state").rows.first?[0].blob)
    for index in CaseSample.one(in: 8, of: Array(sound.indices)) {
      var edited = sound
      edited[index] ^= 1 << UInt8(index % 8)
      try test.raw().execute("UPDATE coffer_state SET sealed = ?", parameters: [edited])
      expect(.damaged) { try test.reopened() }
    }
    try test.raw().execute("UPDATE coffer_state SET sealed = ?", parameters: [sound])
    #expect(try test.reopened().rekey(options: .resuming) { _ in }.isFinished)
  }
}
