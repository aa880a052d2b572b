import Coffer
import CofferEngine
import CofferRecords
import CofferSQLite
import CofferSealing
import CofferTestSupport
import Foundation
import Testing

@testable import CofferStoreTestSupport

/// Slots that nobody can open, in stores whose other slots are sound.
///
/// A holder of the root key, or a faulty writer, can make such slots, so the header authenticates them.
struct DamagedSlotTests {
  /// A change that keeps everyone from opening a slot.
  struct Damage: CustomTestStringConvertible, Sendable {
    let name: String
    let kind: UInt32
    let parameters: [UInt8]
    var wrapped = [UInt8](repeating: 7, count: 48)
    /// A part of the reason that is reported.
    let reason: String

    var testDescription: String { name }
  }

  private static let salt = [UInt8](repeating: 7, count: 16)
  private static let zeros = [UInt8](repeating: 0, count: 32)
  /// The generator of the curve, which is of large order.
  private static let point = [9] + [UInt8](repeating: 0, count: 31)
  private static let orderEight: [UInt8] =
    [0xE0, 0xEB, 0x7A, 0x7C, 0x3B, 0x41, 0xB8, 0xAE, 0x16, 0x56, 0xE3, 0xFA, 0xF1, 0x9F, 0xC4, 0x6A]
    + [0xDA, 0x09, 0x8D, 0xEB, 0x9C, 0x32, 0xB1, 0xFD, 0x86, 0x62, 0x05, 0x16, 0x5F, 0x49, 0xB8, 0x00]
  private static let one = [1] + [UInt8](repeating: 0, count: 31)
  private static let prime = [0xED] + [UInt8](repeating: 0xFF, count: 30) + [0x7F]

  static let damages: [Damage] =
    [("zeros", zeros), ("one", one), ("order 8", orderEight), ("p", prime)].flatMap { name, small in
      [
        Damage(name: "recipient \(name)", kind: 3, parameters: point + small, reason: "small order"),
        Damage(name: "ephemeral \(name)", kind: 3, parameters: small + point, reason: "small order"),
      ]
    }
    + [0, 63, 65].map {
      Damage(
        name: "recipient of \($0) bytes", kind: 3, parameters: [UInt8](repeating: 9, count: $0), reason: "length")
    }
    + [0, 23, 25].map {
      Damage(name: "key file of \($0) bytes", kind: 2, parameters: [UInt8](repeating: 9, count: $0), reason: "length")
    }
    + [0, 18, 20].map {
      Damage(
        name: "passphrase of \($0) bytes", kind: 1, parameters: [UInt8](repeating: 9, count: $0), reason: "length")
    }
    + ([[0, 8, 1], [9, 8, 1], [15, 8, 1], [20, 8, 1], [31, 8, 1], [255, 255, 255]] as [[UInt8]]).map {
      Damage(name: "scrypt \($0)", kind: 1, parameters: $0 + salt, reason: "logN")
    }
    + ([[10, 0, 1], [10, 255, 1]] as [[UInt8]]).map {
      Damage(name: "scrypt \($0)", kind: 1, parameters: $0 + salt, reason: " r ")
    }
    + ([[10, 8, 0], [10, 8, 255]] as [[UInt8]]).map {
      Damage(name: "scrypt \($0)", kind: 1, parameters: $0 + salt, reason: " p ")
    }
    + [
      Damage(name: "provider without name", kind: 4, parameters: salt + [0], reason: "external"),
      Damage(name: "provider ../x", kind: 4, parameters: salt + [4] + Array("../x".utf8), reason: "provider name"),
      Damage(
        name: "provider cut short", kind: 4, parameters: salt + [9] + Array("vault".utf8), reason: "provider name"),
      Damage(
        name: "wrapped zeros", kind: 2, parameters: salt + [UInt8](repeating: 1, count: 8),
        wrapped: [UInt8](repeating: 0, count: 48), reason: "zeros"),
    ]
    + [0, 47, 49, 4096].map {
      Damage(
        name: "wrapped key of \($0) bytes", kind: 2, parameters: salt + [UInt8](repeating: 1, count: 8),
        wrapped: [UInt8](repeating: 5, count: $0), reason: "wrapped key")
    }

