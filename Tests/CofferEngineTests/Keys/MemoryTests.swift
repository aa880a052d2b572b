import Coffer
import CofferEngine
import CofferRecords
import CofferSealing
import CofferTestSupport
import Foundation
import Testing

@testable import CofferStoreTestSupport

/// Searches for keys and passphrases in the memory of a process that has closed its store.
struct MemoryTests {
  private static let variable = "COFFER_MEMORY_TEST"
  /// A mask for the bytes of secrets that must not appear in memory.
  private static let mask: UInt8 = 0xA5

  /// Returns random words that don't occur in this program. They mix composed and decomposed characters, and have more
  /// bytes between their ASCII characters than a small String holds.
  private static func words() -> String {
    let parts = [
      "größt", "αβγ", "δεζη", "lo\u{302}\u{323}n", "\u{1112}\u{1161}\u{11AB}", "글", "u\u{308}", "é", "x", " ",
    ]
    return (0..<40).map { _ in parts.randomElement()! }.joined()
  }

  /// Files with a secret for each kind of slot.
  private struct Secrets {
    let place: URL
    var key: URL { place.appending(path: "some.key") }
    var identity: URL { place.appending(path: "some.identity") }
    var passphrase: URL { place.appending(path: "passphrase.txt") }
    var answer: URL { place.appending(path: "answer") }
    /// The masked keys of the store, which the process writes.
    var inner: URL { place.appending(path: "inner") }

    var ways: [StoreKey] {
      let answer = answer.path
      return [
        .keyFile(key), .identity(identity), .passphraseFile(passphrase),
        .provider(name: "vault") { _ in try Secret.readAll(path: answer) },
        .keyMaterial { [path = passphrase.path] in try Secret.readAll(path: path) },
      ]
    }

    var slots: [StoreKey] {
      let answer = answer.path
      return [
        .keyFile(key), .identity(identity), .passphraseFile(passphrase),
        .provider(name: "vault") { _ in try Secret.readAll(path: answer) },
      ]
    }
  }

  /// Only keys and passphrases are in locked memory. A text is an ordinary String.
  @Test(.enabled(if: FileManager.default.fileExists(atPath: "/proc/self/smaps"), "needs /proc"))
  func textsInUseMayReachSwap() throws {
    let test = try TestStore()
    try test.store.write { try $0.insert(Document(text: String(repeating: "text ", count: 1 << 18)), into: test.notes) }
    var text = try test.store.read { try $0.text(of: 1) }
    let address = text.withUTF8 { UInt(bitPattern: $0.baseAddress) }
    let flags = try memoryFlags(at: address)
    #expect(flags.contains("rd") && !flags.contains("lo"))
    withExtendedLifetime(text) {}
  }

