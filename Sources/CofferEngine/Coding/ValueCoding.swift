package import CofferDocuments
public import CofferFoundation

/// The strategies for encoding values as JSON and decoding them.
///
/// ```swift
/// options.values = ValueCoding(
///   encoder: { $0.dateEncodingStrategy = .iso8601 }, decoder: { $0.dateDecodingStrategy = .iso8601 })
/// ```
///
/// The default strategies store dates as seconds since 2001, without losing precision, and data as base64. Changing the
/// strategies doesn't convert stored values, so each program must use the strategies that the store was written with.
public struct ValueCoding: Sendable {
  let writing: JSONWriting
  let reading: JSONReading

  /// Creates strategies by configuring an encoder and a decoder.
  ///
  /// - Parameters:
  ///   - setEncoder: Sets the encoder's strategies. The output format can't be changed, because equal values must have
  ///     equal bytes. Members are sorted by name, without spaces. Only sets, and dictionaries whose keys aren't strings
  ///     or integers, are written in any order.
  ///   - setDecoder: Sets the decoder's strategies, which must match the encoder's.
  public init(
    encoder setEncoder: (JSONEncoder) -> Void = { _ in }, decoder setDecoder: (JSONDecoder) -> Void = { _ in }
  ) {
    let encoder = JSONEncoder()
    setEncoder(encoder)
    writing = JSONWriting(encoder)
    let decoder = JSONDecoder()
    setDecoder(decoder)
    reading = JSONReading(decoder)
  }

  /// How the encoder writes dates, or `nil` if it writes them as ISO 8601.
  package var dates: StoredDates? {
    // Use whole seconds, because a strategy can omit milliseconds.
    let samples = [0, 730_000_001].map { Date(timeIntervalSinceReferenceDate: $0) }
    let written = samples.map { (try? writing.encode([$0]).text)?.dropFirst().dropLast() ?? "" }
    func areRead(by read: (Substring) -> Timestamp?) -> Bool {
      zip(samples, written).allSatisfy { Timestamp($0) == read($1) }
    }
    if areRead(by: { Timestamp(iso8601: String($0.dropFirst().dropLast())) }) { return nil }
    return StoredDates.allCases.first { dates in areRead { Double($0).flatMap(dates.timestamp) } } ?? .own
  }
}

/// How stored values contain dates. The raw value is the name in the declaration of an index.
package enum StoredDates: String, Sendable, Codable, CaseIterable {
  case secondsSince2001 = "2001"
  case secondsSince1970 = "unix"
  case millisecondsSince1970 = "unix-ms"
  /// A form that only the store's own coder can read.
  case own

  /// Returns the date of a number, rounded to milliseconds, or `nil` for an own form or outside the years 0 to 9999.
  package func timestamp(_ number: Double) -> Timestamp? {
    let milliseconds =
      switch self {
      case .secondsSince2001: (number + 978_307_200) * 1000
      case .secondsSince1970: number * 1000
      case .millisecondsSince1970: number
      case .own: Double.nan
      }
    return Int64(exactly: milliseconds.rounded()).map { Timestamp(millisecondsSince1970: $0) }
      .flatMap { $0.isStorable ? $0 : nil }
  }
}
