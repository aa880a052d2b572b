public import CofferDocuments
public import CofferFoundation
public import CofferSQLite

// Converts values for query parameters, columns of the `documents` view, and row members.

extension DocumentID: SQLiteValueConvertible, SQLiteValueReadable {
  /// The ID's number.
  public var sqliteValue: SQLiteValue { .integer(rawValue) }

  public init?(sqliteValue: SQLiteValue) {
    guard case .integer(let number) = sqliteValue else { return nil }
    self.init(rawValue: number)
  }
}

extension DocumentKey: SQLiteValueConvertible, SQLiteValueReadable {
  /// The key as text, or as a blob if it isn't valid UTF-8.
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
  /// The collection's name.
  public var sqliteValue: SQLiteValue { .text(name) }
}

extension Timestamp: SQLiteValueConvertible, SQLiteValueReadable {
  /// The timestamp as ISO 8601 text in UTC with milliseconds, which sorts chronologically for the years 0 to 9999.
  public var sqliteValue: SQLiteValue { .text(description) }

  /// Creates a timestamp from ISO 8601 text with a time and zone.
  public init?(sqliteValue: SQLiteValue) {
    guard case .text(let text) = sqliteValue else { return nil }
    self.init(iso8601: text)
  }
}

extension Date: SQLiteValueConvertible, SQLiteValueReadable {
  /// The date as text like ``Timestamp``, rounded to milliseconds, or NULL if it's out of range.
  public var sqliteValue: SQLiteValue {
    let milliseconds = (timeIntervalSince1970 * 1000).rounded()
    return Int64(exactly: milliseconds).map { Timestamp(millisecondsSince1970: $0).sqliteValue } ?? .null
  }

  /// Creates a date from ISO 8601 text with a time and zone, or from seconds since 2001, as in values with the default
  /// ``ValueCoding``.
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
  /// The UUID as uppercase text, as in JSON.
  public var sqliteValue: SQLiteValue { .text(uuidString) }

  /// Creates a UUID from uppercase or lowercase text.
  public init?(sqliteValue: SQLiteValue) {
    guard case .text(let text) = sqliteValue else { return nil }
    self.init(uuidString: text)
  }
}

extension Data: SQLiteValueConvertible, SQLiteValueReadable {
  /// The data as a blob.
  public var sqliteValue: SQLiteValue { .blob(Array(self)) }

  /// Creates data from a blob, or from Base64 text, as in JSON.
  public init?(sqliteValue: SQLiteValue) {
    switch sqliteValue {
    case .blob(let bytes): self.init(bytes)
    case .text(let text): self.init(base64Encoded: text)
    default: return nil
    }
  }
}
