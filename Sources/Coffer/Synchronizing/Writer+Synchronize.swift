internal import CofferRecords
internal import CofferSQLite

extension Writer {
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
    try synchronizing(collection, options) { synchronizer in
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
    return try synchronizing(collection, options) { synchronizer in
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

  private func synchronizing(
    _ collection: DocumentCollection, _ options: SyncOptions, _ work: (Synchronizer) throws -> Void
  ) throws -> SyncReport {
    let writer = try transaction.writer
    func run() throws -> SyncReport {
      writer.willWrite()
      let record = try transaction.openOrCreate(
        collection, titleRule: options.titleRule ?? .asGiven, foldsKeys: options.foldsKeys)
      let synchronizer = try Synchronizer(transaction, record, options)
      try work(synchronizer)
      try synchronizer.finish()
      return synchronizer.report
    }
    guard options.isDryRun else {
      do {
        return try run()
      } catch {
        writer.fail(error)
        throw error
      }
    }
    var report = SyncReport()
    do {
      try transaction.savepoint {
        report = try run()
        throw DryRunEnds()
      }
    } catch is DryRunEnds {}
    return report
  }

  private struct DryRunEnds: Error {}
}

extension Incoming {
  /// A draft on its own, out of its batch.
  init(_ draft: DraftBatch.Draft, of batch: DraftBatch, keepingIDs: Bool) throws(StoreError) {
    func text(_ range: Range<Int>, _ part: String) throws(StoreError) -> String {
      // What is no text would be sealed and never read again.
      guard let text = String(validating: batch.bytes[range], as: UTF8.self) else {
        throw StoreError(.invalidArgument, "record \(draft.record): its \(part) is not UTF-8")
      }
      return text
    }
    var document = Document(text: try text(draft.text, "text"))
    document.title = if let title = draft.title { try text(title, "title") } else { nil }
    document.key = draft.key.map { ExternalKey(bytes: batch.bytes[$0]) }
    if let attributes = draft.attributes {
      document.attributes = Attributes(uncheckedCanonicalJSON: batch.bytes[attributes])
    }
    document.parent = keepingIDs ? draft.parent : nil
    document.created = draft.created ?? draft.modified
    document.modified = draft.modified
    document.isJSON = draft.isJSON
    self.init(
      document: document, id: keepingIDs ? draft.id : nil, record: draft.record, isComplete: draft.isComplete,
      keepsParent: !(draft.isComplete && keepingIDs))
  }
}
