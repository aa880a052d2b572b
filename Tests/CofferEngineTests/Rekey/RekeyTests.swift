import Coffer
import CofferRecords
import CofferSQLite
import CofferSealing
import Foundation
import Synchronization
import Testing

@testable import CofferStoreTestSupport

struct RekeyTests {
  @Test(arguments: CreateOptions.Titles.allCases, CreateOptions.Journal.allCases)
  func reencryptsEveryValue(_ mode: CreateOptions.Titles, _ journal: CreateOptions.Journal) throws {
    let test = try TestStore {
      $0.titles = mode; $0.journal = journal
    }
    try test.fillForRekey()
    let before = try test.store.everything()
    let (old, pin) = (try test.store.engine.session.keys, test.store.pin)
    let rows = Set(
      try test.raw().query("SELECT head, body, ct, body_nt FROM coffer_record LEFT JOIN coffer_body USING(id)").rows
        .flatMap(\.values)
        .filter { $0 != .null })

    let report = try test.store.rekey(options: .batched) { _ in }
    #expect(report.isFinished && report.documents == 29 && report.pin == test.store.pin && report.pin != pin)
    #expect(try test.store.everything() == before)
    for number in [2, 6, 30] {
      let name = number.isMultiple(of: 3) ? "folded" : "notes"
      #expect(
        try test.store.read { try $0.id(forKey: DocumentKey("Key \(number)"), in: DocumentCollection(name)) }
          == DocumentID(number))
    }
    // The files don't contain earlier values, and the old root key can't decrypt the present values.
    let database = try test.raw()
    let after = try database.query("SELECT head, body, ct, body_nt FROM coffer_record LEFT JOIN coffer_body USING(id)")
      .rows
    #expect(rows.isDisjoint(with: after.flatMap(\.values)))
    let header = try StoreHeader(StoreDatabase(database))
    #expect(throws: SealingError.self) {
      try Keyring.open(header.keyring, under: old.root, phase: header.phase)
    }
    #expect(throws: SealingError.self) { try Keyring.open(header.keyring, under: old.root, phase: 1) }
    let state = try database.query("SELECT sealed FROM coffer_state").rows[0][0]
    guard case .blob(let sealed) = state else { return #expect(Bool(false)) }
    #expect(throws: SealingError.self) { try XAESKey(old.stateKey).open(sealed, authenticating: old.stateBinding) }
    try expectNoRowOpens(under: old, of: database)
    try test.expectSound()
  }

  /// Expects decryption of each row to fail with the keys of the old epoch.
  private func expectNoRowOpens(under old: SessionKeys, of database: Database) throws {
    let keys = try RowKeys(old)
    let opener = RecordOpener(keys)
    let limits = RowLimits(bound: 1 << 40, generation: 1 << 40, target: 0, cursor: 0)
    for epoch in [nil, Int64(1)] {
      if let epoch { try database.execute("BEGIN; UPDATE coffer_record SET epoch = \(epoch)") }
      let statement = try database.statement(SQL.allRecords)
      while try statement.step() {
        let row = try RecordRow(statement.columns(), within: limits)
        expect(.damaged) { try opener.openHead(row) }
      }
      statement.reset()
      if epoch != nil { try database.execute("ROLLBACK") }
    }
    #expect(try database.query("SELECT DISTINCT epoch FROM coffer_record").rows.map { $0[0] } == [2])
  }

  @Test func replacesKeyOfOpenedSlot() throws {
    let test = try TestStore { $0.labels = ["mine"] }
    try test.fillForRekey()
    let pin = test.store.pin
    #expect(try test.store.rekey(to: [.published("next"), .words("also")]) { _ in }.isFinished)
    let listed = try test.store.keys.list()
    #expect(listed.map(\.slot) == [1, 2] && listed.map(\.label) == ["mine", ""])
    expect(.cannotUnlock) { try test.reopened() }
    try test.reopened(.words("also")).close()
    var options = OpenOptions.testing
    options.pin = pin
    expect(.pinMismatch) { try test.reopened(.published("next"), options) }
    try test.expectSound()
  }

  @Test func keysOnlyRekeyTakesFewCommits() throws {
    for count in [10, 60] {
      let test = try TestStore()
      try test.fillForRekey(count)
      let generation = try test.store.read { $0.generation }
      let size = try Data(contentsOf: test.url).count
      let report = try test.store.rekey(to: [.published("next")], options: .keysOnly) { _ in }
      #expect(!report.isFinished && report.documents == 0)
      #expect(try test.store.read { $0.generation } == generation + 1)
      #expect(try Data(contentsOf: test.url).count == size)
      let status = try test.store.rekeyStatus()
      #expect(
        !status.isFinished && status.remaining == count - 1 && status.total == count - 1 && status.epochs == [1, 2])
      #expect(try DocumentStore.info(at: test.url).epochs.map(\.count) == [count - 1])
      #expect(try test.reopened(.published("next")).rekey(options: .resuming) { _ in }.isFinished)
    }
  }

  @Test(arguments: [Int.min, -1, 0, 1, Int.max])
  func finishesWithAnyBatchSize(_ size: Int) throws {
    let test = try TestStore()
    try test.fillForRekey()
    var options = RekeyOptions()
    options.batchSize = size
    #expect(try test.store.rekey(options: options) { _ in }.isFinished)
    try test.expectSound()
  }

  @Test(arguments: CreateOptions.Journal.allCases)
  func allowsReadsAndWritesBetweenBatches(_ journal: CreateOptions.Journal) throws {
    let test = try TestStore { $0.journal = journal }
    try test.fillForRekey()
    var other: DocumentStore?
    var added = 0
    let report = try test.store.rekey(options: .batched) { step in
      guard step.phase != .beginning else { return }
      let store = try other ?? test.reopened()
      other = store
      added += 1
      try store.write { writer in
        try writer.insert(
          Document(title: "added \(added)", text: "new", key: DocumentKey("added \(added)")), into: test.notes)
        // Writes to rows before and after the cursor. Rewritten rows use the new epoch.
        try writer.update(DocumentID(30 - added)) { $0.text += "changed" }
        try writer.update(DocumentID(5 + added)) { $0.title = "changed" }
        try writer.move(DocumentID(20 + added), to: .bottom)
        try writer.put(Document(text: "put"), into: test.notes, key: "Key 2")
        expect(.duplicateKey) { try writer.update(1) { $0.key = "Key 4" } }
      }
      #expect(try store.read { try $0.id(forKey: "kEY 6", in: DocumentCollection("folded")) } == 6)
      #expect(try store.verify().isSound)
    }
    #expect(report.isFinished && added > 4)
    #expect(try test.store.read { try $0.text(of: 2) } == "put")
    #expect(try test.store.rekeyStatus().epochs == [2])
    try test.expectSound()
    try test.expectSound()
  }

  @Test func progressCountsDocuments() throws {
    let test = try TestStore()
    try test.fillForRekey()
    var seen: [WorkProgress] = []
    try test.store.rekey(options: .batched) { seen.append($0) }
    #expect(seen.map(\.done) == [0, 0, 7, 14, 21, 28, 29, 29])
    #expect(seen.map(\.phase) == [.beginning] + Array(repeating: .working, count: 6) + [.finishing])
    #expect(Set(seen.map(\.total)) == [29])
  }

  @Test func asyncRekeyReportsProgressAndFinishes() async throws {
    let test = try TestStore()
    try test.fillForRekey()
    let last = Mutex<WorkProgress?>(nil)
    let report = try await test.store.perform { store in
      try store.rekey(to: [.published("next")], options: .batched) { step in last.withLock { $0 = step } }
    }
    #expect(report.isFinished)
    #expect(last.withLock { $0 } == WorkProgress(done: 29, total: 29, phase: .finishing))
    #expect(try test.reopened(.published("next")).rekeyStatus().isFinished)
    try test.expectSound()
  }

  /// A session with a pin goes on after its own rekey.
  @Test func pinnedSessionResumesAfterItsRekey() throws {
    let test = try TestStore()
    try test.fillForRekey(20)
    var options = OpenOptions.testing
    options.pin = test.store.pin
    let store = try test.reopened(.published("primary"), options)
    try store.rekey(to: [.published("next")], options: .batched) { _ in }
    try store.suspend(within: .seconds(10))
    store.resume()
    #expect(try store.read { try $0.collections().count } > 0)
    #expect(try store.verify().isSound)
  }

  /// The old slots stay in the file as long as a reader needs the log.
  @Test func changeOfKeysOnlyLeavesOldPagesToReader() throws {
    let test = try TestStore { $0.journal = .writeAheadLog }
    try test.fillForRekey(20)
    var waiting = OpenOptions.testing
    waiting.wait = .milliseconds(1)
    let store = try test.reopened(.published("primary"), waiting)
    var options = RekeyOptions.batched
    options.isKeysOnly = true
    try test.store.read { reader in
      _ = try reader.collections()
      expect(.locked) { try store.rekey(to: [.published("next")], options: options) { _ in } }
    }
    #expect(try store.rekeyStatus().hasOldPages)
  }
}
