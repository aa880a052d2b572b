public import CofferDocuments
public import CofferSQLite
public import FoundationEssentials

// Values as parameters of queries, as the view `documents` gives them, and as members of rows.

extension DocumentID: SQLiteValueConvertible, SQLiteValueReadable {
  /// The number.
  public var sqliteValue: SQLiteValue { .integer(rawValue) }

  public init?(sqliteValue: SQLiteValue) {
    guard case .integer(let number) = sqliteValue else { return nil }
    self.init(rawValue: number)
  }
}

extension ExternalKey: SQLiteValueConvertible, SQLiteValueReadable {
  /// A text, or a blob if the key is not UTF-8.
  public var sqliteValue: SQLiteValue { text.map { .text($0) } ?? .blob(bytes) }

  public init?(sqliteValue: SQLiteValue) {
    switch sqliteValue {
    case .text(let text): self.init(text)
    case .blob(let bytes): self.init(bytes: bytes)
    default: return nil
    }
  }
}

extension DocumentCollection: SQLiteValueConvertible {
  /// The name.
  public var sqliteValue: SQLiteValue { .text(name) }
}

extension Timestamp: SQLiteValueConvertible, SQLiteValueReadable {
  /// ISO 8601 in UTC with milliseconds, which sorts as the dates do from year 0 to 9999.
  public var sqliteValue: SQLiteValue { .text(description) }

  /// An ISO 8601 text with time and zone.
  public init?(sqliteValue: SQLiteValue) {
    guard case .text(let text) = sqliteValue else { return nil }
    self.init(iso8601: text)
  }
}

extension Date: SQLiteValueConvertible, SQLiteValueReadable {
  /// As ``Timestamp`` is written, rounded to milliseconds; NULL for a date beyond its range.
  public var sqliteValue: SQLiteValue {
    let milliseconds = (timeIntervalSince1970 * 1000).rounded()
    return Int64(exactly: milliseconds).map { Timestamp(millisecondsSince1970: $0).sqliteValue } ?? .null
  }

  /// An ISO 8601 text with time and zone; or a number, in seconds since 2001, as stored values hold dates.
  public init?(sqliteValue: SQLiteValue) {
    if let timestamp = Timestamp(sqliteValue: sqliteValue) {
      self.init(timestamp)
    } else if let seconds = sqliteValue.real {
      self.init(timeIntervalSinceReferenceDate: seconds)
    } else {
      return nil
    }
  }
}

extension UUID: SQLiteValueConvertible, SQLiteValueReadable {
  /// A text in upper case, as JSON holds it.
  public var sqliteValue: SQLiteValue { .text(uuidString) }

  /// A text in either case.
  public init?(sqliteValue: SQLiteValue) {
    guard case .text(let text) = sqliteValue else { return nil }
    self.init(uuidString: text)
  }
}

extension Data: SQLiteValueConvertible, SQLiteValueReadable {
  /// A blob.
  public var sqliteValue: SQLiteValue { .blob(Array(self)) }

  /// A blob, or a text in Base64, as JSON holds data.
  public init?(sqliteValue: SQLiteValue) {
    switch sqliteValue {
    case .blob(let bytes): self.init(bytes)
    case .text(let text): self.init(base64Encoded: text)
    default: return nil
    }
  }
}
