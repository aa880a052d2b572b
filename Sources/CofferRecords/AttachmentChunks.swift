internal import CofferDocuments
package import CofferSQLite
package import CofferSealing

/// Seals and opens chunks of an attachment with one of its keys. Use it on one thread at a time.
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
  /// The maximum size of SQLite's cache while reading, writing or deleting the chunks of a larger content.
  package static let chunkCacheBytes = 512 << 10

  /// Limits SQLite's page cache for the lifetime of the result, because each chunk's pages are needed only once.
  package func limitCacheForChunks(to byteCount: Int = chunkCacheBytes) throws(StoreError) -> CacheLimit {
    try translatingErrors { () throws(SQLiteError) in try CacheLimit(connection, byteCount: byteCount) }
  }
}

/// A reader for an attachment's chunks. Use it on one thread at a time.
package final class AttachmentChunks {
  package let record: AttachmentRecord
  private let keys: [(first: Int, cipher: ChunkCipher)]
  /// Whether the content's digest must also confirm parts of the content, because current key holders aren't trusted.
  private let provesParts: Bool
  /// The chunks' digests, after the entire content's digest has confirmed them.
  private var provedChunks: [TextDigest]?

  package init(_ record: AttachmentRecord, _ rowKeys: RowKeys) throws(StoreError) {
    self.record = record
    provesParts = rowKeys.proof != nil
    var keys: [(Int, ChunkCipher)] = []
    for key in record.keys { keys.append((Int(key.first), try ChunkCipher(record.number, key.key, rowKeys))) }
    self.keys = keys
  }

  /// Returns a chunk's row number.
  package static func row(of index: Int, in attachment: Int64) -> Int64 {
    attachment << Int64(ChunkLayout.numberBits) + Int64(index)
  }

  /// Returns the number of the attachment for a chunk's row.
  package static func attachment(ofRow row: Int64) -> Int64 { row >> Int64(ChunkLayout.numberBits) }

  /// Returns the possible row numbers of an attachment's chunks.
  package static func rows(of attachment: Int64) -> ClosedRange<Int64> {
    row(of: 0, in: attachment)...row(of: ChunkLayout.maximumCount - 1, in: attachment)
  }

  /// Reads and opens a chunk into memory with the padded chunk's length.
  ///
  /// - Throws: `damaged` if the chunk is missing, or differs from the written chunk.
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

  /// Opens a chunk into memory with the padded chunk's length.
  ///
  /// - Throws: `damaged` if the chunk differs from the written chunk.
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

  /// Reads the entire content, verifies its digest, and keeps its chunks' digests.
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

  /// The digests of chunks whose content's digest has confirmed them.
  package struct Proof: Sendable {
    fileprivate let content: TextDigest
    fileprivate let layout: [Int]
    fileprivate let chunks: [TextDigest]
  }

  /// The proof from reading, which a later read of the same content can use.
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
  /// Only the chunks' seals confirm a part of the content, because the digest covers the entire content. In a release,
  /// the first part requires reading the entire content, whose digest then confirms each part.
  ///
  /// - Parameters:
  ///   - range: A range within the content.
  ///   - memory: Memory with the range's length.
  ///   - checkCancellation: Called for each chunk of the entire content. Throws an error to stop reading.
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
