public import CofferDocuments

/// A document for each line of JSON; blank lines are skipped.
///
/// An object is a record of an export if it has no members but `collection`, `id`, `position`, `title`, `text`, `key`,
/// `created`, `modified`, `attributes`, `parent` and `json`, each of its right type, and a string `text`: it becomes
/// that document. Any other value becomes a document with the value's JSON, unchanged, as text, and with the value's
/// `title` or else `name` as title. With a mapping, objects are rows: members become the parts they are mapped to and,
/// if the text is one of them, the others become attributes.
public struct NDJSONSource: DraftSource, ReportingSource, Sendable {
  private var reader: ParsedRecords<JSONLineParser>

  /// Reads lines from `source`, from its first byte on; nothing is read before the first ``read(into:)``.
  ///
  /// With a `mapping`, members of objects become the parts that they are mapped to.
  public init(
    _ source: any ByteSource, mapping: ColumnMapping = ColumnMapping(), options: ReadingOptions = ReadingOptions()
  ) {
    reader = ParsedRecords(
      source, options: options, parser: JSONLineParser(mapping: mapping, keepsIDs: options.keepsIDs))
  }

  public var report: ReadingReport { reader.report }

  public mutating func read(into batch: inout DraftBatch) throws -> Bool {
    try reader.read(into: &batch)
  }
}

struct JSONLineParser: RecordParser {
  private var documents: JSONDocumentParser

  init(mapping: ColumnMapping, keepsIDs: Bool) {
    documents = JSONDocumentParser(mapping: mapping, keepsIDs: keepsIDs)
  }

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
