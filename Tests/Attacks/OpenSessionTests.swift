import Coffer
import CofferRecords
import CofferSQLite
import Foundation
import Testing

@testable import CofferStoreTestSupport

/// Changes by an attacker without a key during an open session, which checks the data it reads next.
struct OpenSessionTests {
  /// Edits of the header and slots that leave the column `mac` unchanged.
  private static let edits = [
    "UPDATE coffer_header SET keyring = zeroblob(length(keyring))", "UPDATE coffer_header SET titles = 1",
    "UPDATE coffer_slot SET label = 'backup' WHERE slot = 2", "DELETE FROM coffer_slot WHERE slot = 2",
    "INSERT INTO coffer_slot SELECT 9, kind, label, params, wrapped FROM coffer_slot WHERE slot = 1",
  ]

  private func filled(_ count: Int = 3) throws -> TestStore {
    let test = try TestStore(keys: [.published("primary"), .words("words")])
    try test.store.write { writer in
      for number in 1...count { try writer.insert(Document(text: "text \(number)"), into: test.notes) }
    }
    return test
  }

  @Test(arguments: edits)
  func reportsAndRepairsDamagedHeader(_ edit: String) throws {
    let test = try filled()
    try test.raw().execute(edit)
    // The session's keys still authenticate rows.
    #expect(try test.store.read { try $0.text(of: 1) } == "text 1")
    #expect(try test.store.verify().error == StoreError(.damaged, ""))
    expect(.damaged) { try test.store.keys.list() }
    expect(.damaged) { try test.store.keys.add(.published("next")) }
    try test.store.repairHeader()
    #expect(try test.store.verify().isSound)
    #expect(try test.store.keys.list().map(\.label) == ["", ""])
    #expect(try test.reopened(.words("words")).verify().isSound)
  }

  /// SQLite would compute the expression when it checks or empties the table, in one step that nothing ends.
  @Test(arguments: [
    "CREATE TABLE coffer_x_e(a CHECK(instr(hex(zeroblob(40000000)), hex(zeroblob(20000000)) || '1') = 0))",
    "CREATE TABLE coffer_x_e(a, b AS (1 + 1))",
  ])
  func refusesSchemaChangedByOtherProcess(_ sql: String) throws {
    let test = try filled()
    let raw = try test.raw()
    try raw.execute("CREATE TABLE coffer_x_e(a); INSERT INTO coffer_x_e VALUES(1)")
    #expect(try test.store.verify().isSound)
    try raw.execute("BEGIN; CREATE TABLE coffer_x_f(a); PRAGMA writable_schema = ON")
    try raw.execute("UPDATE sqlite_schema SET sql = ? WHERE name = 'coffer_x_e'", sql)
    try raw.execute("COMMIT; PRAGMA writable_schema = OFF")
    expect(.damaged) { try test.store.read { try $0.text(of: 1) } }
    expect(.damaged) { try test.store.write { try $0.delete(1) } }
    expect(.damaged) { try test.store.verify() }
    expect(.damaged) { try test.store.compact() }
    try raw.execute("DROP TABLE coffer_x_e")
    #expect(try test.store.read { try $0.text(of: 1) } == "text 1")
    try test.expectSound()
  }

  @Test func repairsMissingHeaderUnlessRolledBack() throws {
    let test = try filled()
    let old = try test.raw().query("SELECT sealed FROM coffer_state").rows[0][0]
    try test.store.write { try $0.insert(Document(text: "later"), into: test.notes) }
    let latest = try test.raw().query("SELECT sealed FROM coffer_state").rows[0][0]
    try test.raw().execute("DELETE FROM coffer_header; DELETE FROM coffer_spare")
    try test.raw().execute("UPDATE coffer_state SET sealed = ?", parameters: [old])
    expect(.damaged) { try test.store.read { _ in } }
    expect(.rolledBack) { try test.store.repairHeader() }
    try test.raw().execute("UPDATE coffer_state SET sealed = ?", parameters: [latest])
    try test.store.repairHeader()
    #expect(try test.store.verify().isSound)
    try test.expectSound()
  }

  @Test func verifyReportsDamagedSpareCopy() throws {
    let test = try filled()
    try test.raw().execute("UPDATE coffer_spare SET copy = zeroblob(length(copy))")
    #expect(try test.store.verify(.quick).problems.contains { $0.contains("spare copy") })
    // The next slot change rewrites the spare copy.
    try test.store.keys.add(.published("next"))
    #expect(try test.store.verify().isSound)
  }

