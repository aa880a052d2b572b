internal import CofferDocuments

/// Reads the dates of documents from every format: the one rule of which texts and numbers are dates.
///
/// A date is ISO 8601 in any form that ``Timestamp/init(iso8601:)`` reads, or a number in the unit given. Without a
/// unit, a number is seconds since 1970, from 1990 to 2100. Records that were written together mostly share a day, so
/// that the calendar is computed once for each day of the usual form.
struct DateReader: Sendable {
  private let unit: ColumnMapping.NumericDates?
  /// The 10 bytes of the day last read, as two words.
  private var day: (UInt64, UInt16) = (0, 0)
  private var dayStart: Int64 = 0

  init(unit: ColumnMapping.NumericDates?) {
    self.unit = unit
  }

  /// Reads a date from the characters of a string or number; spaces around it don't count.
  mutating func read(_ text: UnsafeRawBufferPointer) throws(DateFault) -> Timestamp {
    guard let clock = Self.clock(in: text) else { return try readSlowly(text.trimmingSpaces) }
    let day = (text.loadUnaligned(as: UInt64.self), text.loadUnaligned(fromByteOffset: 8, as: UInt16.self))
    if day != self.day {
      guard case .date(let start) = Timestamp.parse(iso8601: text.prefix(10)) else { throw .notADate }
      self.day = day
      dayStart = start.millisecondsSince1970
    }
    return Timestamp(millisecondsSince1970: dayStart + clock)
  }

  /// Reads a date from a number.
  func read(_ number: Int64) throws(DateFault) -> Timestamp {
    try unit(of: Double(number)).timestamp(number)
  }

  /// Reads a date from a number with a fraction.
  func read(_ number: Double) throws(DateFault) -> Timestamp {
    try unit(of: number).timestamp(number)
  }

  private func unit(of number: Double) throws(DateFault) -> ColumnMapping.NumericDates {
    if let unit { return unit }
    return try .plausible(number)
  }

  private func readSlowly(_ text: Slice<UnsafeRawBufferPointer>) throws(DateFault) -> Timestamp {
    // Eight digits are a day, unless numbers are given a unit.
    if unit != nil, let date = try readNumber(text) { return date }
    switch Timestamp.parse(iso8601: text) {
    case .date(let date): return date
    case .outOfRange: throw .outOfRange
    case .notADate: break
    }
    guard unit == nil, let date = try readNumber(text) else { throw .notADate }
    return date
  }

  /// The date of a decimal number; nil for anything else.
  private func readNumber(_ text: Slice<UnsafeRawBufferPointer>) throws(DateFault) -> Timestamp? {
    guard text.count <= 64, text.contains(where: { (0x30...0x39).contains($0) }),
      text.allSatisfy({ (0x30...0x39).contains($0) || "+-.eE".utf8.contains($0) })
    else { return nil }
    let text = String(decoding: text, as: UTF8.self)
    if let integer = Int64(text) { return try read(integer) }
    guard let number = Double(text) else { return nil }
    return try read(number)
  }

  /// The milliseconds since midnight of `yyyy-MM-ddThh:mm:ss.SSSZ`; nil for any other form.
  private static func clock(in text: UnsafeRawBufferPointer) -> Int64? {
    guard text.count == 24, text[10] == UInt8(ascii: "T"), text[13] == UInt8(ascii: ":"),
      text[16] == UInt8(ascii: ":"), text[19] == UInt8(ascii: "."), text[23] == UInt8(ascii: "Z"),
      let hour = number(text, 11..<13), let minute = number(text, 14..<16), let second = number(text, 17..<19),
      let millisecond = number(text, 20..<23), hour < 24, minute < 60, second < 60
    else { return nil }
    return ((hour * 60 + minute) * 60 + second) * 1000 + millisecond
  }

  private static func number(_ text: UnsafeRawBufferPointer, _ range: Range<Int>) -> Int64? {
    var value: Int64 = 0
    for offset in range {
      let digit = text[offset] &- 0x30
      guard digit < 10 else { return nil }
      value = value * 10 + Int64(digit)
    }
    return value
  }
}

/// The reason why a value is no date.
enum DateFault: Error, Equatable {
  case notADate
  /// A date that no store takes.
  case outOfRange
  /// A number beyond the years in which numbers are taken as seconds; the units in which it would be a date of them.
  case needsUnit([ColumnMapping.NumericDates])

  var reason: String {
    switch self {
    case .notADate: "a date that is neither ISO 8601 nor a number"
    case .outOfRange: "a date outside the years 0000 to 9999"
    case .needsUnit: "a number that is no date from 1990 to 2100 in seconds since 1970"
    }
  }

  /// The option that makes it a date, if one does.
  var advice: String? {
    guard case .needsUnit(let units) = self, !units.isEmpty else { return nil }
    return "name the unit of dates that are numbers: --map "
      + units.map { "dates=\($0.rawValue)" }.joined(separator: " or ")
  }
}

extension UnsafeRawBufferPointer {
  /// The bytes without spaces and tabs at both ends.
  var trimmingSpaces: Slice<UnsafeRawBufferPointer> {
    func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == Byte.tab }
    let rest = drop(while: isSpace)
    guard let last = rest.lastIndex(where: { !isSpace($0) }) else { return rest.prefix(0) }
    return rest[...last]
  }
}
