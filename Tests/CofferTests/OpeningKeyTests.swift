import CofferSQLite
import Foundation
import Testing

@testable import Coffer

/// Keys that do not open, bounds that refuse before any is asked for, and opening only to read.
struct OpeningKeyTests: OpeningSuite {
  let place: Workplace
  let url: URL

  init() throws {
    place = try Workplace()
    url = place.file("some.coffer")
  }

  @Test(arguments: ["wrong", "next"])
  func wrongKeyIsReportedAsWrongKey(_ name: String) throws {
    try makeStore()
    try expectRefused(.cannotUnlock, key: .published(name))
  }

  @Test func wrongPassphraseIsReportedAsWrongKey() throws {
    try makeStore(keys: [.words("right words"), .published("primary")])
    try expectRefused(.cannotUnlock, key: .words("Right words"))
    try expectRefused(.cannotUnlock, key: .words(""))
    try expectRefused(.cannotUnlock, key: .anyOf([.words("wrong"), .published("wrong")]))
  }

  @Test func recipientOpensNothing() throws {
    try makeStore()
    let line = try PublishedKeys.recipient
    try expectRefused(.keyFileInvalid, key: .keyMaterial { .text(line) })
  }

  @Test func keyFileThatIsNoneIsNamed() throws {
    try makeStore()
    try expectRefused(.keyFileInvalid, key: .keyFile(place.file("absent.key")))
    try expectRefused(.keyFileInvalid, key: .keyMaterial { .text("coffer-test-key-1-00") })
  }

  @Test func keyThatIsNotGivenIsNeeded() throws {
    try makeStore()
    try expectRefused(.keyNeeded, key: .passphrase { throw Interruption() })
  }

  @Test func testStoreNeedsTheAllowance() throws {
    try makeStore(keys: [.published("primary"), .words("words")])
    try expectRefused(.testKeyRefused, options: OpenOptions())
    // Refused before the secret is asked for.
    try expectRefused(
      .testKeyRefused,
      key: .passphrase {
        Issue.record("asked"); return .text("words")
      }, options: .init())
  }

  @Test func testKeyIsRefusedByARealStore() throws {
    let key = place.file("real.key")
    try KeyLine.generate(.key).write(toNewFile: key.path)
    try DocumentStore.create(at: url, keys: [.keyFile(key)]).close()
    for options in [OpenOptions(), .testing] {
      try expectRefused(.testKeyRefused, key: .published("primary"), options: options)
    }
    try DocumentStore.open(at: url, key: .keyFile(key)).close()
  }

  @Test func realKeyOpensNoTestStore() throws {
    try makeStore()
    let key = place.file("real.key")
    try KeyLine.generate(.key).write(toNewFile: key.path)
    try expectRefused(.cannotUnlock, key: .keyFile(key))
  }

  @Test func anotherPinIsRefusedBeforeAnySecret() throws {
    try makeStore()
    let pin = try DocumentStore.info(at: url).pin
    var options = OpenOptions.testing
    options.expectedPin = String(pin.dropLast()) + (pin.hasSuffix("0") ? "1" : "0")
    try expectRefused(
      .pinMismatch,
      key: .passphrase {
        Issue.record("asked"); return .text("x")
      }, options: options)
    options.expectedPin = pin
    #expect(try DocumentStore.open(at: url, key: .published("primary"), options: options).pin == pin)
  }

  @Test(arguments: [
    "CAST(x'090801' || substr(params,4) AS BLOB)", "CAST(x'150801' || substr(params,4) AS BLOB)",
    "CAST(x'0a1001' || substr(params,4) AS BLOB)",
    "CAST(x'0a0805' || substr(params,4) AS BLOB)", "CAST(x'0a0800' || substr(params,4) AS BLOB)", "x'0a0801'",
    "CAST(params || x'00' AS BLOB)",
  ])
  func scryptOutOfBoundsIsRefusedBeforeAnySecret(_ parameters: String) throws {
    try makeStore(
      keys: [.published("primary"), .words("words")],
      "UPDATE coffer_slot SET params = \(parameters) WHERE kind = 1")
    try expectRefused(
      .parametersRefused,
      key: .passphrase {
        Issue.record("asked"); return .text("words")
      })
    try expectRefused(.parametersRefused)
    do {
      _ = try DocumentStore.open(at: url, key: .published("primary"), options: .testing)
    } catch {
      #expect("\(error)".contains("slot 2"))
    }
  }

  @Test func scryptOfAllSlotsTogetherIsBounded() throws {
    try makeStore(keys: (1...9).map { .words("words \($0)") } + [.published("primary")])
    let database = try Database(url.path)
    // Each is within its bounds, 2^16; eight of them are the limit.
    try database.execute("UPDATE coffer_slot SET params = CAST(x'0e0804' || substr(params,4) AS BLOB) WHERE kind = 1")
    try database.close()
    try expectRefused(
      .parametersRefused,
      key: .passphrase {
        Issue.record("asked"); return .text("words 1")
      })
    // A key that is tried on none of them is not held up: now the edited header is seen.
    try expectRefused(.damaged)
    var options = OpenOptions.testing
    options.slot = 10
    try expectRefused(.damaged, options: options)
  }

  @Test(arguments: ["DELETE FROM coffer_slot", "DELETE FROM coffer_header", "DELETE FROM coffer_state"])
  func missingRowsAreRefused(_ edit: String) throws {
    try makeStore(documents: 0, edit)
    try expectRefused(edit.contains("slot") ? .parametersRefused : .damaged)
  }

  @Test func readOnlyStoreWritesNothing() throws {
    try makeStore()
    var options = OpenOptions.testing
    options.isReadOnly = true
    let before = try Data(contentsOf: url)
    let store = try DocumentStore.open(at: url, key: .published("primary"), options: options)
    #expect(store.isReadOnly)
    #expect(try store.everything()["notes"]?.count == 3)
    #expect(try store.verify().isSound)
    expect(.readOnly) { try store.write { _ in } }
    expect(.readOnly) { try store.keys.add(.published("next")) }
    expect(.readOnly) { try store.keys.remove(slot: 1) }
    expect(.readOnly) { try store.rekey { _ in } }
    #expect(try Data(contentsOf: url) == before)
  }

  @Test func lockedStoreIsLocked() throws {
    try makeStore()
    let database = try Database(url.path)
    try database.execute("BEGIN EXCLUSIVE")
    var options = OpenOptions.testing
    options.wait = .zero
    try expectRefused(.locked, options: options)
    try database.execute("ROLLBACK")
    try DocumentStore.open(at: url, key: .published("primary"), options: options).close()
  }
}
