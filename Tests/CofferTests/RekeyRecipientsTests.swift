import CofferSQLite
import Foundation
import Testing

@testable import Coffer
@testable import CofferRecords
@testable import CofferSealing

/// Recipients in a rekey: kept by name, opened by their identity, or dropped; never unnoticed.
struct RekeyRecipientsTests {
  private let identity = StoreKey.identity(PublishedKeys.url("identity"))

  /// Slot 1 is the owner's key file, slot 2 for the published recipient.
  private func filled() throws -> TestStore {
    let test = try TestStore(keys: [.published("primary"), .recipient(PublishedKeys.recipient)]) {
      $0.labels = ["mine", "hers"]
    }
    try test.fillForRekey()
    return test
  }

  private func options(_ change: (inout RekeyOptions) throws -> Void) rethrows -> RekeyOptions {
    var options = RekeyOptions.batched
    try change(&options)
    return options
  }

  @Test func recipientThatTheCallerDoesNotNameStopsARekeyBeforeTheFirstWrite() throws {
    let test = try filled()
    let (before, pin) = (try test.bytesOnDisk(), test.store.pin)
    let fingerprint = try #require(try test.store.keys.list()[1].fingerprint)
    for (new, options) in [([], .batched), ([NewKey.published("next")], .keysOnly)] as [([NewKey], RekeyOptions)] {
      do {
        try test.store.rekey(to: new, options: options) { _ in Issue.record("it began") }
        Issue.record("a recipient followed unseen")
      } catch {
        #expect(error.code == .keyNeeded && error.message.contains("2, fingerprint \(fingerprint) (hers)"))
        #expect(!error.message.contains("mine") && error.hint?.contains("RekeyOptions.keptRecipients") == true)
      }
    }
    #expect(try test.bytesOnDisk() == before)
    #expect(test.store.pin == pin)
  }

  /// Anyone who had a key may have added a recipient, under a label that the owner knows.
  @Test func recipientOfAFormerInsiderIsNotKeptByItsLabel() throws {
    let test = try filled()
    try test.store.keys.add(.stranger(), label: "hers")
    let before = try Data(contentsOf: test.url)
    let line = try PublishedKeys.recipient
    do {
      try test.store.rekey(options: options { $0.keptRecipients = [.line(line)] }) { _ in }
      Issue.record("a recipient followed unseen")
    } catch {
      let listed = try test.store.keys.list()
      #expect(error.code == .keyNeeded && error.message.contains("3, fingerprint \(listed[2].fingerprint!) (hers)"))
      #expect(!error.message.contains(listed[1].fingerprint!))
    }
    #expect(try Data(contentsOf: test.url) == before)
    try test.store.rekey(
      options: options {
        $0.keptRecipients = [.line(line)]
        $0.dropsOtherSlots = true
      }
    ) { _ in }
    #expect(try test.store.keys.list().map(\.slot) == [1, 2])
  }

  enum Choice: CaseIterable {
    case slot, line, all, identity, keyFile, material
  }

  @Test(arguments: Choice.allCases)
  func recipientStaysWhereItIsKeptOrOpened(_ choice: Choice) throws {
    let test = try filled()
    let file = PublishedKeys.url("identity")
    let chosen = try options { options in
      options.otherKeys = [.published("primary")]
      switch choice {
      case .slot: options.keptRecipients = [.slot(2)]
      case .line: options.keptRecipients = [.line(try PublishedKeys.recipient)]
      case .all: options.keepsAllRecipients = true
      case .identity: options.otherKeys.append(.identity(file))
      case .keyFile: options.otherKeys.append(.keyFile(file))
      case .material: options.otherKeys.append(.keyMaterial { try Secret.readAll(path: file.path) })
      }
    }
    let whole = try test.store.everything()
    let before = try test.raw().query("SELECT params, wrapped FROM coffer_slot WHERE slot = 2").rows
    #expect(try test.store.rekey(options: chosen) { _ in }.isFinished)
    #expect(try test.store.keys.list().map(\.label) == ["mine", "hers"])
    #expect(try test.raw().query("SELECT params, wrapped FROM coffer_slot WHERE slot = 2").rows != before)
    #expect(try test.reopened(identity).everything() == whole)
    try test.expectSound()
  }

  @Test func sessionOfAnIdentityKnowsItsOwnSlots() throws {
    let test = try TestStore(keys: [.recipient(PublishedKeys.recipient)])
    try test.fillForRekey()
    let store = try test.reopened(identity)
    #expect(try store.rekey(options: .batched) { _ in }.isFinished)
    try store.keys.add(.stranger())
    expect(.keyNeeded) { try store.rekey(options: .batched) { _ in } }
    #expect(try store.rekey(options: options { $0.dropsOtherSlots = true }) { _ in }.isFinished)
    #expect(try store.keys.list().map(\.slot) == [1])
    #expect(try test.reopened(identity).verify().isSound)
  }

