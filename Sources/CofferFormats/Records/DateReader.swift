internal import CofferDocuments

/// A reader for the dates of documents in all formats.
///
/// A date is ISO 8601 in any form that ``Timestamp/init(iso8601:)`` reads, or a number in the given unit. Without a
/// unit, a number is seconds since 1970, from 1990 to 2100. Neighboring records usually share a day, so the calendar is
/// computed once for each day in the usual form.
struct DateReader: Sendable {
  private let unit: ColumnMapping.NumericDates?
  /// The last day's 10 bytes, as two words.
  private var day: (UInt64, UInt16) = (0, 0)
  private var dayStart: Int64 = 0

  init(unit: ColumnMapping.NumericDates?) {
    self.unit = unit
  }

  /// Reads a date from a string's or number's characters, ignoring surrounding spaces.
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
    // Without a unit, eight digits are a day.
    if unit != nil, let date = try readNumber(text) { return date }
    switch Timestamp.parse(iso8601: text) {
    case .date(let date): return date
    case .outOfRange: throw .outOfRange
    case .notADate: break
    }
    guard unit == nil, let date = try readNumber(text) else { throw .notADate }
    return date
  }

  /// Returns the date for a decimal number, or `nil` for other texts.
  private func readNumber(_ text: Slice<UnsafeRawBufferPointer>) throws(DateFault) -> Timestamp? {
    guard text.count <= 64, text.contains(where: { (0x30...0x39).contains($0) }),
      text.allSatisfy({ (0x30...0x39).contains($0) || "+-.eE".utf8.contains($0) })
    else { return nil }
    let text = String(decoding: text, as: UTF8.self)
    if let integer = Int64(text) { return try read(integer) }
    guard let number = Double(text) else { return nil }
    return try read(number)
  }

  /// Returns the milliseconds since midnight for `yyyy-MM-ddThh:mm:ss.SSSZ`, or `nil` for other forms.
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

/// A reason that a value isn't a date.
enum DateFault: Error, Equatable {
  case notADate
  /// A date outside a store's range.
  case outOfRange
  /// A number that's out of range for seconds without a unit, with the units that would make it a date in this range.
  case needsUnit([ColumnMapping.NumericDates])

  var reason: String {
    switch self {
    case .notADate: "a date that is neither ISO 8601 nor a number"
    case .outOfRange: "a date outside the years 0000 to 9999"
    case .needsUnit: "a number that is no date from 1990 to 2100 in seconds since 1970"
    }
  }

  /// The option that makes the value a date, if there is one.
  var advice: String? {
    guard case .needsUnit(let units) = self, !units.isEmpty else { return nil }
    return "name the unit of dates that are numbers: --map "
      + units.map { "dates=\($0.rawValue)" }.joined(separator: " or ")
  }
}

extension UnsafeRawBufferPointer {
  /// The bytes without leading and trailing spaces and tabs.
  var trimmingSpaces: Slice<UnsafeRawBufferPointer> {
    func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == Byte.tab }
    let rest = drop(while: isSpace)
    guard let last = rest.lastIndex(where: { !isSpace($0) }) else { return rest.prefix(0) }
    return rest[...last]
  }
}
