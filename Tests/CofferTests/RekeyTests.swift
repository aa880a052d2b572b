import CofferSQLite
import CofferSealing
import Foundation
import Testing

@testable import Coffer

struct RekeyTests {
  private let batched: RekeyOptions = {
    var options = RekeyOptions()
    options.batchSize = 7
    return options
  }()

  private var keysOnly: RekeyOptions {
    var options = batched
    options.isKeysOnly = true
    return options
  }

  private var resuming: RekeyOptions {
    var options = batched
    options.isResuming = true
    return options
  }

  private func fill(_ test: TestStore, _ count: Int = 30) throws {
    try test.store.write { writer in
      try writer.createCollection("folded", titleRule: .derived, foldsKeys: true)
      for number in 1...count {
        try writer.insert(
          Document(
            title: "title \(number)", text: String(repeating: "\(number) ", count: number * 20),
            key: number.isMultiple(of: 2) ? ExternalKey("Key \(number)") : nil,
            attributes: ["n": .number(Double(number))],
            parent: number > 3 && number % 3 == 0 ? DocumentID(Int64(number - 3)) : nil),
          into: DocumentCollection(number.isMultiple(of: 3) ? "folded" : "notes"), at: number % 2 == 0 ? .top : .bottom)
      }
      try writer.delete(5)
    }
  }

  // MARK: Broken

  @Test func slotWhoseSecretIsMissingStopsItBeforeTheFirstWrite() throws {
    let test = try TestStore(keys: [.published("primary"), .words("words"), .recipient(PublishedKeys.recipient)]) {
      $0.labels = ["mine", "hers"]
    }
    try fill(test)
    let before = try Data(contentsOf: test.url)
    let store = try test.reopened()
    do {
      try store.rekey { _ in }
      Issue.record("a slot was dropped in silence")
    } catch {
      #expect(error.code == .keyNeeded && error.message.contains("2 (hers)"))
      #expect(!error.message.contains("mine"))
    }
    #expect(try Data(contentsOf: test.url) == before)

    var options = RekeyOptions()
    options.dropsOtherSlots = true
    #expect(try store.rekey(options: options) { _ in }.isFinished)
    #expect(try store.keys.list().map(\.slot) == [1, 3])
    expect(.cannotUnlock) { try test.reopened(.words("words")) }
    try test.reopened(.identity(PublishedKeys.url("identity"))).close()
    try test.reopened().close()
    #expect(try store.verify().isSound)
  }

  @Test func damagedRowIsSkippedAndTheOldKeysStay() throws {
    let test = try TestStore()
    try fill(test)
    let whole = try test.store.everything()
    try test.raw().execute("UPDATE coffer_body SET ct = zeroblob(length(ct)) WHERE id = 11")
    let report = try test.store.rekey(options: batched) { _ in }
    #expect(!report.isFinished && report.skipped.map(\.id) == [11] && report.documents == 28)
    let status = try test.store.rekeyStatus()
    #expect(status.isUnfinished && status.remaining == 1 && status.epochs == [1, 2])

    let reopened = try test.reopened()
    expect(.damaged) { try reopened.read { try $0.text(of: 11) } }
    #expect(try reopened.read { try $0.header(of: 11).title } == "title 11")
    #expect(try reopened.read { try $0.text(of: 12) } == whole["folded"]?.first { $0.header.id == 12 }?.text)
    let verdict = try reopened.verify()
    #expect(verdict.damaged.map(\.id) == [11] && verdict.setMatches)
    // Resuming finds it again; without the row, it ends.
    #expect(try reopened.rekey(options: resuming) { _ in }.skipped.map(\.id) == [11])
    try reopened.write { try $0.delete(11) }
    #expect(try reopened.rekey(options: resuming) { _ in }.isFinished)
    #expect(try reopened.rekeyStatus().epochs == [2])
    #expect(try reopened.verify().isSound)
  }

  @Test func missingRowKeepsTheOldKeysAndIsReported() throws {
    let test = try TestStore()
    try fill(test)
    try test.raw().execute("DELETE FROM coffer_record WHERE id = 4; DELETE FROM coffer_body WHERE id = 4")
    let report = try test.store.rekey(options: batched) { _ in }
    #expect(!report.isFinished && !report.setMatches && report.skipped.isEmpty)
    #expect(try test.store.rekeyStatus().epochs == [1, 2])
    #expect(try test.store.verify().error == StoreError(.setMismatch, ""))
  }

