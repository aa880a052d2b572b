import Coffer
import CofferRecords
import CofferSQLite
import CofferTestSupport
import Foundation
import Testing

@testable import CofferEngine
@testable import CofferStoreTestSupport

/// The attachments of damaged stores.
struct SalvageAttachmentTests {
  private let place: Workplace
  private let target: URL
  private let test: TestStore
  private let ids: [DocumentID]
  /// The names and contents of each document's attachments.
  private let contents: [DocumentID: [String: [UInt8]]]

  /// Two documents with two attachments each, of which the second takes several pages and chunks.
  init() throws {
    place = try Workplace()
    target = place.file("saved.coffer")
    test = try TestStore { $0.isPadded = true }
    var contents: [DocumentID: [String: [UInt8]]] = [:]
    ids = try test.store.write { [notes = test.notes] tx in
      try (1...2).map { number in
        let id = try tx.insert(Document(title: "\(number)", text: "text \(number)"), into: notes)
        for (name, count) in [("small", 10), ("large", 200_000 + number)] {
          var random = Pseudorandom(seed: UInt64(number * count))
          let bytes = (0..<count).map { _ in UInt8(truncatingIfNeeded: random.next()) }
          try tx.attach(bytes, to: id, name: name, type: "image/png", date: Timestamp(millisecondsSince1970: 7))
          contents[id, default: [:]][name] = bytes
        }
        return id
      }
    }
    self.contents = contents
    // Damages find a store without a session.
    try test.store.close()
  }

  private func edit(_ sql: String...) throws {
    let database = try test.raw()
    for sql in sql { try database.execute(sql) }
    try database.close()
  }

  /// Salvages the store, and returns the contents in the new store, which is sound.
  private func salvage(location: SourceLocation = #_sourceLocation) throws -> (
    report: CopyReport, contents: [DocumentID: [String: [UInt8]]], store: DocumentStore
  ) {
    let before = try test.bytesOnDisk()
    let report = try DocumentStore.salvage(
      at: test.url, key: .published("primary"), to: target, keys: [.published("next")], options: .testing)
    #expect(try test.bytesOnDisk() == before, "the source has changed", sourceLocation: location)
    let store = try DocumentStore.open(at: target, key: .published("next"), options: .testing)
    let verdict = try store.verify()
    #expect(verdict.isSound && verdict.attachments == report.attachments, sourceLocation: location)
    var found: [DocumentID: [String: [UInt8]]] = [:]
    try store.read { reader throws in
      for id in ids where try reader.exists(id) {
        for attachment in try reader.attachments(of: id) {
          #expect(attachment.mediaType == "image/png" && attachment.date.millisecondsSince1970 == 7)
          found[id, default: [:]][attachment.name] = try reader.content(of: attachment.id)
        }
      }
    }
    // A chunk of an attachment that was left out isn't there.
    let chunks = try Database(target.path, mode: .readOnly).query(
      "SELECT count(*) FROM coffer_chunk WHERE chunk>>24 NOT IN (SELECT attachment FROM coffer_attachment)")
    #expect(chunks.rows[0][0] == .integer(0), sourceLocation: location)
    return (report, found, store)
  }

  private func identities(_ store: DocumentStore) throws -> [UniqueID] {
    try store.engine.reading { transaction throws(StoreError) in
      var found: [UniqueID] = []
      for id in ids { found += try transaction.attachmentRecords(of: id).map(\.uid) }
      return found
    }
  }

  @Test func salvagesAttachmentsOfSoundStore() throws {
    let (report, found, store) = try salvage()
    #expect(report.isComplete && report.attachments == 4 && report.leftOutAttachments == [] && report.problems == [])
    #expect(found == contents)
    #expect(try identities(store) == identities(try test.reopened()))
  }

  @Test(arguments: [
    "DELETE FROM coffer_chunk WHERE chunk=(2<<24)+3",
    "UPDATE coffer_chunk SET ct=zeroblob(length(ct)) WHERE chunk=2<<24",
    "UPDATE coffer_chunk SET ct=substr(ct,1,length(ct)-1) WHERE chunk=(2<<24)+1",
  ]) func listsAttachmentWithDamagedChunk(_ sql: String) throws {
    try edit(sql)
    let (report, found, _) = try salvage()
    var expected = contents
    expected[ids[0]]!["large"] = nil
    #expect(found == expected && report.attachments == 3 && report.documents == 2)
    let left = report.leftOutAttachments
    #expect(left.map(\.id.rawValue) == [2] && left.map(\.document) == [ids[0]] && report.leftOut.isEmpty)
    #expect(left.allSatisfy { $0.reason.contains("chunk") })
    #expect(!report.isComplete && report.setMatches == true)
  }

  @Test func reportsLostRow() throws {
    try edit("UPDATE coffer_attachment SET sealed=zeroblob(length(sealed)) WHERE attachment=1")
    let (report, found, _) = try salvage()
    var expected = contents
    expected[ids[0]]!["small"] = nil
    #expect(found == expected && report.attachments == 3 && report.setMatches == false && !report.isComplete)
    #expect(report.problems.contains { $0.contains("attachment 1 is lost") })
  }

