import CofferSQLite
import Foundation
import Testing

@testable import Coffer

/// Changes of slots: the keys that open the store, and the bytes of the file.
struct KeySlotTests {
  private func slots(_ test: TestStore) throws -> [[SQLiteValue]] {
    try test.raw().query("SELECT * FROM coffer_slot ORDER BY slot").rows.map(\.values)
  }

  // MARK: Refused

  @Test func lastSlotStays() throws {
    try withTestStore { test in
      let before = try Data(contentsOf: test.url)
      expect(.invalidArgument) { try test.store.keys.remove(slot: 1) }
      expect(.invalidArgument) { try test.store.keys.remove(slot: 2) }
      expect(.invalidArgument) { try test.store.keys.remove(slot: -1) }
      expect(.invalidArgument) { try test.store.keys.replace(slot: 7, with: .published("next")) }
      #expect(try Data(contentsOf: test.url) == before)
    }
  }

  @Test func keyThatIsNotGivenChangesNothing() throws {
    try withTestStore { test in
      let before = try Data(contentsOf: test.url)
      expect(.keyNeeded) { try test.store.keys.add(.passphrase { throw Interruption() }) }
      expect(.keyFileInvalid) { try test.store.keys.add(.words("")) }
      expect(.keyFileInvalid) { try test.store.keys.add(.words("nul \0")) }
      expect(.tooLarge) { try test.store.keys.add(.words("x"), label: String(repeating: "l", count: 256)) }
      let key = test.place.file("real.key")
      try KeyLine.generate(.key).write(toNewFile: key.path)
      expect(.testKeyRefused) { try test.store.keys.add(.keyFile(key)) }
      #expect(try Data(contentsOf: test.url) == before)
    }
  }

  @Test func testKeysAreNoSlotsOfARealStore() throws {
    let place = try Workplace()
    let key = place.file("real.key")
    try KeyLine.generate(.key).write(toNewFile: key.path)
    let store = try DocumentStore.create(at: place.file("real.coffer"), keys: [.keyFile(key)], options: .testing)
    expect(.testKeyRefused) { try store.keys.add(.published("primary")) }
    expect(.testKeyRefused) { try store.keys.add(.recipient(PublishedKeys.recipient)) }
    expect(.testKeyRefused) { try store.rekey(to: [.published("primary")]) { _ in } }
    #expect(try store.keys.list().count == 1)
    #expect(try store.verify().isSound)
  }

  @Test func tooManySlotsAreRefused() throws {
    try withTestStore { test in
      for number in 2...64 { #expect(try test.store.keys.add(.stranger()) == number) }
      expect(.invalidArgument) { try test.store.keys.add(.published("next")) }
      #expect(try test.store.keys.list().count == 64)
      try test.reopened().close()
    }
  }

  @Test func noKeyGetsASecondSlot() throws {
    let test = try TestStore(
      keys: [.published("primary"), .words("\u{E5} pass"), .recipient(PublishedKeys.recipient), .published("next")])
    let before = try Data(contentsOf: test.url)
    let known: [(NewKey, slot: Int)] = [
      (.published("primary"), 1), (.words("a\u{30A} pass"), 2), (.recipient(try PublishedKeys.recipient), 3),
      (.identity(PublishedKeys.url("identity")), 3), (.published("next"), 4),
    ]
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
    // The slot's own key may take its place: with a new salt, or a higher cost.
    #expect(try test.store.keys.replace(slot: 2, with: .words("\u{E5} pass")) == 5)
    try test.store.keys.remove(slot: 4)
    #expect(try test.store.keys.add(.published("next")) == 6)
    try test.expectSound()
  }

  @Test func noNewStoreHasAKeyTwice() throws {
    let place = try Workplace()
    var creation = CreateOptions()
    creation.isTest = true
    let identity = NewKey.identity(PublishedKeys.url("identity"))
    for keys in [
      [.published("primary"), .words("a"), .published("primary")], [.words("a\u{30A}"), .words("\u{E5}")],
      [identity, .recipient(try PublishedKeys.recipient)],
    ] {
      expect(.invalidArgument) {
        try DocumentStore.create(at: place.file("new.coffer"), keys: keys, creation: creation, options: .testing)
      }
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: place.url.path).isEmpty)
  }

  // MARK: Told apart

