public import CofferDocuments
public import CofferText

/// The treatment of records that cannot be read.
public enum RecordErrorMode: Hashable, Sendable {
  /// Reading ends with an error.
  case fail
  /// Skips the record, reports it (``ReadingOptions/onRejection``), and continues with the next.
  case skip
  /// Replaces invalid bytes with U+FFFD by WHATWG's rules; any other fault ends reading.
  case replace
}

/// Options for reading an input of any format.
public struct ReadingOptions: Sendable {
  /// The longest text that a store takes, in bytes of UTF-8.
  public static let maximumTextByteCount = Document.maximumTextByteCount
  /// The default for the longest record of a format with many records: a longer one is likely to be an input of another
  /// format, and each record is held in memory.
  public static let usualRecordByteCount = 128 << 20

  /// The encoding of the input. The default reads the byte order mark; an input without one must be UTF-8.
  public var encoding: EncodingChoice
  /// The treatment of records that cannot be read.
  public var onError: RecordErrorMode
  /// Nil for the format's default, which is to skip for lines and to store otherwise.
  public var emptyText: Document.EmptyText?
  /// The longest record in bytes of UTF-8, quotes and escapes included. Nil: 256 MiB where an input is one text, 1 GiB
  /// for a property list as a whole, ``usualRecordByteCount`` for all others.
  public var maximumRecordByteCount: Int?
  /// Ids are kept, so that an id that is no positive integer makes a bad record. Otherwise such an id is ignored, and a
  /// table's column of ids becomes an attribute, too, except in the files that our sinks write.
  public var keepsIDs: Bool
  /// Records name their collection, so that an invalid name makes a bad record. Otherwise all go to one collection, and
  /// names are ignored.
  public var namesCollections = true
  /// JSON records without a text name their collection, too, because they may be parts of documents. Otherwise such a
  /// name is only a member of a value.
  package var valuesNameCollections = false
  /// A directory is read with the directories below.
  public var walksFolders = true
  /// Symbolic links in a directory are followed.
  public var followsLinks = false
  /// The key of a text is its file's path within the directory that is read.
  public var givesPathKeys = false
  /// A text may begin with attributes, between two lines `---`.
  public var readsFrontMatter = false
  /// The rows of a database's table without a text column become what `JSONDecoder` decodes: by the declared types of
  /// the columns, booleans, dates (seconds since 2001), UUIDs and data (base64) as `JSONEncoder` writes them.
  public var readsValues = false
  /// The contents of the attachments that JSON lists. Without them, attachments are counted and left out
  /// (``ReadingReport/attachmentsWithoutContent``). The index of a directory names files in that directory.
  public var attachments: AttachmentFiles?
  /// Data of property lists and archives, and the blobs of a database, become attachments, named by their place in the
  /// record. The record refers to them by their SHA-256: `{"$attachment":"…"}`, or with ``readsValues`` a string that
  /// `AttachmentReference` decodes.
  public var attachesData = false
  /// The input's name in errors and rejections.
  public var path: String?
  /// Called for each record skipped under ``RecordErrorMode/skip``, in order, while reading.
  public var onRejection: (@Sendable (Rejection) -> Void)?
  /// Polled during long work without documents, such as copying a database; true ends it with an error.
  public var shouldStop: (@Sendable () -> Bool)?
  /// The directory for private copies of databases. Nil: `TMPDIR`, else `/tmp`.
  public var temporaryDirectory: String?

  /// Options; the defaults take every record, detect the encoding, and end at the first bad record. Each parameter sets
  /// the property of its name.
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
  /// The option that lets longer records in; nil if longer ones could not be stored.
  ///
  /// - Parameter isText: A record is the text itself, not source that may be longer.
  static func advice(beyond limit: Int, isText: Bool) -> String? {
    let sizes = [("256M", maximumTextByteCount)] + (isText ? [] : [("2G", 2 << 30), ("16G", 16 << 30)])
    return sizes.first { $0.1 > limit }.map { "allow longer records: --max-record \($0.0)" }
  }
}

/// A skipped record.
public struct Rejection: Sendable {
  /// The reason and the place.
  public let error: FormatError
  /// The record's number in the input, from 1.
  public let record: Int
  /// The bytes to put before ``bytes`` to make them an input again; see ``ReadingReport/headBytes``.
  public let headBytes: [UInt8]
  /// The record's bytes in the input, the line end included; empty if it is longer than the limit, or if records have
  /// no byte range in the input, as in a database.
  public let bytes: [UInt8]
}

/// Totals of a source.
public struct ReadingReport: Hashable, Sendable {
  /// The number of documents that were read so far.
  public internal(set) var documents = 0
  /// Documents that are values, because their record has no text.
  public internal(set) var values = 0
  /// The number of attachments of these documents.
  public internal(set) var attachments = 0
  /// The number of attachments that the input lists without their content, which are left out.
  public internal(set) var attachmentsWithoutContent = 0
  /// Records left out because they could not be read.
  public internal(set) var rejected = 0
  /// Documents left out because their text is empty.
  public internal(set) var skippedEmpty = 0
  /// Known once reading has begun.
  public internal(set) var encoding: TextEncoding?
  /// The columns of a table, in the input's order; of JSON and property lists, the members of objects: those of parts
  /// first, then others as they first came, up to 256 of these.
  public internal(set) var columns: [ColumnUse] = []
  /// The delimiter of a table's fields, once reading has begun.
  public internal(set) var delimiter: UInt8?
  /// Entries of a directory that were not read.
  public internal(set) var passedOver = PassedOver()
  /// The highest id that the input ever assigned, if recorded: an ordered table's autoincrement.
  public internal(set) var highestID: Int64?
  /// The table of a database that was read.
  public internal(set) var table: String?
  /// The generated columns of a database's table, which are not read.
  public internal(set) var generatedColumns: [String] = []
  /// The reason for reading a database through a private copy; nil if it was read directly.
  public internal(set) var privateCopy: String?
  /// The bytes to put before ``Rejection/bytes`` to make them an input again: the byte order mark and the header row,
  /// unchanged. Kept under ``RecordErrorMode/skip`` only.
  public internal(set) var headBytes: [UInt8] = []

  /// Columns that became attributes, in the input's order.
  public var attributeColumns: [String] { columns.filter { $0.use == .attribute }.map(\.name) }
}

/// A source of documents that reports totals.
public protocol ReportingSource {
  /// Totals of the documents that were read so far; complete at the end.
  var report: ReadingReport { get }
}
