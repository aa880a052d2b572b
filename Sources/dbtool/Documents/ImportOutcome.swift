internal import Coffer
internal import CofferEngine
internal import CofferFormats

/// The totals of an import over all transactions.
struct ImportOutcome {
  private(set) var created = 0
  private(set) var updated = 0
  private(set) var unchanged = 0
  /// The number of added or replaced attachments.
  private(set) var attachments = 0
  /// The number of documents without the parent that the input names.
  var parentsDropped = 0
  /// Parents that were still missing at the end of a batch.
  private(set) var missingParents = LaterParents()
  /// The number of documents left unchanged because their ID or key already exists.
  private(set) var conflicts = 0
  /// The changes of a synchronization, by ID.
  private(set) var sync: SyncReport?
  private(set) var firstID: DocumentID?
  private(set) var lastID: DocumentID?
  /// The assigned IDs in document order, as ranges to save memory.
  private(set) var ids: [ClosedRange<Int64>] = []
  var inputs: [ImportQueue.InputReport] = []
  /// The names of the collections that the documents belong to, as bytes.
  var collections: Set<[UInt8]> = []
  var collectionsBefore: [String] = []
  /// The collections that the import created.
  var newCollections: [String] = []

  mutating func add(_ report: BulkReport, ids newIDs: [ClosedRange<Int64>]) {
    created += report.created
    updated += report.updated
    unchanged += report.unchanged
    conflicts += report.skipped
    attachments += report.attachments
    parentsDropped += report.parentsDropped
    missingParents.add(report.missingParents)
    firstID = firstID ?? report.firstID
    lastID = report.lastID ?? lastID
    for range in newIDs {
      if let last = ids.last, last.upperBound + 1 == range.lowerBound {
        ids[ids.count - 1] = last.lowerBound...range.upperBound
      } else {
        ids.append(range)
      }
    }
  }

  mutating func add(_ report: SyncReport) {
    created = report.created.count
    updated = report.updated.count
    unchanged = report.unchanged.count
    attachments = report.attachments
    firstID = report.created.first
    lastID = report.created.last
    let collector = IDCollector()
    report.created.forEach(collector.add)
    ids = collector.ranges
    sync = report
  }

  /// The number of written documents.
  var stored: Int { created + updated }

  private var skippedEmpty: Int { inputs.reduce(0) { $0 + $1.reading.skippedEmpty } }
  var rejected: Int { inputs.reduce(sync?.invalid.count ?? 0) { $0 + $1.reading.rejected } }

  /// Returns the report for programs. `collection` is null unless all documents belong to one collection.
  func report(collection: String?) -> Report {
    let only = collections.count == 1 ? collections.first.map { String(decoding: $0, as: UTF8.self) } : nil
    let named = collection ?? only
    return Report([
      ("collection", named.map { .string($0) } ?? .null),
      ("created", .integer(created)), ("updated", .integer(updated)), ("unchanged", .integer(unchanged)),
      ("attachments", attachments > 0 ? .integer(attachments) : nil),
      ("parents_dropped", parentsDropped > 0 ? .integer(parentsDropped) : nil),
      ("removed", .integer(sync?.deleted.count ?? 0)), ("skipped", .integer(skippedEmpty + conflicts)),
      ("rejected", .integer(rejected)),
      ("first_id", firstID.map { .integer($0.rawValue) } ?? .null),
      ("last_id", lastID.map { .integer($0.rawValue) } ?? .null),
      ("inputs", .array(inputs.map(\.json))), ("sync", sync?.json(of: inputs)),
    ])
  }

  /// Returns the report for people.
  func lines(isDryRun: Bool, isSync: Bool, isVerbose: Bool) -> [String] {
    var line = "\(counted(created, "document")) \(isDryRun ? "would be " : "")created"
    if let words = IDCollector.words(ids) { line += ", \(words)" }
    if updated > 0 || isSync { line += ", \(updated) updated" }
    if unchanged > 0 || isSync { line += ", \(unchanged) unchanged" }
    if let sync { line += ", \(sync.deleted.count) removed" }
    if attachments > 0 { line += ", \(counted(attachments, "attachment"))" }
    if conflicts > 0 { line += ", \(conflicts) there already" }
    if skippedEmpty > 0 { line += ", \(skippedEmpty) without text skipped" }
    if rejected > 0 { line += ", \(rejected) rejected" }
    if let sync, !sync.stale.isEmpty {
      line += ", \(sync.stale.count) kept that are not in the "
      line += sync.removalWasWithheld ? "records that could be read" : "input (--delete removes them)"
    }
    return inputs.map(\.words) + [line] + (isVerbose ? sync?.lines ?? [] : [])
  }
}

/// Collects IDs as ranges, in the order of arrival.
final class IDCollector {
  /// The maximum number of ranges in a list for people.
  private static let shown = 10

  private(set) var ranges: [ClosedRange<Int64>] = []

  func add(_ id: DocumentID) {
    if let last = ranges.last, last.upperBound + 1 == id.rawValue {
      ranges[ranges.count - 1] = last.lowerBound...id.rawValue
    } else {
      ranges.append(id.rawValue...id.rawValue)
    }
  }

  /// Returns the IDs for people: `id 7`, `ids 3 to 9`, or `ids 1, 3-5, 9`. Returns `nil` for an empty list.
  static func words(_ ranges: [ClosedRange<Int64>]) -> String? {
    guard let first = ranges.first else { return nil }
    if ranges.count == 1 {
      return first.count == 1 ? "id \(first.lowerBound)" : "ids \(first.lowerBound) to \(first.upperBound)"
    }
    return "ids \(list(ranges.prefix(shown)))" + (ranges.count > shown ? " and more" : "")
  }

  static func list(_ ranges: some Sequence<ClosedRange<Int64>>) -> String {
    ranges.map { $0.count == 1 ? "\($0.lowerBound)" : "\($0.lowerBound)-\($0.upperBound)" }.joined(separator: ", ")
  }
}

extension SyncReport {
  /// Returns the IDs of all changed documents, and the invalid records of the inputs.
  fileprivate func json(of inputs: [ImportQueue.InputReport]) -> JSONValue {
    func list(_ ids: [DocumentID]) -> JSONValue { .array(ids.map { .integer($0.rawValue) }) }
    let invalid = invalid.map { item -> JSONValue in
      let place = inputs.place(ofRecord: item.record)
      return .object(present: [
        ("input", place.map { .string($0.path) }), ("record", place.map { .integer($0.record) }),
        ("id", item.id.map { .integer($0.rawValue) }), ("reason", .string(item.reason)),
      ])
    }
    return .object([
      ("created", list(created)), ("updated", list(updated)), ("removed", list(deleted.map(\.id))),
      ("stale", list(stale)), ("invalid", .array(invalid)),
    ])
  }

  /// The report for people, or an empty array without changes.
  fileprivate var lines: [String] {
    func line(_ what: String, _ ids: [DocumentID]) -> String? {
      guard !ids.isEmpty else { return nil }
      let collector = IDCollector()
      ids.sorted().forEach(collector.add)
      return "\(what): \(IDCollector.list(collector.ranges))"
    }
    return [
      line("updated", updated), line("removed", deleted.map(\.id)),
      line("kept", stale),
    ].compactMap { $0 }
  }
}