  @Test(arguments: 0..<9)
  func interruptedRekeyGoesOnWhereItStopped(_ step: Int) throws {
    let test = try TestStore()
    try fill(test)
    let before = try test.store.everything()
    let anchor = try test.store.anchor()
    var steps = 0
    var store = test.store
    do {
      try store.rekey(to: [.published("next")], options: batched) { _ in
        if steps == step { throw Interruption() }
        steps += 1
      }
      // 29 documents in batches of 7: keys, documents, five batches, finishing.
      #expect(step > 7)
    } catch {
      #expect(error.code == .cancelled)
    }
    let isChanged = step > 0
    expect(.cannotUnlock) { try test.reopened(.published(isChanged ? "primary" : "next")) }
    store = try test.reopened(.published(isChanged ? "next" : "primary"))
    #expect(strip(try store.everything()) == strip(before))
    #expect(try store.verify().isSound)
    #expect(try store.rekeyStatus().isUnfinished == (1...7).contains(step))
    if step == 0 { return #expect(try store.checkAnchor(anchor) == .same) }

    let report = try store.rekey(options: resuming) { _ in }
    #expect(report.isFinished)
    #expect(strip(try store.everything()) == strip(before))
    #expect(try store.verify().isSound)
    #expect(try store.rekeyStatus().epochs == [2])
    #expect(try store.rekey(options: resuming) { _ in }.documents == 0)
  }

  /// What a rekey must not change.
  private func strip(_ found: [String: [StoredDocument]]) -> [String: [StoredDocument]] { found }

  // MARK: Sound

  @Test(arguments: TitleMode.allCases, CreateOptions.Journal.allCases)
  func nothingRemainsUnderTheOldKeys(_ mode: TitleMode, _ journal: CreateOptions.Journal) throws {
    let test = try TestStore {
      $0.titles = mode; $0.journal = journal
    }
    try fill(test)
    let before = try test.store.everything()
    let (old, pin) = (test.store.session.keys, test.store.pin)
    let rows = Set(
      try test.raw().query("SELECT head, ct, body_nt FROM coffer_record JOIN coffer_body USING(id)").rows.flatMap(
        \.values))

    let report = try test.store.rekey(options: batched) { _ in }
    #expect(report.isFinished && report.documents == 29 && report.pin == test.store.pin && report.pin != pin)
    #expect(try test.store.everything() == before)
    for number in [2, 6, 30] {
      let name = number.isMultiple(of: 3) ? "folded" : "notes"
      #expect(
        try test.store.read { try $0.id(forKey: ExternalKey("Key \(number)"), in: DocumentCollection(name)) }
          == DocumentID(Int64(number)))
    }
    // No value of before stands anywhere, and the old root key opens nothing that stands there now.
    let database = try test.raw()
    let after = try database.query("SELECT head, ct, body_nt FROM coffer_record JOIN coffer_body USING(id)").rows
    #expect(rows.isDisjoint(with: after.flatMap(\.values)))
    let header = try StoreHeader(database)
    #expect(throws: SealingError.self) {
      try Keyring.open(header.keyring, under: old.root, generation: header.rootGeneration)
    }
    #expect(throws: SealingError.self) { try Keyring.open(header.keyring, under: old.root, generation: 1) }
    let state = try database.query("SELECT sealed FROM coffer_state").rows[0][0]
    guard case .blob(let sealed) = state else { return #expect(Bool(false)) }
    #expect(throws: SealingError.self) { try XAESKey(old.stateKey).open(sealed, authenticating: old.stateBinding) }
    try expectNoRowOpens(under: old, of: database)
    try test.expectSound()
  }

  /// Row by row, the old epoch's keys taken for the row's.
  private func expectNoRowOpens(under old: SessionKeys, of database: Database) throws {
    let keys = try RowKeys(old)
    let opener = RecordOpener(keys)
    let limits = RowLimits(nextID: 1 << 40, generation: 1 << 40, target: 0)
    for epoch in [nil, Int64(1)] {
      if let epoch { try database.execute("BEGIN; UPDATE coffer_record SET epoch = \(epoch)") }
      let statement = try database.statement(SQL.allRecords)
      while try statement.step() {
        let row = try RecordRow(statement, within: limits)
        expect(.damaged) { try opener.openHead(row) }
      }
      statement.reset()
      if epoch != nil { try database.execute("ROLLBACK") }
    }
    #expect(try database.query("SELECT DISTINCT epoch FROM coffer_record").rows.map { $0[0] } == [2])
    #expect(try database.query("SELECT DISTINCT epoch FROM coffer_collection").rows.map { $0[0] } == [2])
  }

  @Test func newKeyTakesThePlaceOfTheSlotThatOpened() throws {
    let test = try TestStore { $0.labels = ["mine"] }
    try fill(test)
    let pin = test.store.pin
    #expect(try test.store.rekey(to: [.published("next"), .words("also")]) { _ in }.isFinished)
    let listed = try test.store.keys.list()
    #expect(listed.map(\.slot) == [1, 2] && listed.map(\.label) == ["mine", ""])
    expect(.cannotUnlock) { try test.reopened() }
    try test.reopened(.words("also")).close()
    var options = OpenOptions.testing
    options.expectedPin = pin
    expect(.pinMismatch) { try test.reopened(.published("next"), options) }
    try test.expectSound()
  }