  @Test func fingerprintsTellKeyFilesAndRecipientsApart() throws {
    let keys = [NewKey.published("primary"), .published("next"), .recipient(try PublishedKeys.recipient), .words("a")]
    let (one, other) = (try TestStore(keys: keys), try TestStore(keys: keys))
    let (mine, theirs) = (try one.store.keys.list(), try other.store.keys.list())
    #expect(mine.map { $0.fingerprint?.count } == [16, 16, 16, nil])
    #expect(mine[0].fingerprint != mine[1].fingerprint && mine[0].fingerprint != theirs[0].fingerprint)
    #expect(mine[2].fingerprint == theirs[2].fingerprint)
    #expect(try DocumentStore.info(at: one.url).slots.map(\.fingerprint) == mine.map(\.fingerprint))
    // A slot made again for the same key has its fingerprint; so has the slot after a rekey.
    var options = RekeyOptions()
    options.otherKeys = [.published("next"), .words("a")]
    options.keepsAllRecipients = true
    try one.store.rekey(options: options) { _ in }
    #expect(try one.store.keys.list().map(\.fingerprint) == mine.map(\.fingerprint))
  }

  // MARK: Changed

  @Test func addedSlotOpensAndTheOthersStayAsTheyAre() throws {
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

  @Test func composedAndDecomposedPassphrasesAreOne() throws {
    try withTestStore { test in
      try test.store.keys.add(.words("a\u{30A} pass"))
      try test.reopened(.words("\u{E5} pass")).close()
      expect(.cannotUnlock) { try test.reopened(.words("\u{E5} pass ")) }
    }
  }

  @Test func removedSlotOpensNoMore() throws {
    try withTestStore { test in
      try test.store.keys.add(.published("next"))
      let open = try test.reopened(.published("next"))
      try test.store.keys.remove(slot: 2)
      expect(.cannotUnlock) { try test.reopened(.published("next")) }
      // An open session holds the root key; a number is not used again while a higher one is in use.
      #expect(try open.keys.list().map(\.slot) == [1])
      try test.store.keys.add(.words("a"))
      try test.store.keys.add(.words("b"))
      try test.store.keys.remove(slot: 2)
      #expect(try test.store.keys.add(.words("c")) == 4)
    }
  }

  @Test func oldPassphraseOpensNoMoreAfterAChange() throws {
    let test = try TestStore(keys: [.words("old"), .published("primary")]) { $0.labels = ["mine"] }
    let id = try test.store.write { try $0.insert(Document(text: "x"), into: test.notes) }
    let size = try Data(contentsOf: test.url).count
    let rows = try test.raw().query("SELECT * FROM coffer_record").rows
    let store = try test.reopened(.words("old"))
    #expect(try store.keys.changePassphrase { .text("new") } == 3)
    expect(.cannotUnlock) { try test.reopened(.words("old")) }
    #expect(try test.reopened(.words("new")).read { try $0.text(of: id) } == "x")
    try test.reopened().close()
    #expect(try Data(contentsOf: test.url).count == size)
    #expect(try test.raw().query("SELECT * FROM coffer_record").rows == rows)
    let listed = try store.keys.list()
    #expect(listed.map(\.slot) == [2, 3] && listed.map(\.label) == ["", "mine"])
    #expect(listed.map(\.opened) == [false, true])
    // The session that changed it goes on, and so does one that was open.
    #expect(try store.keys.changePassphrase { .text("newer") } == 4)
    try test.expectSound()
    #expect(try store.verify().isSound)
  }

  @Test func replacedPassphraseKeepsAHigherCost() throws {
    let place = try Workplace()
    let url = try place.copy(Vectors.folder.appending(path: "passphrase-test.coffer"))
    let secret = try Vectors.json("passphrase-test")["open_with"]["passphrase"]
    let store = try DocumentStore.open(at: url, key: .words(try #require(secret.string)), options: .testing)
    // Slot 2 was made with logN 12, more than a TEST store's default.
    #expect(try store.keys.replace(slot: 2, with: .words("other")) == 3)
    #expect(try store.keys.list().last?.detail == "scrypt 2^12, r 8, p 1")
    try DocumentStore.open(at: url, key: .words("other"), options: .testing).close()
  }

  @Test func everyWrapHasASeparateSalt() throws {
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

  @Test func slotChangesAreTransactionsOfTheState() throws {
    try withTestStore { test in
      let anchor = try test.store.anchor()
      try test.store.keys.add(.published("next"))
      try test.store.keys.remove(slot: 2)
      #expect(try test.store.checkAnchor(anchor) == .descends(by: 2))
      expect(.anchorMismatch) { try test.store.checkAnchor(anchor, options: .exact) }
    }
  }

  @Test func changesOfTwoHandlesFollowEachOther() throws {
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
}
