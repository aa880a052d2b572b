import Coffer
import CofferSQLite
import Foundation
import Testing

@testable import CofferRecords
@testable import CofferSealing
@testable import CofferStoreTestSupport

/// Attempts to open every sealed value after a rekey with every earlier key.
struct OldKeysTests {
  /// The store's root key, epoch keys and slot wrapping keys at one point in time.
  private struct Past {
    let keys: SessionKeys
    let slotKeys: [Secret]

    init(_ store: DocumentStore, _ secrets: [SlotSecret]) throws {
      let slots = try store.engine.reading { transaction throws(StoreError) in
        try transaction.connection.file.readHeader().1
      }
      keys = try store.engine.session.keys
      let storeID = keys.storeID
      slotKeys = try slots.flatMap { slot in
        let parameters = try #require(try slot.checkedParameters(isTest: true))
        return try secrets.compactMap { try slot.derivedKey(with: $0, parameters: parameters, storeID: storeID) }
      }
    }

    /// The sealing keys for every kind of sealed value.
    var sealingKeys: [XAESKey] {
      get throws {
        let working = keys.keyring.epochs.flatMap { [$0.root, $0.body, $0.head, $0.name, $0.lookup, $0.set] }
        let derived = [
          try keys.root.derive(.keyring), keys.stateKey, keys.headerMACKey, keys.anchorKey, keys.root.secret,
        ]
        return try (working + derived + slotKeys).map { try XAESKey($0) }
      }
    }
  }

  @Test func rejectsOldKeysAfterRekey() throws {
    let (line, phrase) = (
      SlotSecret.line(try KeyLine.load(path: PublishedKeys.url("primary").path)),
      SlotSecret.passphrase(try Passphrase.normalized(.text("words")))
    )
    let identity = SlotSecret.line(try KeyLine.load(path: PublishedKeys.url("identity").path))
    let test = try TestStore(keys: [.published("primary"), .words("words")], recipients: [PublishedKeys.recipient])
    try test.fillForRekey()
    var past = [try Past(test.store, [line, phrase, identity])]
    var options = RekeyOptions.keysOnly
    options.otherKeys = [.published("primary"), .words("words")]
    options.keepsAllRecipients = true
    // The first rekey never finishes. The second rekey replaces the first slot's secret.
    try test.store.rekey(options: options) { _ in }
    past.append(try Past(test.store, [line, phrase, identity]))
    options.isKeysOnly = false
    #expect(try test.store.rekey(to: [.published("next")], options: options) { _ in }.isFinished)

    let database = try test.raw()
    let header = try StoreHeader(StoreDatabase(database))
    let slots = try KeySlotRecord.readAll(StoreDatabase(database))
    #expect(past.map(\.keys.keyring.epochs.count) == [1, 2] && past.allSatisfy { $0.slotKeys.count >= 3 })
    for time in past {
      for phase in 1...header.phase {
        for generation in 1...header.rootGeneration {
          let root = RootKey(secret: time.keys.root.secret, storeID: header.storeID, generation: generation)
          #expect(throws: SealingError.self) { try Keyring.open(header.keyring, under: root, phase: phase) }
          #expect(try root.commitment(phase: phase) != header.commitment)
        }
      }
      #expect(try header.authenticate(slots, under: time.keys.headerMACKey) != header.mac)
      for slot in slots {
        for key in time.slotKeys {
          #expect(try slot.unwrap(with: key, storeID: header.storeID, generation: header.rootGeneration) == nil)
        }
        let parameters = try #require(try slot.checkedParameters(isTest: true))
        if let key = try slot.derivedKey(with: line, parameters: parameters, storeID: header.storeID) {
          #expect(try slot.unwrap(with: key, storeID: header.storeID, generation: header.rootGeneration) == nil)
        }
      }
      try expectAllKeysFail(of: database, with: time)
    }
  }

