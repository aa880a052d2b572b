internal import CofferDocuments

// Dates in JSON: ISO 8601 in UTC with milliseconds. Documents written together mostly share a day, so that the calendar
// is computed once for each day and only the time is read and written byte by byte.

/// Reads dates out of JSON strings.
struct DateReader: Sendable {
  /// The 10 bytes of the day last read, as two words.
  private var day: (UInt64, UInt16) = (0, 0)
  private var dayStart: Int64 = 0

  mutating func read(_ text: UnsafeRawBufferPointer) -> Timestamp? {
    guard let clock = Self.clock(in: text) else {
      return Timestamp(iso8601: String(decoding: text, as: UTF8.self))
    }
    let day = (text.loadUnaligned(as: UInt64.self), text.loadUnaligned(fromByteOffset: 8, as: UInt16.self))
    if day != self.day {
      let midnight = String(decoding: text.prefix(11), as: UTF8.self) + "00:00:00Z"
      guard let start = Timestamp(iso8601: midnight) else { return nil }
      self.day = day
      dayStart = start.millisecondsSince1970
    }
    return Timestamp(millisecondsSince1970: dayStart + clock)
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

/// Writes dates.
struct DateWriter: Sendable {
  private static let dayLength: Int64 = 86_400_000

  private var dayNumber: Int64?
  /// The date and the `T`.
  private var day: [UInt8] = []

  mutating func append(_ date: Timestamp, to output: inout [UInt8]) {
    let milliseconds = date.millisecondsSince1970
    let number = milliseconds >= 0 ? milliseconds / Self.dayLength : (milliseconds + 1) / Self.dayLength - 1
    let midnight = number * Self.dayLength
    if number != dayNumber {
      dayNumber = number
      let text = Array(Timestamp(millisecondsSince1970: midnight).description.utf8)
      day = Array(text.prefix { $0 != UInt8(ascii: "T") }) + [UInt8(ascii: "T")]
    }
    let clock = milliseconds - midnight
    output += day
    Self.append(clock / 3_600_000, width: 2, to: &output)
    output.append(UInt8(ascii: ":"))
    Self.append(clock / 60_000 % 60, width: 2, to: &output)
    output.append(UInt8(ascii: ":"))
    Self.append(clock / 1000 % 60, width: 2, to: &output)
    output.append(UInt8(ascii: "."))
    Self.append(clock % 1000, width: 3, to: &output)
    output.append(UInt8(ascii: "Z"))
  }

  private static func append(_ value: Int64, width: Int, to output: inout [UInt8]) {
    var divisor: Int64 = width == 3 ? 100 : 10
    while divisor > 0 {
      output.append(0x30 + UInt8(value / divisor % 10))
      divisor /= 10
    }
  }
}
