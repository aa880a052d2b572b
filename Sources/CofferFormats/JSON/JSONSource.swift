public import CofferDocuments

/// A source with a document for each element of a JSON array, or a single document for any other root.
///
/// An element becomes the same document as a line in ``NDJSONSource``. Only the current element is in memory, so arrays
/// can have any length. The input must be strict RFC 8259 in a supported encoding, with at most 512 nested arrays and
/// objects.
///
/// ``RecordErrorMode/skip`` skips an invalid element up to the comma or bracket that seems to end it. An invalid root
/// is a single invalid record.
public struct JSONSource: DraftSource, ReportingSource, Sendable {
  private var reader: ParsedRecords<JSONTextParser>

  /// Creates a source that reads JSON, starting with the first byte of `source`. The source doesn't read until the
  /// first ``read(into:)``.
  ///
  /// With a `mapping`, object members become the parts in the mapping.
  public init(
    _ source: any ByteSource, mapping: ColumnMapping = ColumnMapping(), options: ReadingOptions = ReadingOptions()
  ) {
    reader = ParsedRecords(
      source, options: options, parser: JSONTextParser(mapping: mapping, options: options))
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

/// Parses one JSON text, element by element.
struct JSONTextParser: RecordParser {
  static let keepsRejectedBytes = false

  /// The part that the parser expects next.
  private enum Expected {
    case root
    case element(isFirst: Bool)
    /// The rest of a rejected element.
    case rest(JSONRest)
    case end
    /// The end of parsing, because the input has ended or a fault after the root was reported.
    case nothing
  }

  private var documents: JSONDocumentParser
  private var expected = Expected.root

  init(mapping: ColumnMapping, options: ReadingOptions) {
    documents = JSONDocumentParser(mapping: mapping, options: options)
  }

  var columns: [ColumnUse] { documents.columns }
  var attachmentsWithoutContent: Int { documents.attachmentsWithoutContent }
  var endFault: FormatError? { documents.endFault }
  var readParts: (@Sendable (UnsafeRawBufferPointer, Int) throws -> DraftBatch)? { documents.readParts }

  var mayEnd: Bool {
    switch expected {
    case .root, .element, .rest: false
    case .end, .nothing: true
    }
  }

  mutating func parse(
    _ bytes: UnsafeRawBufferPointer, from start: Int, isFinal: Bool, into output: inout RecordOutput
  ) -> RecordOutcome {
    var scanner = JSONScanner(bytes, in: start..<bytes.count)
    scanner.skipWhitespace()
    // Consume whitespace immediately to prevent it from filling the buffer.
    guard let next = scanner.next else {
      return isFinal ? end(of: bytes) : scanner.position > start ? .nothing(end: scanner.position) : .needsMore
    }
    switch expected {
    case .root where next == JSONByte.openBracket:
      expected = .element(isFirst: true)
      return .nothing(end: scanner.position + 1)
    case .root:
      return value(&scanner, bytes, isFinal: isFinal, &output)
    case .element(let isFirst):
      if scanner.take(JSONByte.closeBracket) {
        expected = .end
        return .nothing(end: scanner.position)
      }
      if !isFirst {
        guard scanner.take(JSONByte.comma) else {
          return .bad(
            RecordFault(position: scanner.position, reason: "a comma or closing bracket is missing"),
            end: giveUp(bytes, from: scanner.position))
        }
        scanner.skipWhitespace()
        if scanner.next == nil, !isFinal { return .needsMore }
      }
      return value(&scanner, bytes, isFinal: isFinal, &output)
    case .rest:
      return .nothing(end: skipRest(bytes, from: start).end)
    case .end:
      expected = .nothing
      return .bad(RecordFault(position: scanner.position, reason: "text after the value"), end: bytes.count)
    case .nothing:
      return .nothing(end: bytes.count)
    }
  }

  /// Reads the value at the scanner's position.
  private mutating func value(
    _ scanner: inout JSONScanner, _ bytes: UnsafeRawBufferPointer, isFinal: Bool, _ output: inout RecordOutput
  ) -> RecordOutcome {
    let start = scanner.position
    output.source = start..<start
    let fault: RecordFault?
    do throws(JSONError) {
      fault = try documents.read(&scanner, bytes, into: &output)
      // A number at the end of the buffer may continue with the next input.
      if scanner.next == nil, !isFinal, bytes[start] < JSONByte.openBracket { return .needsMore }
    } catch {
      // An incomplete value is detected at the very end, and an incomplete escape at most 12 bytes before the end.
      if !isFinal, error.byteOffset + 12 >= bytes.count { return .needsMore }
      output.source = start..<max(start, min(error.byteOffset, bytes.count))
      return .bad(RecordFault(position: error.byteOffset, reason: error.reason), end: giveUp(bytes, from: start))
    }
    output.source = start..<scanner.position
    if case .root = expected { expected = .end } else { expected = .element(isFirst: false) }
    if let fault { return .bad(fault, end: scanner.position) }
    return .record(end: scanner.position)
  }

  /// Handles the end of the input, and reports a missing value or an unclosed array.
  private mutating func end(of bytes: UnsafeRawBufferPointer) -> RecordOutcome {
    let fault: RecordFault? =
      switch expected {
      case .root: RecordFault(position: bytes.count, reason: "a value is missing: the JSON ends here")
      case .element: RecordFault(position: bytes.count, reason: "an array is not closed: the JSON ends here")
      case .rest, .end, .nothing: nil
      }
    expected = .nothing
    return fault.map { .bad($0, end: bytes.count) } ?? .nothing(end: bytes.count)
  }

  /// Rejects the value that begins at `start`.
  ///
  /// - Returns: The end of the value or of the buffer.
  private mutating func giveUp(_ bytes: UnsafeRawBufferPointer, from start: Int) -> Int {
    var isRoot = false
    if case .root = expected { isRoot = true }
    expected = .rest(JSONRest(isRoot: isRoot))
    return skipRest(bytes, from: start).end
  }

  mutating func skipRest(_ bytes: UnsafeRawBufferPointer, from start: Int) -> (end: Int, isDone: Bool) {
    var rest: JSONRest
    var position = start
    if case .rest(let begun) = expected {
      rest = begun
    } else {
      // The element was too long to keep, so skip the comma before it.
      var scanner = JSONScanner(bytes, in: start..<bytes.count)
      scanner.skipWhitespace()
      if scanner.take(JSONByte.comma) { position = scanner.position }
      var isRoot = false
      if case .root = expected { isRoot = true }
      rest = JSONRest(isRoot: isRoot)
    }
    let isDone = rest.skip(bytes, &position)
    expected = isDone ? .element(isFirst: false) : .rest(rest)
    return (position, isDone)
  }
}

/// Finds the end of an element that isn't valid JSON, by counting brackets and quotes.
struct JSONRest: Sendable {
  /// Whether the element is the root, which extends to the end of the input.
  let isRoot: Bool
  private var depth = 0
  private var isInString = false
  private var isEscaped = false

  init(isRoot: Bool) {
    self.isRoot = isRoot
  }

  /// Skips to the comma or bracket after the element. Returns `false` if the buffer doesn't contain it.
  mutating func skip(_ bytes: UnsafeRawBufferPointer, _ position: inout Int) -> Bool {
    guard !isRoot else {
      position = bytes.count
      return false
    }
    while position < bytes.count {
      let byte = bytes[position]
      if isInString {
        // A string can't span lines, so a string at the end of a line wasn't closed.
        if byte == Byte.lineFeed || byte == JSONByte.quote && !isEscaped { isInString = false }
        isEscaped = byte == JSONByte.backslash && !isEscaped
      } else {
        switch byte {
        case JSONByte.quote: isInString = true
        case JSONByte.openBrace, JSONByte.openBracket: depth += 1
        case JSONByte.comma where depth == 0: return true
        case JSONByte.closeBracket where depth == 0: return true
        case JSONByte.closeBrace, JSONByte.closeBracket: depth = max(0, depth - 1)
        default: break
        }
      }
      position += 1
    }
    return false
  }
}
