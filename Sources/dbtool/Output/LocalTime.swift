internal import Coffer
internal import CofferPlatform

/// Formats dates for people, in the time zone of this process (`TZ`).
enum LocalTime {
  /// Returns a date such as `2026-11-22 17:18:53`, or `nil` for a date outside the system's calendar.
  static func text(_ date: Timestamp) -> String? {
    let (quotient, rest) = date.millisecondsSince1970.quotientAndRemainder(dividingBy: 1000)
    var seconds = time_t(quotient - (rest < 0 ? 1 : 0))
    var parts = tm()
    guard localtime_r(&seconds, &parts) != nil, (0...8099).contains(parts.tm_year) else { return nil }
    var text = [CChar](repeating: 0, count: 32)
    let count = strftime(&text, text.count, "%Y-%m-%d %H:%M:%S", &parts)
    return String(decoding: text[..<count].map(UInt8.init(bitPattern:)), as: UTF8.self)
  }
}
