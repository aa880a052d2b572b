import CofferSQLite
import Foundation
import Testing

@testable import Coffer
@testable import CofferStoreTestSupport

/// Transaction scopes, including commits, rollbacks and misuse.
struct ScopeTests {
  @Test func rollsBackOnThrownError() throws {
    try withTestStore { test in
      let id = try test.store.write { try $0.insert(Document(title: "kept", text: "kept"), into: test.notes) }
      let before = try Data(contentsOf: test.url)
      #expect(throws: Interruption()) {
        try test.store.write { writer in
          try writer.insert(Document(text: "new"), into: DocumentCollection("other"))
          try writer.update(id) { $0.text = "changed" }
          try writer.delete(id)
          throw Interruption()
        }
      }
      #expect(try Data(contentsOf: test.url) == before)
      #expect(try test.store.everything().keys.sorted() == ["notes"])
      #expect(try test.store.read { try $0.text(of: id) } == "kept")
    }
  }

  @Test func emptyWriteLeavesFileUnchanged() throws {
    try withTestStore { test in
      let before = try Data(contentsOf: test.url)
      try test.store.write { _ in }
      try test.store.write { _ = try $0.collections() }
      #expect(try Data(contentsOf: test.url) == before)
    }
  }

  @Test func rejectsWriteInsideWrite() throws {
    try withTestStore { test in
      try test.store.write { writer in
        expect(.misuse) { try test.store.write { try $0.insert(Document(text: "x"), into: test.notes) } }
        expect(.misuse) { try test.store.keys.add(.published("next")) }
        expect(.misuse) { try test.store.close() }
        try writer.insert(Document(text: "y"), into: test.notes)
      }
      #expect(try test.store.everything()["notes"]?.map(\.text) == ["y"])
    }
  }

  /// Inside a scope, only its argument is used, in both journals. The scope continues after a rejected call.
  @Test(arguments: [CreateOptions.Journal.rollback, .writeAheadLog])
  func rejectsCallsInsideScope(_ journal: CreateOptions.Journal) throws {
    let test = try TestStore { $0.journal = journal }
    let (store, notes, place) = (test.store, test.notes, test.place)
    try store.write { try $0.insert(Document(title: "1", text: "a"), into: notes) }
    let other = try DocumentStore.openEditableCopy(
      of: test.url, at: place.file("copy.coffer"), key: .published("primary"), options: .testing)
    // All of these calls would succeed outside the scope, or fail for another reason than the scope.
    let (signing, customers) = (try Publishing.key, [try Self.customer])
    try store.makeRelease(signedBy: signing)
    let published = place.file("public")
    try store.publishRelease(to: published, for: customers, signedBy: signing)
    let source = ReleaseSource(
      at: published, by: signing.publisher, as: customers[0].name, key: .published("identity"))
    let folder = SyncFolder(at: place.file("carried"))
    let keys: [StoreKey] = [.published("primary")]
    try store.startSyncing(by: folder, keys: keys, label: "laptop")
    let device = try #require(try store.syncStatus(of: folder).devices.first).id

    let calls: [(name: String, call: () throws -> Void)] = [
      ("read", { try store.read { _ in } }),
      ("write", { try store.write { _ = try $0.insert(Document(text: "x"), into: notes) } }),
      ("close", { try store.close() }),
      ("suspend", { try store.suspend(within: .zero) }),
      ("unlock", { try store.unlock(with: .published("primary")) }),
      ("verify", { _ = try store.verify() }),
      ("repairHeader", { try store.repairHeader() }),
      ("anchor", { _ = try store.anchor() }),
      ("keys.list", { _ = try store.keys.list() }),
      ("keys.add", { try store.keys.add(.published("next")) }),
      ("keys.add", { try store.keys.add(try Recipient.stranger()) }),
      ("keys.remove", { try store.keys.remove(slot: 1) }),
      ("keys.replace", { try store.keys.replace(with: .published("next")) }),
      ("rekey", { _ = try store.rekey { _ in } }),
      ("rekeyStatus", { _ = try store.rekeyStatus() }),
      ("indexedFields", { _ = try store.indexedFields(of: notes) }),
      ("updateIndexes", { try store.updateIndexes() }),
      ("compact", { try store.compact() }),
      ("backup", { try store.backup(to: place.file("backup.coffer")) }),
      ("copy", { _ = try store.copy(to: place.file("another.coffer"), keys: keys) }),
      ("makeEditableCopy", { _ = try store.makeEditableCopy(at: place.file("editable.coffer"), keys: keys) }),
      ("differences", { _ = try store.differences(to: other) }),
      ("merge", { _ = try store.merge(other) }),
      ("restore", { try store.restore([1], from: other) }),
      ("makeRelease", { try store.makeRelease(signedBy: signing) }),
      ("publishRelease", { try store.publishRelease(to: published, for: customers, signedBy: signing) }),
      ("planUpdate", { _ = try store.planUpdate(from: source) }),
      ("update", { try store.update(from: source) }),
      ("changes", { _ = try store.changes(sinceReleaseOf: source) }),
      ("startSyncing", { try store.startSyncing(by: folder, keys: keys, label: "laptop") }),
      ("exchange", { _ = try store.exchange(with: folder) }),
      ("makeInvitation", { _ = try store.makeInvitation(to: folder, keys: keys) }),
      ("removeDevice", { _ = try store.removeDevice(device, from: folder, keys: keys) }),
      ("syncStatus", { _ = try store.syncStatus(of: folder) }),
      ("stopSyncing", { try store.stopSyncing() }),
    ]
    for (name, call) in calls {
      try store.read { reader in
        Self.expectMisuse("\(name) in read", call)
        let titles = try reader.headers(in: notes).map(\.title)
        #expect(titles == ["1"])
      }
      try store.write { writer in
        Self.expectMisuse("\(name) in write", call)
        let titles = try writer.headers(in: notes).map(\.title)
        #expect(titles == ["1"])
      }
    }
    for name in ["backup", "another", "editable"] {
      #expect(!FileManager.default.fileExists(atPath: place.file("\(name).coffer").path))
    }
    // These calls don't use the file themselves.
    let others: Set = ["observe", "parts", "perform", "resume", "sync"]
    #expect(try Self.publicCalls() == others.union(calls.map(\.name)))
    try other.close()
    #expect(try store.verify().isSound)
  }

  private static var customer: ReleaseCustomer {
    get throws { try ReleaseCustomer(name: "anna", recipient: Recipient(identity: PublishedKeys.url("identity"))) }
  }

  /// The names of the calls of a store and its keys, from the sources.
  private static func publicCalls() throws -> Set<String> {
    let folder = SecondReader.project.appending(path: "Sources/Coffer")
    var names: Set<String> = []
    for path in try FileManager.default.subpathsOfDirectory(atPath: folder.path) where path.hasSuffix(".swift") {
      var prefix: String?
      for line in try String(contentsOf: folder.appending(path: path), encoding: .utf8).split(separator: "\n") {
        if let type = line.prefixMatch(of: /(?:[a-z]+ )*(?:class|struct|enum|extension) (\w+)/)?.1 {
          prefix = ["DocumentStore": "", "KeySlots": "keys."][String(type)]
        }
        if let prefix, let name = line.prefixMatch(of: #/  public func (\w+)/#)?.1 { names.insert(prefix + name) }
      }
    }
    return names
  }

  private static func expectMisuse(_ name: String, _ call: () throws -> Void) {
    do {
      try call()
      Issue.record("\(name): no error")
    } catch {
      #expect((error as? StoreError)?.code == .misuse, "\(name): \(error)")
    }
  }

  @Test func rejectsCallsAfterClose() throws {
    let test = try TestStore()
    try test.store.close()
    try test.store.close()
    expect(.closed) { try test.store.read { _ in } }
    expect(.closed) { try test.store.write { _ in } }
    expect(.closed) { try test.store.verify() }
    expect(.closed) { try test.store.keys.list() }
    expect(.closed) { try test.store.rekey { _ in } }
  }

  @Test func rejectsTransactionOutsideScope() throws {
    try withTestStore { test in
      let id = try test.store.write { try $0.insert(Document(text: "x"), into: test.notes) }
      let kept = try test.store.write { $0.transaction }
      let writer = WriteTransaction(kept)
      expect(.misuse) { try writer.text(of: id) }
      expect(.misuse) { try writer.collections() }
      expect(.misuse) { try writer.headers(in: test.notes) }
      expect(.misuse) { try writer.id(forKey: "k", in: test.notes) }
      expect(.misuse) { try writer.insert(Document(text: "y"), into: test.notes) }
      expect(.misuse) { try writer.insert(Document(text: "y"), into: test.notes, id: 50) }
      expect(.misuse) { try writer.put(Document(text: "y"), id: id, into: test.notes) }
      expect(.misuse) { try writer.update(id) { $0.text = "y" } }
      expect(.misuse) { try writer.delete(id) }
      expect(.misuse) { try writer.savepoint { _ in } }
      expect(.misuse) { try writer.create(DocumentCollection("c")) }
      #expect(try test.store.everything()["notes"]?.map(\.text) == ["x"])
    }
  }

  @Test func undoesOnlyFailedSavepoint() throws {
    try withTestStore { test in
      let id = try test.store.write { try $0.insert(Document(title: "0", text: ""), into: test.notes) }
      try test.store.write { writer in
        try writer.insert(Document(title: "1", text: ""), into: test.notes)
        #expect(throws: Interruption()) {
          try writer.savepoint { inner in
            try inner.insert(Document(title: "2", text: ""), into: test.notes)
            try inner.create(DocumentCollection("gone"))
            try inner.delete(id)
            try inner.savepoint { try $0.insert(Document(title: "3", text: ""), into: test.notes) }
            throw Interruption()
          }
        }
        try writer.savepoint { inner in
          #expect(throws: Interruption()) {
            try inner.savepoint { deepest in
              try deepest.update(id) { $0.title = "no" }
              throw Interruption()
            }
          }
          try inner.insert(Document(title: "4", text: ""), into: test.notes)
        }
        #expect(try writer.collections().map(\.name) == ["notes"])
      }
      #expect(try test.store.titles(in: test.notes) == ["0", "1", "4"])
    }
  }

  @Test func allowsNestedReadsDuringIteration() throws {
    try withTestStore { test in
      try test.store.write { writer in
        for number in 0..<40 {
          try writer.insert(
            Document(title: "t\(number)", text: String(repeating: "\(number) ", count: 1 + number * 50)),
            into: test.notes)
        }
      }
      try test.store.read { reader in
        var seen = 0
        try reader.forEach(in: test.notes) { outer in
          let id = outer.header.id
          let other = DocumentID(41 - id.rawValue)
          let text = outer.text
          #expect(try reader.text(of: other).hasPrefix("\(other.rawValue - 1) "))
          try reader.withText(of: id) { #expect(Array($0.utf8) == Array(outer.utf8)) }
          var inner = 0
          try reader.forEach(in: test.notes) { opened in
            if inner < 3 { #expect(opened.text.hasPrefix("\(inner) ")) }
            inner += 1
          }
          #expect(inner == 40)
          #expect(try reader.headers(in: test.notes, limit: 2).map(\.title) == ["t0", "t1"])
          #expect(outer.text == text && text.hasPrefix("\(seen) "))
          seen += 1
        }
        #expect(seen == 40)
      }
    }
  }

  @Test func allowsChangesDuringIteration() throws {
    try withTestStore { test in
      try test.store.write { writer in
        for number in 0..<30 { try writer.insert(Document(title: "\(number)", text: "old"), into: test.notes) }
      }
      try test.store.write { writer in
        try writer.forEachHeader(in: test.notes) { header in
          if header.id.rawValue.isMultiple(of: 3) {
            try writer.delete(header.id)
          } else {
            try writer.update(header.id) { $0.text = "new" }
          }
        }
      }
      let texts = try test.store.everything()["notes"]?.map(\.text)
      #expect(texts == Array(repeating: "new", count: 20))
    }
  }

  /// Also if the transaction's first write is inside the list.
  @Test func allowsChangesOfLaterDocumentsDuringIteration() throws {
    try withTestStore { test in
      let ids = try test.store.write { writer in
        try (0..<4).map { try writer.insert(Document(title: "\($0)", text: "old"), into: test.notes) }
      }
      try test.store.write { writer in
        var texts: [String] = []
        try writer.forEach(in: test.notes) { document in
          texts.append(document.text)
          try writer.setParent(of: ids[2], to: ids[0])
          try writer.update(ids[3]) { $0.text += "+" }
        }
        #expect(texts == ["old", "old", "old", "old+++"])
      }
    }
  }

  /// The index of the order also contains titles in clear.
  @Test(arguments: [TitleMode.sealed, .clear])
  func allowsLaterTitlesDuringIteration(_ titles: TitleMode) throws {
    try withTestStore({ $0.titles = titles }) { test in
      let ids = try test.store.write { writer in
        try (0..<4).map { try writer.insert(Document(title: "\($0)", text: ""), into: test.notes) }
      }
      for _ in 1...2 {
        try test.store.write { writer in
          for _ in 1...2 {
            var seen: [DocumentID] = []
            try writer.forEachHeader(in: test.notes) { header in
              seen.append(header.id)
              try writer.update(header.id) { $0.title = "z\($0.title ?? "")" }
            }
            #expect(seen == ids)
          }
          var seen: [Int] = []
          try writer.withQuery("SELECT id FROM documents WHERE collection = 'notes'") { rows in
            while let row = try rows.next() {
              let id = try row["id", as: Int.self]
              seen.append(id)
              try writer.update(DocumentID(id)) { $0.title = "z\($0.title ?? "")" }
            }
          }
          #expect(seen == ids.map { Int($0.rawValue) })
        }
      }
      #expect(try test.store.titles(in: test.notes) == ["zzzzzz0", "zzzzzz1", "zzzzzz2", "zzzzzz3"])
    }
  }

  /// A store with more documents than the list has lets the list go on after its last one.
  @Test func rejectsMoveAheadDuringIteration() throws {
    try withTestStore { test in
      let ids = try test.store.write { writer in
        for _ in 1...10 { try writer.insert(Document(text: ""), into: DocumentCollection("others")) }
        return try (0..<3).map { try writer.insert(Document(title: "\($0)", text: ""), into: test.notes) }
      }
      expect(.misuse) {
        try test.store.write { writer in
          try writer.forEachHeader(in: test.notes) { if $0.id == ids[0] { try writer.move($0.id, to: .bottom) } }
        }
      }
      #expect(try test.store.titles(in: test.notes) == ["0", "1", "2"])
    }
  }

  @Test func rejectsAdditionsDuringIteration() throws {
    try withTestStore { test in
      try test.store.write { writer in
        for number in 0..<3 { try writer.insert(Document(title: "\(number)", text: ""), into: test.notes) }
      }
      expect(.misuse) {
        try test.store.write { writer in
          try writer.forEachHeader(in: test.notes) { header in
            try writer.insert(Document(title: header.title, text: "copy"), into: test.notes)
          }
        }
      }
      expect(.misuse) {
        try test.store.write { writer in
          try writer.forEachHeader(in: test.notes) { try writer.move($0.id, to: .bottom) }
        }
      }
      #expect(try test.store.titles(in: test.notes) == ["0", "1", "2"])
    }
  }

  @Test func supportsAsyncReadAndWrite() async throws {
    let test = try TestStore()
    let notes = test.notes
    let id = try await test.store.write { try $0.insert(Document(text: "x"), into: notes) }
    #expect(try await test.store.read { try $0.text(of: id) } == "x")
    await #expect(throws: Interruption()) {
      try await test.store.write { writer in
        try writer.delete(id)
        throw Interruption()
      }
    }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<50 {
        group.addTask { _ = try await test.store.write { try $0.insert(Document(text: "\(number)"), into: notes) } }
        group.addTask { _ = try await test.store.read { try $0.headers(in: notes) } }
      }
      try await group.waitForAll()
    }
    #expect(try await test.store.read { $0.documentCount } == 51)
    try test.expectSound()
  }
}
