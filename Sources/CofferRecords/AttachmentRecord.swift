internal import CofferDocuments
package import CofferSQLite
package import CofferSealing

/// A document's attached file, opened from its row (FORMAT, "Attachments").
package struct AttachmentRecord: Sendable {
  /// The row's number, which determines the chunks' row numbers.
  package let number: Int64
  package var revision: UInt64
  /// The document's ID.
  package let document: Int64
  /// The attachment's identity in all copies.
  package let uid: UniqueID
  package var born: Dot
  package var nameDot: Dot
  /// The date of the attached file, in milliseconds since 1970.
  package let date: Int64
  package var name: String
  package let mediaType: String
  /// The content's SHA-256.
  package let digest: TextDigest
  package let chunks: ChunkLayout
  /// The epoch that was active when the first key was drawn.
  package var keyEpoch: UInt32
  /// The chunks' keys, each starting at its first chunk. There is a single key, except during a rekey.
  package var keys: [ChunkKey]
  /// The entries of later versions.
  package var extensionBytes: [UInt8] = []
  /// Whether an entry from a later version must be understood, so only that version can return the content.
  package private(set) var isNewer = false

  package struct ChunkKey: Sendable {
    /// The number of the key's first chunk.
    package var first: UInt32
    package let key: Secret

    /// The number of bytes in the row.
    fileprivate static let byteCount = 4 + XAESKey.byteCount

    package init(first: UInt32, key: Secret) {
      (self.first, self.key) = (first, key)
    }
  }

  /// Creates a new attachment's record. The caller checks its name and media type.
  package init(
    number: Int64, revision: UInt64, document: Int64, uid: UniqueID, born: Dot, nameDot: Dot, date: Int64,
    name: String, mediaType: String, digest: TextDigest, chunks: ChunkLayout, keyEpoch: UInt32, key: Secret
  ) {
    self.number = number
    self.revision = revision
    self.document = document
    self.uid = uid
    (self.born, self.nameDot) = (born, nameDot)
    self.date = date
    self.name = name
    self.mediaType = mediaType
    self.digest = digest
    self.chunks = chunks
    self.keyEpoch = keyEpoch
    keys = [ChunkKey(first: 0, key: key)]
  }
}

extension AttachmentRecord {
  /// Returns whether a rekey to an epoch must still reseal chunks.
  package func needsSealing(under epoch: UInt32) -> Bool { keyEpoch < epoch || keys.count > 1 }

  /// Inserts a new key before the others, which hasn't sealed any chunks yet.
  ///
  /// - Throws: `rekeyUnfinished` if the attachment already has the maximum number of keys.
  package mutating func addKey(_ key: Secret, of epoch: UInt32) throws(StoreError) {
    guard keys.count < StoreFormat.chunkKeys.upperBound else {
      throw StoreError(
        .rekeyUnfinished, "attachment \(number) is under the keys of \(keys.count) rekeys that were not finished",
        hint: "attach it again", documentID: DocumentID(document))
    }
    keys.insert(ChunkKey(first: 0, key: key), at: 0)
    keyEpoch = epoch
  }

  /// Records that the first key seals all chunks before the chunk with this number.
  package mutating func sealed(before next: Int) {
    let former = keys.dropFirst()
    let ends = former.dropFirst().map { Int($0.first) } + [chunks.count]
    keys =
      [keys[0]]
      + zip(former, ends).filter { $0.1 > next }.map { ChunkKey(first: max($0.0.first, UInt32(next)), key: $0.0.key) }
  }
}

/// The division of an attachment's content into chunks.
package struct ChunkLayout: Hashable, Sendable {
  package static let standardSize = 65_536
  package static let sizes = 4_096...1_048_576
  package static let maximumByteCount = 1 << 40
  /// The number of bits for a chunk's number, below the attachment's number.
  package static let numberBits = 24
  package static let maximumCount = 1 << 24

  /// The content's length.
  package let byteCount: Int
  package let chunkSize: Int
  /// The length of the content with its padding.
  package let paddedCount: Int

  /// - Returns: `nil` if a number is out of bounds.
  package init?(byteCount: Int, chunkSize: Int = Self.standardSize, isPadded: Bool) {
    guard (0...Self.maximumByteCount).contains(byteCount), Self.sizes.contains(chunkSize) else { return nil }
    self.byteCount = byteCount
    self.chunkSize = chunkSize
    paddedCount = isPadded ? Frame.padme(byteCount) : byteCount
    guard count <= Self.maximumCount else { return nil }
  }

  /// The number of chunks, which is at least 1.
  package var count: Int { max(1, (paddedCount + chunkSize - 1) / chunkSize) }

  package func isLast(_ index: Int) -> Bool { index == count - 1 }

  /// Returns a chunk's length with its padding.
  package func length(of index: Int) -> Int {
    isLast(index) ? paddedCount - index * chunkSize : chunkSize
  }

  /// Returns a chunk's length without its padding.
  package func contentLength(of index: Int) -> Int {
    min(length(of: index), max(0, byteCount - index * chunkSize))
  }
}

// MARK: - The sealed form

