internal import CofferRecords
internal import CofferSQLite

extension StoreWriter {
  /// Makes a collection what a source of truth says: adds, updates, leaves alone what has not changed, and lists or
  /// removes what no longer comes. Makes the collection where it is missing.
  ///
  /// Memory holds ids only. An unchanged document keeps everything below it, unless its item says what is there.
  ///
  /// - Throws: `removalRefused` when more would go than `options.stale` allows; for an invalid document where those are
  ///   not to be passed over. The transaction must then be rolled back, as it is when the error leaves `write`.
  @discardableResult
  public func synchronize(
    _ collection: DocumentCollection, with items: some Sequence<SyncItem>, options: SyncOptions = SyncOptions()
  ) throws -> SyncReport {
    try transaction.synchronizing(collection, options) { synchronizer in
      for item in items { try synchronizer.take(item) }
    }
  }

  /// The same for documents in bulk, told by their keys or, where numbers are kept, by these.
  ///
  /// Each record says what one document is; where none has a parent, what is below documents stays. A record that says
  /// neither number nor key is invalid. Collections that records name are not looked at.
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
        try options.progress?(synchronizer.count)
      }
    }
  }
}
