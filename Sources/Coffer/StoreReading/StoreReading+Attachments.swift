public import CofferEngine
public import CofferFoundation
internal import CofferPlatform
internal import CofferRecords

extension StoreReading where Self: ~Copyable {
  /// Returns a document's attachments in the order they were attached. Reads one row for each attachment, not their
  /// contents.
  ///
  /// - Throws: `noSuchDocument`, `damaged`, or `otherFormat` for an attachment of a later version.
  public func attachments(of id: DocumentID) throws(StoreError) -> [Attachment] {
    try transaction.attachments(of: id)
  }

  /// Returns an attachment without its content.
  ///
  /// - Throws: `noSuchAttachment`, `damaged`, `otherFormat`.
  public func attachment(_ id: Attachment.ID) throws(StoreError) -> Attachment {
    try transaction.attachment(id)
  }

  /// Returns the document's attachment with a name, or `nil` if it doesn't exist. Names are compared byte by byte.
  ///
  /// - Throws: `noSuchDocument`, `damaged`, `otherFormat`.
  public func attachment(named name: String, of id: DocumentID) throws(StoreError) -> Attachment? {
    try transaction.attachments(of: id).first { $0.name.isIdentical(to: name) }
  }

  /// Returns the document's attachment that a reference leads to, or `nil` if it doesn't exist.
  ///
  /// - Throws: `noSuchDocument`, `damaged`, `otherFormat`.
  public func attachment(for reference: AttachmentReference, of id: DocumentID) throws(StoreError) -> Attachment? {
    try transaction.attachments(of: id).first { $0.sha256 == reference.sha256 }
  }

  /// Returns an attachment's whole content, which uses as much memory as the content. Verifies its SHA-256.
  ///
  /// - Throws: `noSuchAttachment`, `damaged`, `otherFormat`.
  public func content(of id: Attachment.ID) throws(StoreError) -> [UInt8] {
    let chunks = try transaction.chunks(of: id)
    var content = try transaction.memory(for: chunks.record.chunks.byteCount)
    try chunks.forEachChunk(from: transaction.database) { part throws(StoreError) in
      try transaction.requireOpen()
      content.append(contentsOf: part)
    }
    return content
  }

  /// Returns a part of an attachment's content. Decrypts the 64-KiB chunks that the range touches.
  ///
  /// The seals prove that the part belongs to this position in this attachment. Only reading the whole content verifies
  /// the SHA-256, so a former holder of the store's keys could have replaced the part.
  ///
  /// - Parameters:
  ///   - id: The attachment.
  ///   - range: The range of bytes. Bytes beyond the end aren't returned.
  /// - Throws: `noSuchAttachment`, `damaged`, `otherFormat`.
  public func content(of id: Attachment.ID, in range: Range<Int>) throws(StoreError) -> [UInt8] {
    let chunks = try transaction.chunks(of: id)
    let layout = chunks.record.chunks
    let range = range.clamped(to: 0..<layout.byteCount)
    var content = try transaction.memory(for: range.count)
    var part = [UInt8](repeating: 0, count: min(range.count, layout.chunkSize))
    var start = range.lowerBound
    while start < range.upperBound {
      let end = min(range.upperBound, (start / layout.chunkSize + 1) * layout.chunkSize)
      let count = end - start
      try part.withMutableBytes { memory throws(StoreError) in
        let memory = UnsafeMutableRawBufferPointer(rebasing: memory[..<count])
        try transaction.read(start..<end, of: chunks, into: memory)
      }
      content += part[..<count]
      start = end
    }
    return content
  }

  /// Calls `body` with an attachment's content, part by part, and then verifies its SHA-256.
  ///
  /// The parts have up to 64 KiB and are valid during the call. Don't trust them until the method returns, because an
  /// error at the end means that the content differs from the attached content.
  ///
  /// - Throws: Errors of `body`, `noSuchAttachment`, `damaged`, `otherFormat`.
  public func forEachPart(of id: Attachment.ID, _ body: (UnsafeRawBufferPointer) throws -> Void) throws {
    try transaction.forEachPart(of: id, body)
  }

  /// Writes an attachment's content to a file that only its owner can read.
  ///
  /// The file appears under its name when it's complete and its SHA-256 matches. In rollback journal mode, commits wait
  /// until then.
  ///
  /// - Parameters:
  ///   - id: The attachment.
  ///   - url: The file. Its folder must exist.
  ///   - isReplacing: Whether to replace an existing file, which isn't a store.
  ///   - progress: Called with the number of bytes written.
  /// - Throws: `noSuchAttachment`, `damaged`, `otherFormat`, `alreadyExists`, `diskFull`, `readOnly`, `ioFailure`,
  ///   `cancelled`. The file isn't created or replaced then.
  public func save(
    _ id: Attachment.ID, to url: URL, replacing isReplacing: Bool = false, progress: ProgressHandler? = nil
  ) throws(StoreError) {
    let chunks = try transaction.chunks(of: id)
    let file = StagedFile(url.path, replacesExisting: isReplacing)
    try file.checkIsNoStore()
    try file.make()
    try file.discardingOnError { () throws(StoreError) in
      var done = 0
      func report() throws(StoreError) {
        try WorkProgress(done: done, total: chunks.record.chunks.byteCount).tell(
          progress, stopped: "saving was stopped; no file was made")
      }
      try chunks.forEachChunk(from: transaction.database) { part throws(StoreError) in
        try transaction.requireOpen()
        try report()
        try file.append(part)
        done += part.count
      }
      try report()
      try file.sync()
      try file.publish()
    }
  }
}
