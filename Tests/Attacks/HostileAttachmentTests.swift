import Coffer
import CofferDocuments
import CofferRecords
import CofferSQLite
import CofferTestSupport
import Foundation
import Testing

@testable import CofferStoreTestSupport

/// Attachments of a published store that somebody without the keys changes. AttackTests have many more.
struct HostileAttachmentTests {
  private let place: Workplace

  init() throws {
    place = try Workplace()
  }

  private func open(_ name: String, _ edit: String) throws -> DocumentStore {
    let url = try place.copy(Vectors.folder.appending(path: "\(name).coffer"))
    try Database(url.path, mode: .readWrite).execute(edit)
    return try DocumentStore.open(at: url, key: .published("primary"), options: .testing)
  }

  /// Every row is an element of the set hash, so a row with a number that no row can have is a mismatch.
  @Test(arguments: [Int64.min, -1, 0, 8 << 24, .max], ["attachment", "gone"])
  func verifyFindsRowWithImpossibleNumber(_ number: Int64, table: String) throws {
    let columns = table == "gone" ? "rev,sealed" : "id,rev,sealed"
    let store = try open(
      "attachments", "INSERT INTO coffer_\(table) SELECT \(number),\(columns) FROM coffer_\(table) LIMIT 1")
    for depth in [Verdict.Depth.quick, .full] {
      let verdict = try store.verify(depth)
      #expect(verdict.error == StoreError(.setMismatch, ""), "\(verdict.problems)")
    }
  }

  /// A read of one attachment by its number doesn't need the list, which ends at a damaged row.
  @Test func damagedRowLeavesOtherAttachmentsReadable() throws {
    let store = try open(
      "attachments", "UPDATE coffer_attachment SET sealed=zeroblob(length(sealed)) WHERE attachment=1")
    try store.read { reader throws in
      #expect(throws: StoreError(.damaged, "")) { try reader.attachments(of: 1) }
      #expect(throws: StoreError(.damaged, "")) { try reader.content(of: StoreAttachment.ID(rawValue: 1)) }
      #expect(try reader.text(of: 1) == "With three files.")
      #expect(try reader.match(of: .text("three"), in: 1)?.textRanges == [5..<10])
    }
    let stored = try AttachmentVectors(Vectors.json("attachments")).stored.filter { $0.key.rawValue != 1 }
    try store.read { reader throws in
      for (id, attachment) in stored { try AttachmentVectors.expect(id, toBe: attachment, in: reader) }
    }
  }

  /// A length that the row names and the file can't have takes no memory before the chunks are read.
  @Test(arguments: [
    "forged-attachment-length-2-to-40", "forged-attachment-length-2-to-40-less-1",
    "forged-attachment-length-2-to-40-padded", "forged-attachment-chunks-2-to-24",
  ]) func refusesHostileLength(_ name: String) throws {
    let url = try place.copy(try Vectors.attackedStore(name))
    let store = try DocumentStore.open(at: url, key: .published("primary"), options: .testing)
    let id = StoreAttachment.ID(rawValue: 1)
    try store.read { reader throws in
      let byteCount = try reader.attachment(id).byteCount
      let memory = try reader.transaction.memory(for: byteCount)
      #expect(memory.capacity <= 1 << 20)
      #expect(throws: StoreError(.damaged, "")) { try reader.content(of: id) }
      #expect(throws: StoreError(.damaged, "")) { try reader.content(of: id, in: 0..<Int.max) }
      #expect(throws: StoreError(.damaged, "")) { try reader.content(of: id, in: byteCount - 1..<byteCount) }
      #expect(throws: StoreError(.damaged, "")) { try reader.forEachPart(of: id) { _ in } }
    }
  }

  /// A rekey lists the attachment of a chunk that it can't open, goes on with the others, and ends after its removal.
  @Test func rekeyGoesOnBehindDamagedChunk() throws {
    let store = try open(
      "attachments", "UPDATE coffer_chunk SET ct=zeroblob(length(ct)) WHERE chunk=(3<<24)+1")
    var options = RekeyOptions()
    options.dropsOtherSlots = true
    let report = try store.rekey(to: [.published("next")], options: options) { _ in }
    let stored = try AttachmentVectors(Vectors.json("attachments")).stored
    let damaged = StoreAttachment.ID(rawValue: 3)
    #expect(!report.isFinished && report.skipped.isEmpty && report.skippedAttachments.map(\.id) == [damaged])
    #expect(report.skippedAttachments.map(\.document) == [1] && report.remaining == 1)
    #expect(try store.rekeyStatus().remaining == 1)
    try store.read { reader throws in
      for (id, attachment) in stored where id != damaged {
        #expect(try Hexadecimal.text(reader.attachment(id).sha256) == attachment["sha256"].string)
        #expect(try reader.content(of: id).count == attachment["length"].int.map { Int($0) })
      }
      #expect(throws: StoreError(.damaged, "")) { try reader.content(of: damaged) }
      #expect(try reader.content(of: damaged, in: 0..<4096).count == 4096)
    }
    try store.write { try $0.detach(damaged) }
    options.isResuming = true
    #expect(try store.rekey(to: [], options: options) { _ in }.isFinished)
    #expect(try store.verify().isSound)
  }
}