  /// A store whose slot 1 is damaged. Slot 2 is for `next.key`, and slot 3 is for a published recipient.
  private func damagedStore(_ damage: Damage, label: String = "Ann") throws -> TestStore {
    let test = try TestStore(
      keys: [.published("primary"), .published("next")], recipients: [PublishedKeys.recipient])
    try test.store.write { writer in
      for text in ["a", "b"] { try writer.insert(Document(text: text), into: test.notes) }
    }
    try test.store.engine.changingSlots { slots, _ throws(StoreError) in
      slots[0] = KeySlotRecord(
        slot: 1, kind: damage.kind, label: label, parameters: damage.parameters, wrapped: damage.wrapped)
    }
    try test.store.close()
    return test
  }

  private static let next = StoreKey.published("next")

  private func expectDamage(_ slot: KeySlot, _ damage: Damage, _ location: SourceLocation = #_sourceLocation) {
    #expect(slot.slot == 1 && slot.label == "Ann", sourceLocation: location)
    #expect(slot.fault?.contains(damage.reason) == true, "\(slot)", sourceLocation: location)
    #expect(slot.detail == "nobody can open it: \(slot.fault ?? "")", sourceLocation: location)
    let isKind =
      switch (damage.kind, slot.kind) {
      case (1, .passphrase), (2, .keyFile), (3, .recipient), (4, .external): true
      default: false
      }
    #expect(isKind, "\(slot)", sourceLocation: location)
  }

  // MARK: Beside a damaged slot

  @Test(arguments: damages)
  func otherSlotsOpenStore(_ damage: Damage) throws {
    let test = try damagedStore(damage)
    for key in [Self.next, .published("identity")] {
      let store = try test.reopened(key)
      #expect(try store.read { try $0.document(1).text } == "a")
      try store.write { _ = try $0.insert(Document(text: "c"), into: test.notes) }
      let verdict = try store.verify()
      #expect(verdict.isSound, "\(String(describing: verdict.error))")
      try #require(verdict.unusableSlots.count == 1)
      expectDamage(verdict.unusableSlots[0], damage)
      let listed = try store.keys.list()
      #expect(listed.map { $0.fault == nil } == [false, true, true])
      expectDamage(listed[0], damage)
      try store.close()
    }
  }

  @Test(arguments: damages)
  func infoAndCheckListSlot(_ damage: Damage) throws {
    let test = try damagedStore(damage)
    let info = try DocumentStore.info(at: test.url)
    #expect(info.slots.map { $0.fault == nil } == [false, true, true])
    expectDamage(info.slots[0], damage)
    let verdict = try DocumentStore.check(at: test.url)
    #expect(verdict.problems.isEmpty && verdict.isSound)
    try #require(verdict.unusableSlots.count == 1)
    expectDamage(verdict.unusableSlots[0], damage)
  }

  @Test(arguments: damages)
  func keysChange(_ damage: Damage) throws {
    let test = try damagedStore(damage)
    let store = try test.reopened(Self.next)
    #expect(try store.keys.add(.words("new words")) == 4)
    try store.keys.add(.stranger())
    try store.keys.replace(slot: 4, with: .words("newer words"))
    #expect(try store.keys.replace(with: .words("own words")) == 7)
    try store.keys.remove(slot: 1)
    #expect(try store.keys.list().map(\.slot) == [3, 5, 6, 7])
    #expect(try store.verify().isSound)
    try store.close()
    try test.reopened(.words("newer words")).close()
  }

  @Test(arguments: damages)
  func damagedSlotCanBeReplaced(_ damage: Damage) throws {
    let test = try damagedStore(damage)
    let store = try test.reopened(Self.next)
    #expect(try store.keys.replace(slot: 1, with: .words("new words")) == 4)
    #expect(try store.keys.list().last?.label == "Ann")
    try store.close()
    try test.reopened(.words("new words")).close()
  }

  @Test(arguments: damages)
  func rekeyNamesSlotAndDropsIt(_ damage: Damage) throws {
    let test = try damagedStore(damage)
    let store = try test.reopened(Self.next)
    var options = RekeyOptions()
    options.otherKeys = [Self.next, .published("identity")]
    do {
      try store.rekey(options: options)
      Issue.record("it was rekeyed")
    } catch {
      #expect(error.code == .keyNeeded)
      #expect(error.message.contains("nobody can open slot 1") && error.message.contains("Ann"), "\(error)")
      #expect(error.message.contains(damage.reason), "\(error)")
      #expect(error.hint?.contains("drop it with RekeyOptions.dropsOtherSlots") == true, "\(error)")
    }
    options.dropsOtherSlots = true
    try store.rekey(options: options)
    #expect(try store.keys.list().map(\.slot) == [2, 3])
    #expect(try store.verify().unusableSlots.isEmpty)
    try store.close()
    try test.reopened(.published("identity")).close()
  }

