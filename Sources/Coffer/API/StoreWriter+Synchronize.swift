internal import CofferRecords
internal import CofferSQLite

extension StoreWriter {
  /// Makes a collection match a source of truth: adds, updates, leaves unchanged documents alone, and lists or removes
  /// those that the source no longer has. Creates the collection if it is missing.
  ///
  /// Memory holds ids only. An unchanged document keeps its descendants, unless its item lists children.
  ///
  /// - Returns: the ids that were created, updated, unchanged, deleted and kept, and the invalid documents.
  /// - Throws: `removalRefused` if more would be removed than `options.stale` allows; an error for an invalid document,
  ///   if the options don't skip those; errors of `options.progress`. The transaction must then be rolled back, as it
  ///   is when the error leaves `write`.
  @discardableResult
  public func synchronize(
    _ collection: DocumentCollection, with items: some Sequence<SyncItem>, options: SyncOptions = SyncOptions()
  ) throws -> SyncReport {
    try transaction.synchronizing(collection, options) { synchronizer in
      for item in items { try synchronizer.take(item) }
    }
  }

  /// Makes a collection match documents in bulk, identified by their keys or, if ids are kept, by ids.
  ///
  /// Each record is one document; if no record has a parent, descendants of documents stay. A record with neither id
  /// nor key is invalid. Collections that records name are not looked at.
  ///
  /// - Returns: the ids that were created, updated, unchanged, deleted and kept, and the invalid documents.
  /// - Throws: errors of the source, and those of ``synchronize(_:with:options:)-(_,Sequence<SyncItem>,_)``.
  @discardableResult
  public func synchronize(
    _ collection: DocumentCollection, with source: some DraftSource, options: SyncOptions = SyncOptions()
  ) throws -> SyncReport {
    var source = source
    return try transaction.synchronizing(collection, options) { synchronizer in
      var drafts = DraftBatch()
      while try source.read(into: &drafts) {
        defer { drafts.removeAll() }
        for draft in drafts.drafts {
          try synchronizer.take(try Incoming(draft, of: drafts, keepingIDs: options.keepsIDs))
        }
        try options.progress?(WorkProgress(done: synchronizer.count))
      }
    }
  }
}
