internal import CofferDocuments

/// A parser that creates documents from rows.
struct RowParser: RecordParser {
  private var scanner: RowScanner
  /// Whether the delimiter is detected with the first row.
  private let choosesDelimiter: Bool
  private var hasBegun = false
  private let mapping: ColumnMapping
  private let keepsIDs: Bool
  private var needsHeader: Bool
  private var layout: ColumnLayout?
  private var fieldCount = 0
  private var unquoted: [UInt8] = []
  private var dates: DateReader

  /// - Parameter dialect: The dialect, or `nil` to detect the delimiter.
  init(dialect: DelimitedDialect?, mapping: ColumnMapping, hasHeader: Bool, keepsIDs: Bool) {
    scanner = RowScanner(dialect ?? .csv)
    choosesDelimiter = dialect == nil
    self.mapping = mapping
    self.keepsIDs = keepsIDs
    dates = DateReader(unit: mapping.dates)
    needsHeader = hasHeader
  }

  mutating func parse(
    _ bytes: UnsafeRawBufferPointer, from start: Int, isFinal: Bool, into output: inout RecordOutput
  ) -> RecordOutcome {
    if !hasBegun, let outcome = begin(bytes, from: start, isFinal: isFinal) { return outcome }
    let end: Int
    switch scanner.scan(bytes, from: start, isFinal: isFinal) {
    case .row(let next):
      if scanner.isBlank(in: bytes, of: fieldCount) { return .nothing(end: next) }
      end = next
    case .needsMore:
      return .needsMore
    case .bad(let fault, let fieldStart):
      // Reject only the line in which an invalid quote began, because the field may include valid rows.
      guard let line = bytes.line(from: start, isFinal: isFinal) else { return .needsMore }
      if needsHeader { return .badHeader(fault) }
      // The reported position must be in the rejected line.
      if fault.position >= line.end {
        return .bad(RecordFault(position: fieldStart, reason: "a quote that is not closed in its field"), end: line.end)
      }
      return .bad(fault, end: line.end)
    }
    do throws(FormatError) {
      if needsHeader {
        if let fault = bareCarriageReturn(in: bytes) { return .badHeader(fault) }
        try layOut(names: scanner.fields.map { name(of: $0, in: bytes) })
        needsHeader = false
        return .header(end: end)
      }
      if layout == nil { try layOut(names: scanner.fields.indices.map { String($0 + 1) }) }
    } catch {
      return .failure(error)
    }
    guard scanner.fields.count == fieldCount else {
      let fields = scanner.fields.count == 1 ? "1 field" : "\(scanner.fields.count) fields"
      let reason = "\(fields) in a row, where the first has \(fieldCount)"
      return .bad(RecordFault(position: start, reason: reason), end: end)
    }
    if let fault = fill(&output, from: bytes) { return .bad(fault, end: end) }
    return .record(end: end)
  }

  /// Determines the delimiter. Returns `nil` if the first row can be parsed.
  private mutating func begin(_ bytes: UnsafeRawBufferPointer, from start: Int, isFinal: Bool) -> RecordOutcome? {
    if let line = bytes.line(from: start, isFinal: isFinal), line.content.isEmpty { return .nothing(end: line.end) }
    if let named = DelimiterChoice.named(in: bytes, from: start, isFinal: isFinal) {
      if choosesDelimiter { scanner = RowScanner(DelimitedDialect(delimiter: named.delimiter)) }
      hasBegun = true
      return .nothing(end: named.end)
    }
    if choosesDelimiter {
      guard let found = DelimiterChoice.delimiter(of: bytes, from: start, isFinal: isFinal) else { return .needsMore }
      scanner = RowScanner(DelimitedDialect(delimiter: found))
    }
    hasBegun = true
    return nil
  }

  /// The delimiter, or `nil` until the first row is parsed.
  var delimiter: UInt8? { hasBegun ? scanner.delimiter : nil }

  /// Rejects lines that end with CR alone. Otherwise, the entire input would be the header, and all rows would be lost
  /// silently.
  private func bareCarriageReturn(in bytes: UnsafeRawBufferPointer) -> RecordFault? {
    for field in scanner.fields where !field.isQuoted {
      if let position = bytes[field.range].firstIndex(of: Byte.carriageReturn) {
        return RecordFault(
          position: position, reason: "a carriage return without a line feed: lines must end in LF or CRLF")
      }
    }
    return nil
  }

  var columns: [ColumnUse] { layout?.columns ?? [] }

  var readParts: (@Sendable (UnsafeRawBufferPointer, Int) throws -> DraftBatch)? {
    guard let layout, layout.text == nil else { return nil }
    return JSONDocumentParser(parts: layout.parts, dates: mapping.dates, ReadingOptions(keepsIDs: keepsIDs)).readParts
  }

  private mutating func layOut(names: [String]) throws(FormatError) {
    fieldCount = names.count
    layout = try ColumnLayout(names: names, mapping: mapping, keepsIDs: keepsIDs)
  }

  private func name(of field: RowScanner.Field, in bytes: UnsafeRawBufferPointer) -> String {
    var name: [UInt8] = []
    Self.append(field, of: bytes, to: &name)
    return String(decoding: name, as: UTF8.self)
  }