  @Test func anotherIdentityOpensNoRecipientsSlot() throws {
    let test = try filled()
    let file = test.place.file("other.identity")
    try KeyLine.generate(.identity, isTest: true).write(toNewFile: file.path)
    let chosen = options { $0.otherKeys = [.published("primary"), .identity(file), .published("identity")] }
    let other = options { $0.otherKeys = [.published("primary"), .identity(file)] }
    expect(.keyNeeded) { try test.store.rekey(options: other) { _ in } }
    #expect(try test.store.rekey(options: chosen) { _ in }.isFinished)
  }

  @Test func recipientToKeepMustBeThere() throws {
    let test = try filled()
    let before = try Data(contentsOf: test.url)
    let stranger = try KeyLine.generate(.identity, isTest: true).recipient()
    // The same public key, as the recipient of a real store.
    let publicKey = try KeyLine(recipient: try PublishedKeys.recipient).recipientBytes()
    let real = try KeyLine.recipientLine(publicKey, isTest: false)
    let absent: [KeptRecipient] = [.slot(1), .slot(3), .slot(0), .slot(-2), .slot(.max), .line(stranger), .line(real)]
    for recipient in absent {
      for dropsOtherSlots in [false, true] {
        let chosen = options {
          $0.keptRecipients = [.slot(2), recipient]
          $0.dropsOtherSlots = dropsOtherSlots
        }
        expect(.invalidArgument) { try test.store.rekey(options: chosen) { _ in } }
      }
    }
    let key = String(decoding: try Data(contentsOf: PublishedKeys.url("identity")), as: UTF8.self)
    for line in ["", "coffer-test-recipient-1-00", key] {
      expect(.keyFileInvalid) {
        try test.store.rekey(options: options { $0.keptRecipients = [.line(line)] }) { _ in }
      }
    }
    // The slot that opened is replaced, so it can't be kept.
    let store = try test.reopened(identity)
    let replaced = options {
      $0.keptRecipients = [.slot(2)]
      $0.otherKeys = [.published("primary")]
    }
    expect(.invalidArgument) { try store.rekey(to: [.published("next")], options: replaced) { _ in } }
    #expect(try Data(contentsOf: test.url) == before)
  }

  // MARK: Told

  @Test func slotsThatKeepTheirSecretAreReportedBeforeTheFirstWrite() throws {
    let test = try TestStore(
      keys: [.published("primary"), .recipient(PublishedKeys.recipient), .words("words"), .stranger()])
    let before = try Data(contentsOf: test.url)
    func told(_ new: [NewKey] = [], by key: StoreKey = .published("primary")) throws -> [Int] {
      var slots: [KeySlot] = []
      let store = try test.reopened(key)
      let chosen = options {
        $0.otherKeys = [.published("primary"), .words("words")]
        $0.keptRecipients = [.slot(2)]
        $0.dropsOtherSlots = true
      }
      expect(.cancelled) {
        try store.rekey(
          to: new, options: chosen,
          onKeys: { keys in
            #expect(keys.finalPin == nil)
            slots = keys.unchangedSlots
            throw Interruption()
          })
      }
      return slots.map(\.slot)
    }
    #expect(try told() == [1, 2, 3])
    #expect(try told([.published("next")]) == [2, 3])
    #expect(try told([.words("others")], by: .words("words")) == [1, 2])
    // A new key that is the old one.
    #expect(try told([.published("primary")]) == [1, 2, 3])
    #expect(try told([.words("words")], by: .words("words")) == [1, 2, 3])
    #expect(try told([.published("next"), .words("third")]) == [2, 3])
    #expect(try Data(contentsOf: test.url) == before)
  }

  @Test func newKeyThatASlotHasIsRefused() throws {
    let test = try TestStore(
      keys: [.published("primary"), .recipient(PublishedKeys.recipient), .words("words")])
    let before = try Data(contentsOf: test.url)
    let chosen = options {
      $0.otherKeys = [.published("primary"), .words("words")]
      $0.keepsAllRecipients = true
    }
    for key in [.words("words"), .recipient(try PublishedKeys.recipient), .identity(PublishedKeys.url("identity"))]
      as [NewKey]
    {
      expect(.alreadyExists) { try test.store.rekey(to: [key], options: chosen) { _ in } }
    }
    expect(.invalidArgument) {
      try test.store.rekey(to: [.published("next"), .published("next")], options: chosen) { _ in }
    }
    #expect(try Data(contentsOf: test.url) == before)
    // The slot may go, and its key come as the new one.
    let dropping = options { $0.dropsOtherSlots = true }
    let store = try test.reopened()
    #expect(try store.rekey(to: [.words("words")], options: dropping) { _ in }.isFinished)
    #expect(try store.keys.list().map(\.kind) == [.passphrase])
  }
}

