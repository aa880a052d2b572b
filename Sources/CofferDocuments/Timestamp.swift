/// A point in time in milliseconds since 1970-01-01T00:00:00Z, as stored: exact, without a time zone.
///
/// A store takes dates from ``earliest`` to ``latest``, the years 0000 to 9999, which every form of a date can express.
public struct Timestamp: Hashable, Comparable, Sendable {
  /// The earliest date that a store takes: 0000-01-01T00:00:00.000Z.
  public static let earliest = Timestamp(millisecondsSince1970: -62_167_219_200_000)
  /// The latest date that a store takes: 9999-12-31T23:59:59.999Z.
  public static let latest = Timestamp(millisecondsSince1970: 253_402_300_799_999)

  /// Milliseconds since 1970-01-01T00:00:00Z, without leap seconds; negative before.
  public var millisecondsSince1970: Int64

  /// The moment that many milliseconds after 1970-01-01T00:00:00Z.
  public init(millisecondsSince1970: Int64) {
    self.millisecondsSince1970 = millisecondsSince1970
  }

  /// The moment that many milliseconds after 1970-01-01T00:00:00Z, or the nearest one that a store takes.
  package init(clampingMilliseconds milliseconds: Int64) {
    millisecondsSince1970 = min(
      max(milliseconds, Self.earliest.millisecondsSince1970), Self.latest.millisecondsSince1970)
  }

  /// A time of the system, or the nearest one that a store takes.
  package init(seconds: Int64, nanoseconds: Int64) {
    let (milliseconds, overflow) = seconds.multipliedReportingOverflow(by: 1000)
    guard !overflow else {
      self = seconds < 0 ? .earliest : .latest
      return
    }
    let whole = Timestamp(clampingMilliseconds: milliseconds)
    self.init(clampingMilliseconds: whole.millisecondsSince1970 + nanoseconds / 1_000_000)
  }

  /// A Boolean value that indicates whether a store takes the date: whether it's in the years 0000 to 9999.
  public var isStorable: Bool { self >= Self.earliest && self <= Self.latest }

  public static func < (lhs: Timestamp, rhs: Timestamp) -> Bool {
    lhs.millisecondsSince1970 < rhs.millisecondsSince1970
  }
}

extension Timestamp: Codable {
  /// Reads ISO 8601, as ``init(iso8601:)`` does.
  ///
  /// - Throws: `DecodingError` for anything else.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    guard let timestamp = Timestamp(iso8601: try container.decode(String.self)) else {
      throw DecodingError.dataCorruptedError(
        in: container, debugDescription: "not an ISO 8601 date in the years 0000 to 9999")
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
