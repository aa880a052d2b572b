internal import CofferDocuments

extension ColumnMapping {
  /// The unit of numeric dates.
  public enum NumericDates: String, CaseIterable, Hashable, Sendable {
    /// Seconds since 1970.
    case unix
    /// Milliseconds since 1970, as in JavaScript and Java.
    case unixMilliseconds = "unix-ms"
    /// Microseconds since 1970, as in Firefox and PostgreSQL.
    case unixMicroseconds = "unix-us"
    /// Microseconds since 1601, as in Chrome.
    case chrome
    /// Seconds since 2001, as in Foundation and Core Data.
    case apple

    private var unitsPerSecond: Int64 {
      switch self {
      case .unix, .apple: 1
      case .unixMilliseconds: 1000
      case .unixMicroseconds, .chrome: 1_000_000
      }
    }

    /// The unit's zero, in milliseconds since 1970.
    private var start: Int64 {
      switch self {
      case .unix, .unixMilliseconds, .unixMicroseconds: 0
      case .chrome: -11_644_473_600_000
      case .apple: Timestamp.millisecondsTo2001
      }
    }

    /// Returns the unit of a number without a known unit, which is seconds since 1970 if the date is from 1990 to 2100.
    static func plausible(_ number: Double) throws(DateFault) -> NumericDates {
      guard number.isFinite else { throw .notADate }
      if unix.isPlausible(number) { return unix }
      throw .needsUnit(allCases.filter { $0 == unix ? (try? unix.timestamp(number)) != nil : $0.isPlausible(number) })
    }

    private func isPlausible(_ number: Double) -> Bool {
      // The range is from 1990-01-01 up to 2100-01-01.
      guard let date = try? timestamp(number) else { return false }
      return (631_152_000_000...4_102_444_800_000).contains(date.millisecondsSince1970)
    }

    /// Returns a number's date, to the nearest millisecond.
    func timestamp(_ number: Int64) throws(DateFault) -> Timestamp {
      let thousandfold = Int128(number) * 1000
      let (half, units) = (Int128(unitsPerSecond / 2), Int128(unitsPerSecond))
      let milliseconds = (thousandfold + (number < 0 ? -half : half)) / units
      return try storable(milliseconds + Int128(start))
    }

    /// Returns a number's date, to the nearest millisecond.
    func timestamp(_ number: Double) throws(DateFault) -> Timestamp {
      let milliseconds = (number / Double(unitsPerSecond) * 1000).rounded()
      guard !number.isNaN else { throw .notADate }
      guard milliseconds.magnitude < 1e18 else { throw .outOfRange }
      return try storable(Int128(milliseconds) + Int128(start))
    }

    private func storable(_ milliseconds: Int128) throws(DateFault) -> Timestamp {
      guard let number = Int64(exactly: milliseconds) else { throw .outOfRange }
      let date = Timestamp(millisecondsSince1970: number)
      guard date.isStorable else { throw .outOfRange }
      return date
    }
  }
}

extension Timestamp {
  static var millisecondsTo2001: Int64 { 978_307_200_000 }

  /// The seconds since 2001, as `JSONEncoder` writes dates.
  var secondsSince2001: Double { (Double(millisecondsSince1970) - Double(Self.millisecondsTo2001)) / 1000 }
}
