public import CofferDocuments

/// A document for each line of JSON; blank lines are skipped.
///
/// An object with a `text` is a document: `title`, `key`, `collection`, `created`, `modified`, `attributes` and `json`
/// are its parts, and so are `id` and `parent` where ids are kept, or in a record of an export, which also has
/// `position`. So is `attachments` in such a record, or with ``ReadingOptions/attachments``. All other members become attributes. `null` is an absent part; a part with a value that it can't have
/// makes a bad record, whose error names the member.
///
/// Any other JSON is a value: a document with the JSON, unchanged, as text, marked as a value, and with its `title` or
/// else `name` as title. It has the object's `key`, and its `id` where ids are kept.
///
/// With a mapping, members are columns, as in ``DelimitedSource``; a record that is no object is bad, and an input in
/// which no record has the mapped text, or nothing of the mapping, ends with `missingColumn`.
public struct NDJSONSource: DraftSource, ReportingSource, Sendable {
  private var reader: ParsedRecords<JSONLineParser>

  /// Reads lines from `source`, from its first byte on; nothing is read before the first ``read(into:)``.
  ///
  /// With a `mapping`, members of objects become the parts that they are mapped to.
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
