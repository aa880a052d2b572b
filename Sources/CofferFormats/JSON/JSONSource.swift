public import CofferDocuments

/// A document for each element of a JSON array, read one after the other, or one document for any other root.
///
/// An element becomes the same document as a line of ``NDJSONSource``. Only the current element is in memory, so that
/// an array may have any length. Strict RFC 8259 in any supported encoding; at most 512 nested arrays and objects.
///
/// ``RecordErrorMode/skip`` skips a bad element up to the comma or bracket that seems to end it; a bad root is one bad
/// record.
public struct JSONSource: DraftSource, ReportingSource, Sendable {
  private var reader: ParsedRecords<JSONTextParser>

  /// Reads JSON from `source`, from its first byte on; nothing is read before the first ``read(into:)``.
  ///
  /// With a `mapping`, members of objects become the parts that they are mapped to.
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

  /// The parser's state: the next expected part.
  private enum Expected {
    case root
    case element(isFirst: Bool)
    /// The rest of a rejected element.
    case rest(JSONRest)
    case end
    /// A fault behind the root was reported.
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
    // White space is consumed at once, so that it never fills the buffer.
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

  /// Reads the value that begins here.
  private mutating func value(
    _ scanner: inout JSONScanner, _ bytes: UnsafeRawBufferPointer, isFinal: Bool, _ output: inout RecordOutput
  ) -> RecordOutcome {
    let start = scanner.position
    output.source = start..<start
    let fault: RecordFault?
    do throws(JSONError) {
      fault = try documents.read(&scanner, bytes, into: &output)
      // A number at the end may go on.
      if scanner.next == nil, !isFinal, bytes[start] < JSONByte.openBracket { return .needsMore }
    } catch {
      // An incomplete value is noticed at the very end, an incomplete escape at most 12 bytes before.
      if !isFinal, error.byteOffset + 12 >= bytes.count { return .needsMore }
      output.source = start..<max(start, min(error.byteOffset, bytes.count))
      return .bad(RecordFault(position: error.byteOffset, reason: error.reason), end: giveUp(bytes, from: start))
    }
    output.source = start..<scanner.position
    if case .root = expected { expected = .end } else { expected = .element(isFirst: false) }
    if let fault { return .bad(fault, end: scanner.position) }
    return .record(end: scanner.position)
  }

  /// Handles the end of the input, complete or not.
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
  /// - Returns: its end, or the end of the buffer.
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
      // An element too long to be kept, with the comma before it.
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

/// Finds the end of an element that is not JSON, by its brackets and quotes alone.
struct JSONRest: Sendable {
  /// Nothing follows a root.
  let isRoot: Bool
  private var depth = 0
  private var isInString = false
  private var isEscaped = false

  init(isRoot: Bool) {
    self.isRoot = isRoot
  }

  /// Skips to the comma or bracket behind the element; false if it is not in this buffer.
  mutating func skip(_ bytes: UnsafeRawBufferPointer, _ position: inout Int) -> Bool {
    guard !isRoot else {
      position = bytes.count
      return false
    }
    while position < bytes.count {
      let byte = bytes[position]
      if isInString {
        // A string never spans lines: this one was not closed.
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
