internal import CofferRecords
internal import CofferSQLite

/// Inserts documents one at a time and resolves conflicts by looking up each document first.
package struct BulkUpsert {
  package let transaction: StoreTransaction
  /// Returns the text that replaces a stored document's value, or `nil` for documents that aren't values of a type.
  private let replacement: Upsert.Replacement?
  /// The source IDs of documents found by key under another ID.
  private var claims: [DocumentID: DocumentID] = [:]

  package init(_ transaction: StoreTransaction, replacement: Upsert.Replacement? = nil) {
    self.transaction = transaction
    self.replacement = replacement
  }

  /// Inserts or updates the source's documents, in their order.
  package mutating func run(
    contentsOf source: some DraftSource, into collection: DocumentCollection?, options: BulkOptions
  ) throws -> BulkReport {
    transaction.isInsertingFromSource = true
    defer { transaction.isInsertingFromSource = false }
    var source = source
    var report = BulkReport()
    var upsert = Upsert(
      transaction, titleRule: options.titleRule, atTop: options.atTop, replacesWhole: false, replacement: replacement)
    var drafts = DraftBatch()
    do {
      while try source.read(into: &drafts) {
        defer { drafts.removeAll() }
        for draft in drafts.drafts {
          if draft.parent != nil, !options.keepsIDs { report.parentsDropped += 1 }
          let record = try record(for: draft, of: drafts, in: collection, options)
          var incoming = try Incoming(draft, of: drafts, keepingIDs: options.keepsIDs)
          do {
            let match = try match(incoming, in: record, upsert, updates: options.onConflict == .update)
            if let match, options.onConflict == .update, let parts = try drafts.parts(of: draft, for: match) {
              let attachments = incoming.attachments
              incoming = try Incoming(parts.drafts[0], of: parts, keepingIDs: options.keepsIDs)
              incoming.attachments = attachments + incoming.attachments
            }
            try merge(incoming, with: match, in: record, &upsert, options, &report)
          } catch let error as StoreError {
            throw error.of(record: draft.record)
          }
        }
        let done = report.created + report.updated + report.unchanged + report.skipped
        try options.progress?(WorkProgress(done: done))
      }
      report.attachments = upsert.attached
      report.parentsDropped += try upsert.laterParents.resolve(transaction)
      report.missingParents = upsert.laterParents
    } catch {
      try transaction.writer.fail(error)
      throw error
    }
    return report
  }

  private mutating func match(
    _ incoming: Incoming, in record: CollectionRecord, _ upsert: Upsert, updates: Bool
  ) throws(StoreError) -> DocumentHeader? {
    guard let id = incoming.id else {
      guard let key = incoming.document.key else { return nil }
      return try upsert.match(key, in: record)
    }
    var match = try upsert.match(id, in: record)
    if match == nil, let key = incoming.document.key {
      match = try upsert.match(key, in: record)
      if let match, claims[match.id] == nil { claims[match.id] = id }
    }
    if updates, let match, let other = claims[match.id], other != id {
      throw StoreError(
        .alreadyExists, "document \(match.id) has the key of document \(other) of the input, and was updated by it",
        hint: "give one of them another key, or import without their ids", documentID: match.id)
    }
    return match
  }

  private func merge(
    _ incoming: Incoming, with match: DocumentHeader?, in record: CollectionRecord, _ upsert: inout Upsert,
    _ options: BulkOptions, _ report: inout BulkReport
  ) throws(StoreError) {
    if match != nil, options.onConflict == .skip {
      report.skipped += 1
      return
    }
    switch try upsert.apply(incoming, on: match, in: record, keepingID: options.keepsIDs) {
    case .created(let id):
      report.created += 1
      report.firstID = report.firstID ?? id
      report.lastID = id
      report.collections[record.name, default: 0] += 1
      options.onInsert?(id)
    case .updated: report.updated += 1
    case .unchanged: report.unchanged += 1
    }
  }

  /// Returns the draft's collection, and creates it if it's missing.
  private func record(
    for draft: DraftBatch.Draft, of batch: DraftBatch, in collection: DocumentCollection?, _ options: BulkOptions
  ) throws(StoreError) -> CollectionRecord {
    let own = draft.collection.map { String(decoding: batch.bytes[$0], as: UTF8.self) }
    return try transaction.collectionEditor.openOrCreate(
      collection ?? DocumentCollection(own ?? "documents"), titleRule: options.titleRule ?? .asGiven)
  }
}

extension DraftBatch {
  /// Returns the parts of a record without a text, which updates a document whose text isn't such a record. Otherwise,
  /// returns `nil`.
  package func parts(of draft: Draft, for match: DocumentHeader) throws -> DraftBatch? {
    guard draft.isWholeRecord, !match.isJSON, let text = draft.text, let readParts else { return nil }
    return try bytes[text].withUnsafeBytes { try readParts($0, draft.record) }
  }
}
