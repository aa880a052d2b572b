import Coffer
import CofferDocuments
import CofferRecords
import CofferSealing
import CofferTestSupport
import Foundation
import Testing

@testable import CofferStoreTestSupport

/// Reading, changing and rekeying the published valid stores of format 3.
struct FixtureTests {
  let place: Workplace

  init() throws {
    place = try Workplace()
  }

  private func copy(_ name: String) throws -> URL {
    try place.copy(Vectors.folder.appending(path: "\(name).coffer"))
  }

  @Test func findsPublishedStores() {
    #expect(Vectors.storeNames.count >= 25)
  }

  @Test func rejectsFormat1Store() throws {
    let url = try place.copy(Vectors.folder.deletingLastPathComponent().appending(path: "format-1.coffer"))
    expectCode(.otherFormat) { try DocumentStore.open(at: url, key: .published("primary"), options: .testing) }
    expectCode(.otherFormat) { try DocumentStore.info(at: url) }
    expectCode(.otherFormat) { try DocumentStore.check(at: url) }
  }

  @Test(arguments: Vectors.storeNames)
  func readsStateOfPublishedStore(_ name: String) throws {
    let url = try copy(name)
    let expected = try Vectors.json(name)
    let before = try Data(contentsOf: url)
    for (kind, secret) in expected["open_with"].object where !kind.hasPrefix("wrong") {
      let key = StoreKey.named(kind, try #require(secret.string))
      let store = try DocumentStore.open(at: url, key: key, options: .testing)
      #expect("\(store.titles)" == expected["titles"].string)
      #expect(try store.keys.list().map(\.slot) == expected["slots"].array.compactMap { $0["slot"].int.map(Int.init) })
      #expect(try store.keys.list().map(\.fingerprint) == expected["slots"].array.map { $0["fingerprint"].string })
      #expect(try store.rekeyStatus().needsResuming == (expected["status"].string == "unfinished"))
      try expectState(of: store, expected)
      try expectDots(of: store, expected)
      #expect(try store.verify().isSound)
      try store.close()
    }
    // Closing a store builds indexes that a rekey emptied.
    #expect(try name == "indexed-mid-rekey" || Data(contentsOf: url) == before)
  }

  private func expectState(of store: DocumentStore, _ expected: JSON) throws {
    try store.engine.reading { transaction throws(StoreError) in
      let (state, keyring) = (transaction.state, transaction.keys.session.keyring)
      let wanted = expected["state"]
      #expect(Int64(state.generation) == wanted["generation"].int && Int64(state.nextID) == wanted["next"].int)
      #expect(Int64(state.count) == wanted["count"].int && Int64(state.unwiped) == wanted["unwiped"].int)
      #expect(Int64(state.target) == wanted["target"].int && Int64(state.cursor) == wanted["cursor"].int)
      #expect(Int64(state.bound) == wanted["bound"].int && Int64(state.lead) == wanted["lead"].int)
      #expect(Int64(state.deletionCount) == wanted["gone_count"].int)
      #expect(Int64(state.nextAttachment) == wanted["next_attachment"].int)
      #expect(Int64(state.attachmentCount) == wanted["attachment_count"].int)
      for (index, identity) in wanted["index_identities"].array.enumerated() {
        let found = state[index: UInt32(index) + 1].map { Hexadecimal.text($0.bytes) }
        #expect(found ?? String(repeating: "0", count: 32) == identity.string)
      }
      #expect(Int64(state.ring.known) == wanted["known"].int)
      let ring = wanted["ring"].array
      for (index, entry) in ring.enumerated() {
        let generation = UInt64(index) + state.ring.known
        #expect(state.ring.mark(of: generation - 1).map { Hexadecimal.text($0) } == entry["mark_before"].string)
      }
      #expect(keyring.epochs.map { Int64($0.epoch) } == expected["epochs"].array.compactMap(\.int))
      for (keys, entry) in zip(keyring.epochs, expected["keyring"]["entries"].array) {
        #expect(Int64(keys.bounds.closed) == entry["closed"].int && Int64(keys.bounds.ceiling) == entry["ceiling"].int)
        #expect(Int64(keys.bounds.floor) == entry["floor"].int)
      }
    }
  }

  private func expectDots(of store: DocumentStore, _ expected: JSON) throws {
    try store.read { reader in
      for (id, wanted) in expected["documents"].object {
        let id = DocumentID(try #require(Int64(id)))
        let history = try reader.transaction.storedDocument(id, acceptingNewer: true).history
        #expect(Hexadecimal.text(history.uid.bytes) == wanted["uid"].string)
        #expect(history.parent.map { Hexadecimal.text($0.bytes) } == wanted["parent_uid"].string)
        let (dots, expected) = (history.decodedDots, wanted["dots"])
        func isEqual(_ dot: Dot, _ name: String) -> Bool {
          [Int64(dot.replica), Int64(dot.counter)] == expected[name].array.compactMap(\.int)
        }
        #expect(isEqual(dots.born, "born") && isEqual(dots.text, "text") && isEqual(dots.title, "title"))
        #expect(isEqual(dots.key, "key") && isEqual(dots.attributes, "attributes") && isEqual(dots.place, "place"))
        #expect(isEqual(dots.stamp, "stamp") && isEqual(dots.kept, "kept"))
        #expect(dots.members.count == expected["members"].object.count)
      }
    }
  }

  @Test(.slow, arguments: Vectors.storeNames)
  func writesToAndRekeysPublishedStore(_ name: String) throws {
    let url = try copy(name)
    let expected = try Vectors.json(name)
    let (kind, secret) = try #require(expected["open_with"].object.first { !$0.key.hasPrefix("wrong") })
    let store = try DocumentStore.open(
      at: url, key: .named(kind, try #require(secret.string)), options: .testing)
    let generation = try #require(expected["state"]["generation"].int)
    guard generation + (expected["state"]["lead"].int ?? 0) < 1 << 48 - 1 else {
      let before = try Data(contentsOf: url)
      expectCode(.noNumberLeft) {
        try store.write { try $0.insert(Document(text: "x"), into: DocumentCollection("Notes")) }
      }
      expectCode(.noNumberLeft) { try store.keys.add(.published("next")) }
      #expect(try Data(contentsOf: url) == before)
      return
    }
    // A list ends at a newer document, so there's nothing to compare; NewerDocumentTests read the others.
    let isListed = expected["newer"].array.isEmpty
    let before = isListed ? try store.everything() : [:]
    let new = try store.write { writer in
      try writer.insert(Document(title: "new", text: "of today"), into: DocumentCollection("more"))
    }
    // IDs continue after the highest ID ever used, including deleted documents.
    #expect(new.rawValue == expected["state"]["next"].int)
    #expect(try store.relation(to: StoreAnchor(parsing: try #require(expected["anchor"].string))) == .descendant(by: 1))
    var options = RekeyOptions()
    options.dropsOtherSlots = true
    #expect(try store.rekey(to: [.published("next")], options: options) { _ in }.isFinished)
    try store.write { try $0.delete(new) }
    var after = isListed ? try store.everything() : [:]
    after["more"] = nil
    #expect(after.mapValues { $0.map(\.text) } == before.mapValues { $0.map(\.text) })
    try store.read { reader in
      for (id, attachment) in try AttachmentVectors(expected).stored {
        let content = try reader.content(of: id)
        #expect(Int64(content.count) == attachment["length"].int)
        #expect(try Hexadecimal.text(reader.attachment(id).sha256) == attachment["sha256"].string)
        #expect(try reader.transaction.attachmentRecord(id).keys.count == 1)
      }
    }
    #expect(try store.verify().isSound)
  }

  private func expectCode<T>(_ code: StoreError.Code, _ work: () throws -> T) {
    #expect(throws: StoreError(code, "")) { _ = try work() }
  }
}
