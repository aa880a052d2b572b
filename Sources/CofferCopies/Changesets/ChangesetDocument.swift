internal import CofferDocuments
internal import CofferEngine
internal import CofferRecords
internal import CofferSealing

/// A changeset's entry for a document, before its text. The head refers to the read bytes.
struct ChangesetDocument {
  let id: Int64
  let collection: UInt32
  let isJSON: Bool
  let position: DocumentPosition
  let head: HeadData
  /// The number of bytes before the text.
  let byteCount: Int

  /// Reads the beginning of an entry, or returns `nil` for invalid bytes.
  init?(_ bytes: UnsafeRawBufferPointer) {
    var reader = ByteReader(bytes)
    guard let id: Int64 = reader.integer(), StoreFormat.documentIDs.contains(id),
      let collection: UInt32 = reader.integer(), let json: UInt8 = reader.integer(), json <= 1,
      let length: UInt8 = reader.integer(), let place = reader.bytes(Int(length)),
      let position = DocumentPosition(copying: place), let count: UInt32 = reader.integer(),
      let data = reader.bytes(Int(count)), let head = HeadData(data)
    else { return nil }
    (self.id, self.collection, isJSON, self.position, self.head) = (id, collection, json == 1, position, head)
    byteCount = bytes.count - reader.remaining
  }

  /// The number of an entry's bytes before the position.
  static let fixedCount = 14
  /// Returns the length of a position, after ``fixedCount`` bytes of an entry.
  static func positionCount(_ fixed: [UInt8]) -> Int { Int(fixed[fixedCount - 1]) }
}
