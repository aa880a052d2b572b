import Coffer
import CofferFormats
import CofferTestSupport
import Foundation
import Testing

@testable import CofferStoreTestSupport

/// Attachments that leave a store with an export and come back with an import.
struct AttachmentExchangeTests {
  /// What a user sees of a document's attachments, without the names that several of them share.
  private struct Seen: Hashable {
    let title: String?
    /// The bytes of the name, because composed and decomposed letters differ.
    let name: [UInt8]
    let mediaType: String
    let date: Int64
    let sha256: [UInt8]

    init(_ title: String?, _ attachment: Attachment) {
      self.title = title
      name = Array(attachment.name.utf8)
      mediaType = attachment.mediaType
      date = attachment.date.millisecondsSince1970
      sha256 = attachment.sha256
    }
  }

  private static let oddNames = [
    "photo.png", "PHOTO.png", "photo", "a/b/../c.txt", "..", ".hidden", "CON.txt", "line\nbreak\u{1}.gif",
    String(repeating: "n", count: 300) + ".jpeg", "schlüssel \u{202E}.pdf", "index.ndjson", "100 %", " . ",
    "caf\u{E9}", "cafe\u{301}",
  ]

  private static func fill(_ store: DocumentStore) throws {
    try store.write { tx in
      var date: Int64 = 1_500_000_000_123
      func attach(_ count: Int, _ id: DocumentID, _ name: String, _ type: String?) throws {
        date += 61_001
        try tx.attach(
          .bytes(AttachmentTests.bytes(count, seed: UInt64(date))), to: id, name: name, type: type,
          date: Timestamp(millisecondsSince1970: date))
      }
      let sizes = try tx.insert(Document(title: "sizes", text: "text"), into: "notes")
      for count in [0, 1, 65_536, 65_537, 3_000_001] { try attach(count, sizes, "\(count).bin", "x/\(count)") }
      let names = try tx.insert(Document(title: "sizes", text: "other text"), into: "notes")
      for (index, name) in oddNames.enumerated() { try attach(index, names, name, index % 2 == 0 ? "" : nil) }
      try tx.insert(Document(title: "plain", text: "none"), into: "notes")
      // A document whose path leads into the folder of another document's attachments.
      try tx.insert(Document(title: "0.bin", text: "text", key: "sizes.files/0.bin"), into: "notes")
    }
  }

  private static func seen(_ store: DocumentStore) throws -> Set<Seen> {
    try store.read { reader in
      var all: Set<Seen> = []
      try reader.forEachHeader(in: "notes") { header in
        for attachment in try reader.attachments(of: header.id) {
          all.insert(Seen(header.title, attachment))
          _ = try reader.content(of: attachment.id)
        }
      }
      return all
    }
  }

  private func export(_ store: DocumentStore, _ sink: inout some DocumentSink) throws {
    try store.read { reader in
      try sink.begin()
      try reader.forEach(in: "notes") { try sink.write($0, inCollection: "notes") }
      try sink.finish()
    }
  }

  private func expectEqual(_ made: TestStore, _ source: some DraftSource, _ conflict: BulkOptions.Conflict) throws {
    let copy = try TestStore()
    var options = BulkOptions()
    options.onConflict = conflict
    let report = try copy.store.write { try $0.insert(contentsOf: source, into: nil, options: options) }
    #expect(report.attachments == Self.oddNames.count + 5)
    #expect(report.created == 4)
    let expected = try Self.seen(made.store)
    #expect(try Self.seen(copy.store) == expected)
    try copy.expectSound()
  }

  @Test(arguments: [BulkOptions.Conflict.fail, .update]) func returnsFromFolder(_ conflict: BulkOptions.Conflict) throws
  {
    let made = try TestStore()
    try Self.fill(made.store)
    let folder = made.place.file("texts").path
    var sink = TextDirectorySink(path: folder)
    try export(made.store, &sink)
    let files = try FileManager.default.subpathsOfDirectory(atPath: folder)
    #expect(files.contains("sizes.files/0.bin") && files.contains("sizes.files/65537.bin"))
    let folded = Set(files.map { $0.lowercased() })
    #expect(folded.count == files.count)
    #expect(
      files.allSatisfy {
        $0.utf8.count < 255 && !$0.unicodeScalars.contains { $0.properties.generalCategory == .control }
      })
    try expectEqual(made, try InputSource(opening: folder), conflict)
  }

  @Test(arguments: [false, true]) func returnsFromNDJSONAndJSON(isJSON: Bool) throws {
    let made = try TestStore()
    try Self.fill(made.store)
    let (file, folder) = (made.place.file("all.json").path, made.place.file("contents").path)
    if isJSON {
      var sink = JSONSink(try FileByteSink(creating: file), attachments: AttachmentFolder(path: folder))
      try export(made.store, &sink)
    } else {
      var sink = NDJSONSink(try FileByteSink(creating: file), attachments: AttachmentFolder(path: folder))
      try export(made.store, &sink)
    }
    var options = ReadingOptions()
    options.attachments = try AttachmentFiles(path: folder)
    try expectEqual(made, try InputSource(opening: file, format: isJSON ? .json : .ndjson, options: options), .fail)
    options.onError = .skip
    try expectEqual(made, try InputSource(opening: file, format: isJSON ? .json : .ndjson, options: options), .update)
  }

  @Test func countsAttachmentsWithoutContents() throws {
    let made = try TestStore()
    try Self.fill(made.store)
    let file = made.place.file("all.ndjson").path
    var sink = NDJSONSink(try FileByteSink(creating: file))
    try export(made.store, &sink)
    var source = try InputSource(opening: file)
    var batch = DraftBatch()
    while try source.read(into: &batch) { #expect(batch.attachments.isEmpty) }
    #expect(source.report.attachmentsWithoutContent == Self.oddNames.count + 5)
    #expect(source.report.documents == 4 && source.report.attachments == 0)
  }
}
