public import CofferDocuments

/// A sink that writes a header row, and a row for each document. Rows end with LF, and quoting follows RFC 4180.
///
/// ``TableColumns`` determines the columns. Dates are ISO 8601. String attributes are written unchanged, and other
/// attributes as JSON. A missing title or attribute is an empty field, and an empty string is a quoted field, so
/// ``DelimitedSource`` reads equal documents.
public struct DelimitedSink<Output: ByteSink>: DocumentSink, Sendable {
  private var output: EncodedOutput<Output>
  private let delimiter: UInt8
  /// Whether numbers and dates may contain the delimiter.
  private let quotesNumbers: Bool
  private let columns: [TableColumns.Column]
  /// The positions of attributes in `values`.
  private let places: [[UInt8]: Int]
  private var values: [[UInt8]?] = []
  private var dates = DateWriter()

  /// Creates a sink that writes rows to `sink`.
  ///
  /// `options` contains the encoding and the byte order mark.
  public init(
    _ sink: Output, dialect: DelimitedDialect, columns: TableColumns = TableColumns(),
    options: WritingOptions = WritingOptions()
  ) {
    output = EncodedOutput(sink, options: options)
    self.columns = columns.columns
    var places: [[UInt8]: Int] = [:]
    for case .attribute(let name) in self.columns where places[name] == nil { places[name] = places.count }
    self.places = places
    delimiter = dialect.delimiter
    quotesNumbers = "0123456789-:.TZ".utf8.contains(dialect.delimiter)
  }

  /// The destination, complete after ``finish()``.
  public var sink: Output { output.sink }

  /// Writes the header row, preceded by the byte order mark if the options ask for it.
  ///
  /// - Throws: `unencodable` if an attribute's name has a character that isn't in the encoding, or an error from the
  ///   destination.
  public mutating func begin() throws(FormatError) {
    for (index, column) in columns.enumerated() {
      if index > 0 { output.buffer.append(delimiter) }
      append(column.name)
    }
    output.buffer.append(Byte.lineFeed)
  }

  /// Writes a document as a row.
  ///
  /// - Throws: `unencodable` if the key isn't text, because tables can't represent it (NDJSON can), or if a character
  ///   isn't in the encoding. Also throws errors from the destination.
  public mutating func write(_ document: OpenedDocument, inCollection name: String) throws(FormatError) {
    if !places.isEmpty { collect(document.header.attributes) }
    for (index, column) in columns.enumerated() {
      if index > 0 { output.buffer.append(delimiter) }
      switch column {
      case .part(let part): try append(part, of: document)
      case .attribute(let name): append(places[name].flatMap { values[$0] }, quotingEmpty: true)
      }
    }
    output.buffer.append(Byte.lineFeed)
    try output.writeIfFull()
  }

  private mutating func append(_ part: TableColumns.Part, of document: OpenedDocument) throws(FormatError) {
    let header = document.header
    switch part {
    case .id:
      quoteNumber()
      JSONWriter.appendInteger(header.id.rawValue, to: &output.buffer)
      quoteNumber()
    case .title: append(header.title.map { Array($0.utf8) }, quotingEmpty: true)
    case .text where document.utf8.isEmpty: append([], quotingEmpty: true)
    case .text: try append(document.utf8)
    case .key:
      guard header.key == nil || header.key?.text != nil else {
        throw FormatError(.unencodable, "the key of document \(header.id) is not text, which a table cannot hold")
      }
      append(header.key?.bytes)
    case .created: append(header.created)
    case .modified: append(header.modified)
    case .parent: append(header.parent.map { Array($0.description.utf8) })
    case .json: append(header.isJSON ? Array("true".utf8) : nil)
    }
  }

  /// Collects the values of the attributes with a column.
  private mutating func collect(_ attributes: Attributes) {
    values.removeAll(keepingCapacity: true)
    values += repeatElement(nil, count: places.count)
    attributes.forEachMember { name, value, scanner in
      guard let place = places[name] else { return }
      if case .string(let token) = value.content {
        values[place] = scanner.value(of: token)
      } else {
        values[place] = Array(attributes.canonicalJSON[value.source])
      }
    }
  }

  public mutating func finish() throws(FormatError) {
    try output.finish()
  }

  private mutating func append(_ text: UnsafeRawBufferPointer) throws(FormatError) {
    if needsQuotes(text) {
      output.buffer.append(Byte.quote)
      try output.append(text) { Self.appendDoublingQuotes($0, to: &$1) }
      output.buffer.append(Byte.quote)
    } else {
      try output.append(text) { $1.append(contentsOf: $0) }
    }
  }

  /// Appends a short value, or an empty field for `nil`. If the field is the row's only field, it's quoted, because
  /// blank lines aren't rows.
  private mutating func append(_ value: [UInt8]?, quotingEmpty: Bool = false) {
    guard let value, !value.isEmpty else {
      if value != nil && quotingEmpty || columns.count == 1 { output.buffer += [Byte.quote, Byte.quote] }
      return
    }
    value.withUnsafeBytes { text in
      guard needsQuotes(text) else {
        output.buffer.append(contentsOf: text)
        return
      }
      output.buffer.append(Byte.quote)
      Self.appendDoublingQuotes(text, to: &output.buffer)
      output.buffer.append(Byte.quote)
    }
  }

  private mutating func append(_ date: Timestamp) {
    quoteNumber()
    dates.append(date, to: &output.buffer)
    quoteNumber()
  }

  /// Appends a quotation mark if a number or date may contain the delimiter.
  private mutating func quoteNumber() {
    if quotesNumbers { output.buffer.append(Byte.quote) }
  }

  private func needsQuotes(_ text: UnsafeRawBufferPointer) -> Bool {
    text.firstOffset(of: delimiter, or: Byte.lineFeed, from: 0) < text.count
      || text.firstOffset(of: Byte.quote, or: Byte.carriageReturn, from: 0) < text.count
  }

  private static func appendDoublingQuotes(_ text: UnsafeRawBufferPointer, to output: inout [UInt8]) {
    var position = 0
    while let quote = text.firstOffset(of: Byte.quote, from: position) {
      output.append(contentsOf: UnsafeRawBufferPointer(rebasing: text[position...quote]))
      output.append(Byte.quote)
      position = quote + 1
    }
    output.append(contentsOf: UnsafeRawBufferPointer(rebasing: text[position...]))
  }
}
