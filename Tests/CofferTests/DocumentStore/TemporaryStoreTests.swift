import Coffer
import CofferTestSupport
import Foundation
import Testing

@testable import CofferStoreTestSupport

/// Stores for tests and previews, and the name that isn't a store.
struct TemporaryStoreTests {
  private func folder(of store: DocumentStore) -> String {
    (store.engine.path as NSString).deletingLastPathComponent
  }

  @Test(arguments: CreateOptions.Journal.allCases)
  func closedStoreIsGone(_ journal: CreateOptions.Journal) throws {
    var options = OpenOptions()
    options.creation.journal = journal
    let store = try DocumentStore.temporary(options: options) { tx in
      try tx.insert(Document(title: "Pläne", text: "Im Morgengrauen."), into: "notes")
    }
    let folder = folder(of: store)
    #expect(!store.isTest && store.opening == .created)
    try store.write { tx in
      try tx.setIndexes([.words()], of: "notes")
      try tx.insert(Document(text: "später"), into: "notes")
    }
    #expect(try store.read { try $0.search(ranked: "später", in: "notes").total } == 1)
    #expect(try store.verify(.full).isSound)
    #expect(FileManager.default.fileExists(atPath: folder))
    try store.close()
    #expect(!FileManager.default.fileExists(atPath: folder))
    expect(.closed) { try store.read { try $0.count(in: "notes") } }
    try store.close()
  }

  @Test func releasedStoreIsGone() throws {
    var store: DocumentStore? = try .temporary()
    let folder = folder(of: try #require(store))
    store = nil
    #expect(!FileManager.default.fileExists(atPath: folder))
  }

  @Test func failedFillingLeavesNothing() throws {
    var found = ""
    #expect(throws: Interruption.self) {
      try DocumentStore.temporary { tx in
        found = (tx.transaction.connection.session.path as NSString).deletingLastPathComponent
        throw Interruption()
      }
    }
    #expect(!found.isEmpty && !FileManager.default.fileExists(atPath: found))
  }

  @Test func storesAreSeparate() throws {
    let stores = try (1...3).map { number in
      try DocumentStore.temporary { _ = try $0.insert(Document(text: "\(number)"), into: "notes") }
    }
    #expect(Set(stores.map(\.storeID)).count == 3)
    for (index, store) in stores.enumerated() {
      #expect(try store.read { try $0.text(of: 1) } == "\(index + 1)")
      try store.close()
    }
  }

  @Test func migrationsAndRekeyWork() throws {
    var options = OpenOptions()
    options.migrations = [Migration("words") { tx in try tx.setIndexes([.words()], of: "notes") }]
    let store = try DocumentStore.temporary(options: options)
    #expect(try store.read { try $0.indexes(of: "notes") } == [.words()])
    try store.close()
  }

  @Test(arguments: [":memory:", "folder/:memory:"])
  func memoryIsNoPath(_ name: String) throws {
    let place = try Workplace()
    for url in [URL(filePath: name), place.file(name)] {
      for call in [
        { try DocumentStore.open(at: url, key: .published("primary"), creatingIfMissing: true, options: .testing) },
        { try DocumentStore.create(at: url, keys: [.published("primary")], options: .testing) },
      ] {
        let error = #expect(throws: StoreError.self) { try call() }
        #expect(error?.code == .invalidArgument && error?.hint?.contains("DocumentStore.temporary()") == true)
      }
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: place.url.path).isEmpty)
  }
}
