public import CofferDocuments

/// A document source with a document for each line of a text. Lines end with LF or CRLF, which is optional in the last
/// line.
///
/// A lone CR is part of its line. Empty lines are skipped, unless ``ReadingOptions/emptyText`` specifies otherwise.
public struct LinesSource: DraftSource, ReportingSource, Sendable {
  private var reader: ParsedRecords<LineParser>

  /// Creates a source that reads lines, starting with the first byte of `source`. The source doesn't read until the
  /// first ``read(into:)``.
  public init(_ source: any ByteSource, options: ReadingOptions = ReadingOptions()) {
    reader = ParsedRecords(source, options: options, parser: LineParser())
  }

  public var report: ReadingReport { reader.report }

  public mutating func read(into batch: inout DraftBatch) throws -> Bool {
    try reader.read(into: &batch)
  }
}

struct LineParser: RecordParser {
  static let refusesMark = false
  static let usualEmptyText = Document.EmptyText.skip

  func parse(
    _ bytes: UnsafeRawBufferPointer, from start: Int, isFinal: Bool, into output: inout RecordOutput
  ) -> RecordOutcome {
    guard let line = bytes.line(from: start, isFinal: isFinal) else { return .needsMore }
    output.draft.text = line.content
    return .record(end: line.end)
  }
}
