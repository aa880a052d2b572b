package import CofferRecords
internal import CofferSQLite
internal import CofferSealing

// Reading a whole content.

extension AttachmentChunks {
  /// Reads the whole content chunk by chunk, and compares it with its digest at the end.
  ///
  /// - Throws: `damaged` if a chunk differs from the written chunk, or the content from the attached content.
  package func forEachChunk(
    from database: StoreDatabase, _ body: (UnsafeRawBufferPointer) throws(StoreError) -> Void
  ) throws(StoreError) {
    let isLarge = record.chunks.paddedCount > StoreDatabase.chunkCacheBytes
    let limit = isLarge ? try database.limitCacheForChunks() : nil
    defer { withExtendedLifetime(limit) {} }
    try forEachChunk(
      readBy: { index, memory throws(StoreError) in try read(index, from: database, into: memory) }, body)
  }

  /// Reads the whole content like ``forEachChunk(from:_:)``, with chunks that a closure reads into memory.
  package func forEachChunk(
    readBy read: (Int, UnsafeMutableRawBufferPointer) throws(StoreError) -> Void,
    _ body: (UnsafeRawBufferPointer) throws(StoreError) -> Void
  ) throws(StoreError) {
    let layout = record.chunks
    let hasher = try ContentHasher()
    let memory = ScratchMemory(byteCount: min(layout.chunkSize, layout.paddedCount))
    for index in 0..<layout.count {
      let chunk = memory.room(layout.length(of: index))
      try read(index, chunk)
      let content = UnsafeRawBufferPointer(rebasing: chunk[..<layout.contentLength(of: index)])
      hasher.update(content)
      try body(content)
    }
    guard try hasher.finish() == record.digest else { throw .otherContent(of: record.number) }
  }
}