extension AttachmentRecord {
  /// The bytes before the keys.
  private var front: [UInt8] {
    var builder = ByteBuilder(reserving: 256 + name.utf8.count)
    builder.append(document)
    builder.append(uid)
    builder.append(born)
    builder.append(nameDot)
    builder.append(date)
    builder.append(counted: name)
    builder.append(counted: mediaType)
    builder.append(UInt64(chunks.byteCount))
    builder.append(TextDigest.byteCount) { digest.write(to: $0) }
    builder.append(UInt32(chunks.chunkSize))
    builder.append(keyEpoch)
    builder.append(UInt8(keys.count))
    return builder.bytes
  }

  /// Returns the frame, which is a secret because it contains the keys.
  private func frame(isPadded: Bool) -> Secret {
    let front = front
    let count = front.count + keys.count * ChunkKey.byteCount + extensionBytes.count
    let total = Frame.byteCount(around: count, minimum: Frame.standardMinimum, isPadded: isPadded)
    return Secret(byteCount: total) { memory in
      memory.initializeMemory(as: UInt8.self, repeating: 0)
      Frame.writeHeader(count, to: memory)
      var cursor = Frame.headerCount
      func write(_ bytes: UnsafeRawBufferPointer) {
        UnsafeMutableRawBufferPointer(rebasing: memory[cursor...]).copyMemory(from: bytes)
        cursor += bytes.count
      }
      front.withUnsafeBytes { write($0) }
      for key in keys {
        withUnsafeBytes(of: key.first.bigEndian) { write($0) }
        key.key.withUnsafeBytes { write($0) }
      }
      extensionBytes.withUnsafeBytes { write($0) }
      return total
    }
  }

  package func seal(_ keys: RowKeys) throws(StoreError) -> AttachmentRow {
    let frame = frame(isPadded: keys.session.isPadded)
    let binding = Array(keys.binding.attachment(number, revision: revision, epoch: keys.active.epoch))
    let sealed = try translatingErrors { () throws(SealingError) in
      try keys.active.name.seal(frame, authenticating: binding)
    }
    guard sealed.count <= StoreFormat.maximumSealedAttachment else {
      throw StoreError(.tooLarge, "the row of an attachment has more than \(StoreFormat.maximumSealedAttachment) bytes")
    }
    return AttachmentRow(number: number, document: document, revision: revision, sealed: sealed)
  }

  /// - Throws: `damaged` if the row is invalid.
  package init(_ row: AttachmentRow, _ keys: RowKeys) throws(StoreError) {
    if let proof = keys.proof, try !proof.attachments.contains(row.number, row.element(keys)) {
      throw .changedSinceProof("attachment \(row.number)", documentID: DocumentID(row.document))
    }
    let isPadded = keys.session.isPadded
    let epoch = keys.active.epoch
    let record: AttachmentRecord?
    do throws(SealingError) {
      let binding = Array(keys.binding.attachment(row.number, revision: row.revision, epoch: epoch))
      let frame = try Secret(byteCount: row.sealed.count - XAESKey.overhead) { memory throws(SealingError) in
        try row.sealed.withBytes { sealed throws(SealingError) in
          try binding.withBytes { binding throws(SealingError) in
            try keys.active.name.open(sealed, authenticating: binding, plaintext: memory)
          }
        }
        return memory.count
      }
      record = try frame.withUnsafeBytes { frame throws(SealingError) in
        let range = try Frame.dataRange(of: frame, minimum: Frame.standardMinimum, isPadded: isPadded)
        return AttachmentRecord(UnsafeRawBufferPointer(rebasing: frame[range]), row, isPadded, epoch)
      }
    } catch {
      throw .unopened(error, row.damage)
    }
    guard let record else { throw row.damage }
    self = record
  }

  private init?(_ data: UnsafeRawBufferPointer, _ row: AttachmentRow, _ isPadded: Bool, _ activeEpoch: UInt32) {
    var reader = ByteReader(data)
    guard let document: Int64 = reader.integer(), document == row.document, let uid = reader.uniqueID(),
      let born = reader.dot(), let nameDot = reader.dot(), let date: Int64 = reader.integer(),
      Timestamp(millisecondsSince1970: date).isStorable,
      let name = reader.text(StoreFormat.attachmentNames),
      let mediaType = reader.text(StoreFormat.mediaTypes), Self.isMediaType(mediaType),
      let byteCount: UInt64 = reader.integer(), byteCount <= UInt64(ChunkLayout.maximumByteCount),
      let digest = reader.bytes(TextDigest.byteCount), let chunkSize: UInt32 = reader.integer(),
      let chunks = ChunkLayout(byteCount: Int(byteCount), chunkSize: Int(chunkSize), isPadded: isPadded),
      let keyEpoch: UInt32 = reader.integer(), keyEpoch >= 1, keyEpoch <= activeEpoch,
      let keys = Self.keys(&reader, of: chunks), let rest = reader.bytes(reader.remaining),
      let part = ExtensionPart(rest, of: .attachment)
    else { return nil }
    number = row.number
    revision = row.revision
    self.document = document
    self.uid = uid
    self.born = born
    self.nameDot = nameDot
    self.date = date
    self.name = name
    self.mediaType = mediaType
    self.digest = TextDigest(bytes: digest)
    self.chunks = chunks
    self.keyEpoch = keyEpoch
    self.keys = keys
    extensionBytes = Array(part.bytes)
    isNewer = part.isNewer
  }

