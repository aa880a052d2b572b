public import FoundationEssentials

/// The strategies by which values become JSON, and JSON values.
///
/// ```swift
/// options.values = ValueCoding(
///   encoder: { $0.dateEncodingStrategy = .iso8601 }, decoder: { $0.dateDecodingStrategy = .iso8601 })
/// ```
///
/// The default strategies store a date as its seconds since 2001, which lose nothing, and data as base64. Values that
/// were stored under other strategies don't change: every program that reads a store needs those that it was written
/// with.
public struct ValueCoding: Sendable {
  let encoder: JSONEncoder
  let decoder: JSONDecoder

  /// Strategies that the closures set.
  ///
  /// - Parameters:
  ///   - setEncoder: sets strategies of the encoder. Its output format is the store's: members sorted by name, no
  ///     spaces, so that the same value has the same bytes.
  ///   - setDecoder: sets the decoder's strategies, which must fit.
  public init(
    encoder setEncoder: (JSONEncoder) -> Void = { _ in }, decoder setDecoder: (JSONDecoder) -> Void = { _ in }
  ) {
    encoder = JSONEncoder()
    setEncoder(encoder)
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    decoder = JSONDecoder()
    setDecoder(decoder)
  }
}
