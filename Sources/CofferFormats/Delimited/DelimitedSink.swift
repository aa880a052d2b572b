public import CofferDocuments

/// A row for each document, under the header row `id,title,text,key`; rows end at LF, quoting is RFC 4180's.
///
/// No title is an empty field, an empty title a quoted one, so that ``DelimitedSource`` reads equal ones back.
/// Attributes follow in columns of their names where these are given: strings as they are, other values as JSON.
public struct DelimitedSink<Output: ByteSink>: DocumentSink, Sendable {
  private var output: EncodedOutput<Output>
  private let delimiter: UInt8
  private let attributes: [[UInt8]]
  private let columns: [[UInt8]: Int]
  private var values: [[UInt8]?] = []

  /// Writes rows into `sink`.
  ///
  /// The names in `attributes` become columns behind those of every table; other attributes are left out. `options` has
  /// the encoding and the byte order mark.
  public init(
    _ sink: Output, dialect: DelimitedDialect, attributes: AttributeNames = AttributeNames(),
    options: WritingOptions = WritingOptions()
  ) {
    output = EncodedOutput(sink, options: options)
    self.attributes = attributes.sorted
    columns = Dictionary(uniqueKeysWithValues: self.attributes.enumerated().map { ($0.element, $0.offset) })
    delimiter = dialect.delimiter
  }

  /// The destination, complete after ``finish()``.
  public var sink: Output { output.sink }

  /// Writes the header row, and the byte order mark before it if the options ask for one.
  ///
  /// - Throws: `unencodable` for the name of an attribute with a character that the encoding lacks, and errors of the
  ///   destination.
  public mutating func begin() throws(FormatError) {
    for (index, name) in (ColumnLayout.own.map { Array($0.utf8) } + attributes).enumerated() {
      if index > 0 { output.buffer.append(delimiter) }
      name.withUnsafeBytes { appendShort($0) }
    }
    output.buffer.append(Byte.lineFeed)
  }

  /// Writes one document as a row.
  ///
  /// - Throws: `unencodable` for a key that is not text: a table can't hold it, NDJSON can. `unencodable` also for a
  ///   character that the encoding lacks, and errors of the destination.
  public mutating func write(_ document: OpenedDocument, inCollection name: String) throws(FormatError) {
    let header = document.header
    JSONWriter.appendInteger(header.id.rawValue, to: &output.buffer)
    output.buffer.append(delimiter)
    if var title = header.title {
      if title.isEmpty { output.buffer += [Byte.quote, Byte.quote] }
      title.withUTF8 { appendShort(UnsafeRawBufferPointer($0)) }
    }
    output.buffer.append(delimiter)
    try append(document.utf8)
    output.buffer.append(delimiter)
    if let key = header.key {
      guard key.text != nil else {
        throw FormatError(.unencodable, "the key of document \(header.id) is not text, which a table cannot hold")
      }
      key.bytes.withUnsafeBytes { appendShort($0) }
    }
    if !attributes.isEmpty { append(header.attributes) }
    output.buffer.append(Byte.lineFeed)
    try output.writeIfFull()
  }

  private mutating func append(_ attributes: Attributes) {
    values.removeAll(keepingCapacity: true)
    values += repeatElement(nil, count: columns.count)
    attributes.forEachMember { name, value, scanner in
      guard let column = columns[name] else { return }
      if case .string(let token) = value.content {
        values[column] = scanner.value(of: token)
      } else {
        values[column] = Array(attributes.canonicalJSON[value.source])
      }
    }
    for value in values {
      output.buffer.append(delimiter)
      guard let value else { continue }
      if value.isEmpty { output.buffer += [Byte.quote, Byte.quote] }
      value.withUnsafeBytes { appendShort($0) }
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

  private mutating func appendShort(_ text: UnsafeRawBufferPointer) {
    guard needsQuotes(text) else {
      output.buffer.append(contentsOf: text)
      return
    }
    output.buffer.append(Byte.quote)
    Self.appendDoublingQuotes(text, to: &output.buffer)
    output.buffer.append(Byte.quote)
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
