internal import CofferDocuments
package import CofferSQLite
package import CofferSealing

/// Seals and opens chunks of one attachment with one of its keys. Use it on one thread at a time.
package final class ChunkCipher {
  private let attachment: Int64
  private let cipher: XAESKey
  private let rowKeys: RowKeys

  package init(_ attachment: Int64, _ key: Secret, _ rowKeys: RowKeys) throws(StoreError) {
    (self.attachment, self.rowKeys) = (attachment, rowKeys)
    cipher = try translatingErrors { () throws(SealingError) in try XAESKey(key) }
  }

  /// Seals a chunk, which includes its padding, into memory that is longer by `XAESKey.overhead`.
  package func seal(
    _ chunk: UnsafeRawBufferPointer, _ index: Int, isLast: Bool, into sealed: UnsafeMutableRawBufferPointer
  ) throws(StoreError) {
    try translatingErrors { () throws(SealingError) in
      try cipher.seal(
        chunk, authenticating: rowKeys.binding.chunk(index, of: attachment, isLast: isLast), nonces: rowKeys.nonces,
        into: sealed)
    }
  }

  fileprivate func open(
    _ sealed: UnsafeRawBufferPointer, _ index: Int, isLast: Bool, into memory: UnsafeMutableRawBufferPointer
  ) throws(StoreError) {
    do throws(SealingError) {
      try cipher.open(
        sealed, authenticating: rowKeys.binding.chunk(index, of: attachment, isLast: isLast), plaintext: memory)
    } catch {
      throw .unopened(error, .damagedAttachment(attachment, "chunk \(index) can't be opened"))
    }
  }
}

extension StoreDatabase {
  /// The memory that SQLite's cache may grow to while the chunks of a larger content are read, written or deleted.
  package static let chunkCacheBytes = 512 << 10

  /// Limits SQLite's cache of pages as long as the result is referenced, because the pages of chunks are needed once.
  package func limitCacheForChunks(to byteCount: Int = chunkCacheBytes) throws(StoreError) -> CacheLimit {
    try translatingErrors { () throws(SQLiteError) in try CacheLimit(connection, byteCount: byteCount) }
  }
}

