import Coffer
import CofferSQLite
import CofferSealing
import Foundation
import Testing

@testable import CofferEngine
@testable import CofferRecords
@testable import CofferStoreTestSupport

/// The text cache, which must be current, bounded and wiped.
struct TextCacheTests {
  private func cached(_ test: TestStore) throws -> TextCache { try #require(test.store.engine.session.texts) }

  private func filled(_ count: Int, _ test: TestStore) throws -> [DocumentID] {
    try test.store.write { writer in
      try (0..<count).map { try writer.insert(Document(title: "t\($0)", text: "text \($0)"), into: test.notes) }
    }
  }

  /// Damages a text in the file, so it can only be read from the cache.
  private func damage(_ id: DocumentID, _ test: TestStore) throws {
    try test.raw().execute("UPDATE coffer_record SET body = zeroblob(length(body)) WHERE id = ?", id.rawValue)
  }

  @Test func repeatedReadAvoidsRow() throws {
    let test = try TestStore()
    let ids = try filled(2, test)
    _ = try test.store.read { try $0.text(of: ids[0]) }
    for id in ids { try damage(id, test) }
    #expect(try test.store.read { try $0.text(of: ids[0]) } == "text 0")
    #expect(try test.store.read { try $0.document(ids[0]).title } == "t0")
    expect(.damaged) { try test.store.read { try $0.text(of: ids[1]) } }
  }

  @Test func verifyAndWritersBypassCache() throws {
    let test = try TestStore()
    let id = try filled(1, test)[0]
    _ = try test.store.read { try $0.text(of: id) }
    try damage(id, test)
    let verdict = try test.store.verify()
    #expect(!verdict.isSound)
    expect(.damaged) { try test.store.write { try $0.text(of: id) } }
  }

  @Test func ownChangeReplacesOnlyItsText() throws {
    let test = try TestStore()
    let ids = try filled(4, test)
    for id in ids { _ = try test.store.read { try $0.text(of: id) } }
    try test.store.write { writer in
      try writer.update(ids[0]) { $0.text = "new" }
      try writer.move(ids[1], to: .top)
      try writer.delete(ids[2])
    }
    try damage(ids[3], test)
    try test.store.read { reader in
      #expect(try reader.text(of: ids[0]) == "new")
      let moved = try reader.header(of: ids[1])
      #expect(try reader.withText(of: ids[1]) { $0.header.position } == moved.position)
      expect(.noSuchDocument) { try reader.text(of: ids[2]) }
      #expect(try reader.text(of: ids[3]) == "text 3")
    }
  }

  @Test func readsChangesOfAnotherHandle() throws {
    try withTestStore { test in
      let ids = try filled(2, test)
      let other = try test.reopened()
      for id in ids { _ = try test.store.read { try $0.text(of: id) } }
      try other.write { try $0.update(ids[0]) { $0.text = "new" } }
      #expect(try test.store.read { try $0.text(of: ids[0]) } == "new")
      try other.write { try $0.delete(ids[1]) }
      expect(.noSuchDocument) { try test.store.read { try $0.text(of: ids[1]) } }
    }
  }

  @Test func readerKeepsSnapshotDuringCommit() throws {
    try withTestStore({ $0.journal = .writeAheadLog }) { test in
      let id = try filled(1, test)[0]
      try test.store.read { reader in
        #expect(try reader.text(of: id) == "text 0")
        let store = test.store
        let read: @Sendable () throws -> String = { try store.read { try $0.text(of: id) } }
        _ = try Background { try store.write { try $0.update(id) { $0.text = "new" } } }.value()
        let new = try Background(read).value()
        let old = try reader.text(of: id)
        let again = try Background(read).value()
        #expect([new, old, again] == ["new", "text 0", "new"])
      }
    }
  }

  @Test func rolledBackChangeKeepsOldText() throws {
    try withTestStore { test in
      let id = try filled(1, test)[0]
      _ = try test.store.read { try $0.text(of: id) }
      #expect(throws: Interruption()) {
        try test.store.write { writer in
          try writer.update(id) { $0.text = "new" }
          throw Interruption()
        }
      }
      #expect(try test.store.read { try $0.text(of: id) } == "text 0")
    }
  }

  @Test func unlistedChangesEmptyCache() throws {
    let cache = TextCache(capacity: 10_000)
    var state = StoreState(headerMAC: [], replicas: .zeros)
    let reader = CacheReader(cache, state)
    #expect(!reader.reads(1))
    let before = TextCache.Version(state)
    state.generation += 1
    cache.willCommit()
    cache.didCommit(before, TextCache.Version(state), changed: nil)
    #expect(cache.byteCount == 0)
    #expect(!CacheReader(cache, state).reads(1))
  }

  @Test func differentSetOfSameGenerationEmptiesCache() {
    let cache = TextCache(capacity: 10_000)
    var state = StoreState(headerMAC: [], replicas: .zeros)
    let reader = CacheReader(cache, state)
    #expect(!reader.reads(1))
    #expect(reader.reads(1))
    state.set.add([UInt8](repeating: 1, count: SetHash.byteCount).withUnsafeBytes { SetHash(bytes: $0) })
    #expect(!CacheReader(cache, state).reads(1))
    #expect(!reader.reads(1))
    #expect(CacheReader(cache, state).reads(1))
  }

