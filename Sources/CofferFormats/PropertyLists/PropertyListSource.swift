public import CofferDocuments
internal import CofferText

/// The documents of a property list, XML or binary, or of a keyed archive in one.
///
/// Each dictionary of an array is a document. So is each row of an ordered table `{autoincrement, data, index}`, in the
/// order of its index, with the row's id as key, or as id if ids are kept. Each top object of a keyed archive is a
/// document, or each element of one that is an array of objects; any other value is one document. A value becomes JSON
/// first: in its order, without spaces, integers exact, bytes as `{"$base64":…}`, dates in ISO 8601, reals that JSON
/// has no number for as `{"$real":"nan"}`, an archived object as `{"$class":…}` with its fields. ``NDJSONSource``
/// describes how JSON becomes a document.
///
/// A property list is read as a whole: it may be as long as ``ReadingOptions/maximumRecordByteCount`` allows, 1 GiB if
/// that is nil. At most 512 arrays and dictionaries may be nested. Nothing is ever fetched, no entity expanded; a file
/// whose shared objects expand to far more than it holds is refused. XML is decoded by its byte order mark, or by its
/// declaration, unless the options name an encoding.
public struct PropertyListSource: DraftSource, ReportingSource, Sendable {
  /// The expected content.
  public enum Content: Hashable, Sendable {
    /// A keyed archive if it is one, otherwise values.
    case automatic
    /// Values, even those of a keyed archive.
    case values
    /// A keyed archive; anything else is an error.
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

  /// Reads a property list from `source`, from its first byte on; nothing is read before the first ``read(into:)``.
  ///
  /// - Parameters:
  ///   - source: the bytes of the list.
  ///   - content: values or archived objects; `automatic` detects which.
  ///   - mapping: the members of dictionaries that become parts of documents.
  ///   - sizeHint: the approximate number of bytes, if known, which saves memory.
  ///   - options: encoding, bad records, kept ids, the longest list.
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

  /// Whether the input is a keyed archive; nil before the first read.
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
