public import CofferDocuments
public import CofferSealing
public import FoundationEssentials

#if canImport(Glibc)
  internal import Glibc
#endif

extension Timestamp {
  /// The same moment, rounded to the nearest millisecond; a date too far away becomes the earliest or latest timestamp.
  public init(_ date: Date) {
    let milliseconds = (date.timeIntervalSince1970 * 1000).rounded()
    // A comparison with a date that is not a number is false.
    if milliseconds < -0x1p63 {
      self.init(millisecondsSince1970: .min)
    } else {
      self.init(millisecondsSince1970: Int64(exactly: milliseconds) ?? .max)
    }
  }

  /// The system's clock, in milliseconds.
  public static func now() -> Timestamp {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Timestamp(millisecondsSince1970: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
  }
}

extension Date {
  /// The same moment; years beyond 280,000 lose milliseconds.
  public init(_ timestamp: Timestamp) {
    self.init(timeIntervalSince1970: Double(timestamp.millisecondsSince1970) / 1000)
  }
}

extension Secret {
  /// A secret that was typed into a text field.
  ///
  /// - Warning: A `String` can't be wiped: `text`, and every copy that the field and the system made of it, stays in
  ///   memory until that is used for something else, and may reach swap or a core dump. Take the bytes straight into
  ///   ``init(byteCount:initializingWith:)`` where you can.
  public convenience init(typed text: String) {
    let count = text.utf8.count
    self.init(byteCount: count) { memory in
      var text = text
      text.withUTF8 { memory.copyMemory(from: UnsafeRawBufferPointer($0)) }
      return count
    }
  }
}