  @Test func readersDuringCommitBypassCache() {
    let cache = TextCache(capacity: 10_000)
    var state = StoreState(headerMAC: [], replicas: .zeros)
    let old = CacheReader(cache, state)
    #expect(!old.reads(1))
    cache.willCommit()
    let before = TextCache.Version(state)
    state.generation += 1
    let early = CacheReader(cache, state)
    #expect(!early.reads(2) && !early.reads(2))
    #expect(old.reads(1))
    cache.didCommit(before, TextCache.Version(state), changed: [1])
    #expect(!old.reads(1))
    let new = CacheReader(cache, state)
    #expect(!new.reads(1))
    #expect(new.reads(1))
  }

  @Test func evictsLeastReadTexts() {
    let cache = TextCache(capacity: 20_000)
    let reader = CacheReader(cache, StoreState(headerMAC: [], replicas: .zeros))
    #expect(!reader.reads(1, count: 1000))
    for id in 2...200 {
      #expect(reader.reads(1, count: 1000))
      #expect(!reader.reads(Int64(id), count: 1000))
      #expect(cache.byteCount <= 20_000)
    }
    #expect(!cache.holds(2) && reader.reads(200, count: 1000))
    #expect(!reader.reads(300, count: 5000))
    #expect(!reader.reads(300, count: 5000))
  }

  @Test func rarelyKeepsTextsReadOnce() {
    let cache = TextCache(capacity: 20_000)
    let reader = CacheReader(cache, StoreState(headerMAC: [], replicas: .zeros))
    var kept = 0
    for id in Int64(1)...4096 {
      #expect(!reader.reads(id, count: 1000))
      // Calling `holds` doesn't count as a lookup, unlike reading.
      if id > 2048, cache.byteCount > 0, cache.holds(DocumentID(id)) { kept += 1 }
    }
    #expect((100...200).contains(kept))
    // Repeatedly read texts are kept soon.
    for _ in 0..<2048 {
      for id in Int64(1)...4 { _ = reader.reads(id, count: 1000) }
    }
    for id in Int64(1)...4 { #expect(cache.holds(DocumentID(id))) }
  }

  @Test func closedCacheIgnoresTexts() {
    let cache = TextCache(capacity: 10_000)
    let reader = CacheReader(cache, StoreState(headerMAC: [], replicas: .zeros))
    cache.close()
    #expect(!reader.reads(1))
    #expect(!reader.reads(1) && cache.byteCount == 0)
  }

  @Test func zeroCapacityDisablesCache() throws {
    var options = OpenOptions.testing
    options.textCacheBytes = 0
    let test = try TestStore(options: options)
    #expect(test.store.engine.session.texts == nil)
    let id = try filled(1, test)[0]
    _ = try test.store.read { try $0.text(of: id) }
    try damage(id, test)
    expect(.damaged) { try test.store.read { try $0.text(of: id) } }
  }

  /// The option in bytes, and the expected sizes for readers and the writer in KiB.
  @Test(arguments: [(8 << 20, 8192, 65536), (128 << 20, 131072, 131072), (0, 0, 65536), (-5, 0, 65536)])
  func setsPageCacheSize(_ option: Int, _ reader: Int64, _ writer: Int64) throws {
    var options = OpenOptions.testing
    options.pageCacheBytes = option
    let test = try TestStore(options: options)
    func size(_ transaction: StoreTransaction) throws -> Int64? {
      try transaction.database.connection.integerPragma("cache_size")
    }
    let again = try test.reopened(.published("primary"), options)
    #expect(try again.read { try size($0._transaction) } == -reader)
    #expect(try test.store.read { try size($0._transaction) } == -reader)
    #expect(try test.store.write { try size($0._transaction) } == -writer)
  }

  @Test func closingStoreClearsCache() throws {
    let test = try TestStore()
    let id = try filled(1, test)[0]
    _ = try test.store.read { try $0.text(of: id) }
    let cache = try cached(test)
    #expect(cache.byteCount > 0)
    try test.store.close()
    #expect(cache.byteCount == 0)
  }

  @Test func cachedTextOutlivesItsEviction() throws {
    let test = try TestStore()
    let id = try filled(1, test)[0]
    let cache = try cached(test)
    _ = try test.store.read { try $0.text(of: id) }
    try test.store.read { reader in
      try reader.withText(of: id) { opened in
        cache.close()
        #expect(opened.text == "text 0")
      }
    }
  }
}

/// A simulated reading transaction.
private final class CacheReader {
  private let cache: TextCache
  private let state: StoreState
  private var pass: TextCache.Pass?

  init(_ cache: TextCache, _ state: StoreState) {
    self.cache = cache
    self.state = state
  }

  /// Reads a text of `count` bytes and returns whether it was cached. The cache may keep the text.
  func reads(_ id: Int64, count: Int = 4) -> Bool {
    switch answer(DocumentID(id)) {
    case .document(let found):
      #expect(found.id == DocumentID(id) && found.opened.utf8.count == count)
      return true
    case .missing(let room):
      if count <= room, let pass { cache.keep(document(id, count), pass) }
      return false
    }
  }

  private func answer(_ id: DocumentID) -> TextCache.Answer {
    if let pass { return cache.document(id, pass) }
    let (answer, pass) = cache.firstDocument(id, of: state)
    self.pass = pass
    return answer
  }

  private func document(_ id: Int64, _ count: Int) -> CachedDocument {
    let header = DocumentHeader(
      id: DocumentID(id), collection: CollectionID(1), position: DocumentPosition([0x80])!, parent: nil, title: nil,
      key: nil,
      attributes: Attributes(), created: Timestamp(millisecondsSince1970: 0),
      modified: Timestamp(millisecondsSince1970: 0), byteCount: count, isJSON: false)
    return [UInt8](repeating: 65, count: count).withUnsafeBytes { CachedDocument(header: header, text: $0) }
  }
}