  @Test func keysOnlyRekeyProtectsLaterWrites() throws {
    let line = SlotSecret.line(try KeyLine.load(path: PublishedKeys.url("primary").path))
    let test = try TestStore()
    try test.fillForRekey()
    let past = try Past(test.store, [line])
    try test.store.rekey(to: [.published("next")], options: .keysOnly) { _ in }
    let new = try test.store.write { writer in
      try writer.update(1) { $0.text += " changed" }
      try writer.update(2) { $0.title = "another title" }
      return try writer.insert(Document(title: "new", text: "new"), into: test.notes)
    }
    let reader = RecordReader(StoreDatabase(try test.raw()), try RowKeys(try test.store.engine.session.keys))
    var shut = Shut(past: past, keys: try past.sealingKeys)
    for id in [1, 2, new] {
      let row = try reader.row(id, withBody: true, within: .none)
      #expect(row.fields.epoch == 2)
      try shut.expect(row, inEpochs: [1, 2])
    }
    // The old keys still open an unchanged document.
    let old = try reader.row(3, withBody: true, within: .none)
    let opener = RecordOpener(try RowKeys(past.keys))
    #expect(try opener.openHead(old).textCount > 0)
  }

  /// A check that earlier keys can't open sealed values.
  private struct Shut {
    let past: Past
    let keys: [XAESKey]
    var tried = 0

    mutating func expect(_ sealed: [UInt8], _ bindings: [[UInt8]], _ what: String) {
      for key in keys {
        for binding in bindings {
          tried += 1
          #expect(throws: SealingError.self, "\(what)") { try key.open(sealed, authenticating: binding) }
        }
      }
    }

    /// Expects all keys to fail on the head and body, with the bindings of each epoch.
    mutating func expect(_ row: RecordRow, inEpochs epochs: [UInt32]) throws {
      let binding = RowBinding(storeID: past.keys.storeID)
      let bindings = epochs.map { epoch in
        var fields = row.fields
        fields.epoch = epoch
        return (
          head: Array(
            binding.head(
              fields, position: row.position, blindIndex: row.blindIndex, bodyTag: row.bodyTag, title: row.title)),
          body: Array(binding.body(id: fields.id, collection: fields.collection, epoch: epoch))
        )
      }
      expect(Array(row.head), bindings.map(\.head), "head \(row.fields.id)")
      let text = Array(try #require(row.body))
      let body = Array(row.bodyTag.prefix(24)) + text + Array(row.bodyTag.suffix(16))
      expect(body, bindings.map(\.body), "body \(row.fields.id)")
    }
  }

  /// Expects all keys to fail on all sealed values, with the bindings of the present and all earlier epochs.
  private func expectAllKeysFail(of database: Database, with past: Past) throws {
    let binding = RowBinding(storeID: past.keys.storeID)
    var shut = Shut(past: past, keys: try past.sealingKeys)
    let state = try #require(try database.query("SELECT sealed FROM coffer_state").rows.first?[0].blob)
    shut.expect(state, [past.keys.stateBinding], "state")
    for row in try database.query(SQL.collections).rows {
      let (id, revision) = (UInt32(row[0].integer!), UInt64(row[1].integer!))
      let bindings = [1, 2, 3].map { Array(binding.collection(id, revision: revision, epoch: $0)) }
      shut.expect(try #require(row[2].blob), bindings, "collection \(id)")
    }
    let statement = try database.statement(SQL.allWithBody)
    let limits = RowLimits(bound: 1 << 40, generation: 1 << 40, target: 0, cursor: 0)
    var rows = 0
    while try statement.step() {
      rows += 1
      let row = try RecordRow(statement.columns(), within: limits)
      #expect(row.fields.epoch == 3)
      try shut.expect(row, inEpochs: [1, 2, 3])
    }
    statement.reset()
    #expect(rows == 29 && shut.tried > 29 * 2 * 3 * 14)
    for row in try database.query("SELECT coll, lookup FROM coffer_record WHERE lookup IS NOT NULL").rows {
      for epoch in past.keys.keyring.epochs {
        for number in 1...30 {
          for key in ["Key \(number)", "key \(number)"] {
            let message = PreAuthenticationEncoding("coffer3/lookup").adding(UInt32(row[0].integer!)).adding(
              Array(key.utf8))
            #expect(try Array(HMACKey(epoch.lookup).authenticate(message.bytes).prefix(16)) != row[1].blob)
          }
        }
      }
    }
  }
}
