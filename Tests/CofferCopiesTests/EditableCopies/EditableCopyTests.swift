import Coffer
import CofferRecords
import CofferSQLite
import Foundation
import Synchronization
import Testing

@testable import CofferEngine
@testable import CofferStoreTestSupport

/// Editable copies of stores shipped with an app.
struct EditableCopyTests {
  static let notes = DocumentCollection("notes")
  static let step: Int64 = 1 << 40

  /// Returns an original with two collections, keys, attributes, parents and gaps in its IDs.
  private func original(_ change: (inout CreateOptions) -> Void = { _ in }) throws -> TestStore {
    let test = try TestStore(change)
    try test.store.write { writer in
      for number in 1...8 {
        var document = Document(title: "Title \(number)", text: "Text \(number)", key: DocumentKey("k-\(number)"))
        document.attributes = ["number": .number(Double(number))]
        try writer.insert(document, into: Self.notes, at: .top)
      }
      let child = Document(title: "Child", text: String(repeating: "long ", count: 5000), parent: DocumentID(3))
      try writer.insert(child, into: Self.notes)
      try writer.insert(Document(title: nil, text: #"{"price":1}"#), into: DocumentCollection("prices"))
      try writer.delete(DocumentID(4))
      try writer.delete(DocumentID(3))
    }
    return test
  }

  private func open(
    _ test: TestStore, _ name: String = "copy.coffer", _ choice: DocumentStore.NewerOriginal = .keep,
    at original: URL? = nil
  ) throws -> DocumentStore {
    try DocumentStore.openEditableCopy(
      of: original ?? test.url, at: test.place.file(name), key: .published("primary"), onNewerOriginal: choice,
      options: .testing)
  }

  /// The identities of a store's documents, and the replicas and counters that wrote their parts.
  private func histories(_ store: DocumentStore) throws -> [Int64: [String]] {
    try store.engine.reading { transaction throws(StoreError) in
      var histories: [Int64: [String]] = [:]
      let replicas = try transaction.replicas
      _ = try transaction.sumOfRows { row, opener throws(StoreError) in
        let history = DocumentHistory(try opener.openHead(row))
        let dots = history.decodedDots
        histories[row.fields.id] =
          ["\(history.uid)", "\(history.parent as Any)"]
          + (dots.parts + [dots.stamp]).map { "\(replicas[$0.replica].identity):\($0.counter)" }
      }
      return histories
    }
  }

  private func nextID(_ store: DocumentStore) throws -> Int64 {
    try store.engine.reading { transaction throws(StoreError) in Int64(transaction.state.nextID) }
  }

  /// The IDs that a store gives to new documents.
  private func ownIDs(_ store: DocumentStore) throws -> Range<UInt64> {
    try store.replicas().ownReplica.ids
  }

  @Test(arguments: CreateOptions.Journal.allCases)
  func createsCompleteCopyWithNewIdentity(_ journal: CreateOptions.Journal) throws {
    let test = try original { $0.journal = journal }
    let copy = try open(test)
    #expect(copy.opening == .created && copy.original == .copied)
    #expect(try copy.everything() == test.store.everything())
    #expect(try histories(copy) == histories(test.store))
    #expect(copy.storeID != test.store.storeID)
    let (mine, theirs) = (try copy.replicas(), try test.store.replicas())
    let state = try test.store.engine.reading { transaction throws(StoreError) in transaction.state }
    let known = try #require(mine.number(of: theirs.ownReplica.identity))
    #expect(known != mine.own && mine[known].counter == state.counter && !mine[known].marks.isEmpty)
    try copy.read { reader throws in
      #expect(try reader.header(of: DocumentID(9)).parent == DocumentID(3))
      #expect(try reader.collections().map(\.name) == ["notes", "prices"])
    }
    #expect(try copy.verify().isSound)
    // The copy doesn't share ciphertext with the original.
    try test.expectSound()
    #expect(try open(test).original == .unchanged)
  }

  @Test func assignsIDsOfOwnRange() throws {
    let test = try original()
    let copy = try open(test)
    let own = try ownIDs(copy)
    let first = Int64(own.lowerBound)
    let id = try copy.write { try $0.insert(Document(text: "mine"), into: Self.notes) }
    #expect(id.rawValue == first && first >= Self.step)
    // Restarted IDs also begin at the copy's first ID.
    try copy.write { writer in
      try writer.delete(id)
      try writer.transaction.writer.restartIDs()
    }
    #expect(try copy.write { try $0.insert(Document(text: "again"), into: Self.notes) } == id)
    let emptied = try DocumentStore.open(
      at: test.place.file("copy.coffer"), key: .published("primary"), startingAfresh: true, options: .testing)
    #expect(try emptied.write { try $0.insert(Document(text: "afresh"), into: Self.notes) }.rawValue == first)
    // A copy of the copy has another range.
    let second = try DocumentStore.openEditableCopy(
      of: test.place.file("copy.coffer"), at: test.place.file("second.coffer"), key: .published("primary"),
      options: .testing)
    let next = try second.write { try $0.insert(Document(text: "further"), into: Self.notes) }
    #expect(try UInt64(next.rawValue) == ownIDs(second).lowerBound && !own.contains(UInt64(next.rawValue)))
  }

  /// The IDs of the copy's documents are above those of the original.
  @Test func originalKeepsOwnRangeAfterRekey() throws {
    let test = try original()
    let copy = try open(test)
    let theirs = try copy.write { try $0.insert(Document(text: "theirs"), into: Self.notes) }
    _ = try test.store.merge(copy)
    let next = try nextID(test.store)
    func insert() throws -> Int64 {
      try test.store.write { try $0.insert(Document(text: "mine"), into: Self.notes).rawValue }
    }
    let deleted = try test.store.write { try $0.deleteUndoably([theirs]) }
    try test.store.write { try $0.restore(deleted) }
    #expect(try insert() == next)
    var options = RekeyOptions()
    options.isKeysOnly = true
    _ = try test.store.rekey(options: options)
    // Old keys can't have sealed a row there.
    #expect(try insert() == theirs.rawValue + 1)
    #expect(try insert() == theirs.rawValue + 2)
    _ = try test.store.rekey(options: .resuming)
    #expect(try insert() == next + 1)
    #expect(try test.store.verify().isSound)
  }

  @Test func restoringDocumentOfCopyKeepsOwnRange() throws {
    let test = try original()
    let copy = try open(test)
    let theirs = try copy.write { try $0.insert(Document(text: "theirs"), into: Self.notes) }
    let next = try nextID(test.store)
    _ = try test.store.restore([theirs], from: copy)
    #expect(try test.store.read { try $0.text(of: theirs) } == "theirs")
    #expect(try nextID(test.store) == next)
  }

  @Test func keepsOrReplacesCopyOfNewerOriginal() throws {
    let test = try original()
    let copy = try open(test)
    try copy.write { writer in
      try writer.insert(Document(text: "mine"), into: Self.notes)
      try writer.update(DocumentID(1)) { $0.text = "edited" }
    }
    let mine = try copy.everything()
    try test.store.write { try $0.insert(Document(title: "New", text: "new"), into: Self.notes, at: .top) }
    let kept = try open(test)
    #expect(kept.opening == .opened && kept.original == .newer)
    #expect(try kept.everything() == mine)
    let former = try kept.replicas().ownReplica.identity
    let replaced = try open(test, "copy.coffer", .replace)
    #expect(replaced.original == .replaced)
    #expect(try replaced.everything() == test.store.everything())
    #expect(try histories(replaced) == histories(test.store))
    // The copy is another replica now, since its own changes are lost.
    #expect(try replaced.replicas().ownReplica.identity != former)
    #expect(try replaced.verify().isSound)
    #expect(try open(test).original == .unchanged)
  }

  /// The IDs of another copy's documents are above the copy's own.
  @Test func replacedCopyReservesOwnIDs() throws {
    let test = try original()
    let names = try ["one.coffer", "two.coffer"].sorted { one, two in
      try ownIDs(open(test, one)).lowerBound < ownIDs(open(test, two)).lowerBound
    }
    let (copy, other) = (try open(test, names[0]), try open(test, names[1]))
    for store in [copy, other] { _ = try store.write { try $0.insert(Document(text: "mine"), into: Self.notes) } }
    _ = try test.store.merge(other)
    _ = try copy.merge(test.store)
    let next = try nextID(copy)
    try test.store.write { _ = try $0.insert(Document(text: "newer"), into: Self.notes) }
    let replaced = try open(test, names[0], .replace)
    #expect(replaced.original == .replaced)
    #expect(try nextID(replaced) == next)
    #expect(try replaced.verify().isSound)
  }

  @Test func rejectsMismatchedOriginals() throws {
    let test = try original()
    let places = (try Workplace(), try Workplace())
    let (older, fork) = (try places.0.copy(test.url), try places.1.copy(test.url))
    try test.store.write { try $0.insert(Document(text: "one more"), into: Self.notes) }
    let copy = try open(test)
    let mine = try copy.everything()
    let other = try original()
    expect(.invalidArgument) { try open(test, at: other.url) }
    expect(.rolledBack) { try open(test, at: older) }
    let forked = try DocumentStore.open(at: fork, key: .published("primary"), options: .testing)
    try forked.write { try $0.insert(Document(text: "other"), into: Self.notes) }
    expect(.anchorMismatch) { try open(test, at: fork) }
    try forked.write { try $0.insert(Document(text: "another"), into: Self.notes) }
    expect(.anchorMismatch) { try open(test, at: fork) }
    // An export isn't an editable copy of its source.
    let export = test.place.file("export.coffer")
    try test.store.copy(to: export, keys: [.published("primary")])
    expect(.invalidArgument) { try open(test, "export.coffer") }
    #expect(
      try DocumentStore.open(at: test.place.file("copy.coffer"), key: .published("primary"), options: .testing)
        .everything() == mine)

    _ = try test.store.rekey(to: [.published("next")]) { _ in }
    func openRekeyed(
      pin: StorePin? = nil, _ choice: DocumentStore.NewerOriginal = .keep
    ) throws -> DocumentStore {
      try DocumentStore.openEditableCopy(
        of: test.url, at: test.place.file("copy.coffer"), key: .published("primary"),
        originalKey: .published("next"), originalPin: pin, onNewerOriginal: choice, options: .testing)
    }
    #expect(try openRekeyed(pin: test.store.pin, .replace).original == .replaced)
    #expect(try openRekeyed().original == .unchanged)
  }

  /// The read-only bundle prevents creating, changing or locking files.
  @Test(arguments: CreateOptions.Journal.allCases)
  func readsOriginalInReadOnlyFolder(_ journal: CreateOptions.Journal) throws {
    let test = try original { $0.journal = journal }
    let texts = try test.store.everything()
    try test.store.close()
    let bundle = test.place.file("bundle")
    try FileManager.default.createDirectory(at: bundle, withIntermediateDirectories: false)
    let shipped = bundle.appending(path: "data.coffer")
    try FileManager.default.copyItem(at: test.url, to: shipped)
    let bytes = try Data(contentsOf: shipped)
    chmod(shipped.path, 0o444)
    chmod(bundle.path, 0o555)
    defer { chmod(bundle.path, 0o755) }
    for _ in 0..<2 { #expect(try open(test, at: shipped).everything() == texts) }
    #expect(try Data(contentsOf: shipped) == bytes)
    #expect(try FileManager.default.contentsOfDirectory(atPath: bundle.path) == ["data.coffer"])
  }

  /// Reads the journal or log of a killed writer without changing any file.
  @Test(arguments: CreateOptions.Journal.allCases)
  func readsOriginalWithJournalOrLog(_ journal: CreateOptions.Journal) throws {
    let test = try original { $0.journal = journal }
    let texts = try test.store.everything()
    let bundle = test.place.file("bundle")
    try FileManager.default.createDirectory(at: bundle, withIntermediateDirectories: false)
    let shipped = bundle.appending(path: "data.coffer")
    if journal == .writeAheadLog {
      for suffix in ["", "-wal"] {
        try FileManager.default.copyItem(atPath: test.url.path + suffix, toPath: shipped.path + suffix)
      }
    } else {
      // Copy an unfinished transaction, with its journal on disk and some of its pages in the file.
      let raw = try test.raw()
      try raw.execute("PRAGMA cache_size = 2")
      try raw.execute("BEGIN IMMEDIATE")
      try raw.execute("UPDATE coffer_record SET pos = CAST(pos || x'01' AS BLOB)")
      try raw.execute("UPDATE coffer_body SET ct = zeroblob(length(ct))")
      for suffix in ["", "-journal"] {
        try FileManager.default.copyItem(atPath: test.url.path + suffix, toPath: shipped.path + suffix)
      }
      try raw.execute("ROLLBACK")
    }
    func files() throws -> [String: Data] {
      var files: [String: Data] = [:]
      for name in try FileManager.default.contentsOfDirectory(atPath: bundle.path) {
        files[name] = try Data(contentsOf: bundle.appending(path: name))
      }
      return files
    }
    let before = try files()
    #expect(before.count == 2)
    #expect(try open(test, at: shipped).everything() == texts)
    #expect(try files() == before)
  }

  @Test func rejectsDamagedOriginal() throws {
    let test = try original()
    let raw = try test.raw()
    try raw.execute("DELETE FROM coffer_record WHERE id = 5")
    expect(.setMismatch) { try open(test) }
    #expect(!FileManager.default.fileExists(atPath: test.place.file("copy.coffer").path))
    #expect(try FileManager.default.contentsOfDirectory(atPath: test.place.url.path) == ["test.coffer"])
  }

  /// The copy has IDs of its own, even if its original has none left.
  @Test func copiesStoreWithGreatestID() throws {
    let test = try TestStore()
    try test.store.write { writer in
      try writer.insert(Document(text: "x"), into: Self.notes, id: DocumentID(Int64.max - 1))
    }
    let copy = try open(test)
    let id = try copy.write { try $0.insert(Document(text: "mine"), into: Self.notes) }
    #expect(try ownIDs(copy).contains(UInt64(id.rawValue)))
  }

  @Test func concurrentProcessOpensExistingCopy() throws {
    let test = try original()
    let url = test.place.file("copy.coffer")
    // Create the copy after the check for its name and before the other copy is complete.
    let other = try DocumentStore.openEditableCopy(
      of: test.url, at: url, key: .published("primary"), options: .testing,
      progress: { step in
        guard step.phase == .beginning else { return }
        let first = try open(test)
        try first.write { try $0.insert(Document(text: "first"), into: Self.notes) }
      })
    #expect(other.opening == .opened && other.original == .unchanged)
    #expect(try other.everything()["notes"]?.last?.text == "first")
  }

  @Test func requestsAndDiscardsPassphrase() throws {
    let test = try TestStore(keys: [.words("right words")])
    let asked = Mutex(0)
    let key = StoreKey.passphrase {
      asked.withLock { $0 += 1 }
      return .text("right words")
    }
    let url = test.place.file("copy.coffer")
    for number in 1...2 {
      let copy = try DocumentStore.openEditableCopy(of: test.url, at: url, key: key, options: .testing)
      #expect(asked.withLock { $0 } == 2 * number - 1)
      // The open store requests the passphrase whenever necessary.
      guard case .passphrase(let ask) = copy.engine.holder.withLock({ $0.key }).ways[0] else {
        Issue.record("no passphrase")
        return
      }
      _ = try ask()
      #expect(asked.withLock { $0 } == 2 * number)
      try copy.close()
    }
  }
}