  @Test func countsMissingRows() throws {
    try edit("DELETE FROM coffer_attachment WHERE attachment=1")
    let (report, _, _) = try salvage()
    #expect(report.problems.contains("1 of 4 attachments are lost: their rows can't be found"))
    #expect(report.attachments == 3 && report.setMatches == false)
  }

  /// Their contents are worth more than their documents' absence.
  @Test func keepsAttachmentsOfLostDocument() throws {
    try edit("DELETE FROM coffer_record WHERE id=\(ids[1])")
    let (report, found, store) = try salvage()
    #expect(found == contents && report.attachments == 4 && report.documents == 1 && !report.isComplete)
    #expect(report.problems.contains { $0.contains("1 empty document in collection 'lost documents'") })
    let document = try store.read { try $0.document(ids[1]) }
    #expect(document.text == "" && document.title == nil)
    let headers = try store.read { try $0.headers(in: DocumentCollection("lost documents")) }
    #expect(headers.map(\.id) == [ids[1]])
  }

  @Test(arguments: [512, 4096]) func salvagesAttachmentsWithoutFirstPage(_ pageSize: Int) throws {
    if pageSize != 4096 { try edit("PRAGMA page_size = \(pageSize)", "VACUUM") }
    var bytes = try Data(contentsOf: test.url)
    bytes.replaceSubrange(..<pageSize, with: Data(count: pageSize))
    try bytes.write(to: test.url)
    let (report, found, _) = try salvage()
    #expect(found == contents && report.attachments == 4 && report.isComplete)
  }

  /// The trees of rows and chunks lead nowhere. A document has the number of a chunk.
  @Test(arguments: ["coffer_attachment", "coffer_chunk"]) func findsRowsAndChunksOnPages(_ table: String) throws {
    let store = try test.reopened()
    try store.write { try $0.insert(Document(text: "other"), into: test.notes, id: DocumentID(1 << 24)) }
    try store.close()
    let raw = try test.raw()
    let page = try #require(
      try raw.query("SELECT rootpage FROM sqlite_schema WHERE name=?", table).rows[0][0].integer)
    let size = Int(try #require(try raw.query("PRAGMA page_size").rows[0][0].integer))
    try raw.close()
    var bytes = try Data(contentsOf: test.url)
    // The root becomes the leaf of an empty table. If it had rows, they're on a page behind the others.
    let root = Int(page - 1) * size..<Int(page) * size
    if bytes[root.lowerBound] == 13 { bytes.append(bytes.subdata(in: root)) }
    let empty: [UInt8] = [13, 0, 0, 0, 0, UInt8(size >> 8), UInt8(size & 0xFF), 0]
    bytes.replaceSubrange(root, with: Data(empty) + Data(count: size - empty.count))
    try bytes.write(to: test.url)
    let (report, found, _) = try salvage()
    #expect(found == contents && report.attachments == 4)
  }

  /// A chunk's number can be the number of a document, too.
  @Test func distinguishesChunksFromTexts() throws {
    let store = try test.reopened()
    let text = String(repeating: "a long text ", count: 10_000)
    let id = try store.write { try $0.insert(Document(text: text), into: test.notes, id: DocumentID(1 << 24)) }
    try store.close()
    var bytes = try Data(contentsOf: test.url)
    bytes.replaceSubrange(..<4096, with: Data(count: 4096))
    try bytes.write(to: test.url)
    let (report, found, saved) = try salvage()
    #expect(found == contents && report.isComplete)
    #expect(try saved.read { try $0.text(of: id) } == text)
  }

  /// The attachments of a lost document are new ones, so removing them leaves those of another copy's document.
  @Test(arguments: ["head=zeroblob(length(head))", "body=zeroblob(length(body))"])
  func removingAttachmentOfLostDocumentKeepsThatOfCopy(damage: String) throws {
    let copy = try DocumentStore.openEditableCopy(
      of: test.url, at: place.file("copy.coffer"), key: .published("primary"), options: .testing)
    try edit("UPDATE coffer_record SET \(damage) WHERE id=2")
    let saved = try salvage().store
    #expect(try saved.merge(copy).isMerged)
    #expect(try copy.merge(saved).isMerged)
    let lost = try saved.read { reader throws in
      try reader.collections().filter { $0.name != test.notes.name }.flatMap {
        try reader.headers(in: DocumentCollection($0.name))
      }
    }
    try saved.write { writer throws in
      for header in lost {
        for attachment in try writer.attachments(of: header.id) { try writer.detach(attachment.id) }
      }
    }
    #expect(try copy.merge(saved).isMerged)
    try copy.read { reader throws in
      for id in ids {
        for attachment in try reader.attachments(of: id) {
          #expect(try reader.content(of: attachment.id) == contents[id]?[attachment.name])
        }
        #expect(try reader.attachments(of: id).count == 2)
      }
    }
    try copy.close()
  }
}
