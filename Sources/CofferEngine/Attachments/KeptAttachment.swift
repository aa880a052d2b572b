internal import CofferRecords

/// A deleted document's attachment, whose content waits in ``SealedContents``.
package struct KeptAttachment: Sendable {
  fileprivate let description: AttachmentBuilder.Description
  fileprivate let range: Range<Int>
}

extension DocumentEditor {
  /// Adds the contents of a document's attachments to `contents`, and returns what brings the attachments back.
  ///
  /// - Throws: `damaged`, `otherFormat`, `diskFull` or `ioFailure` if the contents can't be kept.
  package func keepAttachments(of id: DocumentID, in contents: SealedContents) throws(StoreError) -> [KeptAttachment] {
    var kept: [KeptAttachment] = []
    for row in try transaction.attachmentRows(of: id.rawValue) {
      let chunks = try transaction.chunks(of: Attachment.ID(rawValue: row.number))
      let start = contents.count
      try chunks.forEachChunk(from: transaction.database) { part throws(StoreError) in
        try transaction.requireOpen()
        try contents.append(part)
      }
      kept.append(
        KeptAttachment(description: AttachmentBuilder.Description(chunks.record), range: start..<contents.count))
    }
    return kept
  }

  /// Attaches kept attachments to their document, which is back.
  ///
  /// They keep their identities and dots, because nobody changed them. An attachment gets new identities and dots if
  /// another replica has removed it, because a merge would otherwise remove it again. It also gets them in a store that
  /// doesn't include its dots.
  package func restore(
    _ attachments: [KeptAttachment], from contents: SealedContents, to id: DocumentID
  ) throws(StoreError) {
    guard !attachments.isEmpty else { return }
    let writer = try transaction.writer
    try writer.willWrite()
    let removed = try writer.deletedIdentities(among: Set(attachments.map(\.description.uid)))
    let counter = writer.dot.counter
    for attachment in attachments {
      var description = attachment.description
      let isKnown = [description.born, description.nameDot].allSatisfy {
        writer.replicas.covers($0, ownCounter: counter)
      }
      if removed.contains(description.uid) || !isKnown {
        (description.uid, description.born, description.nameDot) = (try writer.keys.newUID(), writer.dot, writer.dot)
      }
      let builder = try AttachmentBuilder(transaction, id, description)
      try contents.forEachPart(of: attachment.range) { part throws(StoreError) in
        try transaction.requireOpen()
        try builder.append(part)
      }
      _ = try builder.finish()
    }
  }

  /// Copies a document's attachments to another document of the store, under new numbers, identities and keys.
  ///
  /// - Throws: `damaged`, `otherFormat`, `noNumberLeft`. Undo the changes then.
  package func copyAttachments(of id: DocumentID, to other: DocumentID) throws(StoreError) {
    let rows = try transaction.attachmentRows(of: id.rawValue)
    guard !rows.isEmpty else { return }
    let writer = try transaction.writer
    for row in rows {
      let chunks = try transaction.chunks(of: Attachment.ID(rawValue: row.number))
      var description = AttachmentBuilder.Description(chunks.record)
      (description.uid, description.born, description.nameDot) = (try writer.keys.newUID(), writer.dot, writer.dot)
      let builder = try AttachmentBuilder(transaction, other, description)
      try chunks.forEachChunk(from: transaction.database) { part throws(StoreError) in
        try transaction.requireOpen()
        try builder.append(part)
      }
      _ = try builder.finish()
    }
  }
}
