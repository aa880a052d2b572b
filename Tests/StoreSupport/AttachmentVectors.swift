import Coffer
import CofferDocuments
import CofferEngine
import CofferRecords
import CofferSealing
import Foundation
import Testing

/// The library's attachment, because Swift Testing has a type of this name, too.
typealias StoreAttachment = CofferEngine.Attachment

/// The attachments of a published store, as the JSON beside it describes them.
struct AttachmentVectors {
  /// The readable attachments by number.
  let stored: [StoreAttachment.ID: JSON]
  /// The numbers of each document's readable attachments, in order.
  private let listed: [DocumentID: [StoreAttachment.ID]]
  /// The attachments that only a later version can read.
  private let newer: [StoreAttachment.ID]

  /// - Parameter expected: The JSON of a sound store.
  init(_ expected: JSON) throws {
    var stored: [StoreAttachment.ID: JSON] = [:]
    var listed: [DocumentID: [StoreAttachment.ID]] = [:]
    for (document, attachments) in expected["attachments"].object {
      let document = DocumentID(try #require(Int64(document)))
      for attachment in attachments.array {
        let id = StoreAttachment.ID(rawValue: try #require(attachment["number"].int))
        stored[id] = attachment
        listed[document, default: []].append(id)
      }
    }
    (self.stored, self.listed) = (stored, listed)
    newer = expected["newer_attachments"].array.compactMap(\.int).map { StoreAttachment.ID(rawValue: $0) }
  }

  /// Expects the documents of a store to have exactly these attachments, with their contents.
  func expectAll(in store: DocumentStore, ofDocuments ids: [DocumentID]) throws {
    try store.read { reader throws in
      for id in ids {
        do throws(StoreError) {
          let found = try reader.attachments(of: id).map(\.id)
          #expect(found == listed[id] ?? [])
        } catch {
          // A list ends at a newer attachment.
          #expect(error.code == .otherFormat && error.documentID == id && !newer.isEmpty, "\(error)")
        }
      }
      for (id, attachment) in stored { try Self.expect(id, toBe: attachment, in: reader) }
      for id in newer {
        #expect(throws: StoreError(.otherFormat, "")) { try reader.content(of: id) }
      }
    }
  }

  /// Reads an attachment in every way, and compares it with its description.
  static func expect(
    _ id: StoreAttachment.ID, toBe stored: JSON, in reader: borrowing ReadTransaction,
    location: SourceLocation = #_sourceLocation
  ) throws {
    let attachment = try reader.attachment(id)
    #expect(attachment.name == stored["name"].string, sourceLocation: location)
    #expect(attachment.mediaType == stored["media_type"].string, sourceLocation: location)
    #expect(Int64(attachment.byteCount) == stored["length"].int, sourceLocation: location)
    #expect(attachment.date.millisecondsSince1970 == stored["date"].int, sourceLocation: location)
    #expect(Hexadecimal.text(attachment.sha256) == stored["sha256"].string, sourceLocation: location)
    let content = try reader.content(of: id)
    let digest = try content.withUnsafeBytes { try TextHasher().digest(of: $0) }
    #expect(content.count == attachment.byteCount, sourceLocation: location)
    #expect(digest == attachment.sha256.withUnsafeBytes { TextDigest(bytes: $0) }, sourceLocation: location)
    var parts: [UInt8] = []
    try reader.forEachPart(of: id) { parts += $0 }
    #expect(parts == content, sourceLocation: location)
    let chunk = Int(try #require(stored["chunk_size"].int))
    for range in [0..<1, chunk - 1..<chunk + 1, chunk..<2 * chunk, content.count / 2..<Int.max] {
      let part = try reader.content(of: id, in: range)
      #expect(part == Array(content[range.clamped(to: 0..<content.count)]), sourceLocation: location)
    }
    let record = try reader.transaction.attachmentRecord(id)
    #expect(Int64(record.revision) == stored["rev"].int, sourceLocation: location)
    #expect(Hexadecimal.text(record.uid.bytes) == stored["uid"].string, sourceLocation: location)
    for (dot, name) in [(record.born, "born"), (record.nameDot, "name_dot")] {
      #expect(
        [Int64(dot.replica), Int64(dot.counter)] == stored[name].array.compactMap(\.int), sourceLocation: location)
    }
    #expect(record.chunks.chunkSize == chunk, sourceLocation: location)
    #expect(Int64(record.chunks.count) == stored["chunks"].int, sourceLocation: location)
    #expect(Int64(record.keyEpoch) == stored["key_epoch"].int, sourceLocation: location)
    let firsts = stored["keys_from"].array.compactMap(\.int)
    #expect(record.keys.map { Int64($0.first) } == firsts, sourceLocation: location)
    #expect(record.extensionBytes.isEmpty == stored["extension"].array.isEmpty, sourceLocation: location)
  }
}
