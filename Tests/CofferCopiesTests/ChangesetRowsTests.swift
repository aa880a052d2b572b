import Coffer
import CofferTestSupport
import Testing

@testable import CofferCopies
@testable import CofferEngine
@testable import CofferRecords
@testable import CofferStoreTestSupport

/// Payloads of changesets that a device with the folder's keys could write.
struct ChangesetRowsTests {
  private let payload: [UInt8]
  private let content = [UInt8]("content of the attachment".utf8)

  init() throws {
    let test = try TestStore()
    let store = test.store
    try store.write { [content] tx in
      let id = try tx.insert(Document(title: "one", text: "first text"), into: "notes")
      try tx.insert(Document(title: "two", text: "second text"), into: "notes")
      try tx.attach(content, to: id, name: "file")
      let gone = try tx.insert(Document(text: "gone"), into: "notes")
      try tx.delete(gone)
    }
    payload = try store.engine.reading { transaction throws(StoreError) in
      let replicas = try transaction.replicasOfStart()
      let writer = try ChangesetWriter(
        transaction, ChangesetOrigin(replicas: replicas, base: replicas.entries.map { _ in 0 }), since: nil)
      let payload = Payload()
      try writer.write(to: payload) { _ throws(StoreError) in }
      return payload.bytes
    }
  }

  /// Reads everything that a merge can read.
  private func read(_ bytes: [UInt8]) throws(StoreError) -> [String] {
    let reader = try ChangesetReader(Payload(bytes))
    let rows = try ChangesetRows(reader)
    var texts: [String] = []
    for id in rows.documents { texts.append(try rows.text(id)) }
    for (attachment, place) in rows.attachments where attachment.carriesContent {
      var content: [UInt8] = []
      try reader.forEachPart(of: attachment, at: place) { content += $0 }
      texts.append(String(decoding: content, as: UTF8.self))
    }
    return texts
  }

  @Test func readsWhatWasWritten() throws {
    #expect(try read(payload) == ["first text", "second text", "content of the attachment"])
  }

  @Test(arguments: ["first text", "second text", "content of"]) func rejectsOtherContents(_ words: String) throws {
    var bytes = payload
    let place = try #require(bytes.firstRange(of: Array(words.utf8))).lowerBound
    bytes[place] ^= 1
    #expect { try read(bytes) } throws: { ($0 as? StoreError)?.code == .damaged }
  }

  @Test func rejectsCutPayloads() throws {
    for count in 0..<payload.count {
      #expect("\(count) bytes") {
        try read(Array(payload[..<count]))
      } throws: { ($0 as? StoreError)?.code == .damaged }
    }
  }

  /// Returns the payload with an entry without data in the extension part of the attachment.
  private func extendedPayload(with type: UInt16) throws -> [UInt8] {
    let rows = try ChangesetRows(try ChangesetReader(Payload(payload)))
    var attachment = try #require(rows.attachments.first).attachment
    let place = try #require(payload.firstRange(of: attachment.bytes))
    attachment.description.extensionBytes = withUnsafeBytes(of: type.bigEndian) { Array($0) } + [0, 0, 0, 0]
    let count = withUnsafeBytes(of: UInt32(attachment.bytes.count).bigEndian) { Array($0) }
    var bytes = payload
    bytes.replaceSubrange(place, with: attachment.bytes)
    bytes.replaceSubrange(place.lowerBound - 4..<place.lowerBound, with: count)
    return bytes
  }

  @Test func refusesAttachmentThatNeedsLaterVersion() throws {
    let known = try extendedPayload(with: 1)
    #expect(try read(known) == read(payload))
    let newer = try extendedPayload(with: 0x8001)
    #expect { try read(newer) } throws: { ($0 as? StoreError)?.code == .otherFormat }
  }

  /// Each change of a byte is an error, or a change of what heads say.
  @Test func survivesChangedBytes() throws {
    for index in payload.indices {
      for change: UInt8 in [1, 0x80, 0xFF] {
        var bytes = payload
        bytes[index] ^= change
        do throws(StoreError) {
          _ = try read(bytes)
        } catch {
          #expect([.damaged, .otherFormat].contains(error.code), "byte \(index): \(error)")
        }
      }
    }
  }
}

/// A payload in memory.
private final class Payload: ChangesetBytes, ChangesetTarget {
  private(set) var bytes: [UInt8]
  private(set) var offset = 0

  init(_ bytes: [UInt8] = []) { self.bytes = bytes }

  func write(_ new: UnsafeRawBufferPointer) throws(StoreError) { bytes += new }

  func move(to offset: Int) { self.offset = offset }

  func read(_ count: Int) throws(StoreError) -> [UInt8] {
    guard offset <= bytes.count, count <= bytes.count - offset else { throw ChangesetEntries.damage }
    defer { offset += count }
    return Array(bytes[offset..<offset + count])
  }
}
