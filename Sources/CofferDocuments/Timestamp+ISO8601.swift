// All reading and writing of dates in ISO 8601.

extension Timestamp: CustomStringConvertible {
  /// The date in ISO 8601 in UTC with milliseconds, such as `2026-11-21T14:35:00.123Z`. Years outside 0000 to 9999 have
  /// a sign.
  public var description: String {
    let (days, milliseconds) = millisecondsSince1970.quotientAndRemainder(floor: 86_400_000)
    let (year, month, day) = Self.civil(fromDays: days)
    let seconds = milliseconds / 1000
    // The capacity suffices for a sign, a year of nine digits, and the rest of a date.
    return String(unsafeUninitializedCapacity: 32) { bytes in
      var writer = DigitWriter(bytes: bytes)
      let isLong = year < 0 || year > 9999
      if isLong { writer.append(mark: year < 0 ? "-" : "+") }
      writer.append(year.magnitude, width: isLong ? 6 : 4)
      for (mark, value, width) in [
        ("-", month, 2), ("-", day, 2), ("T", seconds / 3600, 2), (":", seconds / 60 % 60, 2), (":", seconds % 60, 2),
        (".", milliseconds % 1000, 3),
      ] as [(Unicode.Scalar, Int64, Int)] {
        writer.append(mark: mark)
        writer.append(value.magnitude, width: width)
      }
      writer.append(mark: "Z")
      return writer.count
    }
  }

  /// Creates a timestamp from an ISO 8601 date in the years 0000 to 9999.
  ///
  /// The date is `2026-11-21` or `20261121`. An optional time follows `T` or a space: `14:35:00`, `143500`, `14:35` or
  /// `14`. Seconds can have a fraction after `.` or `,`, which is kept in milliseconds. An optional zone follows the
  /// time: `Z`, `UTC`, `+01:00`, `+0100` or `+01`. Without a time, a date is its midnight. Without a zone, it's in UTC.
  ///
  /// - Returns: The timestamp, or `nil` for other texts, including nonexistent dates.
  public init?(iso8601 text: some StringProtocol) {
    guard case .date(let date) = Self.parse(iso8601: text.utf8) else { return nil }
    self = date
  }

  /// The result of parsing a text as a date.
  package enum Parsed: Equatable {
    case date(Timestamp)
    /// An ISO 8601 date outside the years 0000 to 9999.
    case outOfRange
    case notADate
  }

  /// Parses the forms of ``init(iso8601:)``.
  package static func parse(iso8601 text: some Sequence<UInt8>) -> Parsed {
    var scanner = DigitScanner(text)
    guard let (year, month, day) = scanner.date() else { return .notADate }
    var milliseconds: Int64 = 0
    var isLeapSecond = false
    if scanner.take(anyOf: "Tt ") != nil {
      guard let clock = scanner.clock(), let offset = scanner.offset() else { return .notADate }
      milliseconds = clock.milliseconds - offset
      isLeapSecond = clock.isLeapSecond
    }
    guard scanner.isAtEnd else { return .notADate }
    guard (-1...10_000).contains(year) else { return .outOfRange }
    let days = days(fromYear: year, month: month, day: day)
    guard civil(fromDays: days) == (year, month, day) else { return .notADate }
    let date = Timestamp(millisecondsSince1970: days * 86_400_000 + milliseconds)
    // Treat a leap second as the first second of the next day.
    if isLeapSecond, !(0..<1000).contains(date.millisecondsSince1970.quotientAndRemainder(floor: 86_400_000).1) {
      return .notADate
    }
    return date.isStorable ? .date(date) : .outOfRange
  }

  /// Returns the days since 1970-01-01 in the proleptic Gregorian calendar, by eras of 400 years that begin in March.
  private static func days(fromYear year: Int64, month: Int64, day: Int64) -> Int64 {
    let shifted = month <= 2 ? year - 1 : year
    let (era, yearOfEra) = shifted.quotientAndRemainder(floor: 400)
    let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
  }

  private static func civil(fromDays days: Int64) -> (year: Int64, month: Int64, day: Int64) {
    let (era, dayOfEra) = (days + 719_468).quotientAndRemainder(floor: 146_097)
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shiftedMonth = (5 * dayOfYear + 2) / 153
    let day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
    let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
    return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day)
  }
}

extension Int64 {
  /// Divides and rounds down, so times before 1970 are on the right day.
  fileprivate func quotientAndRemainder(floor divisor: Int64) -> (Int64, Int64) {
    let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
    return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
  }
}

/// A writer of numbers with leading zeros, and marks, in ASCII.
private struct DigitWriter {
  let bytes: UnsafeMutableBufferPointer<UInt8>
  private(set) var count = 0

  init(bytes: UnsafeMutableBufferPointer<UInt8>) {
    self.bytes = bytes
  }

  mutating func append(mark: Unicode.Scalar) {
    bytes[count] = UInt8(ascii: mark)
    count += 1
  }

