import Coffer
import CofferDocuments
import CofferRecords
import CofferSQLite
import CofferSealing
import CofferTestSupport
import Foundation
import Testing

@testable import CofferStoreTestSupport

/// Attachments that the library writes, as Tools/read_store.py reads them from FORMAT.md alone.
@Suite(.enabled(if: SecondReader.isPresent, SecondReader.absence))
struct AttachmentSecondReaderTests {
  /// No byte, one chunk and its neighbors, several whole chunks, and padding that fills the last chunk of 64 KiB.
  private static let sizes = [4_194_305, 0, 1, 2, 100, 65_535, 65_536, 65_537, 131_072, 196_608, 1_000_000]

  private static func fill(_ test: TestStore) throws -> [StoreAttachment.ID: [UInt8]] {
    var contents: [StoreAttachment.ID: [UInt8]] = [:]
    let ids = try test.store.write { writer in
      try (1...3).map { try writer.insert(Document(title: "\($0)", text: "text"), into: test.notes) }
    }
    let gone = try test.store.write { writer in
      for (number, size) in sizes.enumerated() {
        let content = AttachmentTests.bytes(size, seed: UInt64(number))
        let attached = try writer.attach(
          content, to: ids[number % 2], name: "Größe \(size) \0/..", type: number == 0 ? "" : "image/png;q=1",
          date: Timestamp(millisecondsSince1970: Int64(number) * -1_000_000_007))
        contents[attached.id] = content
      }
      // An attachment that its own transaction removes leaves no deletion.
      try writer.detach(try writer.attach([1], to: ids[0], name: "removed at once").id)
      try writer.attach([2], to: ids[2], name: "of a document that is deleted")
      return try writer.attach(AttachmentTests.bytes(70_000), to: ids[1], name: "removed").id
    }
    try test.store.write { writer in
      try writer.rename(contents.keys.min()!, to: String(repeating: "ü", count: 512))
      try writer.detach(gone)
      try writer.delete(ids[2])
    }
    return contents
  }

  /// Expects both readers to give the same attachments, and the contents that were attached.
  ///
  /// - Returns: The number of keys that the attachments have at most.
  @discardableResult
  private static func expectSame(
    _ url: URL, _ store: DocumentStore, _ contents: some Collection<[UInt8]>, _ key: String = "primary",
    location: SourceLocation = #_sourceLocation
  ) throws -> Int {
    let report = try SecondReader.read(url, ["--key-file", PublishedKeys.url(key).path])
    #expect(report["problems"].array.isEmpty && report["set_hash"].string == "ok", sourceLocation: location)
    #expect(report["attachment_count"].int == Int64(contents.count), sourceLocation: location)
    var digests: [String] = []
    var keys = 0
    for document in report["documents"].array {
      let id = DocumentID(try #require(document["id"].int))
      let listed = try store.read { try $0.attachments(of: id) }
      let theirs = document["attachments"].array
      #expect(listed.map(\.id.rawValue) == theirs.compactMap { $0["number"].int }, sourceLocation: location)
      for (ours, their) in zip(listed, theirs) {
        try store.read { try AttachmentVectors.expect(ours.id, toBe: their, in: $0, location: location) }
        #expect(their["chunk_size"].int == 65_536, sourceLocation: location)
        digests.append(try #require(their["sha256"].string))
        keys = max(keys, their["keys_from"].array.count)
      }
    }
    let expected = try contents.map { content in
      var digest = [UInt8](repeating: 0, count: TextDigest.byteCount)
      let found = try content.withUnsafeBytes { try TextHasher().digest(of: $0) }
      digest.withUnsafeMutableBytes { found.write(to: $0) }
      return Hexadecimal.text(digest)
    }
    #expect(digests.sorted() == expected.sorted(), sourceLocation: location)
    return keys
  }

  @Test(arguments: [true, false]) func readsListsAndContents(isPadded: Bool) throws {
    let test = try TestStore { $0.isPadded = isPadded }
    let contents = try Self.fill(test)
    try Self.expectSame(test.url, test.store, contents.values)
    // Chunks that a killed writer left over are none of an attachment's, and sound.
    let gone = try #require(contents.keys.max()).rawValue + 1
    try test.raw().execute("INSERT INTO coffer_chunk VALUES((\(gone)<<24)+3,zeroblob(65576))")
    try Self.expectSame(test.url, test.store, contents.values)
    #expect(try test.store.verify().isSound)
    try test.raw().execute("DELETE FROM coffer_chunk WHERE chunk=(\(contents.keys.min()!)<<24)")
    #expect(throws: SecondReader.Failure(status: 20)) {
      try SecondReader.read(test.url, ["--key-file", PublishedKeys.url("primary").path])
    }
  }

  @Test(arguments: [true, false]) func readsCopies(isEditable: Bool) throws {
    let test = try TestStore()
    let contents = try Self.fill(test)
    let url = test.place.file("copy.coffer")
    if isEditable {
      try DocumentStore.openEditableCopy(of: test.url, at: url, key: .published("primary"), options: .testing).close()
    } else {
      try test.store.copy(to: url, keys: [.published("primary")])
    }
    let copy = try DocumentStore.open(at: url, key: .published("primary"), options: .testing)
    try Self.expectSame(url, copy, contents.values)
  }

  /// Every transaction of a rekey leaves a store that the second reader reads.
  @Test(.slow) func readsStoreDuringRekey() throws {
    let test = try TestStore()
    let contents = try Self.fill(test)
    var options = RekeyOptions()
    options.batchSize = 7
    var keys: Set<Int> = []
    try test.store.rekey(options: options) { step in
      if step.phase == .working { keys.insert(try Self.expectSame(test.url, test.store, contents.values)) }
    }
    #expect(keys == [1, 2])
    #expect(try Self.expectSame(test.url, test.store, contents.values) == 1)
  }

  /// A rekey that takes over another one adds a third key.
  @Test(.slow) func readsStoreOfTwoUnfinishedRekeys() throws {
    let test = try TestStore()
    let contents = try Self.fill(test)
    var options = RekeyOptions()
    options.batchSize = 20
    let large = try #require(contents.keys.min())
    for stop: [UInt32] in [[0, 40], [0, 20, 40]] {
      #expect(throws: StoreError(.cancelled, "")) {
        try test.store.rekey(to: [.published("primary")], options: options) { _ in
          let keys = try test.store.read { try $0.transaction.attachmentRecord(large).keys }
          if keys.map(\.first) == stop { throw Interruption() }
        }
      }
      let keys = try Self.expectSame(test.url, test.store, contents.values)
      #expect(keys == stop.count)
    }
    options.isResuming = true
    try test.store.rekey(to: [], options: options)
    #expect(try Self.expectSame(test.url, test.store, contents.values) == 1)
  }
}
