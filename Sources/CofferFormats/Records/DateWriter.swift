internal import CofferDocuments

/// Writes dates as ISO 8601 in UTC with milliseconds. A date outside the years 0000 to 9999 becomes the nearest valid
/// date.
///
/// Neighboring documents usually share a day, so the calendar is computed once for each day.
struct DateWriter: Sendable {
  private static let dayLength: Int64 = 86_400_000

  private var dayNumber: Int64?
  /// The date and the `T`.
  private var day: [UInt8] = []

  mutating func append(_ date: Timestamp, to output: inout [UInt8]) {
    // Documents don't have dates outside the range, and the beginning of such a day may overflow.
    let milliseconds = Timestamp(clampingMilliseconds: date.millisecondsSince1970).millisecondsSince1970
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
