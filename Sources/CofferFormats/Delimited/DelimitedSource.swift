public import CofferDocuments

/// A document source for a CSV or TSV file, with a document for each row.
///
/// Rows end with LF or CRLF, blank lines are skipped, and quoting follows RFC 4180. The columns `id`, `title`, `text`
/// (otherwise `txt`, otherwise `body`) and `key` become the corresponding document parts, regardless of case. Other
/// columns become string attributes, and so does `id` if IDs aren't kept. Under a ``DelimitedSink`` header, `id` isn't
/// an attribute, and `created`, `modified`, `parent` and `json` are also parts. Without a text column, each row is a
/// value, which is a JSON object in column order without attributes. Its title is `title`, or otherwise `name`. An
/// empty field means that the title is missing, and a quoted field (`""`) is an empty title. Repeated column names get
/// a number: `note`, `note_2`. A first line `sep=;` declares the delimiter and isn't a row.
public struct DelimitedSource: DraftSource, ReportingSource, Sendable {
  private var reader: ParsedRecords<RowParser>

  /// Creates a source that reads rows, starting with the first byte of `source`.
  ///
  /// - Parameters:
  ///   - source: The file's bytes. The source doesn't read until the first ``read(into:)``.
  ///   - dialect: The dialect, or `nil` to use the delimiter from a `sep=` line. Without such a line, the delimiter is
  ///     the comma, unless the comma gives the first row a single field and exactly one of `;`, tab and `|` gives the
  ///     first 100 rows the same number of fields above one.
  ///   - mapping: The columns for the document's parts. Unmapped parts come from columns with the usual names.
  ///   - header: The meaning of the first row.
  ///   - options: The encoding, the treatment of invalid records, and whether to keep IDs.
  public init(
    _ source: any ByteSource, dialect: DelimitedDialect?, mapping: ColumnMapping = ColumnMapping(),
    header: HeaderMode = .automatic, options: ReadingOptions = ReadingOptions()
  ) {
    let hasHeader = header == .yes || header == .automatic && !mapping.usesNumbers
    reader = ParsedRecords(
      source, options: options,
      parser: RowParser(
        dialect: dialect, mapping: mapping, hasHeader: hasHeader, keepsIDs: options.keepsIDs))
  }

  public var report: ReadingReport {
    var report = reader.report
    report.columns = reader.parser.columns
    report.delimiter = reader.parser.delimiter
    return report
  }

  public mutating func read(into batch: inout DraftBatch) throws -> Bool {
    try reader.read(into: &batch)
  }
}

/// A variant of the format, such as CSV or TSV.
public struct DelimitedDialect: Hashable, Sendable {
  /// The delimiter, which is an ASCII character except the quote and the line endings.
  public let delimiter: UInt8
  /// A Boolean value that indicates whether a quote inside an unquoted field makes the record invalid, as RFC 4180
  /// requires, instead of being text.
  public let refusesStrayQuotes: Bool

  /// Creates a dialect with a delimiter, which must be an ASCII character except the quote and the line endings. Other
  /// characters trap.
  public init(delimiter: UInt8, refusesStrayQuotes: Bool = false) {
    precondition(
      Self.isDelimiter(delimiter),
      "a delimiter is an ASCII character other than the quote and the line ends")
    self.delimiter = delimiter
    self.refusesStrayQuotes = refusesStrayQuotes
  }

  /// Returns whether a byte can be a delimiter, which is an ASCII character except the quote and the line endings.
  package static func isDelimiter(_ byte: UInt8) -> Bool {
    byte < 0x80 && ![Byte.quote, Byte.lineFeed, Byte.carriageReturn].contains(byte)
  }

  /// The comma, with stray quotes as text.
  public static let csv = DelimitedDialect(delimiter: Byte.comma)
  /// The tab, with stray quotes as text.
  public static let tsv = DelimitedDialect(delimiter: Byte.tab)
}

/// The meaning of the first row.
public enum HeaderMode: Hashable, Sendable {
  /// The first row contains the column names, unless the mapping uses numbers.
  case automatic
  /// The first row contains the column names, even if the mapping uses numbers.
  case yes
  /// The first row is a record, and columns only have numbers.
  case no
}