  /// A recipient's public key is enough to make its slot again, unless the public key itself is of small order.
  @Test(arguments: damages.filter { $0.kind == 3 && $0.parameters.count == 64 })
  func rekeyKeepsRecipientWithSoundPublicKey(_ damage: Damage) throws {
    let test = try damagedStore(damage)
    let store = try test.reopened(Self.next)
    var options = RekeyOptions()
    options.otherKeys = [.published("identity")]
    options.keptRecipients = [.slot(1)]
    if Array(damage.parameters[32...]) == Self.point {
      try store.rekey(options: options)
      #expect(try store.keys.list().map(\.fault) == [nil, nil, nil])
    } else {
      do {
        try store.rekey(options: options)
        Issue.record("it was rekeyed")
      } catch {
        #expect(error.code == .invalidArgument && error.message.contains("slot 1"), "\(error)")
      }
      options.keptRecipients = []
      options.keepsAllRecipients = true
      expect(.keyNeeded) { try store.rekey(options: options) }
      options.dropsOtherSlots = true
      try store.rekey(options: options)
      #expect(try store.keys.list().map(\.slot) == [2, 3])
    }
    try store.close()
  }

  @Test(arguments: damages)
  func openSessionFollowsRekey(_ damage: Damage) throws {
    let test = try damagedStore(damage)
    let (store, other) = (try test.reopened(Self.next), try test.reopened(Self.next))
    var options = RekeyOptions()
    options.otherKeys = [Self.next, .published("identity")]
    options.dropsOtherSlots = true
    try other.rekey(options: options)
    try other.engine.changingSlots { slots, _ throws(StoreError) in
      slots.insert(
        KeySlotRecord(
          slot: 1, kind: damage.kind, label: "", parameters: damage.parameters, wrapped: damage.wrapped), at: 0)
    }
    #expect(try store.read { try $0.document(1).text } == "a")
    try store.close()
    try other.close()
  }

  @Test(arguments: damages)
  func salvageReadsStore(_ damage: Damage) throws {
    let test = try damagedStore(damage)
    let saved = test.place.file("saved.coffer")
    let report = try DocumentStore.salvage(
      at: test.url, key: Self.next, to: saved, keys: [Self.next], options: .testing)
    #expect(report.documents == 2)
  }

  // MARK: For the holder of a damaged slot

  @Test(arguments: damages)
  func errorNamesSlotOfKind(_ damage: Damage) throws {
    let test = try damagedStore(damage)
    let stranger = test.place.file("stranger.key")
    try KeyLine.generate(.identity, isTest: true).write(toNewFile: stranger.path)
    let key: StoreKey =
      switch damage.kind {
      case 1: .words("words of slot 1")
      case 2: .published("primary")
      case 3: .identity(stranger)
      default: .provider(name: "vault") { _ in .text(String(repeating: "a", count: 32)) }
      }
    do {
      _ = try test.reopened(key)
      Issue.record("it opened")
    } catch let error as StoreError {
      #expect(error.code == .cannotUnlock || error.code == .parametersRefused)
      let text = error.description
      #expect(text.contains("slot 1") && text.contains("Ann") && text.contains(damage.reason), "\(error)")
      #expect(error.hint?.contains("RekeyOptions.dropsOtherSlots") == true, "\(error)")
    }
  }

  @Test func recipientGetsAnotherSlot() throws {
    let line = try KeyLine(recipient: PublishedKeys.recipient.line)
    let damage = Damage(name: "", kind: 3, parameters: Self.zeros + (try line.recipientBytes()), reason: "small order")
    let test = try damagedStore(damage)
    let store = try test.reopened(Self.next)
    try store.keys.remove(slot: 3)
    #expect(try store.keys.add(PublishedKeys.recipient) == 3)
    expect(.alreadyExists) { try store.keys.add(PublishedKeys.recipient) }
    try store.close()
    try test.reopened(.published("identity")).close()
  }

