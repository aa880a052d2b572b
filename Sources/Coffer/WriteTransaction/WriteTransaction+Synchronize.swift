internal import CofferEngine
internal import CofferRecords
internal import CofferSQLite

extension WriteTransaction {
  /// Updates a collection to match a source of truth. Adds and updates documents, leaves unchanged documents untouched,
  /// and lists or removes documents that the source no longer contains. Creates the collection if it's missing.
  ///
  /// Keeps only IDs in memory. An unchanged document keeps its descendants, unless its item lists children.
  ///
  /// - Returns: The IDs of created, updated, unchanged, deleted and kept documents, and the invalid documents.
  /// - Throws: `removalRefused` if more documents would be removed than `options.stale` allows, an error for an invalid
  ///   document unless the options skip it, and errors of `options.progress`. The transaction must then be rolled back,
  ///   which happens when the error leaves `write`.
  @discardableResult
  public func synchronize(
    _ collection: DocumentCollection, with items: some Sequence<SyncItem>, options: SyncOptions = SyncOptions()
  ) throws -> SyncReport {
    try Synchronizer.run(in: transaction, collection, options) { synchronizer in
      for item in items { try synchronizer.take(item) }
    }
  }

  /// Updates a collection to match a source in bulk. Documents are identified by their keys, or by IDs if IDs are kept.
  ///
  /// Each record is one document. If no record has a parent, documents keep their descendants. A record without a text
  /// only changes its given parts, unless the document is also such a record. A record without an ID and key is
  /// invalid. The records' collections are ignored.
  ///
  /// - Returns: The IDs of created, updated, unchanged, deleted and kept documents, and the invalid documents.
  /// - Throws: Errors of the source, and the errors of ``synchronize(_:with:options:)-(_,Sequence<SyncItem>,_)``.
  @discardableResult
  public func synchronize(
    _ collection: DocumentCollection, with source: some DraftSource, options: SyncOptions = SyncOptions()
  ) throws -> SyncReport {
    var source = source
    return try Synchronizer.run(in: transaction, collection, options) { synchronizer in
      var drafts = DraftBatch()
      while try source.read(into: &drafts) {
        defer { drafts.removeAll() }
        for draft in drafts.drafts {
          let incoming = try Incoming(draft, of: drafts, keepingIDs: options.keepsIDs)
          try synchronizer.take(incoming) { [attachments = incoming.attachments] match in
            guard let parts = try drafts.parts(of: draft, for: match) else { return nil }
            var incoming = try Incoming(parts.drafts[0], of: parts, keepingIDs: options.keepsIDs)
            incoming.isPartial = true
            incoming.attachments = attachments + incoming.attachments
            return incoming
          }
        }
        try options.progress?(WorkProgress(done: synchronizer.count))
      }
    }
  }
}
