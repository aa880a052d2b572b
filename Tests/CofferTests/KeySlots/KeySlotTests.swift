import Coffer
import CofferSQLite
import Foundation
import Testing

@testable import CofferStoreTestSupport

/// Changes to key slots, and their effects on access and on the file.
struct KeySlotTests {
  private func slots(_ test: TestStore) throws -> [[SQLiteValue]] {
    try test.raw().query("SELECT * FROM coffer_slot ORDER BY slot").rows.map(\.values)
  }

  // MARK: Rejected changes

  @Test func refusesToRemoveLastSlot() throws {
    try withTestStore { test in
      let before = try Data(contentsOf: test.url)
      expect(.invalidArgument) { try test.store.keys.remove(slot: 1) }
      expect(.invalidArgument) { try test.store.keys.remove(slot: 2) }
      expect(.invalidArgument) { try test.store.keys.remove(slot: -1) }
      expect(.invalidArgument) { try test.store.keys.replace(slot: 7, with: .published("next")) }
      #expect(try Data(contentsOf: test.url) == before)
    }
  }

  @Test func rejectedKeyLeavesFileUnchanged() throws {
    try withTestStore { test in
      let before = try Data(contentsOf: test.url)
      expect(.keyNeeded) { try test.store.keys.add(.passphrase { throw Interruption() }) }
      expect(.keyFileInvalid) { try test.store.keys.add(.words("")) }
      expect(.keyFileInvalid) { try test.store.keys.add(.words("nul \0")) }
      expect(.tooLarge) { try test.store.keys.add(.words("x"), label: String(repeating: "l", count: 256)) }
      let key = test.place.file("real.key")
      _ = try StoreKey.generate(at: key)
      expect(.testKeyRefused) { try test.store.keys.add(.keyFile(key)) }
      #expect(try Data(contentsOf: test.url) == before)
    }
  }

  @Test func rejectsTestKeysForRealStore() throws {
    let place = try Workplace()
    let key = place.file("real.key")
    _ = try StoreKey.generate(at: key)
    let store = try DocumentStore.create(at: place.file("real.coffer"), keys: [.keyFile(key)], options: .testing)
    expect(.testKeyRefused) { try store.keys.add(.published("primary")) }
    expect(.testKeyRefused) { try store.keys.add(PublishedKeys.recipient) }
    expect(.testKeyRefused) { try store.rekey(to: [.published("primary")]) { _ in } }
    #expect(try store.keys.list().count == 1)
    #expect(try store.verify().isSound)
  }

  @Test func rejectsSeveralKeysPerSlot() throws {
    try withTestStore { test in
      for key in [StoreKey.anyOf([]), .anyOf([.published("next"), .words("words")])] {
        expect(.invalidArgument) { try test.store.keys.add(key) }
        expect(.invalidArgument) { try test.store.keys.replace(with: key) }
      }
      let slot = try test.store.keys.add(.anyOf([.published("next")]))
      #expect(slot == 2)
    }
  }

  @Test func limitsNumberOfSlots() throws {
    try withTestStore { test in
      for number in 2...64 { #expect(try test.store.keys.add(.stranger()) == number) }
      expect(.invalidArgument) { try test.store.keys.add(.published("next")) }
      #expect(try test.store.keys.list().count == 64)
      try test.reopened().close()
    }
  }

  @Test func rejectsKeyWithExistingSlot() throws {
    let test = try TestStore(
      keys: [.published("primary"), .words("\u{E5} pass"), .published("next")], recipients: [PublishedKeys.recipient])
    let before = try Data(contentsOf: test.url)
    let known: [(StoreKey, slot: Int)] = [
      (.published("primary"), 1), (.words("a\u{30A} pass"), 2), (.published("next"), 3), (.published("identity"), 4),
    ]
    expect(.alreadyExists) { try test.store.keys.add(PublishedKeys.recipient) }
    for (key, slot) in known {
      for work in [{ try test.store.keys.add(key) }, { try test.store.keys.replace(slot: slot % 4 + 1, with: key) }] {
        do {
          _ = try work()
          Issue.record("slot \(slot) has a twin")
        } catch let error as StoreError {
          #expect(error.code == .alreadyExists && error.message.contains("slot \(slot) "))
        }
      }
    }
    #expect(try Data(contentsOf: test.url) == before)
    // A slot's own key can replace it, to set a new salt or a higher cost.
    #expect(try test.store.keys.replace(slot: 2, with: .words("\u{E5} pass")) == 5)
    try test.store.keys.remove(slot: 3)
    #expect(try test.store.keys.add(.published("next")) == 6)
    try test.expectSound()
  }

  @Test func creationRejectsDuplicateKeys() throws {
    let place = try Workplace()
    var creation = CreateOptions()
    creation.isTest = true
    let recipient = try PublishedKeys.recipient
    let twins: [(keys: [StoreKey], recipients: [Recipient])] = [
      ([.published("primary"), .words("a"), .published("primary")], []), ([.words("a\u{30A}"), .words("\u{E5}")], []),
      ([.published("identity")], [recipient]), ([.published("primary")], [recipient, recipient]),
    ]
    for (keys, recipients) in twins {
      expect(.invalidArgument) {
        try DocumentStore.create(
          at: place.file("new.coffer"), keys: keys, recipients: recipients, creation: creation, options: .testing)
      }
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: place.url.path).isEmpty)
  }

