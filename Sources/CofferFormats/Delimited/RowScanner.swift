/// A scanner that splits a row into fields by RFC 4180 and spreadsheets' conventions.
///
/// A field that begins with a quote is quoted. It may contain delimiters, line endings and doubled quotes.
struct RowScanner: Sendable {
  struct Field: Sendable {
    /// The range of the content between the quotes or delimiters.
    let range: Range<Int>
    let isQuoted: Bool
    /// Whether the content has doubled quotes, each of which represents a single quote.
    let hasDoubledQuotes: Bool
  }

  enum Outcome {
    /// A row whose fields are in ``fields``. The next row begins at `end`.
    case row(end: Int)
    case needsMore
    /// - Parameter start: The beginning of the invalid field.
    case bad(RecordFault, start: Int)
  }

  private(set) var fields: [Field] = []
  let delimiter: UInt8
  private let refusesStrayQuotes: Bool

  init(_ dialect: DelimitedDialect) {
    delimiter = dialect.delimiter
    refusesStrayQuotes = dialect.refusesStrayQuotes
  }

  /// Returns whether the last scanned row is an empty line, or a line of spaces in a table with several columns.
  func isBlank(in bytes: UnsafeRawBufferPointer, of fieldCount: Int = 0) -> Bool {
    guard fields.count == 1, !fields[0].isQuoted else { return false }
    let range = fields[0].range
    return range.isEmpty || fieldCount != 1 && UnsafeRawBufferPointer(rebasing: bytes[range]).trimmingSpaces.isEmpty
  }

  mutating func scan(_ bytes: UnsafeRawBufferPointer, from start: Int, isFinal: Bool) -> Outcome {
    fields.removeAll(keepingCapacity: true)
    var position = start
    while true {
      if position < bytes.count, bytes[position] == Byte.quote {
        switch scanQuoted(bytes, from: position, isFinal: isFinal) {
        case .next(let next): position = next
        case .end(let outcome): return outcome
        }
        continue
      }
      let fieldEnd = bytes.firstOffset(of: delimiter, or: Byte.lineFeed, from: position)
      if fieldEnd == bytes.count, !isFinal { return .needsMore }
      let isLast = fieldEnd == bytes.count || bytes[fieldEnd] == Byte.lineFeed
      var contentEnd = fieldEnd
      if isLast, fieldEnd < bytes.count, fieldEnd > position, bytes[fieldEnd - 1] == Byte.carriageReturn {
        contentEnd -= 1
      }
      if refusesStrayQuotes, let quote = strayQuote(bytes, position..<contentEnd) {
        let fault = RecordFault(position: quote, reason: "a quote inside a field that does not begin with one")
        return .bad(fault, start: position)
      }
      fields.append(Field(range: position..<contentEnd, isQuoted: false, hasDoubledQuotes: false))
      if isLast { return .row(end: min(fieldEnd + 1, bytes.count)) }
      position = fieldEnd + 1
    }
  }

  private enum Step {
    case next(Int)
    case end(Outcome)
  }

  private mutating func scanQuoted(_ bytes: UnsafeRawBufferPointer, from open: Int, isFinal: Bool) -> Step {
    var hasDoubledQuotes = false
    var position = open + 1
    while true {
      guard let quote = bytes.firstOffset(of: Byte.quote, from: position) else {
        guard isFinal else { return .end(.needsMore) }
        return .end(.bad(RecordFault(position: open, reason: "a quote that is never closed"), start: open))
      }
      position = quote + 1
      guard position < bytes.count else {
        guard isFinal else { return .end(.needsMore) }
        break
      }
      guard bytes[position] == Byte.quote else { break }
      hasDoubledQuotes = true
      position += 1
    }
    fields.append(Field(range: open + 1..<position - 1, isQuoted: true, hasDoubledQuotes: hasDoubledQuotes))
    guard position < bytes.count else { return .end(.row(end: position)) }
    switch bytes[position] {
    case delimiter:
      return .next(position + 1)
    case Byte.lineFeed:
      return .end(.row(end: position + 1))
    case Byte.carriageReturn where position + 1 == bytes.count && !isFinal:
      return .end(.needsMore)
    case Byte.carriageReturn where position + 1 < bytes.count && bytes[position + 1] == Byte.lineFeed:
      return .end(.row(end: position + 2))
    default:
      return .end(.bad(RecordFault(position: position, reason: "text after a closing quote"), start: open))
    }
  }

  private func strayQuote(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>) -> Int? {
    UnsafeRawBufferPointer(rebasing: bytes[..<range.upperBound])
      .firstOffset(of: Byte.quote, from: range.lowerBound)
  }
}
