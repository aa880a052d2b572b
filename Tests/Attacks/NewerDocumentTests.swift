import Coffer
import CofferTestSupport
import Foundation
import Testing

@testable import CofferStoreTestSupport

/// A document that only a later version can read, between others (FORMAT, "Extension parts").
struct NewerDocumentTests {
  private let place: Workplace
  private let store: DocumentStore
  private let newer: DocumentID
  private let others: [DocumentID: String]

  init() throws {
    place = try Workplace()
    let expected = try Vectors.json("newer-document")
    newer = DocumentID(try #require(expected["newer"].array.first?.int))
    var others: [DocumentID: String] = [:]
    for (id, document) in expected["documents"].object {
      others[DocumentID(try #require(Int64(id)))] = document["text"].string
    }
    self.others = others
    let url = try place.copy(Vectors.folder.appending(path: "newer-document.coffer"))
    store = try DocumentStore.open(at: url, key: .published("primary"), options: .testing)
  }

  /// Expects the newer document to be refused by name, and the others to be there.
  private func expectDocuments(of store: DocumentStore, _ texts: [DocumentID: String]) throws {
    try store.read { reader in
      for (id, text) in texts {
        let found = try reader.text(of: id)
        #expect(found == text)
      }
      let exists = try reader.exists(newer)
      #expect(exists)
      let error = #expect(throws: StoreError.self) { try reader.header(of: newer) }
      #expect(error?.code == .otherFormat && error?.documentID == newer)
      #expect(throws: StoreError(.otherFormat, "")) { try reader.text(of: newer) }
    }
    #expect(try store.verify().isSound)
  }

  @Test func othersCanBeReadAndChanged() throws {
    var texts = others
    let changed = try #require(texts.keys.min())
    try store.write { try $0.update(changed) { $0.text = "changed" } }
    texts[changed] = "changed"
    try expectDocuments(of: store, texts)
  }

  @Test func changesOfNewerDocumentAreRefused() throws {
    let before = try store.anchor()
    let refusal = StoreError(.otherFormat, "")
    #expect(throws: refusal) { try store.write { try $0.update(newer) { $0.text = "x" } } }
    #expect(throws: refusal) { try store.write { try $0.move(newer, to: .top) } }
    #expect(throws: refusal) { try store.write { try $0.setParent(of: newer, to: nil) } }
    #expect(try store.anchor() == before)
  }

  @Test func newerDocumentCanBeDeleted() throws {
    try store.write { try $0.delete(newer) }
    let exists = try store.read { try $0.exists(newer) }
    #expect(!exists)
    #expect(try store.verify().isSound)
  }

  @Test func rekeyAndCopyKeepNewerDocument() throws {
    var options = RekeyOptions()
    options.dropsOtherSlots = true
    #expect(try store.rekey(to: [.published("next")], options: options) { _ in }.isFinished)
    try expectDocuments(of: store, others)
    let url = place.file("copied.coffer")
    try store.copy(to: url, keys: [.published("primary")])
    try expectDocuments(of: DocumentStore.open(at: url, key: .published("primary"), options: .testing), others)
  }
}