  // MARK: Fingerprints

  @Test func fingerprintsDistinguishKeyFilesAndRecipients() throws {
    let keys = [StoreKey.published("primary"), .published("next"), .words("a")]
    let recipients = [try PublishedKeys.recipient]
    let one = try TestStore(keys: keys, recipients: recipients)
    let other = try TestStore(keys: keys, recipients: recipients)
    let (mine, theirs) = (try one.store.keys.list(), try other.store.keys.list())
    #expect(mine.map { $0.fingerprint?.count } == [16, 16, nil, 16])
    #expect(mine[0].fingerprint != mine[1].fingerprint && mine[0].fingerprint != theirs[0].fingerprint)
    #expect(mine[3].fingerprint == theirs[3].fingerprint)
    #expect(try DocumentStore.info(at: one.url).slots.map(\.fingerprint) == mine.map(\.fingerprint))
    // A key keeps its fingerprint in a new slot and after a rekey.
    var options = RekeyOptions()
    options.otherKeys = [.published("next"), .words("a")]
    options.keepsAllRecipients = true
    try one.store.rekey(options: options) { _ in }
    #expect(try one.store.keys.list().map(\.fingerprint) == mine.map(\.fingerprint))
  }

  // MARK: Changes

  @Test func addsSlotWithoutChangingOthers() throws {
    try withTestStore { test in
      let id = try test.store.write { try $0.insert(Document(text: "x"), into: test.notes) }
      let before = try slots(test)
      #expect(try test.store.keys.add(.words("new words"), label: "for Zoë") == 2)
      #expect(try slots(test).first == before.first)
      for key in [StoreKey.published("primary"), .words("new words")] {
        #expect(try test.reopened(key).read { try $0.text(of: id) } == "x")
      }
      let listed = try test.store.keys.list()
      #expect(listed.map(\.label) == ["", "for Zoë"] && listed.map(\.opened) == [true, false])
      #expect(listed[1].kind == .passphrase && listed[1].detail == "scrypt 2^10, r 8, p 1")
    }
  }

  @Test func normalizesPassphrases() throws {
    try withTestStore { test in
      try test.store.keys.add(.words("a\u{30A} pass"))
      try test.reopened(.words("\u{E5} pass")).close()
      expect(.cannotUnlock) { try test.reopened(.words("\u{E5} pass ")) }
    }
  }

  @Test func rejectsKeyOfRemovedSlot() throws {
    try withTestStore { test in
      try test.store.keys.add(.published("next"))
      let open = try test.reopened(.published("next"))
      try test.store.keys.remove(slot: 2)
      expect(.cannotUnlock) { try test.reopened(.published("next")) }
      // An open session keeps the root key. Slot numbers aren't reused while a higher number is in use.
      #expect(try open.keys.list().map(\.slot) == [1])
      try test.store.keys.add(.words("a"))
      try test.store.keys.add(.words("b"))
      try test.store.keys.remove(slot: 2)
      #expect(try test.store.keys.add(.words("c")) == 4)
    }
  }

  @Test func rejectsOldPassphraseAfterChange() throws {
    let test = try TestStore(keys: [.words("old"), .published("primary")]) { $0.labels = ["mine"] }
    let id = try test.store.write { try $0.insert(Document(text: "x"), into: test.notes) }
    let size = try Data(contentsOf: test.url).count
    let rows = try test.raw().query("SELECT * FROM coffer_record").rows
    let store = try test.reopened(.words("old"))
    #expect(try store.keys.replace(with: .words("new")) == 3)
    expect(.cannotUnlock) { try test.reopened(.words("old")) }
    #expect(try test.reopened(.words("new")).read { try $0.text(of: id) } == "x")
    try test.reopened().close()
    #expect(try Data(contentsOf: test.url).count == size)
    #expect(try test.raw().query("SELECT * FROM coffer_record").rows == rows)
    let listed = try store.keys.list()
    #expect(listed.map(\.slot) == [2, 3] && listed.map(\.label) == ["", "mine"])
    #expect(listed.map(\.opened) == [false, true])
    // The session that changed the passphrase and other open sessions continue to work.
    #expect(try store.keys.replace(with: .words("newer")) == 4)
    try test.expectSound()
    #expect(try store.verify().isSound)
  }

