public import CofferDocuments

/// A document for each line of a text. Lines end at LF or CRLF; the last one may do without.
///
/// A lone CR is part of its line. Empty lines are left out unless ``ReadingOptions/emptyText`` says otherwise.
public struct LinesSource: DraftSource, ReportingSource, Sendable {
  private var reader: ParsedRecords<LineParser>

  /// Reads lines from `source`, from its first byte on; nothing is read before the first ``read(into:)``.
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