  mutating func append(_ value: UInt64, width: Int) {
    var (width, limit) = (width, UInt64(1))
    for _ in 0..<width { limit *= 10 }
    while value >= limit { (width, limit) = (width + 1, limit * 10) }
    var rest = value
    for place in stride(from: count + width - 1, through: count, by: -1) {
      bytes[place] = UInt8(0x30 + rest % 10)
      rest /= 10
    }
    count += width
  }
}

/// A scanner of dates, times and zones in ASCII.
private struct DigitScanner {
  private var rest: [UInt8].SubSequence

  init(_ bytes: some Sequence<UInt8>) {
    rest = [UInt8](bytes)[...]
  }

  var isAtEnd: Bool { rest.isEmpty }

  /// Scans a year, month and day: `2026-11-21`, `20261121`, or `+012026-11-21` with at least six digits after the sign.
  ///
  /// - Returns: The date, or `nil` for other text. A year with more than nine digits is `Int64.max`.
  mutating func date() -> (year: Int64, month: Int64, day: Int64)? {
    let sign = take(anyOf: "+-")
    let width = sign == nil ? 4 : digitCount
    guard sign == nil || width >= 6, let digits = digits(width) else { return nil }
    let year = width > 9 ? .max : digits.reduce(0) { $0 * 10 + Int64($1 - 0x30) }
    let isExtended = take("-")
    guard isExtended || sign == nil, let month = number(2), !isExtended || take("-"), let day = number(2),
      (1...12).contains(month), (1...31).contains(day)
    else { return nil }
    return (sign == UInt8(ascii: "-") ? -year : year, month, day)
  }

  /// Scans a time of day: hours, with optional minutes, seconds and fraction.
  mutating func clock() -> (milliseconds: Int64, isLeapSecond: Bool)? {
    guard let hour = number(2) else { return nil }
    var (minute, second, fraction) = (Int64(0), Int64(0), Int64(0))
    if let minutes = follower() {
      minute = minutes
      if let seconds = follower() {
        second = seconds
        fraction = self.fraction()
      }
    }
    let clock = ((hour * 60 + minute) * 60 + second) * 1000 + fraction
    // Allow 24:00, which is the end of the day.
    guard hour < 24 && minute < 60 && second <= 60 || hour == 24 && clock == 86_400_000 else { return nil }
    return (clock, second == 60)
  }

  /// Scans a zone's offset from UTC in milliseconds. Returns 0 without a zone.
  mutating func offset() -> Int64? {
    if rest.first == UInt8(ascii: " ") { rest.removeFirst() } else if isAtEnd { return 0 }
    if take(anyOf: "Zz") != nil { return 0 }
    if rest.elementsEqual("UTC".utf8) {
      rest.removeAll()
      return 0
    }
    guard let sign = take(anyOf: "+-"), let hours = number(2), hours < 24 else { return nil }
    let minutes = follower() ?? 0
    guard minutes < 60 else { return nil }
    return (hours * 60 + minutes) * (sign == UInt8(ascii: "-") ? -60_000 : 60_000)
  }

  /// Scans two digits, with or without a preceding colon, or returns `nil` if they're missing.
  private mutating func follower() -> Int64? {
    let before = rest
    _ = take(":")
    guard let value = number(2) else {
      rest = before
      return nil
    }
    return value
  }

  /// The number of following digits.
  private var digitCount: Int { rest.prefix { (0x30...0x39).contains($0) }.count }

  private mutating func digits(_ width: Int) -> ArraySlice<UInt8>? {
    guard digitCount >= width else { return nil }
    defer { rest.removeFirst(width) }
    return rest.prefix(width)
  }

  private mutating func number(_ width: Int) -> Int64? {
    digits(width)?.reduce(0) { $0 * 10 + Int64($1 - 0x30) }
  }

  mutating func take(_ mark: Unicode.Scalar) -> Bool {
    guard rest.first == UInt8(ascii: mark) else { return false }
    rest.removeFirst()
    return true
  }

  mutating func take(anyOf marks: StaticString) -> UInt8? {
    guard let first = rest.first else { return nil }
    let found = marks.withUTF8Buffer { $0.contains(first) }
    guard found else { return nil }
    rest.removeFirst()
    return first
  }

  /// Scans the milliseconds of `.ddd…` or `,ddd…`, without digits beyond the third. Returns 0 without a fraction.
  private mutating func fraction() -> Int64 {
    guard let mark = rest.first, mark == UInt8(ascii: ".") || mark == UInt8(ascii: ","),
      rest.dropFirst().first.map({ $0 >= 0x30 && $0 <= 0x39 }) == true
    else { return 0 }
    rest.removeFirst()
    var value: Int64 = 0
    var scale: Int64 = 100
    while let byte = rest.first, byte >= 0x30, byte <= 0x39 {
      value += Int64(byte - 0x30) * scale
      scale /= 10
      rest.removeFirst()
    }
    return value
  }
}
