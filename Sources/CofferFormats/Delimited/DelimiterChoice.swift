/// Detects a table's delimiter from its `sep=;` line, or otherwise from its first rows.
enum DelimiterChoice {
  /// The maximum number of examined rows.
  private static let rowCount = 100
  private static let alternatives = [UInt8(ascii: ";"), Byte.tab, UInt8(ascii: "|")]

  /// Returns the comma, unless it gives the first row a single field, and exactly one other delimiter gives each of the
  /// first rows the same number of fields above one.
  ///
  /// - Returns: The delimiter, or `nil` if the first row continues beyond the buffer.
  static func delimiter(of bytes: UnsafeRawBufferPointer, from start: Int, isFinal: Bool) -> UInt8? {
    var scanner = RowScanner(.csv)
    switch scanner.scan(bytes, from: start, isFinal: isFinal) {
    case .needsMore: return nil
    case .row where scanner.fields.count > 1: return Byte.comma
    case .row, .bad: break
    }
    let fitting = alternatives.filter {
      isTable(bytes, from: start, isFinal: isFinal, DelimitedDialect(delimiter: $0))
    }
    return fitting.count == 1 ? fitting[0] : Byte.comma
  }

  /// Returns whether each of the first rows has the same number of fields above one, ignoring blank lines. Quoted
  /// fields may contain line endings.
  ///
  /// - Parameter needsHeader: Whether the first row must not have empty fields and another row must follow, because a
  ///   single line or indented lines aren't a table.
  static func isTable(
    _ bytes: UnsafeRawBufferPointer, from start: Int, isFinal: Bool, _ dialect: DelimitedDialect,
    needsHeader: Bool = false
  ) -> Bool {
    var scanner = RowScanner(dialect)
    var position = start
    var count = 0
    var rows = 0
    for _ in 0..<rowCount where position < bytes.count {
      switch scanner.scan(bytes, from: position, isFinal: isFinal) {
      case .needsMore: return count > 1 && (!needsHeader || rows > 1)
      case .bad: return false
      case .row(let end):
        position = end
        if scanner.isBlank(in: bytes) { continue }
        if count > 0, scanner.fields.count != count { return false }
        count = scanner.fields.count
        if count < 2 { return false }
        rows += 1
        if needsHeader, rows == 1, scanner.fields.contains(where: \.range.isEmpty) { return false }
      }
    }
    return count > 1 && (!needsHeader || rows > 1)
  }

  /// Returns the delimiter from a first line `sep=;`, as spreadsheets write and read it, and the end of the line.
  static func named(
    in bytes: UnsafeRawBufferPointer, from start: Int, isFinal: Bool
  ) -> (delimiter: UInt8, end: Int)? {
    guard let line = bytes.line(from: start, isFinal: isFinal) else { return nil }
    var content = bytes[line.content]
    if content.count == 7, content.first == Byte.quote, content.last == Byte.quote {
      content = content.dropFirst().dropLast()
    }
    guard content.count == 5, content.starts(with: "sep=".utf8), let delimiter = content.last,
      DelimitedDialect.isDelimiter(delimiter)
    else { return nil }
    return (delimiter, line.end)
  }
}
