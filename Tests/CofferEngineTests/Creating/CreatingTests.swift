import Coffer
import CofferSQLite
import Foundation
import Testing

@testable import CofferEngine
@testable import CofferStoreTestSupport

struct CreatingTests {
  let place: Workplace
  let url: URL

  init() throws {
    place = try Workplace()
    url = place.file("new.coffer")
  }

  private var entries: [String] {
    get throws { try FileManager.default.contentsOfDirectory(atPath: place.url.path).sorted() }
  }

  private func creation(_ change: (inout CreateOptions) -> Void) -> CreateOptions {
    var creation = CreateOptions()
    creation.isTest = true
    change(&creation)
    return creation
  }

  // MARK: Settings

  @Test func sqliteKeepsTemporaryDataInMemory() throws {
    let store = try DocumentStore.create(
      at: url, keys: [.published("primary")], creation: creation { _ in }, options: .testing)
    defer { try? store.close() }
    let file = try StoreFile(at: url.path, wait: .zero, cacheBytes: 1 << 20)
    // 2 is MEMORY.
    #expect(try file.database.connection.integerPragma("temp_store") == 2)
    try file.database.connection.close()
  }

  // MARK: Rejected creations

  @Test(arguments: ["", "some file"])
  func keepsExistingFile(_ content: String) throws {
    try Data(content.utf8).write(to: url)
    expect(.alreadyExists) { try DocumentStore.create(at: url, keys: [.published("primary")], options: .testing) }
    #expect(try Data(contentsOf: url) == Data(content.utf8))
    #expect(try entries == ["new.coffer"])
  }

