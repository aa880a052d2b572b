public import CofferEngine
internal import CofferRecords
internal import CofferSealing

/// The content of an attachment as an asynchronous sequence of parts of up to 256 KiB.
///
/// ```swift
/// for try await part in store.parts(of: attachment.id) { try await response.write(part) }
/// ```
///
/// Each part is read in its own transaction, so a slow consumer doesn't delay writers. After the last part, the
/// content's SHA-256 is verified. Don't trust the parts until the sequence ends, because an error at the end means that
/// the content differs from the attached content.
public struct AttachmentParts: AsyncSequence, Sendable {
  public typealias Element = [UInt8]

  let store: DocumentStore
  let attachment: Attachment.ID

  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(store: store, attachment: attachment) }

  public struct AsyncIterator: AsyncIteratorProtocol {
    private static let partSize = 256 << 10

    let store: DocumentStore
    let attachment: Attachment.ID
    private var done = 0
    private var hasEnded = false
    private var hasher: TextHasher?
    private var proof: AttachmentChunks.Proof?

    init(store: DocumentStore, attachment: Attachment.ID) {
      (self.store, self.attachment) = (store, attachment)
    }

    /// Returns the next part, or `nil` at the end.
    ///
    /// - Throws: `noSuchAttachment`, also if the attachment is removed during the iteration, `damaged`, `otherFormat`,
    ///   `closed`, or `CancellationError`.
    public mutating func next() async throws -> [UInt8]? {
      guard !hasEnded else { return nil }
      let (start, attachment, proof) = (done, attachment, proof)
      let (part, digest, count, proved) = try await store.read { reader in
        let chunks = try reader.transaction.chunks(of: attachment)
        chunks.proof = proof
        let (record, count) = (chunks.record, chunks.record.chunks.byteCount)
        // Another branch of the store can be in the file now, whose attachment of this number is shorter.
        guard start <= count else { throw StoreError.otherContent(of: attachment.rawValue) }
        var part = [UInt8](repeating: 0, count: Swift.min(Self.partSize, count - start))
        try part.withUnsafeMutableBytes { memory in
          try reader.transaction.read(start..<start + memory.count, of: chunks, into: memory)
        }
        return (part, record.digest, count, chunks.proof)
      }
      self.proof = proved
      let hasher = try hasher ?? Self.begun()
      self.hasher = hasher
      try part.withUnsafeBytes { try hasher.update($0) }
      done += part.count
      guard done == count else { return part }
      hasEnded = true
      guard try hasher.finish() == digest else { throw StoreError.otherContent(of: attachment.rawValue) }
      return part.isEmpty ? nil : part
    }

    private static func begun() throws -> TextHasher {
      let hasher = try TextHasher()
      try hasher.begin()
      return hasher
    }
  }
}

extension DocumentStore {
  /// Returns the content of an attachment part by part, for a consumer that may be slow.
  public func parts(of attachment: Attachment.ID) -> AttachmentParts {
    AttachmentParts(store: self, attachment: attachment)
  }
}
