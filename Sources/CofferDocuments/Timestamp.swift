/// A point in time in milliseconds since 1970-01-01T00:00:00Z, without a time zone. It's stored exactly.
///
/// A store accepts dates from ``earliest`` to ``latest``, the years 0000 to 9999, which all date formats can represent.
public struct Timestamp: Hashable, Comparable, Sendable {
  /// The earliest date that a store accepts: 0000-01-01T00:00:00.000Z.
  public static let earliest = Timestamp(millisecondsSince1970: -62_167_219_200_000)
  /// The latest date that a store accepts: 9999-12-31T23:59:59.999Z.
  public static let latest = Timestamp(millisecondsSince1970: 253_402_300_799_999)

  /// The milliseconds since 1970-01-01T00:00:00Z, without leap seconds. Negative for earlier dates.
  public var millisecondsSince1970: Int64

  /// Creates a timestamp from milliseconds since 1970-01-01T00:00:00Z.
  public init(millisecondsSince1970: Int64) {
    self.millisecondsSince1970 = millisecondsSince1970
  }

  /// Creates a timestamp from milliseconds since 1970-01-01T00:00:00Z, clamped to the dates that a store accepts.
  package init(clampingMilliseconds milliseconds: Int64) {
    millisecondsSince1970 = min(
      max(milliseconds, Self.earliest.millisecondsSince1970), Self.latest.millisecondsSince1970)
  }

  /// Creates a timestamp from a system time, clamped to the dates that a store accepts.
  package init(seconds: Int64, nanoseconds: Int64) {
    let (milliseconds, overflow) = seconds.multipliedReportingOverflow(by: 1000)
    guard !overflow else {
      self = seconds < 0 ? .earliest : .latest
      return
    }
    let whole = Timestamp(clampingMilliseconds: milliseconds)
    self.init(clampingMilliseconds: whole.millisecondsSince1970 + nanoseconds / 1_000_000)
  }

  /// A Boolean value that indicates whether a store accepts the date, which must be in the years 0000 to 9999.
  public var isStorable: Bool { self >= Self.earliest && self <= Self.latest }

  public static func < (lhs: Timestamp, rhs: Timestamp) -> Bool {
    lhs.millisecondsSince1970 < rhs.millisecondsSince1970
  }
}

extension Timestamp: Codable {
  /// Decodes an ISO 8601 date, like ``init(iso8601:)``.
  ///
  /// - Throws: `DecodingError` for other values.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    guard let timestamp = Timestamp(iso8601: try container.decode(String.self)) else {
      throw DecodingError.dataCorruptedError(
        in: container, debugDescription: "not an ISO 8601 date in the years 0000 to 9999")
    }
    self = timestamp
  }

  /// Encodes the date in ISO 8601 in UTC with milliseconds.
  ///
  /// - Throws: The encoder's errors.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(description)
  }
}