  @Test func keysOnlyIsAHandfulOfCommitsWhateverTheSize() throws {
    for count in [10, 60] {
      let test = try TestStore()
      try fill(test, count)
      let generation = try test.store.read { $0.generation }
      let size = try Data(contentsOf: test.url).count
      let report = try test.store.rekey(to: [.published("next")], options: keysOnly) { _ in }
      #expect(!report.isFinished && report.documents == 0)
      #expect(try test.store.read { $0.generation } == generation + 1)
      #expect(try Data(contentsOf: test.url).count == size)
      let status = try test.store.rekeyStatus()
      #expect(
        status.isUnfinished && status.remaining == count - 1 && status.total == count - 1 && status.epochs == [1, 2])
      #expect(try DocumentStore.info(at: test.url).epochs.map(\.count) == [count - 1])
      #expect(try test.reopened(.published("next")).rekey(options: resuming) { _ in }.isFinished)
    }
  }

  @Test func unfinishedRekeyIsTakenOver() throws {
    let test = try TestStore()
    try fill(test)
    let before = try test.store.everything()
    for step in [1, 3, 4] {
      var steps = 0
      expect(.cancelled) {
        try test.store.rekey(options: batched) { _ in
          if steps == step { throw Interruption() }
          steps += 1
        }
      }
    }
    #expect(try test.store.rekeyStatus().epochs == [1, 2, 3, 4])
    #expect(try test.store.everything() == before)
    try test.expectSound()
    #expect(try test.store.rekey(options: batched) { _ in }.isFinished)
    #expect(try test.store.rekeyStatus().epochs == [5])
    #expect(try test.store.everything() == before)
    try test.expectSound()
  }

  @Test(arguments: CreateOptions.Journal.allCases)
  func othersReadAndWriteBetweenBatches(_ journal: CreateOptions.Journal) throws {
    let test = try TestStore { $0.journal = journal }
    try fill(test)
    var other: DocumentStore?
    var added = 0
    let report = try test.store.rekey(options: batched) { step in
      guard step.phase != .keys else { return }
      let store = try other ?? test.reopened()
      other = store
      added += 1
      try store.write { writer in
        try writer.insert(
          Document(title: "added \(added)", text: "new", key: ExternalKey("added \(added)")), into: test.notes)
        // Rows before and behind the cursor, with keys from before; those that move take the new epoch.
        try writer.update(DocumentID(Int64(30 - added))) { $0.text += "changed" }
        try writer.update(DocumentID(Int64(5 + added))) { $0.title = "changed" }
        try writer.move(DocumentID(Int64(20 + added)), to: .bottom)
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

  @Test func readerOfAnOlderMomentSeesItWhole() throws {
    let test = try TestStore { $0.journal = .writeAheadLog }
    try fill(test)
    let before = try test.store.everything()
    var options = OpenOptions.testing
    options.wait = .zero
    let other = try test.reopened(.published("primary"), options)
    try test.store.read { reader in
      let first = try reader.headers(in: test.notes)
      // The log can't be cut while this reader holds on to it: said aloud, all else done.
      expect(.locked) { try other.rekey(options: batched) { _ in } }
      #expect(try reader.headers(in: test.notes) == first)
      for document in before["notes"]! { #expect(try reader.text(of: document.header.id) == document.text) }
    }
    expect(.keyChanged) { try test.store.read { _ in } }
    #expect(try other.rekeyStatus().isUnfinished == false)
    #expect(try other.rekey(options: resuming) { _ in }.isFinished)
    #expect(try other.everything() == before)
    #expect(try other.verify().isSound)
  }

  @Test func progressCountsDocuments() throws {
    let test = try TestStore()
    try fill(test)
    var seen: [RekeyProgress] = []
    try test.store.rekey(options: batched) { seen.append($0) }
    #expect(seen.map(\.done) == [0, 0, 7, 14, 21, 28, 29, 29])
    #expect(seen.map(\.phase) == [.keys] + Array(repeating: .documents, count: 6) + [.finishing])
    #expect(Set(seen.map(\.total)) == [29])
  }

  @Test func asyncRekeyReportsAndFinishes() async throws {
    let test = try TestStore()
    try fill(test)
    var last: RekeyProgress?
    for try await step in test.store.rekey(to: [.published("next")], options: batched) { last = step }
    #expect(last?.phase == .finishing && last?.done == 29)
    #expect(try test.reopened(.published("next")).rekeyStatus().isUnfinished == false)
    try test.expectSound()
  }
}
