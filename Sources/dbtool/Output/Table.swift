internal import Coffer
internal import CofferDocuments
internal import CofferTerminal

/// The format of a list or report.
enum ListFormat: String, CaseIterable {
  case table, json, ndjson, csv, tsv
}

/// Prints rows with named columns one by one, without waiting for the reader before ``finish()``. Uses constant memory.
///
/// A table is delayed, because its column widths depend on the first 100,000 rows, or on the first 16 MiB.
struct TableWriter {
  private static let blockRows = 100_000
  private static let blockBytes = 16 << 20
  /// The minimum width of a truncated column.
  private static let narrowest = 8

  struct Column {
    let name: String
    /// Whether a table aligns the column to the right.
    let isNumber: Bool
    /// Whether the column is never cut, as a number or date isn't.
    var isFirm = false
  }

  /// A cell of a table.
  private struct Cell {
    let text: String
    /// Whether the cell is a number or date, which isn't truncated.
    let isFirm: Bool

    init(_ value: JSONValue?, isLocal: Bool = false) {
      let local: String? = if isLocal, case .date(let date) = value { LocalTime.text(date) } else { nil }
      text = local ?? escapingControls(value?.plainText ?? "")
      switch value {
      case .integer, .number, .bool, .date: isFirm = true
      case .string(let text): isFirm = Self.isDate(text)
      default: isFirm = false
      }
    }

    /// Returns whether the text is a date such as `2026-11-21T17:18:53.311Z`.
    private static func isDate(_ text: String) -> Bool {
      guard text.utf8.count == 24 else { return false }
      return zip(text.utf8, "0000-00-00T00:00:00.000Z".utf8).allSatisfy { byte, form in
        form == 0x30 ? (0x30...0x39).contains(byte) : byte == form
      }
    }
  }

  private let columns: [Column]
  /// The format, or `nil` for plain lines without a header, whose columns are separated by tabs.
  private let format: ListFormat?
  private let isLocal: Bool
  private let output: StandardOutput
  /// The first rows of a table, until its widths are known.
  private var rows: [[Cell]] = []
  private var rowBytes = 0
  private var widths: [Int]?
  private var count = 0

  /// - Parameter format: The format from `--format`, or `nil` for a table on a terminal and plain lines elsewhere.
  init(columns: [Column], format: ListFormat?) {
    self.columns = columns
    isLocal = Terminal.standardOutputIsTerminal
    self.format = format ?? (Terminal.standardOutputIsTerminal ? .table : nil)
    output = StandardOutput(readsAhead: true)
  }

  /// Whether rows are printed for people.
  static func isTable(_ format: ListFormat?) -> Bool {
    format == .table || format == nil && Terminal.standardOutputIsTerminal
  }

  mutating func add(_ cells: [JSONValue?]) throws {
    switch format {
    case .json:
      try output.write(count == 0 ? "[\n" : ",\n")
      try output.write(object(of: cells).serialized, isJSON: true)
    case .ndjson:
      try output.write(line: object(of: cells).serialized, isJSON: true)
    case .csv, .tsv:
      let separator = format == .csv ? "," : "\t"
      if count == 0 { try writeHeader(separator) }
      let fields = cells.map { Delimited.field($0?.plainText ?? "", separator: separator) }
      try output.write(line: fields.joined(separator: separator))
    case .table:
      try addToTable(cells.map { Cell($0, isLocal: isLocal) })
    case nil:
      // Escape tabs and line ends in titles, because they would add columns or lines. JSON doesn't contain either.
      let fields = cells.map { cell in
        switch cell {
        case .array?, .object?, .raw?: cell?.plainText ?? ""
        default: escapingSeparators(cell?.plainText ?? "")
        }
      }
      try output.write(line: fields.joined(separator: "\t"))
    }
    count += 1
  }

  mutating func finish() throws {
    switch format {
    case .json: try output.write(count == 0 ? "[]\n" : "\n]\n")
    case .csv where count == 0: try writeHeader(",")
    case .tsv where count == 0: try writeHeader("\t")
    case .table where widths == nil: try writeTable()
    default: break
    }
    try output.flush()
  }

  private func object(of cells: [JSONValue?]) -> JSONValue {
    .object(present: zip(columns, cells).map { ($0.name, $1) })
  }

  private func writeHeader(_ separator: String) throws {
    try output.write(line: columns.map { Delimited.field($0.name, separator: separator) }.joined(separator: separator))
  }

  private mutating func addToTable(_ row: [Cell]) throws {
    if let widths { return try output.write(line: tableLine(row, widths)) }
    rows.append(row)
    rowBytes += row.reduce(0) { $0 + $1.text.utf8.count }
    if rows.count == Self.blockRows || rowBytes >= Self.blockBytes { try writeTable() }
  }

  private mutating func writeTable() throws {
    let heads = columns.map { Cell(.string($0.name.uppercased().replacing("_", with: " "))) }
    var widths = heads.map { displayWidth($0.text) }
    var firmWidths = zip(columns, widths).map { $0.isFirm ? $1 : min($1, Self.narrowest) }
    for row in rows {
      for (index, cell) in row.enumerated() {
        let width = displayWidth(cell.text)
        widths[index] = max(widths[index], width)
        if cell.isFirm || columns[index].isFirm { firmWidths[index] = max(firmWidths[index], width) }
      }
    }
    if Terminal.standardOutputIsTerminal {
      widths = Self.shared(widths, firm: firmWidths, room: Terminal.width(of: 1) - 2 * (widths.count - 1))
    }
    try output.write(line: tableLine(heads, widths))
    for row in rows {
      try output.write(line: tableLine(row, widths))
    }
    self.widths = widths
    rows = []
  }

  /// Divides the terminal's width among the columns. A column that needs more than its share gets its share, or the
  /// width of its numbers and dates.
  private static func shared(_ widths: [Int], firm: [Int], room: Int) -> [Int] {
    func cut(to share: Int) -> [Int] { zip(widths, firm).map { max($1, min($0, share)) } }
    var share = min(widths.max() ?? 0, room)
    while share > narrowest, cut(to: share).reduce(0, +) > room { share -= 1 }
    return cut(to: max(share, narrowest))
  }

  private func tableLine(_ cells: [Cell], _ widths: [Int]) -> String {
    var line = ""
    for (index, cell) in cells.enumerated() {
      let text = columns[index].isFirm ? cell.text : Self.fitting(cell, width: widths[index])
      let padding = String(repeating: " ", count: max(0, widths[index] - displayWidth(text)))
      if index > 0 { line += "  " }
      let isLast = index == cells.count - 1
      line += columns[index].isNumber ? padding + text : isLast ? text : text + padding
    }
    return line
  }

  private static func fitting(_ cell: Cell, width: Int) -> String {
    // Don't truncate cells outside of a terminal, although longer cells shift the following columns.
    guard Terminal.standardOutputIsTerminal, !cell.isFirm else { return cell.text }
    return cell.text.fitting(width)
  }
}

extension JSONValue {
  /// The value in a cell of a table, CSV or TSV.
  var plainText: String {
    switch self {
    case .null: return ""
    case .string(let text): return text
    case .date(let date): return date.description
    default: return serialized
    }
  }
}

/// Fields of CSV and TSV reports (RFC 4180 quoting).
enum Delimited {
  static func field(_ text: String, separator: String) -> String {
    let needsQuotes = text.utf8.contains { $0 == 0x22 || $0 == 0x0A || $0 == 0x0D || $0 == separator.utf8.first }
    return needsQuotes ? "\"" + text.replacing(ascii: "\"", with: "\"\"") + "\"" : text
  }
}
