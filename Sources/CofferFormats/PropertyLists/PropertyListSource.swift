public import CofferDocuments
internal import CofferText

/// A document source for an XML or binary property list, or for a keyed archive.
///
/// Each dictionary in an array is a document. Each row of an ordered table `{autoincrement, data, index}` is also a
/// document, in the order of the index. The row's ID is the key, or the ID if IDs are kept. Each top object of a keyed
/// archive is a document, or each element if it's an array of objects. Any other value is a single document. A value
/// becomes JSON first, in its order and without spaces. Integers are exact, bytes become `{"$base64":…}`, dates ISO
/// 8601, reals without a JSON number `{"$real":"nan"}`, and archived objects `{"$class":…}` with their fields.
/// ``NDJSONSource`` describes how JSON becomes a document.
///
/// The source reads the entire property list, with a length up to ``ReadingOptions/maximumRecordByteCount``, or 1 GiB
/// if that's `nil`. At most 512 arrays and dictionaries may be nested. The source never fetches external data or
/// expands entities, and rejects a file whose shared objects expand far beyond its size. The byte order mark or the
/// declaration determines the XML encoding, unless the options specify an encoding.
public struct PropertyListSource: DraftSource, ReportingSource, Sendable {
  /// The expected content.
  public enum Content: Hashable, Sendable {
    /// A keyed archive if the property list contains one, otherwise values.
    case automatic
    /// Values, even for a keyed archive.
    case values
    /// A keyed archive. Other property lists are an error.
    case keyedArchive
  }

  private enum State: Sendable {
    case unopened(any ByteSource)
    case open(ParsedRecords<PropertyListParser>)
  }

  private let content: Content
  private let mapping: ColumnMapping
  private let options: ReadingOptions
  private let sizeHint: Int?
  private var state: State

  /// Creates a source that reads a property list, starting with the first byte of `source`. The source doesn't read
  /// until the first ``read(into:)``.
  ///
  /// - Parameters:
  ///   - source: The property list's bytes.
  ///   - content: Values or archived objects. With `automatic`, the source detects the content.
  ///   - mapping: The dictionary members for the document's parts.
  ///   - sizeHint: The approximate number of bytes, if known, which saves memory.
  ///   - options: The encoding, the treatment of invalid records, whether to keep IDs, and the maximum length.
  public init(
    _ source: any ByteSource, content: Content = .automatic, mapping: ColumnMapping = ColumnMapping(),
    sizeHint: Int? = nil, options: ReadingOptions = ReadingOptions()
  ) {
    self.sizeHint = sizeHint
    self.content = content
    self.mapping = mapping
    self.options = options
    state = .unopened(source)
  }

  public var report: ReadingReport {
    guard case .open(let reader) = state else { return ReadingReport() }
    var report = reader.report
    report.highestID = reader.parser.highestID
    report.columns = reader.parser.columns
    report.attachmentsWithoutContent = reader.parser.attachmentsWithoutContent
    return report
  }

  /// A Boolean value that indicates whether the input is a keyed archive, or `nil` before the first read.
  var isKeyedArchive: Bool? {
    if case .open(let reader) = state { reader.parser.isKeyedArchive } else { nil }
  }

  public mutating func read(into batch: inout DraftBatch) throws -> Bool {
    var reader: ParsedRecords<PropertyListParser>
    switch state {
    case .unopened(let source): reader = try open(source)
    case .open(let opened): reader = opened
    }
    // A single owner avoids copies on write.
    state = .unopened(MemoryByteSource([]))
    defer { state = .open(reader) }
    return try reader.read(into: &batch)
  }

  private func open(_ source: any ByteSource) throws(FormatError) -> ParsedRecords<PropertyListParser> {
    let peeked = try PeekedByteSource(source, peeking: PropertyListHead.byteCount)
    let head = PropertyListHead(peeked.head)
    if head.isTypedStream {
      throw FormatError(
        .malformed,
        "an archive of NSArchiver (typedstream), which does not name what it holds: only keyed archives are read",
        at: InputLocation(line: nil, column: nil, byteOffset: 0), path: options.path)
    }
    var options = options
    do throws(FormatError) {
      options.encoding = try head.encoding(given: options.encoding)
    } catch {
      var error = error
      error.path = options.path
      throw error
    }
    let maximum = options.maximumRecordByteCount ?? PropertyListParser.usualMaximum
    return ParsedRecords(
      peeked, options: options,
      parser: PropertyListParser(content: content, mapping: mapping, options: options),
      capacity: max(DecodedReader.usualCapacity, min(sizeHint ?? 0, maximum) + 2 * DecodedReader.leastRoom),
      isText: !head.isBinary)
  }
}