  private static func keys(_ reader: inout ByteReader, of chunks: ChunkLayout) -> [ChunkKey]? {
    guard let count: UInt8 = reader.integer(), StoreFormat.chunkKeys.contains(Int(count)) else { return nil }
    var keys: [ChunkKey] = []
    for _ in 0..<count {
      guard let first: UInt32 = reader.integer(), let bytes = reader.bytes(XAESKey.byteCount),
        keys.last.map({ $0.first < first }) ?? (first == 0), Int(first) < chunks.count
      else { return nil }
      let key = Secret(byteCount: XAESKey.byteCount) { memory in
        memory.copyMemory(from: bytes)
        return bytes.count
      }
      keys.append(ChunkKey(first: first, key: key))
    }
    return keys
  }

  /// Returns whether a text can be a media type, which is printable ASCII without spaces.
  package static func isMediaType(_ text: String) -> Bool {
    StoreFormat.mediaTypes.contains(text.utf8.count) && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
  }
}

extension ByteBuilder {
  /// Appends `u32 length || UTF-8`.
  package mutating func append(counted text: String) {
    append(UInt32(text.utf8.count))
    append(bytes: Array(text.utf8))
  }
}

extension ByteReader {
  /// Reads the text that ``ByteBuilder/append(counted:)`` writes, or returns `nil` for another length or invalid UTF-8.
  package mutating func text(_ lengths: ClosedRange<Int>) -> String? {
    guard let count: UInt32 = integer(), lengths.contains(Int(count)), let bytes = bytes(Int(count)) else { return nil }
    return String(validating: bytes, as: UTF8.self)
  }
}

/// A row of `coffer_attachment` with checked columns, which isn't verified yet.
package struct AttachmentRow {
  package let number: Int64
  package let document: Int64
  package let revision: UInt64
  package let sealed: [UInt8]
}

extension AttachmentRow {
  /// Creates a row from the columns of ``SQL/attachment``.
  ///
  /// - Throws: `damaged` if a column is invalid.
  package init(_ row: SQLiteRow, within limits: RowLimits, below next: UInt64) throws(StoreError) {
    try self.init(row.values, within: limits, below: next)
  }

  /// Creates a row from the values of its columns.
  ///
  /// - Throws: `damaged` if a column is invalid.
  package init(_ row: [SQLiteValue], within limits: RowLimits, below next: UInt64) throws(StoreError) {
    guard row.count == 4, case .integer(let number) = row[0], number >= 1, UInt64(number) < next else {
      throw .damagedStore("the number of an attachment is out of its bounds")
    }
    guard case .integer(let document) = row[1], document >= 1, UInt64(document) < limits.bound,
      case .integer(let revision) = row[2], (1...StoreFormat.maximumGeneration).contains(revision),
      UInt64(revision) <= limits.generation, case .blob(let sealed) = row[3],
      (XAESKey.overhead + Frame.headerCount...StoreFormat.maximumSealedAttachment).contains(sealed.count)
    else { throw .damagedAttachment(number, "its row is out of its bounds") }
    self.init(number: number, document: document, revision: UInt64(revision), sealed: sealed)
  }

  fileprivate var damage: StoreError { .damagedAttachment(number, "its row can't be opened") }

  /// Returns the row's set hash element.
  package func element(_ keys: RowKeys) throws(StoreError) -> SetElement {
    try translatingErrors { () throws(SealingError) in
      let element = sealed.withBytes {
        keys.binding.attachmentElement(number, epoch: keys.active.epoch, revision: revision, sealed: $0)
      }
      return try keys.active.set.element(of: element)
    }
  }
}

/// Verifies that the rows of a query are in the order of their documents and numbers, because the index of a malicious
/// file can return a row any number of times.
package struct AttachmentOrder {
  private var last: (document: Int64, number: Int64)?

  package init() {}

  /// - Parameter row: The next row, which begins with the columns of ``SQL/attachment``.
  /// - Throws: `damaged` if the row is out of order.
  package mutating func step(to row: StoreStatement) throws(StoreError) {
    let next = (document: row.int64(at: 1), number: row.int64(at: 0))
    if let last, next <= last { throw Self.misplaced(next.number) }
    last = next
  }

  package static func misplaced(_ number: Int64) -> StoreError {
    .damagedAttachment(number, "the index gives it out of its place")
  }
}

extension StoreError {
  package static func damagedAttachment(_ number: Int64, _ reason: String) -> StoreError {
    StoreError(
      .damaged, "attachment \(number) is damaged: \(reason)", hint: "\(.verify) lists all damage")
  }

  /// Returns the error for a content with valid chunks whose digest differs from the row's.
  package static func otherContent(of attachment: Int64) -> StoreError {
    .damagedAttachment(attachment, "its content is not the one that was attached")
  }
}
