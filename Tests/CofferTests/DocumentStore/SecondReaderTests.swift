import Coffer
import CofferEngine
import CofferRecords
import CofferSQLite
import CofferTestSupport
import Foundation
import Testing

@testable import CofferStoreTestSupport

/// Comparisons with Tools/read_store.py, an independent reader that implements FORMAT.md.
@Suite(.enabled(if: SecondReader.isPresent, SecondReader.absence))
struct SecondReaderTests {
  @Test(.slow, arguments: CreateOptions.Titles.allCases, [true, false])
  func readsStoresIdentically(_ mode: CreateOptions.Titles, _ isPadded: Bool) throws {
    let test = try TestStore {
      $0.titles = mode; $0.isPadded = isPadded
    }
    try fill(test)
    try expectSame(test)
  }

  @Test func readsWriteAheadLog() throws {
    let test = try TestStore { $0.journal = .writeAheadLog }
    try fill(test)
    // All changes are still in the write-ahead log.
    try expectSame(test)
    try test.store.close()
    #expect(try SecondReader.read(test.url, ["--key-file", PublishedKeys.url("primary").path])["count"].int == 38)
  }

  /// The second reader decrypts every page, compares it with the map, and compares the indexed documents with the rows.
  @Test(.slow) func verifiesIndexes() throws {
    let test = try TestStore()
    try fill(test)
    for collection in try test.store.read({ scope in try scope.collections() }) {
      try test.store.index(
        DocumentCollection(collection.name), .words(), .substrings, .titles, .field("bytes", "@size", as: .number),
        .field("made", "@created", as: .date), .fields(["made", "bytes"]))
    }
    try expectSame(test)
    try test.store.write { scope in
      let id = try scope.insert(Document(text: "with files"), into: test.notes)
      for name in ["über.jpg", "b.txt"] { _ = try scope.attach(.bytes([1]), to: id, name: name) }
    }
    #expect(try test.store.updateIndexes())
    try expectSame(test)
    try test.store.write { scope in _ = try scope.insert(Document(text: "behind"), into: test.notes, at: .top) }
    try expectSame(test)
    #expect(try test.store.updateIndexes())
    try expectSame(test)
    try test.store.rekey()
    try expectSame(test)
    try test.store.close()
    try test.raw().execute(
      "UPDATE coffer_x_index_page SET sealed=zeroblob(length(sealed)) WHERE place=(SELECT max(place) FROM coffer_x_index_page)"
    )
    #expect(throws: SecondReader.Failure(status: 20)) {
      try SecondReader.read(test.url, ["--key-file", PublishedKeys.url("primary").path])
    }
  }

  @Test func opensWithEverySlotKind() throws {
    let test = try TestStore(
      keys: [.published("primary"), .passphraseFile(PublishedKeys.passphrase)],
      recipients: [PublishedKeys.recipient])
    try fill(test)
    try test.store.keys.replace(slot: 1, with: .published("next"))
    try expectSame(test, ["--key-file", PublishedKeys.url("next").path])
    try expectSame(test, ["--passphrase-file", PublishedKeys.passphrase.path])
    try expectSame(test, ["--key-file", PublishedKeys.url("identity").path])
    #expect(throws: SecondReader.Failure(status: 12)) {
      try SecondReader.read(test.url, ["--key-file", PublishedKeys.url("primary").path])
    }
  }

  @Test func readsExportedAndSalvagedStores() throws {
    let test = try TestStore()
    try fill(test)
    let theirs = try SecondReader.read(test.url, ["--key-file", PublishedKeys.url("primary").path])
    let (exported, salvaged) = (test.place.file("exported.coffer"), test.place.file("salvaged.coffer"))
    try test.store.copy(to: exported, keys: [.published("next")])
    let report = try DocumentStore.salvage(
      at: test.url, key: .published("primary"), to: salvaged, keys: [.published("next")], options: .testing)
    #expect(report.isComplete)
    for url in [exported, salvaged] {
      let copy = try SecondReader.read(url, ["--key-file", PublishedKeys.url("next").path])
      #expect(copy["set_hash"].string == "ok" && copy["problems"].array.isEmpty && copy["generation"].int == 2)
      #expect(copy["collections"].object.mapValues(\.string) == theirs["collections"].object.mapValues(\.string))
      #expect(copy["documents"].array.count == theirs["documents"].array.count)
      for (one, other) in zip(copy["documents"].array, theirs["documents"].array) {
        for name in ["id", "coll", "pos", "parent", "flags", "length", "created", "modified"] {
          #expect(one[name].int == other[name].int, "\(name)")
        }
        for name in ["title", "text", "key", "attributes"] {
          #expect(one[name].string == other[name].string, "\(name)")
        }
      }
    }
  }

  @Test(.slow) func readsStoreDuringRekey() throws {
    let test = try TestStore()
    try fill(test)
    var options = RekeyOptions()
    options.batchSize = 10
    try test.store.rekey(options: options) { step in
      if step.phase == .working { try expectSame(test) }
    }
    try expectSame(test)
  }

  @Test(.slow, arguments: CreateOptions.Titles.allCases, CreateOptions.Titles.allCases)
  func readsStoreDuringTitleChange(_ old: CreateOptions.Titles, _ new: CreateOptions.Titles) throws {
    let test = try TestStore { $0.titles = old }
    try fill(test)
    var options = RekeyOptions()
    options.batchSize = 15
    options.changeTitles(to: new)
    try test.store.rekey(options: options) { step in
      if step.phase == .working { try expectSame(test) }
    }
    try expectSame(test)
  }

  @Test func detectsMissingDocument() throws {
    let test = try TestStore()
    try fill(test)
    let database = try test.raw()
    try database.execute("DELETE FROM coffer_record WHERE id = 3; DELETE FROM coffer_body WHERE id = 3")
    #expect(throws: SecondReader.Failure(status: 21)) {
      try SecondReader.read(test.url, ["--key-file", PublishedKeys.url("primary").path])
    }
    #expect(try test.store.verify().error == StoreError(.setMismatch, ""))
  }

  private func fill(_ test: TestStore) throws {
    try test.store.write { writer in
      try writer.create(DocumentCollection("gefaltet \u{DF}"), titleRule: .derived, foldsKeys: true)
      let folded = DocumentCollection("gefaltet \u{DF}")
      for (number, text) in WritingTests.texts.enumerated() {
        for collection in [test.notes, folded] {
          try writer.insert(
            Document(
              title: number.isMultiple(of: 3) ? nil : "title \(number) \0 \u{1F469}\u{200D}\u{1F467}", text: text,
              key: number.isMultiple(of: 2) ? DocumentKey("Key Stra\u{DF}e A\u{30A} \(number)") : nil,
              attributes: number < 4 ? [:] : ["z": .string(String(text.prefix(20))), "a": .array([1.5, .null])],
              created: Timestamp(millisecondsSince1970: Int64(number) * -1000), isJSON: number == 2),
            into: collection, at: number.isMultiple(of: 4) ? .top : .bottom)
        }
      }
      let last = try writer.insert(
        Document(text: "child", key: DocumentKey(bytes: [0, 255]), parent: 3), into: test.notes)
      try writer.move(last, to: .after(1))
      var source = ListSource((0..<20).map { .init(title: "\($0)", text: "bulk \($0)", collection: "bulk") })
      source.batch = 7
      _ = try writer.insert(contentsOf: source, into: nil)
      for id: DocumentID in [2, 7, 8, 30, 31] { try writer.delete(id) }
      try writer.update(5) { $0.text = "changed" }
      try writer.rename(DocumentCollection("bulk"), to: "renamed")
    }
  }

  /// Expects the second reader and the library to read identical documents, set hashes and anchors.
  private func expectSame(
    _ test: TestStore, _ key: [String] = ["--key-file", PublishedKeys.url("primary").path],
    location: SourceLocation = #_sourceLocation
  ) throws {
    let anchor = try test.store.anchor().description
    let report = try SecondReader.read(test.url, key + ["--anchor", anchor])
    #expect(report["anchor"].string == anchor, sourceLocation: location)
    #expect(report["pin"].string == test.store.pin.description, sourceLocation: location)
    #expect(report["set_hash"].string == "ok", sourceLocation: location)
    #expect(report["problems"].array.isEmpty, sourceLocation: location)
    let everything = try test.store.everything()
    let ours = everything.values.flatMap { $0 }.sorted {
      let (one, other) = ($0.header, $1.header)
      return (one.collection, one.position, one.id) < (other.collection, other.position, other.id)
    }
    let names = try test.store.read { try $0.collections() }
    #expect(
      report["collections"].object.compactMapValues(\.string)
        == Dictionary(uniqueKeysWithValues: names.map { (String($0.id.rawValue), $0.name) }), sourceLocation: location)
    let theirs = report["documents"].array
    #expect(theirs.count == ours.count, sourceLocation: location)
    for (their, our) in zip(theirs, ours) {
      let header = our.header
      #expect(their["id"].int == header.id.rawValue, sourceLocation: location)
      #expect(their["coll"].int == Int64(header.collection.rawValue), sourceLocation: location)
      #expect(their["pos"].string == header.position.description, sourceLocation: location)
      #expect(their["parent"].int == header.parent?.rawValue, sourceLocation: location)
      #expect(their["flags"].int == (header.isJSON ? 1 : 0), sourceLocation: location)
      #expect(bare(their["title"].string) == bare(header.title), sourceLocation: location)
      #expect(bare(their["text"].string) == bare(our.text), sourceLocation: location)
      #expect(their["length"].int == Int64(header.byteCount), sourceLocation: location)
      #expect(their["created"].int == header.created.millisecondsSince1970, sourceLocation: location)
      #expect(their["modified"].int == header.modified.millisecondsSince1970, sourceLocation: location)
      let bytes = header.key.map { $0.bytes.map { String(format: "%02x", $0) }.joined() }
      #expect(their["key"].string == bytes, sourceLocation: location)
      #expect(
        bare(their["attributes"].string ?? "")
          == bare(String(decoding: header.attributes.canonicalJSON, as: UTF8.self)),
        sourceLocation: location)
    }
  }

  /// Returns bytes without U+FEFF, because Foundation's JSON reader drops it at the start and after an escape.
  private func bare(_ text: String?) -> [UInt8]? {
    text.map { String(String.UnicodeScalarView($0.unicodeScalars.filter { $0 != "\u{FEFF}" })).utf8.map { $0 } }
  }
}
