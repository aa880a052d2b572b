import Coffer
import CofferEngine
import CofferRecords
import CofferSealing
import CofferTestSupport
import Foundation
import Testing

@testable import CofferStoreTestSupport

/// Almost correct keys, which all fail with the same error and leave the file unchanged.
struct WrongKeyTests: OpeningSuite {
  let place: Workplace
  let url: URL

  init() throws {
    place = try Workplace()
    url = place.file("some.coffer")
  }

  /// Returns the result of opening the store with this key.
  private func answer(_ key: StoreKey) -> String {
    do throws(StoreError) {
      try DocumentStore.open(at: url, key: key, options: .testing).close()
      return "opened"
    } catch {
      return "\(error.code): \(error)"
    }
  }

  private static let wrong =
    "cannotUnlock: no slot opens with this key (\(ErrorHint.Action.info.rawValue) lists the slots)"

  /// Expects the same error for each key, without changes to the file.
  private func expectWrong(_ keys: [(name: String, key: StoreKey)], _ location: SourceLocation = #_sourceLocation)
    throws
  {
    let before = try Data(contentsOf: url)
    for (name, key) in keys {
      let answer = answer(key)
      #expect(answer == Self.wrong, "\(name)", sourceLocation: location)
    }
    #expect(try Data(contentsOf: url) == before, sourceLocation: location)
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: place.url.path) == [url.lastPathComponent],
      sourceLocation: location)
  }

  private func neighbors(_ secret: Secret) -> [Secret] {
    (0..<secret.count * 8).map { bit in
      Secret(byteCount: secret.count) { memory in
        secret.withUnsafeBytes { memory.copyMemory(from: $0) }
        memory[bit / 8] ^= 1 << (bit % 8)
        return memory.count
      }
    }
  }

  private func neighbors(of line: KeyLine) -> [(String, StoreKey)] {
    neighbors(line.secret).enumerated().map { bit, secret in
      let wrong = KeyLine(kind: line.kind, isTest: line.isTest, secret: secret)
      return ("bit \(bit)", .keyMaterial { try wrong.line() })
    }
  }

  @Test func rejectsKeysDifferingByOneBit() throws {
    try makeStore(keys: [.published("primary")])
    try expectWrong(neighbors(of: KeyLine.load(path: PublishedKeys.url("primary").path)))
  }

  /// X25519 ignores five bits of a secret (RFC 7748, "decodeScalar25519"), so flipping them doesn't change the key.
  @Test func rejectsIdentitiesDifferingByOneBit() throws {
    try makeStore(keys: [], recipients: [PublishedKeys.recipient])
    let all = neighbors(of: try KeyLine.load(path: PublishedKeys.url("identity").path))
    let idle = [0, 1, 2, 254, 255]
    try expectWrong(all.enumerated().filter { !idle.contains($0.offset) }.map(\.element))
    for bit in idle { #expect(answer(all[bit].1) == "opened", "bit \(bit)") }
  }

  @Test(.slow) func rejectsSimilarPassphrases() throws {
    let words = "größte Wörter, ſeven ﬁne ones: \u{1112}\u{1161}\u{11AB}gul & Ω"
    try makeStore(keys: [.words(words)])
    var wrong: [(String, StoreKey)] = neighbors(.text(words)).enumerated().map { bit, secret in
      ("bit \(bit)", .passphrase { secret })
    }
    let bytes = Array(words.utf8)
    wrong += (0..<bytes.count).map { count in
      ("first \(count) bytes", .passphrase { bytes[..<count].withUnsafeBytes { Secret(copying: $0) } })
    }
    for (name, text) in [
      ("a space in front", " " + words), ("a space behind", words + " "),
      ("upper case", words.uppercased()), ("lower case", words.lowercased()), ("twice", words + words),
      ("compatibility form", words.precomposedStringWithCompatibilityMapping),
      ("decomposed compatibility form", words.decomposedStringWithCompatibilityMapping),
      ("a line end", words + "\n"), ("a line end of two", words + "\r\n"), ("U+0000", words + "\0"),
      ("too long", String(repeating: words, count: 1000)), ("empty", ""),
    ] {
      wrong.append((name, .words(text)))
    }
    for (name, text) in [
      ("two line ends", words + "\n\n"), ("two line ends of two", words + "\r\n\r\n"),
      ("a line end in front", "\n" + words),
      ("nothing but a line end", "\n"), ("nothing", ""), ("a carriage return", words + "\r"),
    ] {
      let file = place.url.deletingLastPathComponent().appending(path: "\(place.url.lastPathComponent)-\(name)")
      try Data(text.utf8).write(to: file)
      defer { try? FileManager.default.removeItem(at: file) }
      wrong.append(("a file with \(name)", .keyMaterial { .text(text) }))
      #expect(answer(.passphraseFile(file)) == Self.wrong, "\(name)")
    }
    try expectWrong(wrong)
    // Canonically equivalent passphrases are equal, because keyboards encode "ö" differently.
    for same in [words, words.decomposedStringWithCanonicalMapping, words.precomposedStringWithCanonicalMapping] {
      #expect(answer(.words(same)) == "opened")
      #expect(answer(.keyMaterial { .text(same + "\n") }) == "opened")
    }
  }

  @Test func rejectsSecretsOfOtherKinds() throws {
    try makeStore(keys: [.published("primary"), .words("words")], recipients: [PublishedKeys.recipient])
    let other = try KeyLine.generate(.identity, isTest: true)
    let key = try KeyLine.load(path: PublishedKeys.url("primary").path)
    let asIdentity = KeyLine(kind: .identity, isTest: true, secret: key.secret)
    try expectWrong([
      ("another identity", .keyMaterial { try other.line() }),
      ("the key as an identity", .keyMaterial { try asIdentity.line() }),
      ("a provider", .provider(name: "vault") { _ in key.secret }),
    ])
    try expectRefused(.keyFileInvalid, key: .passphrase { try key.line() })
  }

  /// If the options specify a slot, only this slot is tried.
  @Test func rejectsSecretOfOtherSlot() throws {
    try makeStore(keys: [.words("one"), .words("two"), .published("primary")])
    for (slot, key) in [(1, "two"), (2, "one"), (3, "one")] {
      var options = OpenOptions.testing
      options.slot = slot
      try expectRefused(.cannotUnlock, key: .words(key), options: options)
      try expectRefused(
        slot == 3 ? .keyFileInvalid : .cannotUnlock,
        key: slot == 3 ? .identity(PublishedKeys.url("primary")) : .published("primary"), options: options)
    }
  }

  // MARK: Keys of the wrong kind

  @Test func rejectsRecipientAsKey() throws {
    try makeStore()
    let recipients = PublishedKeys.folder.appending(path: "recipient.txt")
    for key in [
      StoreKey.keyFile(recipients), .identity(recipients), .keyMaterial { try Secret.readAll(path: recipients.path) },
    ] {
      #expect(answer(key).contains("keyFileInvalid") && answer(key).contains("recipient"))
      try expectRefused(.keyFileInvalid, key: key)
    }
    let store = try DocumentStore.open(at: url, key: .published("primary"), options: .testing)
    for key in [
      StoreKey.keyFile(recipients), .identity(recipients), .keyMaterial { .text(try PublishedKeys.recipient.line) },
    ] {
      expect(.keyFileInvalid) { try store.keys.add(key) }
    }
    #expect(try store.keys.list().count == 1)
  }

  @Test func rejectsKeyAsIdentity() throws {
    try makeStore()
    try expectRefused(.keyFileInvalid, key: .identity(PublishedKeys.url("primary")))
    #expect(answer(.identity(PublishedKeys.url("primary"))).contains("primary.key holds a key, not an identity"))
  }

  @Test func hidesSecretPassedAsRecipient() throws {
    try makeStore()
    let store = try DocumentStore.open(at: url, key: .published("primary"), options: .testing)
    for name in ["primary", "identity"] {
      let text = try String(contentsOf: PublishedKeys.url(name), encoding: .utf8)
      let line = try #require(text.split(separator: "\n").last)
      do throws(StoreError) {
        try store.keys.add(Recipient(String(line)))
        Issue.record("it was taken")
      } catch {
        #expect(error.code == .keyFileInvalid && !"\(error)".contains(line.suffix(72).prefix(8)))
        #expect("\(error)".contains(name == "primary" ? "this is a key" : "this is an identity"))
      }
    }
  }

  @Test(arguments: ["primary", "identity"])
  func reportsWrongChecksum(_ name: String) throws {
    try makeStore(recipients: [PublishedKeys.recipient])
    let text = try String(contentsOf: PublishedKeys.url(name), encoding: .utf8)
    let wrong = text.replacing(/-1-./) { $0.output.hasSuffix("0") ? "-1-1" : "-1-0" }
    let kind = name == "primary" ? "a key" : "an identity"
    #expect(answer(.keyMaterial { .text(wrong) }).contains("the checksum of \(kind) does not fit"))
    try expectRefused(.keyFileInvalid, key: .keyMaterial { .text(wrong) })
  }
}
