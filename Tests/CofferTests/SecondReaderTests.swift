import Coffer
import CofferSQLite
import Foundation
import Testing

@testable import CofferRecords

/// Tools/read_store.py, written from FORMAT.md alone, reads what the library writes.
@Suite(.enabled(if: SecondReader.isPresent, "python3 with its cryptography package is absent"))
struct SecondReaderTests {
  @Test(.slow, arguments: TitleMode.allCases, [true, false])
  func storesReadTheSame(_ mode: TitleMode, _ isPadded: Bool) throws {
    let test = try TestStore {
      $0.titles = mode; $0.isPadded = isPadded
    }
    try fill(test)
    try expectSame(test)
  }

  @Test func storesInTheWriteAheadLogReadTheSame() throws {
    let test = try TestStore { $0.journal = .writeAheadLog }
    try fill(test)
    // The log holds all of it, beside the file.
    try expectSame(test)
    try test.store.close()
    #expect(try SecondReader.read(test.url, ["--key-file", PublishedKeys.url("primary").path])["count"].int == 38)
  }

  /// The second reader sums and opens every page, and compares the documents that an index names with the rows.
  @Test func indexesReadTheSame() throws {
    let test = try TestStore()
    try fill(test)
    for collection in try test.store.read({ scope in try scope.collections() }) {
      try test.store.index(
        test.store.collection(collection.name), .words(), .substrings, .titles, .field("bytes", "@size", as: .number))
    }
    try expectSame(test)
    try test.store.write { scope in _ = try scope.insert(Document(text: "behind"), into: test.notes, at: .top) }
    try expectSame(test)
    #expect(try test.store.updateIndexes())
    try expectSame(test)
    try test.store.rekey()
    try expectSame(test)
    try test.store.close()
    try test.raw().execute(
      "UPDATE coffer_x_index_page SET rev=rev+1 WHERE place=(SELECT max(place) FROM coffer_x_index_page)")
    #expect(throws: SecondReader.Failure(status: 20)) {
      try SecondReader.read(test.url, ["--key-file", PublishedKeys.url("primary").path])
    }
  }

  @Test func everySlotOpensForBoth() throws {
    let test = try TestStore(keys: [
      .published("primary"), .passphraseFile(PublishedKeys.passphrase), .recipient(PublishedKeys.recipient),
    ])
    try fill(test)
    try test.store.keys.replace(slot: 1, with: .published("next"))
    try expectSame(test, ["--key-file", PublishedKeys.url("next").path])
    try expectSame(test, ["--passphrase-file", PublishedKeys.passphrase.path])
    try expectSame(test, ["--identity", PublishedKeys.url("identity").path])
    #expect(throws: SecondReader.Failure(status: 12)) {
      try SecondReader.read(test.url, ["--key-file", PublishedKeys.url("primary").path])
    }
  }

  @Test func storesMadeFromOthersReadTheSame() throws {
    let test = try TestStore()
    try fill(test)
    let theirs = try SecondReader.read(test.url, ["--key-file", PublishedKeys.url("primary").path])
    let (exported, salvaged) = (test.place.file("exported.coffer"), test.place.file("salvaged.coffer"))
    try test.store.export(to: exported, keys: [.published("next")])
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

  @Test(.slow) func storesReadTheSameAtEachStepOfARekey() throws {
    let test = try TestStore()
    try fill(test)
    var options = RekeyOptions()
    options.batchSize = 10
    try test.store.rekey(options: options) { step in
      if step.phase == .working { try expectSame(test) }
    }
    try expectSame(test)
  }

  @Test(.slow, arguments: TitleMode.allCases, TitleMode.allCases)
  func storesReadTheSameWhileTitlesChange(_ old: TitleMode, _ new: TitleMode) throws {
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

  @Test func missingDocumentIsSeenByBoth() throws {
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
              key: number.isMultiple(of: 2) ? ExternalKey("Key Stra\u{DF}e A\u{30A} \(number)") : nil,
              attributes: number < 4 ? [:] : ["z": .string(String(text.prefix(20))), "a": .array([1.5, .null])],
              created: Timestamp(millisecondsSince1970: Int64(number) * -1000), isJSON: number == 2),
            into: collection, at: number.isMultiple(of: 4) ? .top : .bottom)
        }
      }
      let last = try writer.insert(
        Document(text: "child", key: ExternalKey(bytes: [0, 255]), parent: 3), into: test.notes)
      try writer.move(last, to: .after(1))
      var source = ListSource((0..<20).map { .init(title: "\($0)", text: "bulk \($0)", collection: "bulk") })
      source.batch = 7
      _ = try writer.insert(contentsOf: source, into: nil)
      for id: DocumentID in [2, 7, 8, 30, 31] { try writer.delete(id) }
      try writer.update(5) { $0.text = "changed" }
      try writer.rename(DocumentCollection("bulk"), to: "renamed")
    }
  }

  /// The same ids, titles, texts and all else, set hash and anchor, by the second reader and by the library.
  private func expectSame(
    _ test: TestStore, _ key: [String] = ["--key-file", PublishedKeys.url("primary").path],
    location: SourceLocation = #_sourceLocation
  ) throws {
    let anchor = try test.store.anchor()
    let report = try SecondReader.read(test.url, key + ["--anchor", anchor])
    #expect(report["anchor"].string == anchor, sourceLocation: location)
    #expect(report["pin"].string == test.store.pin, sourceLocation: location)
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
      #expect(their["pos"].int == header.position, sourceLocation: location)
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

  /// Bytes to compare; Foundation's JSON reader drops a U+FEFF at the beginning of a string and behind an escape.
  private func bare(_ text: String?) -> [UInt8]? {
    text.map { String(String.UnicodeScalarView($0.unicodeScalars.filter { $0 != "\u{FEFF}" })).utf8.map { $0 } }
  }
}

/// Runs Tools/read_store.py.
enum SecondReader {
  struct Failure: Error, Equatable {
    let status: Int32
  }

  private static let script = PublishedKeys.folder.deletingLastPathComponent().appending(path: "Tools/read_store.py")

  static let isPresent: Bool = (try? run(["python3", "-c", "import cryptography"]).status) == 0

  static func read(_ store: URL, _ arguments: [String]) throws -> JSON {
    let (status, output) = try run(["python3", script.path, store.path, "--allow-test"] + arguments)
    guard status == 0 else { throw Failure(status: status) }
    return JSON(try JSONSerialization.jsonObject(with: output))
  }

  static func run(_ command: [String]) throws -> (status: Int32, output: Data) {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = command
    let pipe = Pipe()
    process.standardOutput = pipe
    process.standardError = FileHandle.nullDevice
    try process.run()
    let output = pipe.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return (process.terminationStatus, output)
  }
}
