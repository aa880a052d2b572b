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
  let encoder: JSONEncoder
  let decoder: JSONDecoder

  /// Creates strategies by configuring an encoder and a decoder.
  ///
  /// - Parameters:
  ///   - setEncoder: Sets the encoder's strategies. The output format can't be changed, because equal values must have
  ///     equal bytes. Members are sorted by name, without spaces.
  ///   - setDecoder: Sets the decoder's strategies, which must match the encoder's.
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
