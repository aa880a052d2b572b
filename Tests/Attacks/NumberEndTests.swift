import Coffer
import CofferEngine
import CofferSealing
import Foundation
import Testing

@testable import CofferRecords
@testable import CofferStoreTestSupport

/// Behavior after the highest ID is used. Insertions fail, and all other changes succeed.
struct NumberEndTests {
  private let last = DocumentID(Int64.max - 1)

  @Test func rejectsInsertionAfterHighestID() throws {
    try withTestStore { test in
      try test.store.write { try $0.insert(Document(text: "last"), into: test.notes, id: last) }
      let store = try test.reopened()
      #expect(try store.read { $0.highestID } == last)
      expect(.noNumberLeft) { try store.write { try $0.insert(Document(text: "x"), into: test.notes) } }
      expect(.noNumberLeft) { try store.write { try $0.put(Document(text: "x"), into: test.notes, key: "k") } }
      expect(.noNumberLeft) { try store.write { try $0.duplicate(last) } }
      expect(.noNumberLeft) {
        try store.write { _ = try $0.insert(contentsOf: ListSource(ListSource.items(2)), into: test.notes) }
      }
      #expect(try store.everything()["notes"]?.map(\.text) == ["last"])
      try store.close()
    }
  }

  @Test func allowsOtherChangesAfterHighestID() throws {
    try withTestStore { test in
      try test.store.write { writer in
        try writer.insert(Document(text: "last"), into: test.notes, id: last)
        expect(.noNumberLeft) { try writer.insert(Document(text: "x"), into: test.notes) }
        try writer.insert(Document(text: "free"), into: test.notes, id: 5)
        try writer.update(last) { $0.text = "changed" }
        try writer.move(last, to: .bottom)
      }
      #expect(try test.store.everything()["notes"]?.map(\.text) == ["free", "changed"])
      try test.store.write { writer in
        try writer.truncate(test.notes, restartingIDs: true)
        #expect(try writer.insert(Document(text: "first"), into: test.notes) == 1)
      }
    }
  }

  @Test func bulkInsertionReportsFailingRecord() throws {
    try withTestStore { test in
      try test.store.write { try $0.reserveIDs(through: DocumentID(Int64.max - 3)) }
      do {
        try test.store.write { _ = try $0.insert(contentsOf: ListSource(ListSource.items(5)), into: test.notes) }
        Issue.record("gave more numbers than there are")
      } catch let error as StoreError {
        #expect(error.code == .noNumberLeft)
        #expect(error.message.hasPrefix("record 3: "))
      }
      #expect(try test.store.everything().isEmpty)
      #expect(try test.store.write { try $0.insert(Document(text: ""), into: test.notes) }.rawValue == Int64.max - 2)
    }
  }

  /// The record is valid, so the synchronization ends instead of skipping it.
  @Test func synchronizationStopsAfterHighestID() throws {
    try withTestStore { test in
      try test.store.write { try $0.insert(Document(text: "last"), into: test.notes, id: last) }
      var options = SyncOptions()
      options.skipsInvalid = true
      let items = [SyncItem(Document(text: "x", key: "k"))]
      expect(.noNumberLeft) { try test.store.write { try $0.synchronize(test.notes, with: items, options: options) } }
      #expect(try test.store.everything()["notes"]?.map(\.text) == ["last"])
    }
  }

