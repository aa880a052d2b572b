internal import Coffer
internal import CofferFormats

/// What an import came to, over all its transactions.
struct ImportOutcome {
  private(set) var created = 0
  private(set) var collections: [String: Int] = [:]
  private(set) var firstID: DocumentID?
  private(set) var lastID: DocumentID?
  /// The ids given, as ranges: numbers in a row cost nothing.
  private(set) var ids: [ClosedRange<Int64>] = []
  var inputs: [ImportQueue.InputReport] = []

  mutating func add(_ report: BulkReport, ids newIDs: [ClosedRange<Int64>]) {
    created += report.created
    collections.merge(report.collections, uniquingKeysWith: +)
    firstID = firstID ?? report.firstID
    lastID = report.lastID ?? lastID
    ids += newIDs
  }

  mutating func countOnly(_ documents: Int) {
    created += documents
  }

  var skipped: Int { inputs.reduce(0) { $0 + $1.reading.skippedEmpty } }
  var rejected: Int { inputs.reduce(0) { $0 + $1.reading.rejected } }

  /// The report of the contract; `collection` is null where the input named several.
  func report(collection: String?) -> Report {
    let named = collection ?? (collections.count <= 1 ? collections.keys.first ?? defaultCollection : nil)
    return Report([
      ("collection", named.map { .string($0) } ?? .null),
      ("created", .integer(created)), ("updated", .integer(0)), ("unchanged", .integer(0)), ("removed", .integer(0)),
      ("skipped", .integer(skipped)), ("rejected", .integer(rejected)),
      ("first_id", firstID.map { .integer($0.rawValue) } ?? .null),
      ("last_id", lastID.map { .integer($0.rawValue) } ?? .null),
      ("inputs", .array(inputs.map(\.json))),
    ])
  }

  /// The same for people.
  func lines(isDryRun: Bool) -> [String] {
    var line = "\(counted(created, "document")) \(isDryRun ? "would be " : "")created"
    if let firstID, let lastID { line += created == 1 ? ", id \(firstID)" : ", ids \(firstID) to \(lastID)" }
    if skipped > 0 { line += ", \(skipped) without text skipped" }
    if rejected > 0 { line += ", \(rejected) rejected" }
    return inputs.map(\.words) + [line]
  }
}

/// Ids collected as ranges.
final class IDCollector {
  private(set) var ranges: [ClosedRange<Int64>] = []

  func add(_ id: DocumentID) {
    if let last = ranges.last, last.upperBound + 1 == id.rawValue {
      ranges[ranges.count - 1] = last.lowerBound...id.rawValue
    } else {
      ranges.append(id.rawValue...id.rawValue)
    }
  }
}
