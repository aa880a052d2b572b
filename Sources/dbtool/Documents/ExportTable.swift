internal import Coffer
internal import CofferFormats

/// The form of a table that is exported.
struct ExportTable {
  var columns = TableColumns()
  let dialect: DelimitedDialect

  init(_ format: ExportFormat, delimiter: UInt8?) {
    dialect = delimiter.map { DelimitedDialect(delimiter: $0) } ?? (format == .tsv ? .tsv : .csv)
  }
}

/// Counts documents that have a part which a format doesn't hold.
struct LeftOutParts {
  /// Parts of documents, in the order of the note.
  enum Part: String, CaseIterable {
    case keys, dates, parents
    case values = "marks of stored values"

    func isIn(_ header: DocumentHeader) -> Bool {
      switch self {
      case .keys: header.key != nil
      case .dates: true
      case .parents: header.parent != nil
      case .values: header.isJSON
      }
    }
  }

  private let parts: [Part]
  private(set) var counts: [Part: Int] = [:]

  init(_ format: ExportFormat) {
    parts = format == .plist ? Part.allCases : []
  }

  mutating func add(_ header: DocumentHeader) {
    for part in parts where part.isIn(header) { counts[part, default: 0] += 1 }
  }

  /// The note for people; nil if nothing is left out.
  func note(_ format: ExportFormat) -> String? {
    let all = parts.compactMap { part in counts[part].map { "the \(part.rawValue) of \(counted($0, "document"))" } }
    guard !all.isEmpty else { return nil }
    return "\(format.rawValue) leaves out \(all.joined(separator: ", ")): ndjson holds everything"
  }

  var json: JSONValue {
    .object(
      present: parts.map { part in
        (part == .values ? "values" : part.rawValue, counts[part].map { .integer($0) })
      })
  }
}
