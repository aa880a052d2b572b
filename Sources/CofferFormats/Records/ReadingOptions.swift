public import CofferDocuments
public import CofferText

/// What happens to a record that cannot be read.
public enum RecordErrorMode: Hashable, Sendable {
  /// Reading ends with an error.
  case fail
  /// The record is left out and told of (``ReadingOptions/onRejection``); the next one goes on.
  case skip
  /// Bytes that are no text become U+FFFD by WHATWG's rules; anything else ends reading.
  case replace
}

/// How an input is to be read, whatever its format.
public struct ReadingOptions: Sendable {
  /// The longest text that a store takes, in bytes of UTF-8.
  public static let maximumTextByteCount = Document.maximumTextByteCount
  /// The longest record of a format that has many, where nothing else is said: what is longer is likely to be an input
  /// taken for what it is not, and each record is held in memory.
  public static let usualRecordByteCount = 128 << 20

  public var encoding: EncodingChoice
  public var onError: RecordErrorMode
  /// Nil: what is usual for the format, which is to skip for lines and to store otherwise.
  public var emptyText: EmptyTextMode?
  /// The longest record in bytes of UTF-8, quotes and escapes included. Nil: 256 MiB where an input is one text, 1 GiB
  /// for a property list as a whole, ``usualRecordByteCount`` for all others.
  public var maximumRecordByteCount: Int?
  /// Ids will be kept, so that one which is no positive integer makes a bad record. Otherwise it counts as none.
  public var keepsIDs: Bool
  /// Records say which collection is theirs, so that a name which can be none makes a bad record. Otherwise all go to one,
  /// and their names are not looked at.
  public var namesCollections = true
  /// What errors and rejections call the input.
  public var path: String?
  /// Told of each record that is left out under ``RecordErrorMode/skip``, in order, while reading.
  public var onRejection: (@Sendable (Rejection) -> Void)?
  /// Asked now and then during long work that gives no documents, such as copying a database; true ends it with an
  /// error.
  public var shouldStop: (@Sendable () -> Bool)?
  /// Where a private copy of a database is made. Nil: `TMPDIR`, else `/tmp`.
  public var temporaryDirectory: String?

  public init(
    encoding: EncodingChoice = .automatic, onError: RecordErrorMode = .fail, emptyText: EmptyTextMode? = nil,
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

/// A record that was left out.
public struct Rejection: Sendable {
  /// Why, and where; its location names the record.
  public let error: FormatError
  /// The record's number in the input, from 1.
  public let record: Int
  /// What must stand before ``bytes`` to make them an input again; see ``ReadingReport/headBytes``.
  public let headBytes: [UInt8]
  /// The record as it stands in the input, its line end included; none when it is longer than the limit, or where
  /// records are no bytes of their own, as in a database.
  public let bytes: [UInt8]
}

/// What a source has read so far.
public struct ReadingReport: Hashable, Sendable {
  public internal(set) var documents = 0
  /// Records left out because they could not be read.
  public internal(set) var rejected = 0
  /// Documents left out because their text is empty.
  public internal(set) var skippedEmpty = 0
  /// Known once reading has begun.
  public internal(set) var encoding: TextEncoding?
  /// Columns that became attributes, in the input's order.
  public internal(set) var attributeColumns: [String] = []
  /// The highest id that the input has ever given, where it says so: an ordered table's autoincrement.
  public internal(set) var highestID: Int64?
  /// The table of a database that was read.
  public internal(set) var table: String?
  /// Why a database was read through a private copy; nil where it was not.
  public internal(set) var privateCopy: String?
  /// What must stand before ``Rejection/bytes`` to make them an input again: the byte order mark and the header row,
  /// as they are. Kept under ``RecordErrorMode/skip`` only.
  public internal(set) var headBytes: [UInt8] = []
}

/// A source of documents that tells what it has read.
public protocol ReportingSource {
  var report: ReadingReport { get }
}