  /// Creates the document for a row with the right number of fields.
  private mutating func fill(_ output: inout RecordOutput, from bytes: UnsafeRawBufferPointer) -> RecordFault? {
    guard let layout else { return nil }
    let fields = scanner.fields
    if let column = layout.id, let fault = setID(fields[column], of: bytes, &output) {
      return fault.naming("column", layout.columns[column].name)
    }
    if let column = layout.key, !fields[column].range.isEmpty {
      let range = value(of: fields[column], in: bytes, &output)
      if let fault = output.setKey(range, at: fields[column].range.lowerBound) {
        return fault.naming("column", layout.columns[column].name)
      }
    }
    if let column = layout.collection, !fields[column].range.isEmpty {
      output.draft.collection = value(of: fields[column], in: bytes, &output)
    }
    for (column, part) in [(layout.created, \DraftBatch.Draft.created), (layout.modified, \.modified)] {
      guard let column, !fields[column].range.isEmpty else { continue }
      let text = UnsafeRawBufferPointer(rebasing: bytes[fields[column].range])
      guard !text.trimmingSpaces.isEmpty else { continue }
      do throws(DateFault) {
        output.draft[keyPath: part] = try dates.read(text)
      } catch {
        return RecordFault(error, at: fields[column].range.lowerBound).naming("column", layout.columns[column].name)
      }
    }
    if let fault = fillOwn(layout, &output, from: bytes) { return fault }
    if let column = layout.title, !fields[column].range.isEmpty || fields[column].isQuoted {
      output.draft.title = value(of: fields[column], in: bytes, &output)
      output.draft.isUsualTitle = layout.isUsualTitle
    }
    if let column = layout.text {
      if !fields[column].range.isEmpty || fields[column].isQuoted {
        output.draft.text = value(of: fields[column], in: bytes, &output)
      }
      // An empty field isn't an attribute, but a quoted empty field is an empty string.
      let columns = layout.attributes.filter { !fields[$0].range.isEmpty || fields[$0].isQuoted }
      if !columns.isEmpty {
        output.draft.attributes = object(of: columns, fields, bytes, &output)
      }
    } else {
      output.setValue(object(of: fields.indices, fields, bytes, &output))
    }
    return nil
  }

  /// Fills the additional parts in ``DelimitedSink`` tables.
  private func fillOwn(
    _ layout: ColumnLayout, _ output: inout RecordOutput, from bytes: UnsafeRawBufferPointer
  ) -> RecordFault? {
    // An exported table doesn't have a parent column if its documents don't have parents. Other columns are missing
    // only from a narrowed table.
    output.draft.knowsParent = layout.isOwn && layout.created != nil && layout.modified != nil
    if let column = layout.parent, !scanner.fields[column].range.isEmpty {
      let range = scanner.fields[column].range
      output.draft.parent = DocumentID(digits: UnsafeRawBufferPointer(rebasing: bytes[range]))
      if output.draft.parent == nil {
        return RecordFault(position: range.lowerBound, reason: "a parent that is not a positive integer")
      }
    }
    if let column = layout.json, !scanner.fields[column].range.isEmpty {
      let range = scanner.fields[column].range
      // Spreadsheets write Booleans in capitals.
      output.draft.isJSON = String(decoding: bytes[range], as: UTF8.self).lowercased() == "true"
    }
    return nil
  }

  private func setID(
    _ field: RowScanner.Field, of bytes: UnsafeRawBufferPointer, _ output: inout RecordOutput
  ) -> RecordFault? {
    let digits = UnsafeRawBufferPointer(rebasing: bytes[field.range])
    output.draft.id = DocumentID(digits: digits)
    guard output.draft.id == nil, keepsIDs, !digits.isEmpty else { return nil }
    return RecordFault(position: field.range.lowerBound, reason: "an id that is not a positive integer")
  }

  /// Returns the field's range, or the range of a copy without doubled quotes.
  private func value(
    of field: RowScanner.Field, in bytes: UnsafeRawBufferPointer, _ output: inout RecordOutput
  ) -> Range<Int> {
    guard field.hasDoubledQuotes else { return field.range }
    let count = output.generated.count
    Self.append(field, of: bytes, to: &output.generated)
    return output.range(generatedSince: count)
  }

  /// Returns a JSON object with a string for each column.
  private mutating func object(
    of columns: some Sequence<Int>, _ fields: [RowScanner.Field], _ bytes: UnsafeRawBufferPointer,
    _ output: inout RecordOutput
  ) -> Range<Int> {
    let count = output.generated.count
    var separator = JSONByte.openBrace
    for column in columns {
      let field = fields[column]
      output.generated.append(separator)
      output.generated += layout?.prefixes[column] ?? []
      if field.hasDoubledQuotes {
        unquoted.removeAll(keepingCapacity: true)
        Self.append(field, of: bytes, to: &unquoted)
        unquoted.withUnsafeBytes { JSONWriter.appendEscaped($0, to: &output.generated) }
      } else {
        JSONWriter.appendEscaped(UnsafeRawBufferPointer(rebasing: bytes[field.range]), to: &output.generated)
      }
      output.generated.append(JSONByte.quote)
      separator = JSONByte.comma
    }
    output.generated.append(JSONByte.closeBrace)
    return output.range(generatedSince: count)
  }

  private static func append(
    _ field: RowScanner.Field, of bytes: UnsafeRawBufferPointer, to output: inout [UInt8]
  ) {
    var position = field.range.lowerBound
    let content = UnsafeRawBufferPointer(rebasing: bytes[..<field.range.upperBound])
    while field.hasDoubledQuotes, let quote = content.firstOffset(of: Byte.quote, from: position) {
      output.append(contentsOf: UnsafeRawBufferPointer(rebasing: content[position...quote]))
      position = quote + 2
    }
    output.append(contentsOf: UnsafeRawBufferPointer(rebasing: content[position...]))
  }
}