/// Reads the chunks of one attachment. Use it on one thread at a time.
package final class AttachmentChunks {
  package let record: AttachmentRecord
  private let keys: [(first: Int, cipher: ChunkCipher)]
  /// Whether the digest of the content has to confirm a part of it, too, because present key holders aren't trusted.
  private let provesParts: Bool
  /// The digests of the chunks, once the digest of the whole content has confirmed them.
  private var provedChunks: [TextDigest]?

  package init(_ record: AttachmentRecord, _ rowKeys: RowKeys) throws(StoreError) {
    self.record = record
    provesParts = rowKeys.proof != nil
    var keys: [(Int, ChunkCipher)] = []
    for key in record.keys { keys.append((Int(key.first), try ChunkCipher(record.number, key.key, rowKeys))) }
    self.keys = keys
  }

  /// The number of the row of a chunk.
  package static func row(of index: Int, in attachment: Int64) -> Int64 {
    attachment << Int64(ChunkLayout.numberBits) + Int64(index)
  }

  /// The number of the attachment that a chunk's row belongs to.
  package static func attachment(ofRow row: Int64) -> Int64 { row >> Int64(ChunkLayout.numberBits) }

  /// The numbers of the rows that the chunks of an attachment can have.
  package static func rows(of attachment: Int64) -> ClosedRange<Int64> {
    row(of: 0, in: attachment)...row(of: ChunkLayout.maximumCount - 1, in: attachment)
  }

  /// Reads and opens a chunk into memory that has the chunk's length with its padding.
  ///
  /// - Throws: `damaged` if the chunk is missing, or isn't the one that was written.
  package func read(_ index: Int, from database: StoreDatabase, into memory: UnsafeMutableRawBufferPointer)
    throws(StoreError)
  {
    let statement = try database.statement(SQL.chunk, Self.row(of: index, in: record.number))
    defer { statement.reset() }
    guard try statement.step() else { throw .damagedAttachment(record.number, "chunk \(index) is missing") }
    guard let sealed = statement.blob(at: 0) else {
      throw .damagedAttachment(record.number, "chunk \(index) isn't a blob")
    }
    try open(sealed, index, into: memory)
  }

  /// Opens a chunk into memory that has the chunk's length with its padding.
  ///
  /// - Throws: `damaged` if it isn't the chunk that was written.
  package func open(
    _ sealed: UnsafeRawBufferPointer, _ index: Int, into memory: UnsafeMutableRawBufferPointer
  ) throws(StoreError) {
    guard memory.count == record.chunks.length(of: index), sealed.count == memory.count + XAESKey.overhead
    else { throw .damagedAttachment(record.number, "chunk \(index) has another length") }
    try keys.last { $0.first <= index }!.cipher
      .open(sealed, index, isLast: record.chunks.isLast(index), into: memory)
    for byte in memory[record.chunks.contentLength(of: index)...] where byte != 0 {
      throw .damagedAttachment(record.number, "its padding is not zero")
    }
    if let provedChunks, try Self.digest(of: memory) != provedChunks[index] {
      throw .changedSinceProof("attachment \(record.number)", documentID: DocumentID(record.document))
    }
  }

  /// Reads the whole content, compares it with its digest, and keeps the digests of its chunks.
  private func proveChunks(
    from database: StoreDatabase, checkCancellation: () throws(StoreError) -> Void
  ) throws(StoreError) {
    let hasher = try translatingErrors(TextHasher.init)
    let layout = record.chunks
    var chunk = [UInt8](repeating: 0, count: min(layout.chunkSize, layout.paddedCount))
    var digests: [TextDigest] = []
    try translatingErrors { () throws(SealingError) in try hasher.begin() }
    for index in 0..<layout.count {
      try checkCancellation()
      try chunk.withMutableBytes { chunk throws(StoreError) in
        let memory = UnsafeMutableRawBufferPointer(rebasing: chunk[..<layout.length(of: index)])
        try read(index, from: database, into: memory)
        digests.append(try Self.digest(of: memory))
        let content = UnsafeRawBufferPointer(rebasing: memory[..<layout.contentLength(of: index)])
        try translatingErrors { () throws(SealingError) in try hasher.update(content) }
      }
    }
    let digest = try translatingErrors { () throws(SealingError) in try hasher.finish() }
    guard digest == record.digest else { throw .otherContent(of: record.number) }
    provedChunks = digests
  }

  /// The digests of chunks that the digest of their content has confirmed.
  package struct Proof: Sendable {
    fileprivate let content: TextDigest
    fileprivate let layout: [Int]
    fileprivate let chunks: [TextDigest]
  }

  /// What a read has proved, which a later read of the same content can begin with.
  package var proof: Proof? {
    get { provedChunks.map { Proof(content: record.digest, layout: layout, chunks: $0) } }
    set {
      guard let newValue, newValue.content == record.digest, newValue.layout == layout else { return }
      provedChunks = newValue.chunks
    }
  }

  private var layout: [Int] { [record.chunks.byteCount, record.chunks.chunkSize, record.chunks.paddedCount] }

  private static func digest(of memory: UnsafeMutableRawBufferPointer) throws(StoreError) -> TextDigest {
    try translatingErrors { () throws(SealingError) in try TextHasher().digest(of: UnsafeRawBufferPointer(memory)) }
  }

  /// Reads a range of the content.
  ///
  /// The digest of the content doesn't confirm a part of it, only the seals of the chunks do. In a release, the first
  /// part costs reading the whole content, whose digest then confirms each part.
  ///
  /// - Parameters:
  ///   - range: A range within the content.
  ///   - memory: Memory of the range's length.
  ///   - checkCancellation: Called for each chunk of the whole content. It throws an error to stop reading.
  package func read(
    _ range: Range<Int>, from database: StoreDatabase, into memory: UnsafeMutableRawBufferPointer,
    checkCancellation: () throws(StoreError) -> Void
  ) throws(StoreError) {
    let layout = record.chunks
    precondition(
      range.lowerBound >= 0 && range.upperBound <= layout.byteCount && memory.count == range.count,
      "internal error: a range outside the content")
    guard !range.isEmpty else { return }
    if provesParts, provedChunks == nil { try proveChunks(from: database, checkCancellation: checkCancellation) }
    var chunk = [UInt8](repeating: 0, count: min(layout.chunkSize, layout.paddedCount))
    for index in range.lowerBound / layout.chunkSize...(range.upperBound - 1) / layout.chunkSize {
      let start = index * layout.chunkSize
      let length = layout.length(of: index)
      let part = range.clamped(to: start..<start + layout.contentLength(of: index))
      let target = UnsafeMutableRawBufferPointer(
        rebasing: memory[part.lowerBound - range.lowerBound..<part.upperBound - range.lowerBound])
      if part.count == length {
        try read(index, from: database, into: target)
      } else {
        try chunk.withMutableBytes { chunk throws(StoreError) in
          let whole = UnsafeMutableRawBufferPointer(rebasing: chunk[..<length])
          try read(index, from: database, into: whole)
          target.copyMemory(
            from: UnsafeRawBufferPointer(rebasing: whole[part.lowerBound - start..<part.upperBound - start]))
        }
      }
    }
  }
}
