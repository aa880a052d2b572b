import CofferRecords
import CofferSealing
import Testing

/// The keys of an attachment during rekeys.
struct AttachmentRecordTests {
  private static func record(chunks: Int) throws -> AttachmentRecord {
    let layout = try #require(ChunkLayout(byteCount: chunks * ChunkLayout.standardSize, isPadded: false))
    let dot = Dot(replica: 0, counter: 1)
    return AttachmentRecord(
      number: 1, revision: 1, document: 1, uid: UniqueID(high: 1, low: 2), born: dot,
      nameDot: dot, date: 0, name: "a", mediaType: "",
      digest: try TextHasher().digest(of: UnsafeRawBufferPointer(start: nil, count: 0)),
      chunks: layout, keyEpoch: 1, key: try Secret.random(byteCount: XAESKey.byteCount))
  }

  /// Each rekey ends before it reaches the chunk that the one before had reached.
  @Test func limitsKeys() throws {
    var record = try Self.record(chunks: 100)
    for rekey in 1...63 {
      try record.addKey(try Secret.random(byteCount: XAESKey.byteCount), of: UInt32(rekey + 1))
      record.sealed(before: 90 - rekey)
      #expect(record.keys.count == rekey + 1)
    }
    #expect(record.keys.map(\.first) == [0] + (27...89).map { UInt32($0) })
    #expect(throws: StoreError.self) {
      try record.addKey(try Secret.random(byteCount: XAESKey.byteCount), of: 65)
    }
    #expect(record.keys.count == 64)
  }
}
