import CofferSQLite
import Foundation
import Testing

@testable import Coffer

/// Who can open a store, and what a change of that does to the file.
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
      for number in 2...64 { #expect(try test.store.keys.add(.published("next")) == number) }
      expect(.invalidArgument) { try test.store.keys.add(.published("next")) }
      #expect(try test.store.keys.list().count == 64)
      try test.reopened().close()
    }
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
      // An open session holds the root key; numbers are not given again while a higher one stands.
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

  @Test func everyWrapHasASaltOfItsOwn() throws {
    try withTestStore { test in
      for _ in 0..<5 {
        try test.store.keys.add(.published("next"))
        try test.store.keys.add(.words("same"))
        try test.store.keys.add(.recipient(PublishedKeys.recipient))
      }
      let rows = try test.raw().query("SELECT params, wrapped FROM coffer_slot").rows
      #expect(Set(rows.map { $0[0] }).count == 16 && Set(rows.map { $0[1] }).count == 16)
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
