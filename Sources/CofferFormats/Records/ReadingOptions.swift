public import CofferDocuments
public import CofferText

/// The treatment of unreadable records.
public enum RecordErrorMode: Hashable, Sendable {
  /// Ends reading with an error.
  case fail
  /// Skips the record, reports it (``ReadingOptions/onRejection``), and continues with the next.
  case skip
  /// Replaces invalid bytes with U+FFFD by WHATWG's rules. Any other error ends reading.
  case replace
}

/// Options for reading an input of any format.
public struct ReadingOptions: Sendable {
  /// The maximum length of a text in a store, in UTF-8 bytes.
  public static let maximumTextByteCount = Document.maximumTextByteCount
  /// The default limit for formats with many records, in bytes. A longer record usually indicates that the input has
  /// another format, and the reader keeps each record in memory.
  public static let usualRecordByteCount = 128 << 20

  /// The input's encoding. By default, the byte order mark determines the encoding, and an input without a byte order
  /// mark must be UTF-8.
  public var encoding: EncodingChoice
  /// The treatment of unreadable records.
  public var onError: RecordErrorMode
  /// The treatment of empty texts, or `nil` to skip empty lines and store other empty texts.
  public var emptyText: Document.EmptyText?
  /// The maximum length of a record in UTF-8 bytes, including quotes and escapes. With `nil`, the limit is 256 MiB if
  /// an input is a single text, 1 GiB for a property list, and ``usualRecordByteCount`` otherwise.
  public var maximumRecordByteCount: Int?
  /// A Boolean value that indicates whether documents keep their IDs. An ID must then be a positive integer. Otherwise,
  /// the reader ignores invalid IDs, and stores a table's ID column as an attribute unless one of our sinks wrote the
  /// file.
  public var keepsIDs: Bool
  /// A Boolean value that indicates whether records name their collections. Names must then be valid. Otherwise, the
  /// reader ignores names, and all documents belong to a single collection.
  public var namesCollections = true
  /// A Boolean value that indicates whether JSON records without a text also name their collections, because they can
  /// be parts of documents. Otherwise, the name is an ordinary member of the value.
  package var valuesNameCollections = false
  /// A Boolean value that indicates whether the reader follows symbolic links in directories.
  public var followsLinks = false
  /// A Boolean value that indicates whether each text's key is its file's path relative to the input directory.
  public var givesPathKeys = false
  /// A Boolean value that indicates whether texts can start with attributes between two `---` lines.
  public var readsFrontMatter = false
  /// A Boolean value that indicates whether database rows without a text column become JSON that `JSONDecoder` can
  /// decode. The declared column types select Booleans, dates (seconds since 2001), UUIDs and data (Base64), which have
  /// the same form as `JSONEncoder` output.
  public var readsValues = false
  /// The contents of attachments listed in JSON and property lists. Without contents, the reader skips attachments and
  /// counts them in ``ReadingReport/attachmentsWithoutContent``. A directory index names files in the same directory.
  public var attachments: AttachmentFiles?
  /// A Boolean value that indicates whether property list data, archive data and database blobs become attachments.
  ///
  /// An attachment's name is its path in the record. The record refers to the attachment by its SHA-256 with
  /// `{"$attachment":"…"}`, or with a string for `AttachmentReference` if ``readsValues`` is set.
  public var attachesData = false
  /// The input's name in errors and rejections.
  public var path: String?
  /// Called for each record that ``RecordErrorMode/skip`` skips, in order.
  public var onRejection: (@Sendable (Rejection) -> Void)?
  /// Polled during long work without documents, such as copying a database. Returns `true` to stop with an error.
  public var shouldStop: (@Sendable () -> Bool)?
  /// The directory for private database copies, or `nil` to use `TMPDIR` or `/tmp`.
  public var temporaryDirectory: String?

  /// Creates options. The defaults detect the encoding, read every record, and stop at the first invalid record. Each
  /// parameter sets the property with the same name.
  public init(
    encoding: EncodingChoice = .automatic, onError: RecordErrorMode = .fail, emptyText: Document.EmptyText? = nil,
    maximumRecordByteCount: Int? = nil, keepsIDs: Bool = false, path: String? = nil,
    onRejection: (@Sendable (Rejection) -> Void)? = nil
  ) {
    self.encoding = encoding
    self.onError = onError
    self.emptyText = emptyText
    self.maximumRecordByteCount = maximumRecordByteCount
    self.keepsIDs = keepsIDs
    self.path = path
    self.onRejection = onRejection
  }
}

extension ReadingOptions {
  /// Returns advice about an option that allows longer records, or `nil` if a store can't contain longer texts.
  ///
  /// - Parameter isText: A Boolean value that indicates whether a record is a text, rather than a possibly longer
  ///   encoding.
  static func advice(beyond limit: Int, isText: Bool) -> String? {
    let sizes = [("256M", maximumTextByteCount)] + (isText ? [] : [("2G", 2 << 30), ("16G", 16 << 30)])
    return sizes.first { $0.1 > limit }.map { "allow longer records: --max-record \($0.0)" }
  }
}

/// A skipped record.
public struct Rejection: Sendable {
  /// The reason and location.
  public let error: FormatError
  /// The record's number in the input, from 1.
  public let record: Int
  /// The bytes before ``bytes`` in a new input. See ``ReadingReport/headBytes``.
  public let headBytes: [UInt8]
  /// The record's bytes in the input, including the line ending. Empty if the record is too long, or if records don't
  /// have byte ranges in the input, as in a database.
  public let bytes: [UInt8]
}

/// Totals of a source.
public struct ReadingReport: Hashable, Sendable {
  /// The current number of documents.
  public internal(set) var documents = 0
  /// The number of documents that are values, because their records don't have a text.
  public internal(set) var values = 0
  /// The number of attachments in these documents.
  public internal(set) var attachments = 0
  /// The number of attachments that the reader skipped because the input lists them without contents.
  public internal(set) var attachmentsWithoutContent = 0
  /// The number of records that the reader skipped because it couldn't read them.
  public internal(set) var rejected = 0
  /// The number of documents that the reader skipped because their text is empty.
  public internal(set) var skippedEmpty = 0
  /// The input's encoding, after reading has started.
  public internal(set) var encoding: TextEncoding?
  /// The table columns in the input's order, or the object members of JSON and property lists. Members that become
  /// parts of documents are first, followed by up to 256 other members in the order of their first occurrence.
  public internal(set) var columns: [ColumnUse] = []
  /// The field delimiter of a table, after reading has started.
  public internal(set) var delimiter: UInt8?
  /// The directory entries that the reader skipped.
  public internal(set) var passedOver = PassedOver()
  /// The highest ID that the input ever assigned, if the input records it, as an ordered table's autoincrement does.
  public internal(set) var highestID: Int64?
  /// The name of the database table.
  public internal(set) var table: String?
  /// The generated columns of the database table, which the reader skips.
  public internal(set) var generatedColumns: [String] = []
  /// The reason for reading a private copy of a database, or `nil` if the reader used the original.
  public internal(set) var privateCopy: String?
  /// The byte order mark and header row, which must precede ``Rejection/bytes`` in a new input. Empty unless
  /// ``RecordErrorMode/skip`` is selected.
  public internal(set) var headBytes: [UInt8] = []

  /// The columns that became attributes, in the input's order.
  public var attributeColumns: [String] { columns.filter { $0.use == .attribute }.map(\.name) }
}

/// A source of documents that reports totals.
public protocol ReportingSource {
  /// The current totals, which are complete at the end.
  var report: ReadingReport { get }
}
