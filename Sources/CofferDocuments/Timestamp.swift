/// A point in time in milliseconds since 1970-01-01T00:00:00Z, as stored: exact, without a time zone.
public struct Timestamp: Hashable, Comparable, Sendable {
  /// Milliseconds since 1970-01-01T00:00:00Z, without leap seconds; negative before.
  public var millisecondsSince1970: Int64

  /// The moment that many milliseconds after 1970-01-01T00:00:00Z.
  public init(millisecondsSince1970: Int64) {
    self.millisecondsSince1970 = millisecondsSince1970
  }

  public static func < (lhs: Timestamp, rhs: Timestamp) -> Bool {
    lhs.millisecondsSince1970 < rhs.millisecondsSince1970
  }
}

extension Timestamp: Codable {
  /// Reads ISO 8601 with time and zone.
  ///
  /// - Throws: `DecodingError` for anything else.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    guard let timestamp = Timestamp(iso8601: try container.decode(String.self)) else {
      throw DecodingError.dataCorruptedError(in: container, debugDescription: "not an ISO 8601 date with time and zone")
    }
    self = timestamp
  }

  /// Writes ISO 8601 in UTC with milliseconds.
  ///
  /// - Throws: errors of the encoder.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(description)
  }
}

// MARK: - ISO 8601

extension Timestamp: CustomStringConvertible {
  /// ISO 8601 in UTC with milliseconds: `2026-11-21T14:35:00.123Z`; years beyond four digits carry a sign.
  public var description: String {
    let (days, milliseconds) = millisecondsSince1970.quotientAndRemainder(floor: 86_400_000)
    let (year, month, day) = Self.civil(fromDays: days)
    let seconds = milliseconds / 1000
    // A sign, a year of nine digits, and what follows it.
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

  /// Reads an ISO 8601 date with time and zone (`Z` or `±hh:mm`), fractions down to milliseconds.
  ///
  /// - Returns: nil for anything else, a date that does not exist included.
  public init?(iso8601 text: some StringProtocol) {
    var scanner = DigitScanner(text.utf8)
    var sign: Int64 = 1
    var yearWidth = 4
    if let mark = scanner.take(anyOf: "+-") {
      sign = mark == UInt8(ascii: "-") ? -1 : 1
      yearWidth = 6
    }
    // All that `iso8601` writes: years of six digits, and more for the latest and earliest moments.
    if yearWidth == 6 { yearWidth = min(max(scanner.digitCount, yearWidth), 9) }
    guard let year = scanner.number(yearWidth), scanner.take("-"),
      let month = scanner.number(2), scanner.take("-"),
      let day = scanner.number(2), scanner.take(anyOf: "Tt ") != nil,
      let hour = scanner.number(2), scanner.take(":"),
      let minute = scanner.number(2), scanner.take(":"),
      let second = scanner.number(2)
    else { return nil }
    guard (1...12).contains(month), day >= 1, hour < 24, minute < 60, second < 60 else { return nil }
    let milliseconds = scanner.fraction()
    var offset: Int64 = 0
    if let zone = scanner.take(anyOf: "+-") {
      guard let hours = scanner.number(2), scanner.take(":"), let minutes = scanner.number(2),
        hours < 24, minutes < 60
      else { return nil }
      offset = (hours * 60 + minutes) * (zone == UInt8(ascii: "-") ? -60_000 : 60_000)
    } else if scanner.take(anyOf: "Zz") == nil {
      return nil
    }
    let days = Self.days(fromYear: sign * year, month: month, day: day)
    guard scanner.isAtEnd, Self.civil(fromDays: days) == (sign * year, month, day) else { return nil }
    let clock = ((hour * 60 + minute) * 60 + second) * 1000 + milliseconds
    // The earliest moment is less than a day before the first whole day that fits.
    guard let moment = Int64(exactly: Int128(days) * 86_400_000 + Int128(clock - offset)) else { return nil }
    self.millisecondsSince1970 = moment
  }

  /// Days since 1970-01-01 in the proleptic Gregorian calendar, by eras of 400 years that begin in March.
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
  /// Division that rounds down, so that moments before 1970 fall into the right day.
  fileprivate func quotientAndRemainder(floor divisor: Int64) -> (Int64, Int64) {
    let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
    return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
  }
}

/// Writes numbers with leading zeros, and marks, as ASCII.
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

/// Reads fixed-width numbers and marks from ASCII.
private struct DigitScanner {
  private var rest: [UInt8].SubSequence

  init(_ bytes: some Sequence<UInt8>) {
    rest = [UInt8](bytes)[...]
  }

  var isAtEnd: Bool { rest.isEmpty }

  /// The number of digits that come next.
  var digitCount: Int { rest.prefix { (0x30...0x39).contains($0) }.count }

  mutating func number(_ width: Int) -> Int64? {
    guard rest.count >= width else { return nil }
    var value: Int64 = 0
    for byte in rest.prefix(width) {
      guard byte >= 0x30, byte <= 0x39 else { return nil }
      value = value * 10 + Int64(byte - 0x30)
    }
    rest.removeFirst(width)
    return value
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

  /// Milliseconds of `.ddd…`, digits beyond the third dropped; 0 where there is no fraction.
  mutating func fraction() -> Int64 {
    guard rest.first == UInt8(ascii: "."), rest.dropFirst().first.map({ $0 >= 0x30 && $0 <= 0x39 }) == true
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
