internal import CofferRecords

// Documents with their attachments in a bulk read.

extension StoreTransaction {
  /// Returns a document whose attachments can be read while it's visited.
  package func opened(_ header: DocumentHeader, _ utf8: UnsafeRawBufferPointer) -> OpenedDocument {
    guard header.attachmentCount > 0 else { return OpenedDocument(header: header, utf8: utf8) }
    return OpenedDocument(header: header, utf8: utf8) {
      try self.attachments(of: header.id).map { attachment in
        OpenedAttachment(
          name: attachment.name, mediaType: attachment.mediaType, date: attachment.date,
          byteCount: attachment.byteCount, sha256: attachment.sha256
        ) { body in try self.forEachPart(of: attachment.id, body) }
      }
    }
  }

  /// Calls `body` with the content of an attachment, part by part, and then compares the whole with its SHA-256.
  ///
  /// - Throws: Errors of `body`, `noSuchAttachment`, `damaged`, `otherFormat`.
  package func forEachPart(
    of id: Attachment.ID, _ body: (UnsafeRawBufferPointer) throws -> Void
  ) throws {
    var failure: (any Error)?
    let chunks = try chunks(of: id)
    do {
      try chunks.forEachChunk(from: database) { part throws(StoreError) in
        try requireOpen()
        do {
          try body(part)
        } catch {
          failure = error
          throw StoreError(.cancelled, "the reader of an attachment stopped")
        }
      }
    } catch {
      // The closure may have removed the attachment, whose next chunk isn't damaged then.
      if failure == nil, hasWritten { _ = try attachmentRow(id) }
      throw failure ?? error
    }
  }
}
