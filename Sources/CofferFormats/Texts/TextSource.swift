public import CofferDocuments

/// Reads an input as one document: its content is the text, a name its title.
public struct TextSource: DraftSource, ReportingSource, Sendable {
  private var reader: RecordReader<TextParser>

  /// - Parameters:
  ///   - title: usually the file's name; nil leaves it to the store.
  ///   - sizeHint: the approximate size, if known.
  public init(
    _ source: any ByteSource, title: String? = nil, sizeHint: Int? = nil, options: ReadingOptions = ReadingOptions()
  ) {
    let capacity = sizeHint.map { min(2 * max($0, 64), DecodedReader.usualCapacity) }
    reader = RecordReader(
      source, options: options, parser: TextParser(title: title.map { Array($0.utf8) }),
      capacity: capacity ?? DecodedReader.usualCapacity)
  }

  public var report: ReadingReport { reader.report }

  public mutating func read(into batch: inout DraftBatch) throws -> Bool {
    try reader.read(into: &batch)
  }
}

struct TextParser: RecordParser {
  static let usualMaximum = ReadingOptions.maximumTextByteCount

  let title: [UInt8]?
  /// An empty input is a text too.
  private(set) var mayEnd = false

  init(title: [UInt8]?) {
    self.title = title
  }

  mutating func parse(
    _ bytes: UnsafeRawBufferPointer, from start: Int, isFinal: Bool, into output: inout RecordOutput
  ) -> RecordOutcome {
    guard isFinal else { return .needsMore }
    mayEnd = true
    if let title {
      let count = output.generated.count
      output.generated += title
      output.draft.title = output.range(generatedSince: count)
    }
    output.draft.text = start..<bytes.count
    return .record(end: bytes.count)
  }
}
