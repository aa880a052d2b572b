import CofferDocuments
import CofferSQLite
import Foundation
import Testing

@testable import CofferFormats

/// Data of property lists, archives and databases that becomes attachments.
@Suite struct ExtractedDataTests {
  private static let png: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 1]
  // The SHA-256 of no bytes, and of a single zero.
  private static let emptyDigest = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
  private static let zeroDigest = "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d"

  private static var options: ReadingOptions {
    var options = ReadingOptions()
    options.attachesData = true
    return options
  }

  private func read(_ source: some DraftSource) throws -> [(text: String, attachments: [String: [UInt8]])] {
    var source = source
    var batch = DraftBatch()
    var all: [(String, [String: [UInt8]])] = []
    while try source.read(into: &batch) {
      for draft in batch.drafts {
        let attachments = batch.attachments[draft.attachments].map { attachment -> (String, [UInt8]) in
          guard case .bytes(let bytes) = attachment.content else { return (attachment.name, []) }
          return (attachment.name, bytes)
        }
        let text = draft.text.map { String(decoding: batch.bytes[$0], as: UTF8.self) } ?? ""
        let attributes = draft.attributes.map { String(decoding: batch.bytes[$0], as: UTF8.self) } ?? ""
        all.append((text + attributes, Dictionary(uniqueKeysWithValues: attachments)))
      }
    }
    return all
  }

  @Test(arguments: [PropertyListSerialization.PropertyListFormat.xml, .binary])
  func namesDataByItsPlace(_ format: PropertyListSerialization.PropertyListFormat) throws {
    let list: [[String: Any]] = [
      ["name": "one", "images": [["raw": Data([0])], ["raw": Data(Self.png)]], "copy": Data([0])],
      ["text": "a document", "file": Data()],
    ]
    let data = try PropertyListSerialization.data(fromPropertyList: list, format: format, options: 0)
    let records = try read(PropertyListSource(MemoryByteSource(data), options: Self.options))
    #expect(records.count == 2)
    #expect(Set(records[0].attachments.values) == [[0], Self.png])
    #expect(records[0].attachments["images.1.raw.png"] == Self.png)
    // The first of two places of the same bytes names them.
    #expect(records[0].attachments["copy"] == [0] || records[0].attachments["images.0.raw"] == [0])
    #expect(records[0].text.contains(#"{"$attachment":"\#(Self.zeroDigest)"}"#) && !records[0].text.contains("base64"))
    #expect(records[1].text == #"a document{"file":{"$attachment":"\#(Self.emptyDigest)"}}"#)
    #expect(records[1].attachments == ["file": []])
    let plain = try read(PropertyListSource(MemoryByteSource(data)))
    #expect(plain[0].text.contains(#"{"$base64":"AA=="}"#) && plain[0].attachments.isEmpty)
  }

  @Test func readsListThatIsData() throws {
    let data = try PropertyListSerialization.data(fromPropertyList: Data([0]), format: .binary, options: 0)
    let records = try read(PropertyListSource(MemoryByteSource(data), options: Self.options))
    #expect(records.map(\.text) == [#"{"$attachment":"\#(Self.zeroDigest)"}"#])
    #expect(records.map(\.attachments) == [["data": [0]]])
  }

  @Test func readsDataOfArchives() throws {
    let object: NSDictionary = [
      "title": "archived", "photo": Data(Self.png) as NSData, "again": Data(Self.png) as NSData,
    ]
    let data = try NSKeyedArchiver.archivedData(withRootObject: object, requiringSecureCoding: false)
    let records = try read(
      PropertyListSource(MemoryByteSource(data), content: .keyedArchive, options: Self.options))
    #expect(records.count == 1 && Array(records[0].attachments.values) == [Self.png])
    #expect(records[0].attachments.keys.allSatisfy { ["photo.png", "again.png"].contains($0) })
    #expect(!records[0].text.contains("base64"))
  }

  @Test func readsBlobsOfDatabases() throws {
    let folder = try TemporaryDirectory()
    let path = try folder.database(
      "CREATE TABLE records(id INTEGER PRIMARY KEY, title TEXT, text TEXT, photo BLOB, note TEXT)",
      "INSERT INTO records VALUES(1, 'a', 'text', x'89504E4701', 'n'), (2, 'b', x'00', NULL, 'n')",
      "CREATE TABLE models(id INTEGER PRIMARY KEY, name TEXT, uuid UUID, cover BLOB)",
      "INSERT INTO models VALUES(1, 'a', x'00112233445566778899AABBCCDDEEFF', x'00')")
    let records = try read(SQLiteSource(path: path, table: "records", options: Self.options))
    #expect(records[0].attachments == ["photo.png": Self.png])
    #expect(records[0].text.hasPrefix("text") && records[0].text.contains(#""photo":{"$attachment":""#))
    #expect(records[1].text.hasPrefix(#"{"$attachment":"\#(Self.zeroDigest)"}"#))
    #expect(records[1].attachments == ["text": [0]])
    var options = Self.options
    options.readsValues = true
    let models = try read(SQLiteSource(path: path, table: "models", options: options))
    #expect(models[0].attachments == ["cover": [0]])
    #expect(models[0].text.contains(#""cover":"\#(Self.zeroDigest)""#))
    #expect(models[0].text.contains(#""uuid":"00112233-4455-6677-8899-AABBCCDDEEFF""#))
  }

  @Test(
    arguments: [
      ("RIFF0000WEBPVP8 ", "webp"), ("0000ftypheic", "heic"), ("0000ftypmif1", "heic"), ("0000ftypisom", "mp4"),
      ("0000ftypqt  ", "mov"), ("GIF89a", "gif"), ("%PDF-1.7", "pdf"), ("PK\u{3}\u{4}", "zip"), ("II*\0", "tiff"),
      ("MM\0*", "tiff"), ("text", nil), ("", nil),
    ] as [(String, String?)])
  func knowsContentByItsFirstBytes(_ head: String, _ ending: String?) {
    #expect(ContentKind(Array(head.utf8))?.rawValue == ending)
  }

  @Test func shortensLongPlaces() throws {
    var value: Any = Data([0])
    for _ in 0..<300 { value = [String(repeating: "k", count: 30): value] }
    let data = try PropertyListSerialization.data(fromPropertyList: value, format: .binary, options: 0)
    let records = try read(PropertyListSource(MemoryByteSource(data), options: Self.options))
    let name = try #require(records.first?.attachments.keys.first)
    #expect((1...200).contains(name.utf8.count))
  }
}