  /// A later version may wrap its keys in another way.
  @Test func slotOfUnknownKindHasNoKnownFault() throws {
    let test = try damagedStore(
      Damage(name: "", kind: 6, parameters: [], wrapped: [UInt8](repeating: 0, count: 1200), reason: ""))
    let store = try test.reopened(Self.next)
    #expect(try store.keys.list()[0].kind == .unknown(6) && store.keys.list()[0].fault == nil)
    #expect(try store.verify().unusableSlots.isEmpty)
    try store.close()
  }

  @Test func refusedSlotsNeedNoSecret() throws {
    let damage = Damage(name: "", kind: 1, parameters: [31, 8, 1] + Self.salt, reason: "logN")
    let test = try damagedStore(damage)
    let passphrase = StoreKey.passphrase {
      Issue.record("it asked")
      return .text("words")
    }
    expect(.parametersRefused) { try test.reopened(passphrase) }
    // Another key is tried all the same.
    try test.reopened(.anyOf([passphrase, Self.next])).close()
  }

  @Test func storeOfDamagedSlotsNamesEach() throws {
    let damage = Damage(name: "", kind: 1, parameters: [31, 8, 1] + Self.salt, reason: "logN")
    let test = try damagedStore(damage)
    let store = try test.reopened(Self.next)
    try store.engine.changingSlots { slots, _ throws(StoreError) in
      slots.removeLast()
      slots[1].parameters = []
    }
    try store.close()
    do {
      _ = try test.reopened(Self.next)
      Issue.record("it opened")
    } catch let error as StoreError {
      #expect(error.code == .parametersRefused && error.message.contains("slot 1"), "\(error)")
      #expect(error.hint?.contains("backup") == true)
    }
  }

  @Test func recipientsOfSmallOrderGetNoSlot() throws {
    for point in [Self.zeros, Self.one, Self.orderEight, Self.prime] {
      let line = try KeyLine.recipientLine(point, isTest: true)
      expect(.keyFileInvalid) { _ = try Recipient(line) }
    }
  }

  // MARK: Slots changed without a key

  @Test(arguments: [
    ("UPDATE coffer_slot SET wrapped = zeroblob(48) WHERE slot = 2", "slot 2"),
    ("UPDATE coffer_slot SET params = zeroblob(64) WHERE slot = 3", "slot 3"),
    ("UPDATE coffer_slot SET params = x'' WHERE slot = 3", "slot 3"),
    ("UPDATE coffer_slot SET wrapped = x'' WHERE slot = 3", "slot 3"),
    ("UPDATE coffer_slot SET label = 'Eve' WHERE slot = 2", "slot 2"),
    ("UPDATE coffer_slot SET kind = 1 WHERE slot = 2", "slot 2"),
    ("UPDATE coffer_slot SET slot = 9 WHERE slot = 2", "slot 2"), ("DELETE FROM coffer_slot WHERE slot = 2", "slot 2"),
    ("INSERT INTO coffer_slot SELECT 9, kind, label, params, wrapped FROM coffer_slot WHERE slot = 2", "slot 9"),
  ])
  func errorNamesSlotsChangedWithoutKey(_ statement: String, _ named: String) throws {
    let test = try TestStore(
      keys: [.published("primary"), .published("next")], recipients: [PublishedKeys.recipient])
    try test.store.write { _ = try $0.insert(Document(text: "a"), into: test.notes) }
    try test.store.close()
    let database = try test.raw()
    try database.execute(statement)
    try database.close()
    do {
      _ = try test.reopened()
      Issue.record("it opened")
    } catch let error as StoreError {
      #expect(error.code == .damaged && error.message.contains(named), "\(error)")
      #expect(!error.message.contains("the store is damaged"), "\(error)")
      #expect(error.hint?.contains("DocumentStore.salvage") == true, "\(error)")
    }
    let verdict = try DocumentStore.check(at: test.url)
    #expect(verdict.problems.contains { $0.contains("spare copy") }, "\(verdict)")
    let report = try DocumentStore.salvage(
      at: test.url, key: .published("primary"), to: test.place.file("saved.coffer"), keys: [.published("primary")],
      options: .testing)
    #expect(report.documents == 1)
  }
}
