import Coffer
import CofferEngine
import CofferRecords
import CofferSQLite
import CofferSealing
import Foundation
import Testing

@testable import CofferStoreTestSupport

/// Recipients in a rekey, which are kept by name, opened by their identity, or dropped.
struct RekeyRecipientsTests {
  private let identity = StoreKey.identity(PublishedKeys.url("identity"))

  /// Returns a store whose slot 1 is the owner's key file and slot 2 the published recipient.
  private func filled() throws -> TestStore {
    let test = try TestStore(recipients: [PublishedKeys.recipient]) {
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

  @Test func unlistedRecipientPreventsRekey() throws {
    let test = try filled()
    let (before, pin) = (try test.bytesOnDisk(), test.store.pin)
    let fingerprint = try #require(try test.store.keys.list()[1].fingerprint)
    for (new, options) in [([], .batched), ([.published("next")], .keysOnly)] as [([StoreKey], RekeyOptions)] {
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

  /// A former key holder may have added a recipient under a familiar label.
  @Test func rejectsRecipientWithCopiedLabel() throws {
    let test = try filled()
    try test.store.keys.add(.stranger(), label: "hers")
    let before = try Data(contentsOf: test.url)
    let hers = try PublishedKeys.recipient
    do {
      try test.store.rekey(options: options { $0.keptRecipients = [.recipient(hers)] }) { _ in }
      Issue.record("a recipient followed unseen")
    } catch {
      let listed = try test.store.keys.list()
      #expect(error.code == .keyNeeded && error.message.contains("3, fingerprint \(listed[2].fingerprint!) (hers)"))
      #expect(!error.message.contains(listed[1].fingerprint!))
    }
    #expect(try Data(contentsOf: test.url) == before)
    try test.store.rekey(
      options: options {
        $0.keptRecipients = [.recipient(hers)]
        $0.dropsOtherSlots = true
      }
    ) { _ in }
    #expect(try test.store.keys.list().map(\.slot) == [1, 2])
  }

  enum Choice: CaseIterable {
    case slot, recipient, all, identity, keyFile, material
  }

  @Test(arguments: Choice.allCases)
  func keepsChosenRecipient(_ choice: Choice) throws {
    let test = try filled()
    let file = PublishedKeys.url("identity")
    let chosen = try options { options in
      options.otherKeys = [.published("primary")]
      switch choice {
      case .slot: options.keptRecipients = [.slot(2)]
      case .recipient: options.keptRecipients = [.recipient(try PublishedKeys.recipient)]
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

  @Test func rekeysFromIdentitySession() throws {
    let test = try TestStore(keys: [], recipients: [PublishedKeys.recipient])
    try test.fillForRekey()
    let store = try test.reopened(identity)
    #expect(try store.rekey(options: .batched) { _ in }.isFinished)
    try store.keys.add(.stranger())
    expect(.keyNeeded) { try store.rekey(options: .batched) { _ in } }
    #expect(try store.rekey(options: options { $0.dropsOtherSlots = true }) { _ in }.isFinished)
    #expect(try store.keys.list().map(\.slot) == [1])
    #expect(try test.reopened(identity).verify().isSound)
  }

  @Test func rejectsOtherIdentity() throws {
    let test = try filled()
    let file = test.place.file("other.identity")
    try KeyLine.generate(.identity, isTest: true).write(toNewFile: file.path)
    let chosen = options { $0.otherKeys = [.published("primary"), .identity(file), .published("identity")] }
    let other = options { $0.otherKeys = [.published("primary"), .identity(file)] }
    expect(.keyNeeded) { try test.store.rekey(options: other) { _ in } }
    #expect(try test.store.rekey(options: chosen) { _ in }.isFinished)
  }

  @Test func rejectsMissingKeptRecipient() throws {
    let test = try filled()
    let before = try Data(contentsOf: test.url)
    let stranger = try Recipient.stranger()
    // A recipient for real stores with the same public key.
    let publicKey = try KeyLine(recipient: try PublishedKeys.recipient.line).recipientBytes()
    let real = try Recipient(try KeyLine.recipientLine(publicKey, isTest: false))
    let absent: [RekeyOptions.Kept] = [
      .slot(1), .slot(3), .slot(0), .slot(-2), .slot(.max), .recipient(stranger), .recipient(real),
    ]
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
    for line in ["", "coffer-test-recipient-1-00", key] { expect(.keyFileInvalid) { try Recipient(line) } }
    // The opened slot is replaced, so it can't be kept.
    let store = try test.reopened(identity)
    let replaced = options {
      $0.keptRecipients = [.slot(2)]
      $0.otherKeys = [.published("primary")]
    }
    expect(.invalidArgument) { try store.rekey(to: [.published("next")], options: replaced) { _ in } }
    #expect(try Data(contentsOf: test.url) == before)
  }

  // MARK: Retained secrets

  @Test func reportsRetainedSecretsBeforeWriting() throws {
    let test = try TestStore(
      keys: [.published("primary"), .words("words")], recipients: [PublishedKeys.recipient, .stranger()])
    let before = try Data(contentsOf: test.url)
    func told(_ new: [StoreKey] = [], by key: StoreKey = .published("primary")) throws -> [Int] {
      var slots: [KeySlot] = []
      let store = try test.reopened(key)
      let chosen = options {
        $0.otherKeys = [.published("primary"), .words("words")]
        $0.keptRecipients = [.slot(3)]
        $0.dropsOtherSlots = true
      }
      expect(.cancelled) {
        try store.rekey(
          to: new, options: chosen,
          onKeys: { unchangedSlots, finalPin in
            #expect(finalPin == nil)
            slots = unchangedSlots
            throw Interruption()
          })
      }
      return slots.map(\.slot)
    }
    #expect(try told() == [1, 2, 3])
    #expect(try told([.published("next")]) == [2, 3])
    #expect(try told([.words("others")], by: .words("words")) == [1, 3])
    // The new key equals the old key.
    #expect(try told([.published("primary")]) == [1, 2, 3])
    #expect(try told([.words("words")], by: .words("words")) == [1, 2, 3])
    #expect(try told([.published("next"), .words("third")]) == [2, 3])
    #expect(try Data(contentsOf: test.url) == before)
  }

  @Test func rejectsNewKeyOfExistingSlot() throws {
    let test = try TestStore(
      keys: [.published("primary"), .words("words")], recipients: [PublishedKeys.recipient])
    let before = try Data(contentsOf: test.url)
    let chosen = options {
      $0.otherKeys = [.published("primary"), .words("words")]
      $0.keepsAllRecipients = true
    }
    for key in [StoreKey.words("words"), .published("identity")] {
      expect(.alreadyExists) { try test.store.rekey(to: [key], options: chosen) { _ in } }
    }
    expect(.alreadyExists) {
      try test.store.rekey(recipients: [PublishedKeys.recipient], options: chosen) { _ in }
    }
    expect(.invalidArgument) {
      try test.store.rekey(to: [.published("next"), .published("next")], options: chosen) { _ in }
    }
    #expect(try Data(contentsOf: test.url) == before)
    // A key can be added as new if its old slot is dropped.
    let dropping = options { $0.dropsOtherSlots = true }
    let store = try test.reopened()
    #expect(try store.rekey(to: [.words("words")], options: dropping) { _ in }.isFinished)
    #expect(try store.keys.list().map(\.kind) == [.passphrase])
  }
}

/// The final pin of a rekey, which is reported at its start.
struct FinalPinTests {
  private func expecting(_ pin: StorePin, acceptsUnfinishedRekey: Bool = false) -> OpenOptions {
    var options = OpenOptions.testing
    options.pin = pin
    options.acceptsUnfinishedRekey = acceptsUnfinishedRekey
    return options
  }

  @Test func reportsFinalPinAtStart() throws {
    let test = try TestStore()
    try test.fillForRekey()
    var pins: [StorePin?] = []
    let report = try test.store.rekey(options: .batched, onKeys: { _, finalPin in pins.append(finalPin) })
    #expect(pins == [nil, test.store.pin])
    #expect(report.pin == test.store.pin && report.finalPin == report.pin)
    let status = try test.store.rekeyStatus()
    #expect(status.isFinished && status.pin == report.pin && status.finalPin == report.pin)
  }

  @Test func opensUnfinishedRekeyOnlyToFinish() throws {
    let test = try TestStore()
    try test.fillForRekey()
    let first = test.store.pin
    let report = try test.store.rekey(options: .keysOnly) { _ in }
    let final = report.finalPin
    #expect(report.pin == test.store.pin && Set([first, report.pin, final]).count == 3)
    let status = try test.store.rekeyStatus()
    #expect(!status.isFinished && status.pin == report.pin && status.finalPin == final)
    let middle = try test.place.copy(test.url, as: "middle.coffer")

    expect(.pinUnfinished) { try test.reopened(.published("primary"), expecting(final)) }
    expect(.pinUnfinished) { try test.store.unlock(with: .published("primary"), expecting: final) }
    try test.reopened(.published("primary"), expecting(report.pin)).close()
    expect(.pinMismatch) { try test.reopened(.published("primary"), expecting(first)) }
    let store = try test.reopened(.published("primary"), expecting(final, acceptsUnfinishedRekey: true))
    #expect(try store.rekeyStatus().finalPin == final)
    var pins: Set<StorePin?> = []
    let resumed = try store.rekey(options: .resuming, onKeys: { _, finalPin in pins.insert(finalPin) })
    #expect(resumed.isFinished && resumed.pin == final && resumed.finalPin == final && pins == [final])

    // Both pins now match, but a file copied during the rekey doesn't match the final pin.
    for pin in [report.pin, final] { try test.reopened(.published("primary"), expecting(pin)).close() }
    expect(.pinUnfinished) {
      try DocumentStore.open(at: middle, key: .published("primary"), options: expecting(final))
    }
    // After another rekey, neither pin matches.
    #expect(try test.store.rekey(options: .batched) { _ in }.isFinished)
    for pin in [report.pin, final] {
      expect(.pinMismatch) { try test.reopened(.published("primary"), expecting(pin)) }
    }
  }

  @Test func skippedDocumentDelaysFinalPin() throws {
    let test = try TestStore()
    try test.fillForRekey()
    try test.raw().execute("UPDATE coffer_record SET body = zeroblob(length(body)) WHERE id = 11")
    let report = try test.store.rekey(options: .batched) { _ in }
    #expect(!report.isFinished && report.pin == test.store.pin && report.finalPin != report.pin)
    try test.store.write { try $0.delete(11) }
    #expect(try test.store.rekey(options: .resuming) { _ in }.pin == report.finalPin)
  }

  @Test func takenOverRekeyChangesFinalPin() throws {
    let test = try TestStore()
    try test.fillForRekey()
    let first = try test.store.rekey(options: .keysOnly) { _ in }.finalPin
    let second = try test.store.rekey(options: .batched) { _ in }
    #expect(second.isFinished && second.finalPin != first && second.finalPin == test.store.pin)
    expect(.pinMismatch) {
      try test.reopened(.published("primary"), expecting(first, acceptsUnfinishedRekey: true))
    }
  }

  @Test func resumingRequiresUnfinishedRekey() throws {
    let test = try TestStore()
    let report = try test.store.rekeyStatus()
    #expect(report.pin == test.store.pin && report.finalPin == report.pin)
    expect(.noUnfinishedRekey) { try test.store.rekey(options: .resuming, onKeys: { _, _ in Issue.record("called") }) }
  }
}
