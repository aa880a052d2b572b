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

  /// The meaning of numbers that the encoder writes for dates, or `nil` if it writes dates in another form.
  package var dateNumbers: DateNumbers? {
    let start = Date(timeIntervalSinceReferenceDate: 0)
    guard let text = try? writing.encode([start]).text, let number = Double(text.dropFirst().dropLast()) else {
      return nil
    }
    return DateNumbers.allCases.first { $0.timestamp(number) == Timestamp(start) }
  }
}

/// The meaning of a number that represents a date. The raw value is the name in the declaration of an index.
package enum DateNumbers: String, Sendable, Codable, CaseIterable {
  case secondsSince2001 = "2001"
  case secondsSince1970 = "unix"
  case millisecondsSince1970 = "unix-ms"

  /// Returns the number of a date.
  package func number(_ date: Date) -> Double {
    switch self {
    case .secondsSince2001: date.timeIntervalSinceReferenceDate
    case .secondsSince1970: date.timeIntervalSince1970
    case .millisecondsSince1970: date.timeIntervalSince1970 * 1000
    }
  }

  /// Returns the date, rounded to milliseconds, or `nil` outside the years 0 to 9999.
  package func timestamp(_ number: Double) -> Timestamp? {
    let milliseconds =
      switch self {
      case .secondsSince2001: (number + 978_307_200) * 1000
      case .secondsSince1970: number * 1000
      case .millisecondsSince1970: number
      }
    return Int64(exactly: milliseconds.rounded()).map { Timestamp(millisecondsSince1970: $0) }
      .flatMap { (Timestamp.earliest...Timestamp.latest).contains($0) ? $0 : nil }
  }
}
