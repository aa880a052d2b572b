import Coffer
import CofferEngine
import CofferSQLite
import Foundation
import Testing

@testable import CofferStoreTestSupport

/// Wrong keys, checks before a key is requested, and read-only stores.
struct OpeningKeyTests: OpeningSuite {
  let place: Workplace
  let url: URL

  init() throws {
    place = try Workplace()
    url = place.file("some.coffer")
  }

  @Test(arguments: ["wrong", "next"])
  func rejectsWrongKey(_ name: String) throws {
    try makeStore()
    try expectRefused(.cannotUnlock, key: .published(name))
  }

  @Test func rejectsWrongPassphrase() throws {
    try makeStore(keys: [.words("right words"), .published("primary")])
    try expectRefused(.cannotUnlock, key: .words("Right words"))
    try expectRefused(.cannotUnlock, key: .words(""))
    try expectRefused(.cannotUnlock, key: .anyOf([.words("wrong"), .published("wrong")]))
  }

  @Test func rejectsRecipientAsKey() throws {
    try makeStore()
    let line = try PublishedKeys.recipient.line
    try expectRefused(.keyFileInvalid, key: .keyMaterial { .text(line) })
  }

  @Test func opensWithKeyLine() throws {
    let line = try StoreKey.generateLine()
    var options = OpenOptions.testing
    options.allowsTestKeys = false
    let store = try DocumentStore.create(at: url, keys: [.keyLine { line }], options: options)
    try store.write { _ = try $0.insert(Document(text: "text"), into: "notes") }
    try store.close()
    let opened = try DocumentStore.open(at: url, key: .keyLine { line }, options: options)
    #expect(try opened.read { try $0.count(in: "notes") } == 1)
    try opened.close()
    let other = try StoreKey.generateLine()
    try expectRefused(.cannotUnlock, key: .keyLine { other }, options: options)
    try expectRefused(.keyFileInvalid, key: .keyLine { .text("a passphrase") }, options: options)
    try expectRefused(.keyNeeded, key: .keyLine { throw StoreError(.keyNeeded, "no keychain") }, options: options)
  }

  @Test func rejectsMissingAndInvalidKeyFile() throws {
    try makeStore()
    try expectRefused(.keyFileInvalid, key: .keyFile(place.file("absent.key")))
    try expectRefused(.keyFileInvalid, key: .keyMaterial { .text("coffer-test-key-1-00") })
  }

  @Test func reportsMissingKey() throws {
    try makeStore()
    try expectRefused(.keyNeeded, key: .passphrase { throw Interruption() })
  }

  @Test func rejectsTestStoreByDefault() throws {
    try makeStore(keys: [.published("primary"), .words("words")])
    try expectRefused(.testKeyRefused, options: OpenOptions())
    // The store is rejected before the secret is requested.
    try expectRefused(
      .testKeyRefused,
      key: .passphrase {
        Issue.record("asked"); return .text("words")
      }, options: .init())
  }

  @Test func realStoreRejectsTestKey() throws {
    let key = place.file("real.key")
    _ = try StoreKey.generate(at: key)
    try DocumentStore.create(at: url, keys: [.keyFile(key)]).close()
    for options in [OpenOptions(), .testing] {
      try expectRefused(.testKeyRefused, key: .published("primary"), options: options)
    }
    try DocumentStore.open(at: url, key: .keyFile(key)).close()
  }

  @Test func testStoreRejectsRealKey() throws {
    try makeStore()
    let key = place.file("real.key")
    _ = try StoreKey.generate(at: key)
    try expectRefused(.cannotUnlock, key: .keyFile(key))
  }

  @Test func rejectsOtherPinBeforeRequestingKey() throws {
    try makeStore()
    let pin = try DocumentStore.info(at: url).pin
    var options = OpenOptions.testing
    let line = pin.description
    options.pin = StorePin(String(line.dropLast()) + (line.hasSuffix("0") ? "1" : "0"))
    try expectRefused(
      .pinMismatch,
      key: .passphrase {
        Issue.record("asked"); return .text("x")
      }, options: options)
    options.pin = pin
    #expect(try DocumentStore.open(at: url, key: .published("primary"), options: options).pin == pin)
  }

  @Test(arguments: [
    "CAST(x'090801' || substr(params,4) AS BLOB)", "CAST(x'150801' || substr(params,4) AS BLOB)",
    "CAST(x'0a1001' || substr(params,4) AS BLOB)",
    "CAST(x'0a0805' || substr(params,4) AS BLOB)", "CAST(x'0a0800' || substr(params,4) AS BLOB)", "x'0a0801'",
    "CAST(params || x'00' AS BLOB)",
  ])
  func rejectsScryptOutOfBoundsBeforeRequestingKey(_ parameters: String) throws {
    try makeStore(
      keys: [.published("primary"), .words("words")],
      "UPDATE coffer_slot SET params = \(parameters) WHERE kind = 1")
    try expectRefused(
      .parametersRefused,
      key: .passphrase {
        Issue.record("asked"); return .text("words")
      })
    // Another key opens its slot, so opening gets as far as the edited header.
    try expectRefused(.damaged)
    do {
      _ = try DocumentStore.open(at: url, key: .published("primary"), options: .testing)
    } catch {
      #expect("\(error)".contains("slot 2 was changed"))
    }
  }

  @Test func limitsTotalScryptCost() throws {
    try makeStore(keys: (1...9).map { .words("words \($0)") } + [.published("primary")])
    let database = try Database(url.path)
    // Each slot costs 2^16, which is within bounds. Eight such slots reach the total limit.
    try database.execute("UPDATE coffer_slot SET params = CAST(x'0e0804' || substr(params,4) AS BLOB) WHERE kind = 1")
    try database.close()
    try expectRefused(
      .parametersRefused,
      key: .passphrase {
        Issue.record("asked"); return .text("words 1")
      })
    // A key file isn't tried on these slots, so opening gets as far as the edited header.
    try expectRefused(.damaged)
    var options = OpenOptions.testing
    options.slot = 10
    try expectRefused(.damaged, options: options)
  }

  @Test(arguments: ["DELETE FROM coffer_slot", "DELETE FROM coffer_header", "DELETE FROM coffer_state"])
  func rejectsMissingRows(_ edit: String) throws {
    try makeStore(documents: 0, edit)
    try expectRefused(edit.contains("slot") ? .parametersRefused : .damaged)
  }

  @Test func readOnlyStoreLeavesFileUnchanged() throws {
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

  @Test func reportsLockedStore() throws {
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
