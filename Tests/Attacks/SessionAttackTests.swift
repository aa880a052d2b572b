import Coffer
import CofferSQLite
import Foundation
import Testing

@testable import CofferStoreTestSupport

/// Edits of the file during an open session, in the order of session-attacks.json.
struct SessionAttackTests {
  let place: Workplace
  let url: URL
  let secrets: JSON
  let attacks: [String: JSON]
  let store: DocumentStore

  init() throws {
    place = try Workplace()
    url = try place.copy(Vectors.folder.appending(path: "sealed.coffer"))
    secrets = try Vectors.json("sealed")["open_with"]
    let listed = try Vectors.json("session-attacks").array
    attacks = Dictionary(uniqueKeysWithValues: listed.map { ($0["name"].string!, $0) })
    store = try DocumentStore.open(
      at: url, key: .named("key", try #require(secrets["key"].string)), options: .testing)
    _ = try store.read { try $0.collections() }
  }

  /// Opens an attacked store to read its rows.
  private func attacked(_ name: String) throws -> Database {
    try Database(try Vectors.attackedStore(name).path, mode: .readOnly)
  }

  /// Restores a removed slot in the file without updating the header.
  private func restoreRemovedSlot() throws {
    let row = try #require(
      try attacked("rollback-removed-slot").query("SELECT slot,kind,label,params,wrapped FROM coffer_slot WHERE slot=4")
        .rows.first)
    let edit = try Database(url.path)
    try edit.execute("INSERT INTO coffer_slot VALUES(?,?,?,?,?)", parameters: row.values.map { $0 })
    try edit.close()
  }

  @Test func refusesKeyChangesWithReplayedSlot() throws {
    try restoreRemovedSlot()
    let before = try Data(contentsOf: url)

    expect(.damaged) { try store.keys.add(.published("next")) }
    expect(.damaged) { try store.keys.remove(slot: 2) }
    expect(.damaged) { try store.keys.replace(with: .published("next")) }
    expect(.damaged) { try store.rekey(to: [.published("next")]) { _ in } }
    #expect(try Data(contentsOf: url) == before)
    // The removed key still can't open the store.
    expect(.damaged) {
      _ = try DocumentStore.open(
        at: url, key: .named("key", try #require(attacks["slot-put-back"]!["removed_key"].string)), options: .testing)
    }
  }

  @Test func writesExcludeReplayedSlot() throws {
    try restoreRemovedSlot()
    // The session continues with its cached header, but the next session detects the forged slot.
    try store.write { _ = try $0.insert(Document(text: "x"), into: DocumentCollection("Notes")) }
    expect(.damaged) {
      _ = try DocumentStore.open(at: url, key: .named("key", secrets["key"].string!), options: .testing)
    }
  }

  @Test func refusesRekeyWithSwappedRecipient() throws {
    let edit = try Database(url.path)
    let attacker = try #require(attacks["recipient-exchanged"]!["attacker_public"].string)
    try edit.execute("UPDATE coffer_slot SET params = CAST(substr(params,1,32) || x'\(attacker)' AS BLOB) WHERE kind=3")
    try edit.close()
    let before = try Data(contentsOf: url)

    var options = RekeyOptions()
    options.otherKeys = try ["key", "passphrase"].map { .named($0, try #require(secrets[$0].string)) }
    options.keepsAllRecipients = true
    expect(.damaged) { try store.rekey(options: options) { _ in } }
    expect(.damaged) { try store.keys.add(.published("next")) }
    #expect(try Data(contentsOf: url) == before)
  }

  @Test func detectsReplayedState() throws {
    try store.write { _ = try $0.insert(Document(text: "later"), into: DocumentCollection("Notes")) }
    let old = try attacked("rollback-state").query("SELECT sealed FROM coffer_state").rows[0][0]
    let edit = try Database(url.path)
    try edit.execute("UPDATE coffer_state SET sealed=?", parameters: [old])
    try edit.close()
    let before = try Data(contentsOf: url)

    expect(.rolledBack) { try store.read { _ = try $0.collections() } }
    expect(.rolledBack) { try store.write { try $0.create(DocumentCollection("other")) } }
    expect(.rolledBack) { try store.keys.add(.published("next")) }
    expect(.rolledBack) { _ = try store.verify() }
    #expect(try Data(contentsOf: url) == before)
  }

  @Test func detectsReplayedFile() throws {
    let older = try Data(contentsOf: url)
    try store.write { _ = try $0.insert(Document(text: "later"), into: DocumentCollection("Notes")) }
    let descriptor = try FileHandle(forWritingTo: url)
    try descriptor.truncate(atOffset: 0)
    try descriptor.write(contentsOf: older)
    try descriptor.close()
    expect(.rolledBack) { try store.read { _ = try $0.collections() } }
  }

  @Test func requiresPinAfterRekeyForRecipients() throws {
    let key = StoreKey.named("key", try #require(secrets["key"].string))
    let identity = StoreKey.named("identity", try #require(secrets["identity"].string))
    let reader = try DocumentStore.open(at: url, key: identity, options: .testing)
    let other = try DocumentStore.open(at: url, key: key, options: .testing)
    var options = RekeyOptions()
    options.otherKeys = try ["key", "passphrase"].map { .named($0, try #require(secrets[$0].string)) }
    options.keepsAllRecipients = true
    #expect(try other.rekey(options: options) { _ in }.isFinished)
    let before = try Data(contentsOf: url)

    // Anyone can create a slot for a recipient, so a session opened with an identity must compare the pin first.
    expect(.keyChanged) { try reader.read { _ = try $0.collections() } }
    expect(.keyChanged) { try reader.write { try $0.create(DocumentCollection("other")) } }
    expect(.keyChanged) { try reader.keys.list().forEach { _ in } }
    expect(.keyChanged) { try reader.keys.remove(slot: 2) }
    expect(.keyChanged) { try reader.rekey(options: options) { _ in } }
    #expect(try Data(contentsOf: url) == before)
    try reader.unlock(with: identity, expecting: other.pin)
    #expect(try reader.everything() == other.everything())
    #expect(try store.everything() == other.everything())
    #expect(try store.verify().isSound)
  }

  @Test func followsSlotChangesByOtherHandle() throws {
    let other = try DocumentStore.open(
      at: url, key: .named("key", try #require(secrets["key"].string)), options: .testing)
    try other.keys.remove(slot: 2)
    #expect(try store.keys.list().map(\.slot) == [1, 3])
    #expect(try store.keys.add(.published("next")) == 4)
    #expect(try other.keys.list().map(\.slot) == [1, 3, 4])
    #expect(try store.verify().isSound)
  }

  // MARK: Replacing the whole file

  /// Replaces the file's contents, with a new SQLite change counter that invalidates the cached pages of connections.
  private func exchange(_ file: URL, for other: URL) throws {
    var bytes = try Data(contentsOf: other)
    for offset in [24, 92] { bytes.replaceSubrange(offset..<offset + 4, with: [0x7F, 0, 0, 0]) }
    let descriptor = try FileHandle(forWritingTo: file)
    try descriptor.truncate(atOffset: 0)
    try descriptor.write(contentsOf: bytes)
    try descriptor.close()
  }

  /// Opens sessions with every kind of secret, each with and without the initial pin.
  @Test func followsRekeyFinishedByOtherHandle() throws {
    let url = try place.copy(try Vectors.attackedStore("rekeyed-file-of-middle"))
    let pins = try Vectors.json("attacks/rekeyed-file-of-middle")["pins"].array
    let beginning = try #require(pins.first { $0["open"].string == "ok" }?["pin"].string)
    let end = try Vectors.json("rekeyed")
    var sessions: [DocumentStore] = []
    for (kind, secret) in end["open_with"].object where !kind.hasPrefix("wrong") {
      var options = OpenOptions.testing
      for pin in [nil, StorePin(beginning)] {
        options.pin = pin
        sessions.append(
          try DocumentStore.open(at: url, key: .named(kind, try #require(secret.string)), options: options))
      }
    }
    #expect(sessions.count == 6)
    for store in sessions { #expect(try !store.rekeyStatus().isFinished) }
    try exchange(url, for: Vectors.folder.appending(path: "rekeyed.coffer"))
    for store in sessions {
      #expect(try store.rekeyStatus().isFinished)
      #expect(store.pin.description == end["pin"].string)
      #expect(try store.verify().isSound)
    }
  }

  @Test(arguments: [
    ("rekeyed-file-of-before-end", StoreError.Code.rolledBack), ("insider-recipient-same-pair", .pinMismatch),
  ])
  func rejectsFileWithSameRootKeyNumber(_ name: String, _ code: StoreError.Code) throws {
    let url = try place.copy(Vectors.folder.appending(path: "rekeyed.coffer"))
    let secret = try Vectors.json("rekeyed")["open_with"]["key"].string
    let store = try DocumentStore.open(at: url, key: .named("key", try #require(secret)), options: .testing)
    _ = try store.everything()
    try exchange(url, for: try Vectors.attackedStore(name))
    expect(code) { try store.read { _ = try $0.collections() } }
    expect(code) { try store.write { try $0.create(DocumentCollection("other")) } }
  }
}
