internal import CofferEngine
internal import CofferRecords

/// A collection's documents in order, as a source of drafts for another store.
package struct StoreSource: DraftSource {
  private let transaction: StoreTransaction
  private let collection: DocumentCollection
  private var last: DocumentHeader?

  init(_ transaction: StoreTransaction, _ collection: DocumentCollection) {
    self.transaction = transaction
    self.collection = collection
  }

  /// Appends the next documents to an empty batch, up to about 256 KiB of text or 512 documents.
  ///
  /// - Returns: `false` if no documents remain.
  /// - Throws: `misuse` after the end of the scope, or within the transaction that inserts the documents. `damaged`
  ///   with the ID of the first damaged document.
  package mutating func read(into batch: inout DraftBatch) throws -> Bool {
    guard !transaction.isInsertingFromSource else {
      throw StoreError(
        .misuse, "a transaction can't insert from a source that reads the same transaction",
        hint: "read them into an array of documents, and insert that")
    }
    let reader = ReadTransaction(transaction)
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

extension StoreReading where Self: ~Copyable {
  /// Returns a collection's documents as a source of drafts for another store, valid in this scope. Documents aren't
  /// read before the first batch is requested.
  ///
  /// ```swift
  /// try old.read { reader in
  ///   try new.write { try $0.insert(contentsOf: reader.drafts(of: "notes"), into: "notes") }
  /// }
  /// ```
  ///
  /// IDs and parents are copied if the insertion keeps IDs (``BulkOptions/keepsIDs``).
  package func drafts(of collection: DocumentCollection) -> StoreSource {
    StoreSource(transaction, collection)
  }
}

extension DraftBatch {
  /// Whether the batch is large enough to pass to another thread.
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