  @Test(.slow, .enabled(if: FileManager.default.fileExists(atPath: "/proc/self/mem"), "needs /proc"))
  func closingStoreWipesKeysAndPassphrases() throws {
    let place = try Workplace()
    let secrets = Secrets(place: place.url)
    var needles: [String: [UInt8]] = [:]
    func add(_ name: String, _ bytes: [UInt8]) {
      // Searches both halves separately, because a key schedule may keep them apart.
      needles["\(name), front"] = Array(bytes.prefix(bytes.count / 2))
      needles["\(name), back"] = Array(bytes.suffix(bytes.count / 2))
    }
    func add(line: KeyLine, _ name: String) throws {
      add(name, line.secret.withUnsafeBytes { Array($0) })
      add("the digits of \(name)", Array(try line.line().withUnsafeBytes { Array($0) }.suffix(72)))
    }
    let (key, identity) = (try KeyLine.generate(.key, isTest: true), try KeyLine.generate(.identity, isTest: true))
    try key.write(toNewFile: secrets.key.path)
    try identity.write(toNewFile: secrets.identity.path)
    try add(line: key, "the key")
    try add(line: identity, "the identity")
    let words = Self.words()
    try Data((words + "\n").utf8).write(to: secrets.passphrase)
    add("the passphrase as typed", Array(words.utf8))
    let composed = words.precomposedStringWithCanonicalMapping
    add("the passphrase composed", Array(composed.utf8))
    for (name, form) in [("typed", words), ("composed", composed)] {
      let scalars = form.unicodeScalars.map(\.value)
      add("the scalars of the passphrase \(name)", scalars.withUnsafeBytes { Array($0) })
    }
    let answer = (0..<64).map { _ in UInt8.random(in: .min ... .max) }
    try Data(answer).write(to: secrets.answer)
    add("the provider's answer", answer)

    let process = try AnotherProcess(running: "runsInspectedProcess", environment: [Self.variable: place.url.path])
    try process.waitForStop()
    let lines = try String(contentsOf: secrets.inner, encoding: .utf8).split(separator: "\n")
    for line in lines {
      let parts = line.split(separator: "\t")
      add(String(parts[0]), try #require(Data(base64Encoded: String(parts[1]))).map { $0 ^ Self.mask })
    }
    #expect(lines.count == 9 + 5)
    // Finding the keys of the open store shows that the search works.
    let whileOpen = try process.found(needles)
    #expect(whileOpen.contains("root, front") && whileOpen.contains("2 body, back"), "\(whileOpen)")
    process.goOn()
    try process.waitForStop()
    let whenClosed = try process.found(needles).sorted()
    #expect(whenClosed.isEmpty, "\(whenClosed)")
    process.goOn()
  }

  /// The test above runs this function in a separate process.
  @Test(.enabled(if: ProcessInfo.processInfo.environment[variable] != nil, "a part of another test"))
  func runsInspectedProcess() throws {
    let secrets = Secrets(place: URL(filePath: ProcessInfo.processInfo.environment[Self.variable]!))
    let url = secrets.place.appending(path: "some.coffer")
    var creation = CreateOptions()
    creation.isTest = true
    let store = try DocumentStore.create(at: url, keys: secrets.slots, creation: creation, options: .testing)
    try work(in: store)
    try store.close()
    for key in secrets.ways {
      let store = try DocumentStore.open(at: url, key: key, options: .testing)
      try work(in: store)
      try store.close()
    }
    let last = try DocumentStore.open(at: url, key: .anyOf(secrets.ways), options: .testing)
    var options = RekeyOptions()
    options.isKeysOnly = true
    options.otherKeys = secrets.ways
    try last.rekey(options: options) { _ in }
    // Adds the same key with a different salt.
    try last.keys.replace(with: .keyFile(secrets.key))
    try work(in: last)
    try write(last.engine.session.keys, to: secrets.inner)
    AnotherProcess.stop()
    options.isKeysOnly = false
    options.isResuming = true
    try last.rekey(options: options) { _ in }
    #expect(try last.verify().isSound)
    try last.close()
    #expect(last.isTest && last.pin.description.hasPrefix("coffer-pin-3-"))
    AnotherProcess.stop()
  }

  // MARK: Texts

  private static let activity = "COFFER_MEMORY_ACTIVITY"

  /// The work that decrypts titles and texts, but doesn't give them to the caller or to SQLite.
  enum Activity: String, CaseIterable, Sendable {
    case count, bytes, search, rankedSearch, rekey, quickVerify
  }

  @Test(
    .slow, .enabled(if: FileManager.default.fileExists(atPath: "/proc/self/mem"), "needs /proc"),
    arguments: Activity.allCases)
  func closingStoreWipesTexts(_ activity: Activity) throws {
    let test = try TestStore()
    func words(_ name: String) -> String { "\(name) \(UUID().uuidString.lowercased()) größt 글 " }
    let (title, text, long) = (words("title"), words("text"), words("long"))
    try test.store.write { writer in
      for _ in 0..<3 { try writer.insert(Document(title: title, text: text + text), into: test.notes) }
      try writer.insert(Document(text: String(repeating: long, count: 4000)), into: test.notes)
    }
    // A rekey makes indexes again, which leaves texts in SQLite's freed memory.
    if activity == .rankedSearch { try test.store.index(test.notes, .words()) }
    try test.store.close()
    let needles = ["title": title, "text": text, "long": long].mapValues { Array($0.utf8.prefix(40)) }
    let process = try AnotherProcess(
      running: "runsReadingProcess", environment: [Self.variable: test.url.path, Self.activity: activity.rawValue])
    try process.waitForStop()
    let found = try process.found(needles).sorted()
    #expect(found.isEmpty, "\(found)")
    process.goOn()
  }

  /// The test above runs this function in a separate process.
  @Test(.enabled(if: ProcessInfo.processInfo.environment[activity] != nil, "a part of another test"))
  func runsReadingProcess() throws {
    let environment = ProcessInfo.processInfo.environment
    let url = URL(filePath: environment[Self.variable]!)
    let store = try DocumentStore.open(at: url, key: .published("primary"), options: .testing)
    let notes = DocumentCollection("notes")
    switch try #require(Activity(rawValue: environment[Self.activity]!)) {
    case .count: #expect(try store.read { try $0.count(in: notes) } == 4)
    case .bytes: #expect(try store.read { try $0.withText(of: 4) { $0.utf8.count } } > 100_000)
    case .search: #expect(try store.read { try $0.search(for: .text("missing words"), in: notes) }.isEmpty)
    case .rankedSearch: #expect(try store.read { try $0.search(ranked: "missing", in: notes) }.matches.isEmpty)
    case .rekey: try store.rekey { _ in }
    case .quickVerify: #expect(try store.verify(.quick).isSound)
    }
    try store.close()
    _ = Self.overwriteStack(4000)
    AnotherProcess.stop()
  }

  /// Overwrites the unused stack, where a debug build leaves the parts of a text that it has compared.
  @inline(never)
  private static func overwriteStack(_ depth: Int) -> Int {
    var words = (depth, depth, depth, depth, depth, depth, depth, depth)
    _ = withUnsafeMutableBytes(of: &words) { $0.initializeMemory(as: UInt8.self, repeating: 0xAA) }
    return depth == 0 ? words.0 : words.7 &+ overwriteStack(depth - 1)
  }

  private func work(in store: DocumentStore) throws {
    let notes = DocumentCollection("notes")
    try store.write { writer in
      for number in 0..<20 { try writer.insert(Document(title: "\(number)", text: "text"), into: notes) }
    }
    #expect(try store.read { try $0.headers(in: notes).count } > 0)
    _ = try store.anchor()
    _ = try store.keys.list()
  }

  /// Writes every key of the session with a mask, to avoid copying unmasked keys out of locked memory.
  private func write(_ keys: SessionKeys, to file: URL) throws {
    var named: [(String, Secret)] = [
      ("root", keys.root.secret), ("state", keys.stateKey), ("anchor", keys.anchorKey),
      ("header MAC", keys.headerMACKey),
    ]
    for epoch in keys.keyring.epochs {
      named += [
        ("\(epoch.epoch) body", epoch.body), ("\(epoch.epoch) head", epoch.head), ("\(epoch.epoch) name", epoch.name),
        ("\(epoch.epoch) lookup", epoch.lookup), ("\(epoch.epoch) set", epoch.set),
      ]
    }
    let lines = named.map { name, secret in
      "\(name)\t\(Data(secret.withUnsafeBytes { bytes in bytes.map { $0 ^ Self.mask } }).base64EncodedString())\n"
    }
    try Data(lines.joined().utf8).write(to: file)
  }
}
