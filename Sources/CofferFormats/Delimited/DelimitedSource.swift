public import CofferDocuments

/// A document for each row of a CSV or TSV file.
///
/// Rows end at LF or CRLF, and blank lines are skipped; quoting is RFC 4180's. The columns `id`, `title`, `text` (else
/// `txt`, else `body`) and `key`, in any case, become those parts of the document; every other one becomes an attribute,
/// a string, and so does `id` where ids are not kept, except under the header of ``DelimitedSink``, where `created`,
/// `modified`, `parent` and `json` are parts, too. If no column is the text, each row is a value: a JSON object in the
/// order of its columns, without attributes; the title is then `title` or else `name`. An
/// empty field means no title, a quoted one (`""`) an empty title. Columns with the same name get a number: `note`,
/// `note_2`. A first line `sep=;` names the delimiter and is no row.
public struct DelimitedSource: DraftSource, ReportingSource, Sendable {
  private var reader: ParsedRecords<RowParser>

  /// Reads rows from `source`, from its first byte on.
  ///
  /// - Parameters:
  ///   - source: the bytes of the file; nothing is read before the first ``read(into:)``.
  ///   - dialect: nil takes the delimiter that a `sep=` line names; without one the comma, unless it gives the first
  ///     row a single field and exactly one of `;`, tab and `|` gives the first 100 rows the same number above one.
  ///   - mapping: the columns of the parts; other columns are found by their usual names.
  ///   - header: the meaning of the first row.
  ///   - options: encoding, bad records, kept ids.
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

/// The variant of the format: CSV, TSV and others.
public struct DelimitedDialect: Hashable, Sendable {
  /// An ASCII character other than the quote and the line ends.
  public let delimiter: UInt8
  /// A quote in a field that does not begin with one makes a bad record, as RFC 4180 has it, instead of being text.
  public let refusesStrayQuotes: Bool

  /// A dialect with this delimiter: an ASCII character other than the quote and the line ends. Another one ends the
  /// program.
  public init(delimiter: UInt8, refusesStrayQuotes: Bool = false) {
    precondition(
      Self.isDelimiter(delimiter),
      "a delimiter is an ASCII character other than the quote and the line ends")
    self.delimiter = delimiter
    self.refusesStrayQuotes = refusesStrayQuotes
  }

  /// Whether a byte can be a delimiter: an ASCII character other than the quote and the line ends.
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
  /// It names the columns, unless the mapping uses numbers.
  case automatic
  /// It names the columns, also if the mapping uses numbers.
  case yes
  /// It is a record; columns have numbers only.
  case no
}
