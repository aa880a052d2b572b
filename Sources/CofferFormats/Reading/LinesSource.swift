public import CofferDocuments

/// A document for each line of a text. Lines end at LF or CRLF; the last one may do without.
///
/// A lone CR is part of its line. Empty lines are left out unless ``ReadingOptions/emptyText`` says otherwise.
public struct LinesSource: DraftSource, ReportingSource, Sendable {
  private var reader: RecordReader<LineParser>

  public init(_ source: any ByteSource, options: ReadingOptions = ReadingOptions()) {
    reader = RecordReader(source, options: options, parser: LineParser())
  }

  public var report: ReadingReport { reader.report }

  public mutating func read(into batch: inout DraftBatch) throws -> Bool {
    try reader.read(into: &batch)
  }
}

struct LineParser: RecordParser {
  static let usualEmptyText = EmptyTextMode.skip

  func parse(
    _ bytes: UnsafeRawBufferPointer, from start: Int, isFinal: Bool, into output: inout RecordOutput
  ) -> RecordOutcome {
    guard let line = bytes.line(from: start, isFinal: isFinal) else { return .needsMore }
    output.draft.text = line.content
    return .record(end: line.end)
  }
}

extension UnsafeRawBufferPointer {
  /// The line that begins at `start`, without its LF or CRLF, and where the next one begins; nil when its end has not
  /// come yet.
  @inline(__always)
  func line(from start: Int, isFinal: Bool) -> (content: Range<Int>, end: Int)? {
    guard let lineFeed = firstOffset(of: Byte.lineFeed, from: start) else {
      return isFinal ? (start..<count, count) : nil
    }
    let hasReturn = lineFeed > start && self[lineFeed - 1] == Byte.carriageReturn
    return (start..<(hasReturn ? lineFeed - 1 : lineFeed), lineFeed + 1)
  }
}