  @Test func keepsExistingDirectoryAndDanglingLink() throws {
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: false)
    expect(.alreadyExists) { try DocumentStore.create(at: url, keys: [.published("primary")], options: .testing) }
    let link = place.file("link.coffer")
    try FileManager.default.createSymbolicLink(at: link, withDestinationURL: place.file("nowhere"))
    expect(.alreadyExists) { try DocumentStore.create(at: link, keys: [.published("primary")], options: .testing) }
    #expect(try entries == ["link.coffer", "new.coffer"])
  }

  @Test func rejectsMissingDirectory() throws {
    let inside = place.file("absent/new.coffer")
    expect(.ioFailure) { try DocumentStore.create(at: inside, keys: [.published("primary")], options: .testing) }
    #expect(try entries == [])
  }

  @Test func rejectsMissingAndInvalidKeys() throws {
    expect(.keyNeeded) {
      try DocumentStore.create(
        at: url, keys: [.published("primary"), .passphrase { throw Interruption() }], options: .testing)
    }
    expect(.keyNeeded) { try DocumentStore.create(at: url, keys: []) }
    expect(.keyFileInvalid) { try DocumentStore.create(at: url, keys: [.keyFile(place.file("absent.key"))]) }
    expect(.keyFileInvalid) { try DocumentStore.create(at: url, keys: [.words("")]) }
    expect(.keyFileInvalid) { try Recipient("coffer-recipient-1-00") }
    #expect(try entries == [])
  }

  @Test func rejectsTestKeysByDefault() throws {
    expect(.testKeyRefused) { try DocumentStore.create(at: url, keys: [.published("primary")]) }
    expect(.testKeyRefused) {
      try DocumentStore.create(at: url, keys: [], recipients: [PublishedKeys.recipient])
    }
    #expect(try entries == [])
  }

  @Test func rejectsMixOfRealAndTestKeys() throws {
    let key = place.file("real.key")
    _ = try StoreKey.generate(at: key)
    expect(.testKeyRefused) {
      try DocumentStore.create(at: url, keys: [.keyFile(key), .published("primary")], options: .testing)
    }
    #expect(try entries == ["real.key"])
  }

  @Test func rejectsExcessiveScryptCost() throws {
    // Each standard passphrase slot costs 2^17, so five exceed 2^19. The check happens before any derivation.
    expect(.invalidArgument) { try DocumentStore.create(at: url, keys: (1...5).map { .words("words \($0)") }) }
    #expect(try entries == [])
  }

  @Test func rejectsTooManySlotsAndLongLabels() throws {
    expect(.invalidArgument) {
      try DocumentStore.create(
        at: url, keys: Array(repeating: .published("primary"), count: 65), options: .testing)
    }
    let creation = creation { $0.labels = [String(repeating: "é", count: 128)] }
    expect(.tooLarge) {
      try DocumentStore.create(at: url, keys: [.published("primary")], creation: creation, options: .testing)
    }
    #expect(try entries == [])
  }

  // MARK: Created stores

  @Test func restrictsFileToOwner() throws {
    let store = try DocumentStore.create(at: url, keys: [.published("primary")], options: .testing)
    #expect(store.opening == .created)
    let attributes = try FileManager.default.attributesOfItem(atPath: url.path)
    #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600)
    #expect(try entries == ["new.coffer"])
  }

  @Test func createsMissingStoreOnOpening() throws {
    var options = OpenOptions.testing
    options.creation = creation { _ in }
    let key = StoreKey.anyOf([.published("primary"), .words("words")])
    let made = try DocumentStore.open(at: url, key: key, creatingIfMissing: true, options: options)
    #expect(made.opening == .created)
    let id = try made.write { try $0.insert(Document(text: "kept"), into: DocumentCollection("notes")) }
    try made.close()
    for key in [key, .words("words"), .published("primary")] {
      let store = try DocumentStore.open(at: url, key: key, creatingIfMissing: true, options: options)
      #expect(store.opening == .opened)
      #expect(try store.read { try $0.text(of: id) } == "kept")
    }
  }

  @Test(arguments: CreateOptions.Titles.allCases, [true, false])
  func storesTitlesAccordingToMode(_ mode: CreateOptions.Titles, _ isPadded: Bool) throws {
    try withTestStore({
      $0.titles = mode; $0.isPadded = isPadded
    }) { test in
      let ids = try test.store.write { writer in
        [
          try writer.insert(Document(title: "a title", text: "a text"), into: test.notes),
          try writer.insert(Document(text: "no title"), into: test.notes),
          try writer.insert(Document(title: "", text: ""), into: test.notes),
        ]
      }
      #expect(test.store.titles == mode)
      let kept: [String?] = mode == .none ? [nil, nil, nil] : ["a title", nil, ""]
      #expect(try test.store.titles(in: test.notes) == kept)
      #expect(try ids.map { id in try test.store.read { try $0.text(of: id) } } == ["a text", "no title", ""])
      let rows = try test.raw().query("SELECT title FROM coffer_record ORDER BY id").rows.map { $0[0] }
      #expect(rows == (mode == .clear ? [.text("a title"), .null, .text("")] : [.null, .null, .null]))
      let info = try DocumentStore.info(at: test.url)
      #expect(info.titles == mode && info.isPadded == isPadded && info.isTest && info.documents == 3)
      let check = try DocumentStore.check(at: test.url)
      #expect(check.isSound, "\(check.problems)")
    }
  }

  @Test func paddingHidesLengths() throws {
    func lengths(_ isPadded: Bool) throws -> Set<SQLiteValue> {
      let test = try TestStore { $0.isPadded = isPadded }
      try test.store.write { writer in
        for count in 100..<104 {
          try writer.insert(Document(text: String(repeating: "x", count: count)), into: test.notes)
        }
      }
      return Set(try test.raw().query("SELECT length(body) FROM coffer_record").rows.map { $0[0] })
    }
    // Text and frame header take 108…111 bytes, which PADMÉ pads to 112.
    #expect(try lengths(true) == [112])
    #expect(try lengths(false) == [108, 109, 110, 111])
  }

  @Test func padsShortTextsToSameLength() throws {
    try withTestStore { test in
      try test.store.write { writer in
        for count in 0...56 {
          try writer.insert(Document(text: String(repeating: "x", count: count)), into: test.notes)
        }
      }
      #expect(try test.raw().query("SELECT DISTINCT length(body) FROM coffer_record").rows.map { $0[0] } == [64])
      #expect(
        try test.raw().query("SELECT DISTINCT length(head) FROM coffer_record").rows.map { $0[0] } == [168])
    }
  }

  @Test func closingRemovesWriteAheadLog() throws {
    let test = try TestStore { $0.journal = .writeAheadLog }
    #expect(try DocumentStore.info(at: test.url).journal == "wal")
    try test.store.write { try $0.insert(Document(title: "t", text: "x"), into: test.notes) }
    try test.store.close()
    #expect(try FileManager.default.contentsOfDirectory(atPath: test.place.url.path) == ["test.coffer"])
    #expect(try test.reopened().titles(in: test.notes) == ["t"])
  }

  @Test func opensWithEveryKindOfSlot() throws {
    let provider: @Sendable ([UInt8]) throws -> Secret = { blob in
      #expect(blob == [1, 2, 3])
      return .text(String(repeating: "p", count: 32))
    }
    let test = try TestStore(keys: [
      .published("primary"), .passphraseFile(PublishedKeys.passphrase), .identity(PublishedKeys.url("identity")),
      .provider(name: "tpm", blob: [1, 2, 3], provider),
    ]) { $0.labels = ["first", "", "third"] }
    let slots = try test.store.keys.list()
    #expect(slots.map(\.kind) == [.keyFile, .passphrase, .recipient, .external(provider: "tpm")])
    #expect(slots.map(\.label) == ["first", "", "third", ""])
    #expect(slots.map(\.slot) == [1, 2, 3, 4])
    #expect(slots[2].detail == (try PublishedKeys.recipient.line))
    let keys: [StoreKey] = [
      .published("primary"), .passphraseFile(PublishedKeys.passphrase), .identity(PublishedKeys.url("identity")),
      .provider(name: "tpm", provider), .keyMaterial { try Secret.readAll(path: PublishedKeys.url("primary").path) },
      .keyMaterial { try Secret.readAll(path: PublishedKeys.passphrase.path) },
    ]
    for (index, key) in keys.enumerated() {
      let store = try test.reopened(key)
      #expect(try store.keys.list().first { $0.opened }?.slot == [1, 2, 3, 4, 1, 2][index])
    }
    expect(.cannotUnlock) { try test.reopened(.provider(name: "other", provider)) }
    try test.expectSound()
  }

  /// A file can't count wrong passphrases, so only the cost per guess limits an attacker.
  @Test func guessingFindsWeakPassphrase() throws {
    let test = try TestStore(keys: [.words("123456")])
    for guess in ["password", "qwerty"] { expect(.cannotUnlock) { try test.reopened(.words(guess)) } }
    try test.reopened(.words("123456")).close()
  }

  @Test func reopensRecipientStoreOnlyWithIdentity() throws {
    let test = try TestStore(keys: [], recipients: [PublishedKeys.recipient])
    let id = try test.store.write { try $0.insert(Document(text: "for them"), into: test.notes) }
    let pin = test.store.pin
    try test.store.close()
    expect(.cannotUnlock) { try test.reopened() }
    var options = OpenOptions.testing
    options.pin = pin
    let store = try test.reopened(.identity(PublishedKeys.url("identity")), options)
    #expect(try store.read { try $0.text(of: id) } == "for them")
  }
}
