public import CofferDocuments
public import CofferFoundation
internal import CofferPlatform

extension Timestamp {
  /// Creates a timestamp from a date, rounded to the nearest millisecond and clamped to the range of timestamps.
  public init(_ date: Date) {
    let milliseconds = (date.timeIntervalSince1970 * 1000).rounded()
    // This comparison is false if the date isn't a number.
    if milliseconds < -0x1p63 {
      self.init(millisecondsSince1970: .min)
    } else {
      self.init(millisecondsSince1970: Int64(exactly: milliseconds) ?? .max)
    }
  }

  /// Returns the system clock's time in milliseconds, clamped to the dates that a store accepts.
  public static func now() -> Timestamp {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Timestamp(seconds: Int64(time.tv_sec), nanoseconds: Int64(time.tv_nsec))
  }
}

extension Date {
  /// Creates a date from a timestamp. Years beyond 280,000 lose milliseconds.
  public init(_ timestamp: Timestamp) {
    self.init(timeIntervalSince1970: Double(timestamp.millisecondsSince1970) / 1000)
  }
}
