public import CofferDocuments

/// A document for each row of a CSV or TSV file.
///
/// Rows end at LF or CRLF; quoting is RFC 4180's. The columns `id`, `title`, `text` (else `txt`, else `body`) and `key`
/// become those parts of the document; every other one becomes an attribute, a string. If no column is the text, the
/// text is the whole row as a JSON object, in the order of its columns, and there are no attributes; the title is then
/// `title` or else `name`. An empty field means no title, a quoted one (`""`) an empty title. Columns with the same
/// name get a number: `note`, `note_2`.
public struct DelimitedSource: DraftSource, ReportingSource, Sendable {
  private var reader: RecordReader<RowParser>

  public init(
    _ source: any ByteSource, dialect: DelimitedDialect, mapping: ColumnMapping = ColumnMapping(),
    header: HeaderMode = .automatic, options: ReadingOptions = ReadingOptions()
  ) {
    let hasHeader = header == .yes || header == .automatic && !mapping.usesNumbers
    reader = RecordReader(
      source, options: options,
      parser: RowParser(
        scanner: RowScanner(dialect), mapping: mapping, hasHeader: hasHeader, keepsIDs: options.keepsIDs))
  }

  public var report: ReadingReport {
    var report = reader.report
    report.attributeColumns = reader.parser.attributeColumns
    return report
  }

  public mutating func read(into batch: inout DraftBatch) throws -> Bool {
    try reader.read(into: &batch)
  }
}

/// The variant of the format: CSV, TSV and others.
public struct DelimitedDialect: Hashable, Sendable {
  /// An ASCII character other than the quote and the line ends.
  public let delimiter: UInt8
  /// A quote in a field that does not begin with one makes a bad record, as RFC 4180 has it, instead of being text.
  public let refusesStrayQuotes: Bool

  public init(delimiter: UInt8, refusesStrayQuotes: Bool = false) {
    precondition(
      delimiter < 0x80 && ![Byte.quote, Byte.lineFeed, Byte.carriageReturn].contains(delimiter),
      "a delimiter is an ASCII character other than the quote and the line ends")
    self.delimiter = delimiter
    self.refusesStrayQuotes = refusesStrayQuotes
  }

  public static let csv = DelimitedDialect(delimiter: Byte.comma)
  public static let tsv = DelimitedDialect(delimiter: Byte.tab)
}

/// The meaning of the first row.
public enum HeaderMode: Hashable, Sendable {
  /// It names the columns, unless the mapping uses numbers.
  case automatic
  case yes
  case no
}
