internal import CofferRecords
internal import CofferSQLite

/// What happens when a document that comes in has a kept number, or a key, that another document has.
public enum ConflictMode: Hashable, Sendable {
  /// The work ends with `alreadyExists` or `duplicateKey`.
  case fail
  /// The one that is there becomes what comes in; a title and attributes that are not given are kept.
  case update
  /// The one that is there stays as it is.
  case skip
}

extension Writer {
  /// ``insert(contentsOf:into:options:)`` where conflicts are settled: one document at a time, each looked for first.
  func merge(
    contentsOf source: some DraftSource, into collection: DocumentCollection?, options: BulkOptions
  ) throws -> BulkReport {
    var source = source
    var report = BulkReport()
    var settling = Settling(
      transaction, titleRule: options.titleRule, atTop: options.atTop, replacesWhole: false)
    var drafts = DraftBatch()
    do {
      while try source.read(into: &drafts) {
        defer { drafts.removeAll() }
        for draft in drafts.drafts {
          if draft.parent != nil, !options.keepsIDs { report.parentsDropped += 1 }
          let record = try record(for: draft, of: drafts, in: collection, options)
          let incoming = try Incoming(draft, of: drafts, keepingIDs: options.keepsIDs)
          do throws(StoreError) {
            try merge(incoming, in: record, &settling, options, &report)
          } catch {
            throw error.of(record: draft.record)
          }
        }
        try options.progress?(report.created + report.updated + report.unchanged + report.skipped)
      }
    } catch {
      try transaction.writer.fail(error)
      throw error
    }
    return report
  }

  private func merge(
    _ incoming: Incoming, in record: CollectionRecord, _ settling: inout Settling, _ options: BulkOptions,
    _ report: inout BulkReport
  ) throws(StoreError) {
    var match: DocumentHeader?
    if let id = incoming.id { match = try settling.match(id, in: record) }
    if match == nil, let key = incoming.document.key { match = try settling.match(key, in: record) }
    if match != nil, options.onConflict == .skip {
      report.skipped += 1
      return
    }
    switch try settling.settle(incoming, on: match, in: record, keepingID: options.keepsIDs) {
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

  /// The collection of a draft, made where it is missing.
  private func record(
    for draft: DraftBatch.Draft, of batch: DraftBatch, in collection: DocumentCollection?, _ options: BulkOptions
  ) throws(StoreError) -> CollectionRecord {
    let own = draft.collection.map { String(decoding: batch.bytes[$0], as: UTF8.self) }
    return try transaction.openOrCreate(
      collection ?? DocumentCollection(own ?? "documents"), titleRule: options.titleRule ?? .asGiven)
  }
}
