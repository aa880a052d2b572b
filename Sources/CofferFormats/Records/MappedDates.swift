internal import CofferDocuments

extension ColumnMapping {
  /// The unit of dates that are numbers.
  public enum NumericDates: String, CaseIterable, Hashable, Sendable {
    /// Seconds since 1970.
    case unix
    /// Milliseconds since 1970.
    case unixMilliseconds = "unix-ms"
    /// Seconds since 2001, as Foundation and Core Data store dates.
    case since2001 = "2001"

    /// - Returns: nil for a number that is no moment.
    func timestamp(_ number: Double) -> Timestamp? {
      let milliseconds =
        switch self {
        case .unix: number * 1000
        case .unixMilliseconds: number
        case .since2001: (number + Timestamp.secondsTo2001) * 1000
        }
      return Int64(exactly: milliseconds.rounded()).map { Timestamp(millisecondsSince1970: $0) }
    }

    /// A date as text: ISO 8601 with its zone; a day, or day and time as SQLite writes them, in UTC; or a number.
    func timestamp(ofText bytes: UnsafeRawBufferPointer, _ reader: inout DateReader) -> Timestamp? {
      if let date = reader.read(bytes) { return date }
      let text = String(decoding: bytes, as: UTF8.self)
      if let date = Timestamp(iso8601: text + "T00:00:00Z") ?? Timestamp(iso8601: text + ":00Z") { return date }
      return Timestamp(iso8601: text + "Z") ?? Double(text).flatMap(timestamp)
    }
  }
}

extension Timestamp {
  static var secondsTo2001: Double { 978_307_200 }

  /// Seconds since 2001, as `JSONEncoder` writes a date.
  var secondsSince2001: Double { Double(millisecondsSince1970) / 1000 - Self.secondsTo2001 }
}
