import Coffer
import CofferDocuments
import CofferEngine
import CofferRecords
import CofferSQLite
import CofferSealing
import CofferTestSupport
import Foundation
import Testing

@testable import CofferStoreTestSupport

/// Exports to a new store, with their included and excluded contents.
struct StoreExportTests {
  private let place: Workplace
  private let target: URL

  init() throws {
    place = try Workplace()
    target = place.file("target.coffer")
  }

  private func open(_ key: StoreKey = .published("next")) throws -> DocumentStore {
    try DocumentStore.open(at: target, key: key, options: .testing)
  }

  private func withFilledStore(
    _ change: (inout CreateOptions) -> Void = { _ in }, _ body: (TestStore) throws -> Void
  ) throws {
    try withTestStore(change) { test in
      try test.fillForRekey()
      try body(test)
    }
  }

  // MARK: Failed exports

  @Test func duplicateKeyStopsExport() throws {
    let test = try TestStore()
    let ids = try test.store.write { writer in
      try ["a", "b"].map { try writer.insert(Document(text: $0, key: DocumentKey($0)), into: test.notes) }
    }
    // In a file with a replayed row, the blind index distinguishes the documents, but their heads have the same key.
    try test.store.write { writer in
      try Array("a".utf8).withBytes { key throws(StoreError) in
        try writer.transaction.writer.rewrite(ids[1], changing: [], [], as: .head) { content, _ throws(StoreError) in
          content.key = key
        }
      }
    }
    let error = try #require(throws: StoreError.self) {
      try test.store.copy(to: target, keys: [.published("next")])
    }
    #expect(error.code == .damaged && error.documentID == ids[1], "\(error)")
    #expect(place.names.isEmpty)
  }

  @Test func preservesExistingFile() throws {
    try withFilledStore { test in
      try Data("mine".utf8).write(to: target)
      expect(.alreadyExists) { try test.store.copy(to: target, keys: [.published("next")]) }
      #expect(try Data(contentsOf: target) == Data("mine".utf8))
      #expect(place.names == ["target.coffer"])
    }
  }

  @Test func rejectsExportOntoSource() throws {
    try withFilledStore { test in
      let before = try Data(contentsOf: test.url)
      expect(.alreadyExists) { try test.store.copy(to: test.url, keys: [.published("next")], replacing: true) }
      #expect(try Data(contentsOf: test.url) == before)
    }
  }

  @Test(arguments: ["-journal", "-wal"])
  func rejectsTargetWithLeftoverJournal(_ suffix: String) throws {
    try withFilledStore { test in
      try Data("left behind".utf8).write(to: place.file("target.coffer\(suffix)"))
      expect(.alreadyExists) { try test.store.copy(to: target, keys: [.published("next")]) }
      expect(.alreadyExists) { try DocumentStore.create(at: target, keys: [.published("next")], options: .testing) }
      #expect(!FileManager.default.fileExists(atPath: target.path))
    }
  }

  @Test func reportsMissingDocumentBeforePrompt() throws {
    try withFilledStore { test in
      let asked = StoreKey.passphrase { throw Interruption() }
      expect(.noSuchDocument) { try test.store.copy(.documents([1, 5]), to: target, keys: [asked]) }
      #expect(place.names == [])
      let report = try test.store.copy(
        .collections([DocumentCollection("none")]), to: target, keys: [.published("next")])
      #expect(report.documents == 0)
    }
  }

  @Test func requiresKey() throws {
    try withFilledStore { test in expect(.keyNeeded) { try test.store.copy(to: target, keys: []) } }
  }

  @Test func damagedDocumentStopsExport() throws {
    let test = try TestStore()
    try test.fillForRekey()
    try test.store.close()
    let database = try test.raw()
    try database.execute("UPDATE coffer_record SET body = zeroblob(length(body)) WHERE id = 12")
    try database.close()
    let store = try test.reopened()
    do {
      try store.copy(to: target, keys: [.published("next")])
      Issue.record("nothing was thrown")
    } catch let error as StoreError {
      #expect(error.code == .damaged && error.documentID == 12)
    }
    #expect(place.names == [])
    // Sound documents can still be exported.
    #expect(try store.copy(.documents([11, 13]), to: target, keys: [.published("next")]).documents == 2)
  }

  @Test func cancelingExportRemovesTarget() throws {
    try withFilledStore { test in
      for stop in [0, 1] {
        var calls = 0
        #expect(throws: Interruption(number: stop)) {
          try test.store.copy(to: target, keys: [.published("next")]) { _ in
            if calls == stop { throw Interruption(number: stop) }
            calls += 1
          }
        }
        #expect(place.names == [])
      }
    }
  }

  // MARK: Exported content

  @Test(arguments: CreateOptions.Titles.allCases)
  func exportsWholeStoreUnchanged(_ mode: CreateOptions.Titles) throws {
    try withFilledStore({ $0.titles = mode }) { test in
      var seen: [WorkProgress] = []
      let report = try test.store.copy(to: target, keys: [.published("next")]) { seen.append($0) }
      #expect(report.documents == 29 && seen.first?.done == 0 && seen.last?.done == 29 && seen.last?.total == 29)
      #expect(report.isComplete && report.expected == 29 && report.setMatches == true && report.leftOut == [])
      let copy = try open()
      #expect(try copy.inOrder() == (try test.store.inOrder()))
      #expect(try copy.read { try $0.collections() } == (try test.store.read { try $0.collections() }))
      #expect(copy.titles == mode && copy.pin == report.pin && copy.storeID == report.storeID)
      #expect(copy.storeID != test.store.storeID)
      let key = try copy.read { try $0.id(forKey: DocumentKey("KEY 6"), in: DocumentCollection("folded")) }
      #expect(key == 6)
      #expect(try copy.verify().isSound)
      try copy.engine.reading { transaction throws(StoreError) in
        // The copy has nothing in common with its source.
        let (own, source) = (try transaction.replicas, try test.store.replicas())
        #expect(own.entries.count == 1 && source.number(of: own.ownReplica.identity) == nil)
      }
      #expect(try copy.write { try $0.insert(Document(text: "new"), into: test.notes) } == 31)
      try copy.close()
      #expect(try DocumentStore.check(at: target).problems == [])
    }
  }

  @Test func exportsEmptyCollections() throws {
    try withTestStore { test in
      try test.store.write { _ = try $0.create(DocumentCollection("empty"), titleRule: .derived, foldsKeys: true) }
      try test.store.copy(to: target, keys: [.published("next")])
      let found = try open().read { try $0.collections() }
      #expect(found.map(\.name) == ["empty"] && found[0].foldsKeys && found[0].titleRule == .derived)
    }
  }

  @Test func exportsOnlySelectedCollection() throws {
    try withFilledStore { test in
      try test.store.copy(.collections([test.notes]), to: target, keys: [.published("next")])
      let copy = try open()
      #expect(try copy.inOrder() == ["notes": try test.store.inOrder()["notes"]])
      // The new store continues from its own highest ID, not the source's.
      #expect(try copy.write { try $0.insert(Document(text: "new"), into: test.notes) } == 30)
    }
  }

  @Test func dropsAndCountsExcludedParents() throws {
    try withFilledStore { test in
      let report = try test.store.copy(.documents([6, 9, 12, 9]), to: target, keys: [.published("next")])
      #expect(report.documents == 3 && report.parentsDropped == 1 && report.isComplete && report.setMatches == nil)
      let headers = try open().read { try $0.headers(in: DocumentCollection("folded")) }
      #expect(headers.first { $0.id == 6 }?.parent == nil)
      #expect(headers.first { $0.id == 9 }?.parent == 6 && headers.first { $0.id == 12 }?.parent == 9)
    }
  }

  @Test func appliesOwnCreateOptions() throws {
    try withFilledStore({ $0.titles = .clear }) { test in
      var creation = CreateOptions()
      creation.titles = .sealed
      creation.isPadded = false
      creation.journal = .writeAheadLog
      creation.labels = ["customer"]
      try test.store.copy(to: target, keys: [.published("next")], creation: creation)
      let info = try DocumentStore.info(at: target)
      #expect(info.titles == .sealed && !info.isPadded && info.journal == "wal" && info.slots[0].label == "customer")
      let copy = try open()
      #expect(try copy.titles(in: test.notes) == (try test.store.titles(in: test.notes)))
      try copy.close()
      #expect(place.names == ["target.coffer"])
      #expect(try Data(contentsOf: target).range(of: Data("title 7".utf8)) == nil)
    }
  }

  @Test func replacesExistingFileOnRequest() throws {
    try withFilledStore { test in
      try test.store.copy(.documents([1]), to: target, keys: [.published("primary")])
      try test.store.copy(.documents([2]), to: target, keys: [.published("next")], replacing: true)
      #expect(try open().read { try $0.text(of: 2) }.hasPrefix("2 "))
      #expect(place.names == ["target.coffer"])
    }
  }

  @Test func exportsDuringUnfinishedRekey() throws {
    try withTestStore { test in
      try test.fillForRekey()
      var calls = 0
      expect(.cancelled) {
        try test.store.rekey(options: .batched) { _ in
          calls += 1
          if calls == 3 { throw Interruption() }
        }
      }
      #expect(try !test.store.rekeyStatus().isFinished)
      try test.store.copy(to: target, keys: [.published("next")])
      #expect(try open().inOrder() == (try test.store.inOrder()))
      #expect(try test.store.rekey(options: .resuming) { _ in }.isFinished)
    }
  }

  // MARK: Excluded content

  /// Searches the target for any 16 consecutive bytes that are secret or encrypted in the source.
  @Test func reencryptsAllSourceBytes() throws {
    try withFilledStore { test in
      try test.store.copy(to: target, keys: [.published("next")])
      var windows: Set<Data> = []
      func add(_ bytes: [UInt8]) {
        guard bytes.count >= 16 else { return }
        for start in 0...bytes.count - 16 { windows.insert(Data(bytes[start..<start + 16])) }
      }
      let keys = try test.store.engine.session.keys
      keys.root.secret.withUnsafeBytes { add(Array($0)) }
      for epoch in keys.keyring.epochs {
        for key in [epoch.body, epoch.head, epoch.name, epoch.lookup, epoch.set] {
          key.withUnsafeBytes { add(Array($0)) }
        }
      }
      let columns = [
        ("coffer_header", ["store_id", "rk_commit", "keyring", "mac"]), ("coffer_slot", ["params", "wrapped"]),
        ("coffer_state", ["sealed"]), ("coffer_collection", ["sealed"]),
        ("coffer_record", ["lookup", "head", "body_nt", "body"]),
      ]
      let source = try test.raw()
      for (table, names) in columns {
        for name in names {
          for row in try source.query("SELECT \(name) FROM \(table)").rows {
            if case .blob(let bytes) = row[0] { add(bytes) }
          }
        }
      }
      try source.close()
      let found = [UInt8](try Data(contentsOf: target))
      #expect(windows.count > 10_000)
      let shared = (0...found.count - 16).first { windows.contains(Data(found[$0..<$0 + 16])) }
      #expect(shared == nil)
    }
  }

  /// The order is the same one, and nothing of the positions tells that the stores belong together.
  @Test(arguments: [0, 1, 2])
  func exportDrawsNewPositions(selected: Int) throws {
    let test = try TestStore()
    let other: DocumentCollection = "other"
    var random = Pseudorandom(seed: 7)
    var ids: [DocumentID] = []
    try test.store.write { writer in
      for number in 0..<200 {
        let next = ids.randomElement(using: &random)
        let place = next.map { number % 3 == 0 ? Placement.bottom : .before($0) } ?? .bottom
        let id = try writer.insert(Document(text: "\(number)"), into: test.notes, at: place)
        if number % 20 != 0 { ids.append(id) } else { try writer.move(id, into: other) }
      }
    }
    let chosen = Array(ids.shuffled(using: &random)[..<50])
    let selection = [Selection.everything, .collections([test.notes]), .documents(chosen)][selected]
    try test.store.copy(selection, to: target, keys: [.published("next")])
    let copy = try open()
    func order(_ store: DocumentStore, _ name: DocumentCollection) throws -> [DocumentID] {
      guard try store.read({ try $0.collections() }).contains(where: { $0.name == name.name }) else { return [] }
      let all = try store.read { try $0.headers(in: name) }.map(\.id)
      return selected == 2 ? all.filter { chosen.contains($0) } : all
    }
    #expect(try order(copy, test.notes) == order(test.store, test.notes))
    if selected == 0 { #expect(try order(copy, other) == order(test.store, other)) }
    func tags(_ store: DocumentStore) throws -> Set<[UInt8]> {
      Set(try store.read { try $0.headers(in: test.notes) }.map { Array($0.position.bytes[1..<4]) })
    }
    #expect(try tags(copy).count == 1 && tags(copy).isDisjoint(with: tags(test.store)))
    #expect(try copy.verify().isSound)
  }

  @Test func exportsOnlySelectedDocuments() throws {
    try withTestStore { test in
      try test.store.write { writer in
        for number in 1...200 {
          let text = String(repeating: "x", count: 3000)
          try writer.insert(Document(title: "\(number)", text: text), into: DocumentCollection("c\(number % 2)"))
        }
      }
      try test.store.copy(.documents([7]), to: target, keys: [.published("next")])
      let info = try DocumentStore.info(at: target)
      #expect(info.documents == 1 && info.collections.map(\.count) == [1])
      #expect(info.fileBytes < 120_000)
      let copy = try open()
      #expect(try copy.read { try $0.collections().map(\.name) } == ["c1"])
      expect(.noSuchDocument) { try copy.read { try $0.text(of: 8) } }
    }
  }

  @Test func customersOpenOnlyOwnStore() throws {
    try withFilledStore { test in
      let other = place.file("other.coffer")
      let (mine, theirs) = (place.file("mine.identity"), place.file("theirs.identity"))
      for url in [mine, theirs] { try KeyLine.generate(.identity, isTest: true).write(toNewFile: url.path) }
      func recipient(_ url: URL) throws -> Recipient { try Recipient(identity: url) }
      try test.store.copy(.documents([1]), to: target, recipients: [recipient(mine)])
      try test.store.copy(.documents([2]), to: other, recipients: [recipient(theirs)])
      #expect(try open(.identity(mine)).read { try $0.exists(1) })
      expect(.cannotUnlock) { try open(.identity(theirs)) }
      expect(.cannotUnlock) { try open(.published("primary")) }
      expect(.cannotUnlock) { try DocumentStore.open(at: other, key: .identity(mine), options: .testing) }
    }
  }

  // MARK: Test stores

  @Test func exportsBetweenTestAndRealKeys() throws {
    let real = place.file("real.key")
    try KeyLine.generate(.key, isTest: false).write(toNewFile: real.path)
    try withFilledStore { test in
      let report = try test.store.copy(.documents([1]), to: target, keys: [.keyFile(real)])
      #expect(!report.isTest)
      // The store no longer requires permission to open, and scrypt has its regular cost.
      let copy = try DocumentStore.open(at: target, key: .keyFile(real))
      #expect(!copy.isTest)
      expect(.testKeyRefused) { try copy.copy(to: place.file("again.coffer"), keys: [.published("next")]) }
      try copy.close()
      let allowed = try DocumentStore.open(at: target, key: .keyFile(real), options: .testing)
      let again = try allowed.copy(to: place.file("again.coffer"), keys: [.published("next")])
      #expect(again.isTest)
      expect(.testKeyRefused) {
        try DocumentStore.open(at: place.file("again.coffer"), key: .published("next"))
      }
    }
  }

  @Test func rejectsMixedTestAndRealKeys() throws {
    let real = place.file("real.key")
    try KeyLine.generate(.key, isTest: false).write(toNewFile: real.path)
    try withFilledStore { test in
      expect(.testKeyRefused) { try test.store.copy(to: target, keys: [.keyFile(real), .published("next")]) }
      #expect(!FileManager.default.fileExists(atPath: target.path))
    }
  }
}