  @Test func replacementPreservesHigherCost() throws {
    let place = try Workplace()
    let url = try place.copy(Vectors.folder.appending(path: "passphrase-test.coffer"))
    let secret = try Vectors.json("passphrase-test")["open_with"]["passphrase"]
    let store = try DocumentStore.open(at: url, key: .words(try #require(secret.string)), options: .testing)
    // Slot 2 was created with logN 12, which is above a TEST store's default.
    #expect(try store.keys.replace(slot: 2, with: .words("other")) == 3)
    #expect(try store.keys.list().last?.detail == "scrypt 2^12, r 8, p 1")
    try DocumentStore.open(at: url, key: .words("other"), options: .testing).close()
  }

  @Test func usesDistinctSaltPerWrap() throws {
    try withTestStore { test in
      var seen: Set<[SQLiteValue]> = []
      for _ in 0..<8 {
        let slot = try test.store.keys.add(.published("next"))
        let words = try test.store.keys.add(.words("same"))
        for row in try test.raw().query("SELECT params, wrapped FROM coffer_slot WHERE slot > 1").rows {
          #expect(seen.insert(row.values).inserted)
        }
        try test.store.keys.remove(slot: slot)
        try test.store.keys.remove(slot: words)
      }
      #expect(Set(seen.map { $0[0] }).count == 16 && Set(seen.map { $0[1] }).count == 16)
    }
  }

  @Test func slotChangesAdvanceAnchor() throws {
    try withTestStore { test in
      let anchor = try test.store.anchor()
      try test.store.keys.add(.published("next"))
      try test.store.keys.remove(slot: 2)
      #expect(try test.store.relation(to: anchor) == .descendant(by: 2))
      expect(.anchorMismatch) { try test.store.relation(to: anchor, requiring: .same) }
    }
  }

  @Test func followsSlotChangesByOtherHandle() throws {
    try withTestStore { test in
      let other = try test.reopened()
      #expect(try test.store.keys.add(.words("1")) == 2)
      #expect(try other.keys.add(.words("2")) == 3)
      #expect(try test.store.keys.replace(slot: 2, with: .words("3")) == 4)
      try other.keys.remove(slot: 3)
      #expect(try test.store.keys.list().map(\.slot) == [1, 4])
      try other.write { try $0.insert(Document(text: "x"), into: test.notes) }
      try test.reopened(.words("3")).close()
    }
  }

  // MARK: The number of slots

  /// Returns a store with as many slots as there can be, and a key for another one.
  private func filled(_ place: Workplace) throws -> (DocumentStore, next: StoreKey) {
    var keys: [StoreKey] = []
    for number in 0...64 {
      let file = place.file("\(number).key")
      _ = try StoreKey.generate(at: file)
      keys.append(.keyFile(file))
    }
    let store = try DocumentStore.create(at: place.file("real.coffer"), keys: Array(keys[..<64]), options: .testing)
    return (store, keys[64])
  }

  @Test func refusesMoreSlotsThanStoreCanHave() throws {
    let place = try Workplace()
    let (store, next) = try filled(place)
    let before = try Data(contentsOf: place.file("real.coffer"))
    expect(.invalidArgument) { try store.keys.add(next) }
    let others = (1..<64).map { StoreKey.keyFile(place.file("\($0).key")) }
    var options = RekeyOptions.batched
    options.otherKeys = others
    expect(.invalidArgument) { try store.rekey(to: [next, .words("another")], options: options) { _ in } }
    #expect(try Data(contentsOf: place.file("real.coffer")) == before)
    #expect(try store.keys.list().count == 64)
  }

  @Test func replacesSlotOfFullStore() throws {
    let place = try Workplace()
    let (store, next) = try filled(place)
    try store.keys.replace(with: next)
    #expect(try store.keys.list().count == 64 && store.keys.list().last?.slot == 65)
    _ = try DocumentStore.open(at: place.file("real.coffer"), key: next, options: .testing)
  }

  /// A reader that keeps the old pages in the log doesn't make the session forget its new slot.
  @Test func replacesTwiceBesideReader() throws {
    let test = try TestStore { $0.journal = .writeAheadLog }
    try test.store.write { try $0.insert(Document(text: "one"), into: test.notes) }
    var options = OpenOptions.testing
    options.wait = .milliseconds(1)
    let other = try test.reopened(.published("primary"), options)
    let reader = try test.reopened(.published("primary"), options)
    try reader.read { scope in
      _ = try scope.text(of: 1)
      expect(.locked) { try other.keys.replace(with: .words("first")) }
      expect(.locked) { try other.keys.replace(with: .words("second")) }
    }
    #expect(try other.keys.list().map(\.slot) == [3] && other.keys.list()[0].opened)
  }
}