  /// A copy's first two commits have the next counters.
  @Test(arguments: ["greatest-lead", "greatest-counters"])
  func rejectsEditableCopyAfterLastCounter(_ name: String) throws {
    let place = try Workplace()
    let url = try place.copy(Vectors.folder.appending(path: "\(name).coffer"))
    let (kind, secret) = try #require(try Vectors.json(name)["open_with"].object.first { !$0.key.hasPrefix("wrong") })
    let key = StoreKey.named(kind, try #require(secret.string))
    try expectOnlyPlainCopy(of: url, key, place)
  }

  /// A copy, and a restored or promoted file, is another replica.
  @Test func rejectsReplicaAfterLast() throws {
    let test = try TestStore()
    try test.store.write { try $0.insert(Document(text: "text"), into: test.notes) }
    try test.store.engine.writing { transaction throws(StoreError) in
      try transaction.writer.changeReplicas { replicas throws(StoreError) in
        while replicas.entries.count < Replicas.maximumCount {
          let identity = UniqueID(high: 1, low: UInt64(replicas.entries.count))
          _ = try replicas.add(Replica(identity: identity, counter: 1, range: 0, rose: 1))
        }
      }
      try transaction.commit()
    }
    try test.store.write { _ = try $0.update(1) { $0.text = "changed" } }
    try test.store.close()
    try expectOnlyPlainCopy(of: test.url, .published("primary"), test.place)
    let restored = test.place.file("restored.coffer")
    _ = try DocumentStore.restore(at: restored, from: test.url)
    let store = try DocumentStore.open(at: restored, key: .published("primary"), options: .testing)
    expect(.noNumberLeft) { try store.write { try $0.insert(Document(text: "x"), into: "notes") } }
    #expect(try store.verify().isSound)
  }

  /// A merge's counter is above those of both stores.
  @Test(arguments: [1, 0])
  func rejectsMergeAfterLastCounter(left: UInt64) throws {
    let test = try TestStore()
    try test.store.write { try $0.insert(Document(text: "text"), into: test.notes) }
    let copy = try DocumentStore.openEditableCopy(
      of: test.url, at: test.place.file("copy.coffer"), key: .published("primary"), options: .testing)
    let last = UInt64(StoreFormat.maximumGeneration)
    for (store, counter) in [(test.store, last - 9), (copy, last - left)] {
      try store.engine.writing { transaction throws(StoreError) in
        try transaction.writer.willWrite()
        try transaction.writer.raiseCounter(above: counter - 1)
        try transaction.writer.rewrite(1, changing: [], .text, as: .head) { _, _ in }
        try transaction.commit()
      }
    }
    let before = try Data(contentsOf: test.url)
    if left > 0 {
      #expect(try test.store.merge(copy, policy: .both).isMerged)
    } else {
      expect(.noNumberLeft) { try test.store.merge(copy, policy: .both) }
      #expect(try Data(contentsOf: test.url) == before)
    }
    #expect(try test.store.verify().isSound)
  }

  @Test func rejectsAttachmentAfterLastNumber() throws {
    let test = try TestStore()
    let id = try test.store.write { try $0.insert(Document(text: "text"), into: test.notes) }
    try test.store.engine.writing { transaction throws(StoreError) in
      try transaction.writer.makeAttachmentTables()
      try transaction.writer.state.nextAttachment = StoreFormat.maximumNextAttachment - 1
      try transaction.commit()
    }
    let last = try test.store.write { try $0.attach([1, 2], to: id, name: "last") }
    #expect(last.id.rawValue == 1 << 39 - 1)
    expect(.noNumberLeft) { try test.store.write { try $0.attach([1], to: id, name: "next") } }
    expect(.noNumberLeft) { try test.store.write { try $0.replace(last.id, with: .bytes([3])) } }
    let store = try test.reopened()
    #expect(try store.read { try $0.content(of: last.id) } == [1, 2])
    #expect(try store.verify().isSound)
  }

  @Test func countsEndAtLimit() throws {
    let test = try TestStore()
    let ids = try test.store.write { writer in
      [
        try writer.insert(Document(text: "1"), into: test.notes),
        try writer.insert(Document(text: "2"), into: test.notes),
      ]
    }
    func change(_ change: (inout StoreState) -> Void) throws {
      try test.store.engine.writing { transaction throws(StoreError) in
        let writer = try transaction.writer
        try writer.willWrite()
        change(&writer.state)
        try transaction.commit()
      }
    }
    try change { ($0.count, $0.deletionCount) = (StoreFormat.maximumCount - 1, StoreFormat.maximumCount - 1) }
    try test.store.write { _ = try $0.insert(Document(text: "last"), into: test.notes) }
    let full = try Data(contentsOf: test.url)
    expect(.noNumberLeft) { try test.store.write { try $0.insert(Document(text: "x"), into: test.notes) } }
    #expect(try Data(contentsOf: test.url) == full)
    try test.store.write { try $0.delete(ids[0]) }
    let deleted = try Data(contentsOf: test.url)
    expect(.noNumberLeft) { try test.store.write { try $0.delete(ids[1]) } }
    #expect(try Data(contentsOf: test.url) == deleted)
  }

  @Test func rejectsRekeyAfterLastRootKey() throws {
    let place = try Workplace()
    let url = try place.copy(Vectors.folder.appending(path: "greatest-counters.coffer"))
    let store = try DocumentStore.open(at: url, key: .published("primary"), options: .testing)
    let before = try Data(contentsOf: url)
    do throws(StoreError) {
      try store.rekey(to: [.published("next")])
      Issue.record("it was rekeyed")
    } catch {
      #expect(error.code == .noNumberLeft && error.message.contains("root key"), "\(error)")
    }
    #expect(try Data(contentsOf: url) == before)
    try store.close()
  }

  /// The end of a rekey and a promotion begin the next phase.
  @Test func rejectsPhaseAfterLast() throws {
    let test = try TestStore()
    try test.store.write { try $0.insert(Document(text: "kept"), into: test.notes) }
    let last = UInt64(StoreFormat.maximumCounter)
    func beginNextPhase(_ store: DocumentStore, from phase: UInt64? = nil) throws(StoreError) {
      try store.engine.writing { transaction throws(StoreError) in
        var (keys, slots) = try transaction.proveHeader()
        if let phase {
          var header = keys.header
          header.phase = phase
          header.keyring = try translatingErrors { () throws(SealingError) in
            try keys.keyring.seal(under: keys.root, phase: phase)
          }
          header.mac = try header.authenticate(slots, under: keys.headerMACKey)
          keys = try SessionKeys(root: keys.root, header: header, slots: slots)
        }
        try transaction.commitNextPhase(keys, slots, keyring: keys.keyring)
      }
    }
    try beginNextPhase(test.store, from: last - 2)
    try beginNextPhase(test.store)
    let store = try test.reopened()
    #expect(try store.engine.session.keys.header.phase == last)
    let before = try Data(contentsOf: test.url)
    expect(.noNumberLeft) { try beginNextPhase(store) }
    #expect(try Data(contentsOf: test.url) == before)
    #expect(try store.everything()["notes"]?.map(\.text) == ["kept"])
    #expect(try store.verify().isSound)
  }

  @Test func rejectsCollectionAfterHighestNumber() throws {
    let test = try TestStore()
    let last = UInt32(StoreFormat.maximumNumber)
    try test.store.engine.writing { transaction throws(StoreError) in
      let writer = try transaction.writer
      try writer.willWrite()
      let record = CollectionRecord(
        id: last - 1, revision: writer.revision, name: "last but one", settings: CollectionSettings(),
        uid: try transaction.keys.collectionUID(named: "last but one"), dots: CollectionDots(writer.dot))
      try writer.insertCollection(record)
      try transaction.commit()
    }
    try test.store.write { try $0.insert(Document(text: "kept"), into: "last") }
    let before = try Data(contentsOf: test.url)
    expect(.tooLarge) { try test.store.write { try $0.create("next") } }
    expect(.tooLarge) { try test.store.write { try $0.insert(Document(text: "x"), into: "next") } }
    #expect(try Data(contentsOf: test.url) == before)
    let store = try test.reopened()
    #expect(try store.everything()["last"]?.map(\.text) == ["kept"])
    #expect(try test.raw().query("SELECT max(coll) FROM coffer_collection").rows[0][0] == .integer(Int64(last)))
    #expect(try store.verify().isSound)
  }

  private func expectOnlyPlainCopy(of url: URL, _ key: StoreKey, _ place: Workplace) throws {
    let store = try DocumentStore.open(at: url, key: key, options: .testing)
    let copy = place.file("copy.coffer")
    expect(.noNumberLeft) { try store.makeEditableCopy(at: copy, keys: [.published("next")]) }
    expect(.noNumberLeft) {
      try DocumentStore.openEditableCopy(of: url, at: copy, key: key, options: .testing)
    }
    #expect(!FileManager.default.fileExists(atPath: copy.path))
    try store.copy(to: copy, keys: [.published("next")])
    #expect(try DocumentStore.open(at: copy, key: .published("next"), options: .testing).verify().isSound)
  }
}
