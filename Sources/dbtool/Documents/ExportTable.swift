internal import Coffer
internal import CofferFormats

/// The columns and dialect of an exported table.
struct ExportTable {
  var columns = TableColumns()
  let dialect: DelimitedDialect

  init(_ format: ExportFormat, delimiter: UInt8?) {
    dialect = delimiter.map { DelimitedDialect(delimiter: $0) } ?? (format == .tsv ? .tsv : .csv)
  }
}

/// Counts documents with parts that a format omits.
struct LeftOutParts {
  /// Parts of documents, in the order of the note.
  enum Part: String, CaseIterable {
    case keys, dates, parents
    case attachments
    /// The contents of listed attachments.
    case contents = "contents of attachments"

    func isIn(_ header: DocumentHeader) -> Bool {
      switch self {
      case .keys: header.key != nil
      case .dates: true
      case .parents: header.parent != nil
      case .attachments, .contents: header.attachmentCount > 0
      }
    }
  }

  private let parts: [Part]
  private(set) var counts: [Part: Int] = [:]

  /// - Parameters:
  ///   - isOneText: Whether the output is a file for one text rather than a directory.
  ///   - holdsContents: Whether attachment contents go to files.
  init(_ format: ExportFormat, isOneText: Bool, holdsContents: Bool) {
    parts =
      switch format {
      case .plist: [.keys, .dates, .parents, .attachments]
      case .csv, .tsv, .sqlite: [.attachments]
      case .text: isOneText ? [.attachments] : []
      case .ndjson, .json: holdsContents ? [] : [.contents]
      }
  }

  mutating func add(_ header: DocumentHeader) {
    for part in parts where part.isIn(header) { counts[part, default: 0] += 1 }
  }

  /// Returns the note for people, or `nil` if the format doesn't omit parts.
  func note(_ format: ExportFormat) -> String? {
    let all = parts.compactMap { part in counts[part].map { "the \(part.rawValue) of \(counted($0, "document"))" } }
    guard !all.isEmpty else { return nil }
    let leavesOut = "\(format.rawValue) leaves out \(all.joined(separator: ", "))"
    if parts == [.contents] { return "\(leavesOut): --attachments DIR writes them into a folder" }
    return "\(leavesOut): ndjson\(counts[.attachments] == nil ? "" : " with --attachments") holds everything"
  }

  var json: JSONValue {
    .object(
      present: parts.map { part in
        ("\(part)", counts[part].map { .integer($0) })
      })
  }
}
