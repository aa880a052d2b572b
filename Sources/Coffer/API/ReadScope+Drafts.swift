internal import CofferRecords

/// The documents of a collection in order, as a source of drafts: to copy them into another store.
public struct StoreSource: DraftSource {
  private let transaction: StoreTransaction
  private let collection: DocumentCollection
  private var last: DocumentHeader?

  init(_ transaction: StoreTransaction, _ collection: DocumentCollection) {
    self.transaction = transaction
    self.collection = collection
  }

  /// Appends the next documents to an emptied batch: about 256 KiB of text, or 512 documents.
  ///
  /// - Returns: false, with nothing appended, when there are no more.
  /// - Throws: `misuse` after the end of the scope, and within the transaction that inserts the documents; `damaged`
  ///   with the id at the first damaged document.
  public mutating func read(into batch: inout DraftBatch) throws -> Bool {
    guard !transaction.isInsertingFromSource else {
      throw StoreError(
        .misuse, "a transaction can't insert from a source that reads the same transaction",
        hint: "read them into an array of documents, and insert that")
    }
    let reader = StoreReader(transaction)
    do {
      try reader.forEach(in: collection, after: last) { opened in
        last = opened.header
        batch.append(opened)
        if batch.isFull { throw EnoughFound() }
      }
    } catch is EnoughFound {}
    return !batch.isEmpty
  }
}

extension ReadScope where Self: ~Copyable {
  /// The documents of a collection as a source of drafts for another store, within this scope. Nothing is read before
  /// the first batch is asked for.
  ///
  /// ```swift
  /// try old.read { reader in
  ///   try new.write { try $0.insert(contentsOf: reader.drafts(of: "notes"), into: "notes") }
  /// }
  /// ```
  ///
  /// Ids and parents go along if the other side keeps ids (``BulkOptions/keepsIDs``).
  public func drafts(of collection: DocumentCollection) -> StoreSource {
    StoreSource(transaction, collection)
  }
}

extension DraftBatch {
  /// About as much as another thread should get at once.
  fileprivate var isFull: Bool { bytes.count >= 256 << 10 || drafts.count >= 512 }

  fileprivate mutating func append(_ opened: OpenedDocument) {
    let header = opened.header
    var draft = Draft(text: append(opened.utf8), record: drafts.count + 1)
    draft.id = header.id
    draft.title = header.title.map { append($0.utf8) }
    draft.key = header.key.map { append($0.bytes) }
    draft.attributes = header.attributes.isEmpty ? nil : append(header.attributes.canonicalJSON)
    draft.parent = header.parent
    draft.created = header.created
    draft.modified = header.modified
    draft.isJSON = header.isJSON
    draft.isComplete = true
    drafts.append(draft)
  }
}
