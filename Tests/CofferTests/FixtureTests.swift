import Coffer
import Foundation
import Testing

@testable import CofferRecords

/// The stores in Tests/Fixtures, one or more of each format that was released: every later version reads them the same.
struct FixtureTests {
  static let folder = PublishedKeys.folder.deletingLastPathComponent().appending(path: "Tests/Fixtures")
  static let names: [String] = {
    let files = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
    return files.filter { $0.hasSuffix(".coffer") }.map { String($0.dropLast(7)) }.sorted()
  }()

  let place: Workplace

  init() throws {
    place = try Workplace()
  }

  private func copy(_ name: String) throws -> URL {
    try place.copy(Self.folder.appending(path: "\(name).coffer"))
  }

  private func key(_ file: String) -> StoreKey {
    let url = PublishedKeys.folder.appending(path: file)
    return switch file {
    case "passphrase.txt": .passphraseFile(url)
    case "identity.key": .identity(url)
    default: .keyFile(url)
    }
  }

  @Test func eachReleasedFormatHasAStore() {
    #expect(Self.names.contains("format-1"))
  }

  @Test(arguments: names)
  func storeOfThePastReadsAsItWasWritten(_ name: String) throws {
    let url = try copy(name)
    let expected = try JSON(file: Self.folder.appending(path: "\(name).json"))
    let before = try Data(contentsOf: url)
    for file in expected["open_with"].strings {
      let store = try DocumentStore.open(at: url, key: key(file), options: .testing)
      #expect(store.pin == expected["pin"].string)
      #expect(try store.anchor() == expected["anchor"].string)
      #expect("\(store.titles)" == expected["titles"].string)
      let listed = try store.everything()
      #expect(listed.values.joined().count == expected["documents"].array.count)
      for (collection, stored) in listed {
        let documents = expected["documents"].array.filter { $0["collection"].string == collection }
        #expect(stored.map(\.header.id.rawValue) == documents.map { $0["id"].int })
        for (found, document) in zip(stored, documents) { try expect(found, document, in: store) }
      }
      #expect(try store.verify().isSound)
      try store.close()
    }
    expectCode(.cannotUnlock) {
      try DocumentStore.open(at: url, key: key(try #require(expected["wrong"].string)), options: .testing)
    }
    #expect(try Data(contentsOf: url) == before)
  }

  private func expect(_ found: StoredDocument, _ document: JSON, in store: DocumentStore) throws {
    let header = found.header
    #expect(header.position == document["position"].int)
    #expect(header.parent?.rawValue == document["parent"].int)
    #expect(header.title.map { Array($0.utf8) } == document["title"].string.map { Array($0.utf8) })
    #expect(header.key?.text == document["key"].string)
    #expect(header.created.millisecondsSince1970 == document["created"].int)
    #expect(header.modified.millisecondsSince1970 == document["modified"].int)
    #expect(header.isJSON == (document["json"].int == 1))
    let attributes = String(decoding: header.attributes.canonicalJSON, as: UTF8.self)
    #expect(
      attributes == document["attributes"].string || (attributes.isEmpty && document["attributes"].string == "{}"))
    #expect(Array(found.text.utf8) == document["text"].string.map { Array($0.utf8) })
    guard let key = header.key, let collection = document["collection"].string else { return }
    #expect(try store.read { try $0.id(forKey: key, in: DocumentCollection(collection)) } == header.id)
  }

  @Test(arguments: names)
  func storeOfThePastIsWrittenOnAndRekeyed(_ name: String) throws {
    let url = try copy(name)
    let expected = try JSON(file: Self.folder.appending(path: "\(name).json"))
    let store = try DocumentStore.open(at: url, key: key("primary.key"), options: .testing)
    let before = try store.everything()
    let new = try store.write { writer in
      try writer.insert(Document(title: "new", text: "of today"), into: DocumentCollection("more"))
    }
    // Numbers go on where they were, past those of documents that are gone.
    #expect(new.rawValue == expected["next_id"].int)
    #expect(try store.checkAnchor(try #require(expected["anchor"].string)) == .newer(by: 1))
    var options = RekeyOptions()
    options.dropsOtherSlots = true
    #expect(try store.rekey(to: [.published("next")], options: options) { _ in }.isFinished)
    try store.write { try $0.delete(new) }
    #expect(try store.everything() == before)
    #expect(try store.verify().isSound)
  }

  private func expectCode<T>(_ code: StoreError.Code, _ work: () throws -> T) {
    #expect(throws: StoreError(code, "")) { _ = try work() }
  }
}