/// The pin of the end of a rekey: told at its beginning, and what it opens.
struct FinalPinTests {
  private func expecting(_ pin: String, acceptsUnfinishedRekey: Bool = false) -> OpenOptions {
    var options = OpenOptions.testing
    options.expectedPin = pin
    options.acceptsUnfinishedRekey = acceptsUnfinishedRekey
    return options
  }

  @Test func rekeyTellsItAtItsBeginning() throws {
    let test = try TestStore()
    try test.fillForRekey()
    var pins: [String?] = []
    let report = try test.store.rekey(options: .batched, onKeys: { pins.append($0.finalPin) })
    #expect(pins == [nil, test.store.pin])
    #expect(report.pin == test.store.pin && report.finalPin == report.pin)
    let status = try test.store.rekeyStatus()
    #expect(status.pin == report.pin && status.finalPin == nil)
  }

  @Test func unfinishedRekeyOpensWithItOnlyToBeFinished() throws {
    let test = try TestStore()
    try test.fillForRekey()
    let first = test.store.pin
    let report = try test.store.rekey(options: .keysOnly) { _ in }
    let final = report.finalPin
    #expect(report.pin == test.store.pin && Set([first, report.pin, final]).count == 3)
    let status = try test.store.rekeyStatus()
    #expect(status.isUnfinished && status.pin == report.pin && status.finalPin == final)
    let middle = try test.place.copy(test.url, as: "middle.coffer")

    expect(.pinUnfinished) { try test.reopened(.published("primary"), expecting(final)) }
    expect(.pinUnfinished) { try test.store.unlock(with: .published("primary"), expectingPin: final) }
    try test.reopened(.published("primary"), expecting(report.pin)).close()
    expect(.pinMismatch) { try test.reopened(.published("primary"), expecting(first)) }
    let store = try test.reopened(.published("primary"), expecting(final, acceptsUnfinishedRekey: true))
    #expect(try store.rekeyStatus().finalPin == final)
    var pins: Set<String?> = []
    let resumed = try store.rekey(options: .resuming, onKeys: { pins.insert($0.finalPin) })
    #expect(resumed.isFinished && resumed.pin == final && resumed.finalPin == final && pins == [final])

    // Both fit from now on; a file of the middle does not fit the second.
    for pin in [report.pin, final] { try test.reopened(.published("primary"), expecting(pin)).close() }
    expect(.pinUnfinished) {
      try DocumentStore.open(at: middle, key: .published("primary"), options: expecting(final))
    }
    // Finished once more, the first pin no longer fits.
    #expect(try test.store.rekey(options: .batched) { _ in }.isFinished)
    for pin in [report.pin, final] {
      expect(.pinMismatch) { try test.reopened(.published("primary"), expecting(pin)) }
    }
  }

  @Test func itIsNotTheEndWhileADocumentStaysBehind() throws {
    let test = try TestStore()
    try test.fillForRekey()
    try test.raw().execute("UPDATE coffer_record SET body = zeroblob(length(body)) WHERE id = 11")
    let report = try test.store.rekey(options: .batched) { _ in }
    #expect(!report.isFinished && report.pin == test.store.pin && report.finalPin != report.pin)
    try test.store.write { try $0.delete(11) }
    #expect(try test.store.rekey(options: .resuming) { _ in }.pin == report.finalPin)
  }

  @Test func rekeyTakenOverEndsWithAnotherPin() throws {
    let test = try TestStore()
    try test.fillForRekey()
    let first = try test.store.rekey(options: .keysOnly) { _ in }.finalPin
    let second = try test.store.rekey(options: .batched) { _ in }
    #expect(second.isFinished && second.finalPin != first && second.finalPin == test.store.pin)
    expect(.pinMismatch) {
      try test.reopened(.published("primary"), expecting(first, acceptsUnfinishedRekey: true))
    }
  }

  @Test func resumingNothingTellsNone() throws {
    let test = try TestStore()
    let report = try test.store.rekey(options: .resuming, onKeys: { #expect($0.finalPin == nil) })
    #expect(report.pin == test.store.pin && report.finalPin == report.pin)
  }
}