  @Test func verifyDiscardsCachedReplayedText() throws {
    let test = try filled()
    func row() throws -> [SQLiteValue] {
      try test.raw().query("SELECT rev, head, body_nt, body FROM coffer_record WHERE id = 1").rows[0].values
    }
    func put(_ row: [SQLiteValue]) throws {
      try test.raw().execute(
        "UPDATE coffer_record SET rev = ?, head = ?, body_nt = ?, body = ? WHERE id = 1", parameters: row)
    }
    let old = try row()
    try test.store.write { try $0.update(1) { $0.text = "newer" } }
    let latest = try row()
    try put(old)
    // The older row is authentic, so only verify detects it.
    #expect(try test.store.read { try $0.text(of: 1) } == "text 1")
    #expect(try test.store.verify().error == StoreError(.setMismatch, ""))
    #expect(try test.store.read { try $0.text(of: 1) } == "text 1")
    try put(latest)
    #expect(try test.store.verify().isSound)
    #expect(try test.store.read { try $0.text(of: 1) } == "newer")
  }

  @Test func rejectsForgedRow() throws {
    let test = try filled()
    try test.store.write { try $0.delete(3) }
    try test.raw().execute(
      "INSERT INTO coffer_record SELECT 3,coll,epoch,rev,pos,parent,flags,lookup,title,head,body_nt,body FROM coffer_record WHERE id=2"
    )
    expect(.damaged) { try test.store.read { try $0.exists(3) } }
    #expect(try test.store.read { reader in try (reader.exists(2), reader.exists(4)) } == (true, false))
  }

  @Test func refusesToExportIncompleteStore() throws {
    let test = try filled()
    try test.raw().execute("DELETE FROM coffer_record WHERE id = 2")
    let target = test.place.file("target.coffer")
    expect(.setMismatch) { try test.store.copy(to: target, keys: [.published("next")]) }
    #expect(!FileManager.default.fileExists(atPath: target.path))
    // Selected documents are authenticated individually.
    #expect(try test.store.copy(.documents([1]), to: target, keys: [.published("next")]).documents == 1)
  }

  @Test func reportsRemovedKeyRemainingInLog() throws {
    let test = try TestStore(keys: [.published("primary"), .words("words")]) { $0.journal = .writeAheadLog }
    try test.store.write { try $0.insert(Document(text: "text"), into: test.notes) }
    var options = OpenOptions.testing
    options.wait = .milliseconds(50)
    let store = try test.reopened(.published("primary"), options)
    let wrapped = try #require(try test.raw().query("SELECT wrapped FROM coffer_slot WHERE slot = 2").rows[0][0].blob)
    let reader = try test.raw()
    try reader.begin(.deferred)
    _ = try reader.query("SELECT count(*) FROM coffer_record")

    expect(.locked) { try store.keys.remove(slot: 2) }
    #expect(try store.keys.list().map(\.slot) == [1])
    #expect(try store.rekeyStatus().hasOldPages && store.rekeyStatus().needsResuming)
    #expect(try test.bytesOnDisk().range(of: Data(wrapped)) != nil)
    try reader.rollback()
    try reader.close()
    var resuming = RekeyOptions()
    resuming.isResuming = true
    try store.rekey(options: resuming) { _ in }
    #expect(try !store.rekeyStatus().needsResuming)
    #expect(try test.bytesOnDisk().range(of: Data(wrapped)) == nil)
    #expect(try store.verify().isSound)
  }

  @Test func deletionEmptiesUnknownFeatureTables() throws {
    let place = try Workplace()
    let url = try place.copy(Vectors.folder.appending(path: "compat.coffer"))
    let secret = try #require(try Vectors.json("compat")["open_with"]["key"].string)
    let store = try DocumentStore.open(at: url, key: .named("key", secret), options: .testing)
    func rows() throws -> Int64 {
      let raw = try Database(url.path)
      defer { try? raw.close() }
      return try raw.query(SQL.unknownFeatureTables).rows.reduce(0) { sum, row in
        guard case .text(let name) = row[0] else { return sum }
        return sum + (try raw.query("SELECT count(*) FROM \"\(name)\"").rows[0][0].integer ?? 0)
      }
    }
    let collection = DocumentCollection(try #require(try store.read { try $0.collections() }.first).name)
    #expect(try rows() > 0)
    let new = try store.write { try $0.insert(Document(text: "new"), into: collection) }
    #expect(try rows() > 0)
    try store.write { try $0.delete(new) }
    #expect(try rows() == 0)
    #expect(try store.engine.session.keys.header.compatible == 0)
    #expect(try store.verify().isSound)
  }
}
