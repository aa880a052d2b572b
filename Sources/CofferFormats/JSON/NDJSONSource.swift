public import CofferDocuments

/// A document source with a document for each line of JSON. Blank lines are skipped.
///
/// An object with a `text` is a document whose parts are `title`, `key`, `collection`, `created`, `modified`,
/// `attributes` and `json`. `id` and `parent` are parts if IDs are kept, or in an exported record, which also has
/// `position`. `attachments` is a part in an exported record, or with ``ReadingOptions/attachments``. Other members
/// become attributes. `null` means that a part is missing. If a part's value is invalid, the record is invalid, and its
/// error names the member.
///
/// Other JSON is a value. The document's text is the unchanged JSON, and its title is `title`, or otherwise `name`. It
/// has the object's `key`, and its `id` if IDs are kept.
///
/// With a mapping, members are columns, as in ``DelimitedSource``. A record is then invalid if it isn't an object, and
/// an input whose records never have the mapped text, or any mapped member, ends with `missingColumn`.
public struct NDJSONSource: DraftSource, ReportingSource, Sendable {
  private var reader: ParsedRecords<JSONLineParser>

  /// Creates a source that reads lines, starting with the first byte of `source`. The source doesn't read until the
  /// first ``read(into:)``.
  ///
  /// With a `mapping`, object members become the parts in the mapping.
  public init(
    _ source: any ByteSource, mapping: ColumnMapping = ColumnMapping(), options: ReadingOptions = ReadingOptions()
  ) {
    reader = ParsedRecords(
      source, options: options, parser: JSONLineParser(mapping: mapping, options: options))
  }

  public var report: ReadingReport {
    var report = reader.report
    report.columns = reader.parser.columns
    report.attachmentsWithoutContent = reader.parser.attachmentsWithoutContent
    return report
  }

  public mutating func read(into batch: inout DraftBatch) throws -> Bool {
    try reader.read(into: &batch)
  }
}

struct JSONLineParser: RecordParser {
  private var documents: JSONDocumentParser

  init(mapping: ColumnMapping, options: ReadingOptions) {
    documents = JSONDocumentParser(mapping: mapping, options: options)
  }

  var columns: [ColumnUse] { documents.columns }
  var attachmentsWithoutContent: Int { documents.attachmentsWithoutContent }
  var endFault: FormatError? { documents.endFault }
  var readParts: (@Sendable (UnsafeRawBufferPointer, Int) throws -> DraftBatch)? { documents.readParts }

  mutating func parse(
    _ bytes: UnsafeRawBufferPointer, from start: Int, isFinal: Bool, into output: inout RecordOutput
  ) -> RecordOutcome {
    guard let line = bytes.line(from: start, isFinal: isFinal) else { return .needsMore }
    var scanner = JSONScanner(bytes, in: line.content)
    scanner.skipWhitespace()
    if scanner.next == nil { return .nothing(end: line.end) }
    do throws(JSONError) {
      if let fault = try documents.read(&scanner, bytes, into: &output) { return .bad(fault, end: line.end) }
      scanner.skipWhitespace()
      if scanner.next != nil { throw JSONError(.malformed, at: scanner.position, "text after the value") }
    } catch {
      return .bad(RecordFault(position: error.byteOffset, reason: error.reason), end: line.end)
    }
    return .record(end: line.end)
  }
}
