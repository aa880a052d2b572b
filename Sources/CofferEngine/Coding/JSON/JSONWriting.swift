internal import CofferDocuments
internal import CofferFoundation

// Writes values as JSON with sorted members, with the same bytes as `JSONEncoder` with `sortedKeys` and
// `withoutEscapingSlashes`. It's several times as fast, because it writes to one buffer and doesn't create a value for
// each part.
//
// Does: encodes any `Encodable` type with the strategies of a `JSONEncoder`.
// Knows: JSONComposer, which writes and sorts. Whatever it can't do in one pass is left to `JSONEncoder`, which encodes
//        the value again: errors, key strategies, members written twice, and containers used after they have ended.
// Doesn't know: documents and their errors.

/// The strategies of a `JSONEncoder`, read once.
struct JSONWriting: Sendable {
  let dates: JSONEncoder.DateEncodingStrategy
  let data: JSONEncoder.DataEncodingStrategy
  let floats: JSONEncoder.NonConformingFloatEncodingStrategy
  let userInfo: [CodingUserInfoKey: any Sendable]
  private let foundation: JSONEncoder
  /// Whether only Foundation supports the strategies.
  private let isForeign: Bool

  init(_ encoder: JSONEncoder) {
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    dates = encoder.dateEncodingStrategy
    data = encoder.dataEncodingStrategy
    floats = encoder.nonConformingFloatEncodingStrategy
    userInfo = encoder.userInfo
    foundation = encoder
    isForeign =
      if case .useDefaultKeys = encoder.keyEncodingStrategy { !Self.isPlain(floats) } else { true }
  }

  /// Returns whether the strings for infinite numbers don't need escapes, which Foundation omits in arrays.
  private static func isPlain(_ strategy: JSONEncoder.NonConformingFloatEncodingStrategy) -> Bool {
    guard case .convertToString(let positive, let negative, let nan) = strategy else { return true }
    return (positive + negative + nan).utf8.allSatisfy {
      $0 >= 0x20 && $0 != JSONByte.quote && $0 != JSONByte.backslash
    }
  }

  /// Encodes a value.
  ///
  /// - Parameter requiresJSON: Whether to refuse what isn't JSON: `JSONEncoder` writes NaN for a `Decimal` that isn't a
  ///   number.
  /// - Returns: The JSON, and the title in it.
  /// - Throws: The errors of `JSONEncoder.encode(_:)`, and the errors of the type's own code.
  func encode(_ value: some Encodable, requiringJSON requiresJSON: Bool = false) throws -> (
    text: String, title: String?
  ) {
    if !isForeign, let written = quickText(of: value) { return written }
    let data = try foundation.encode(value)
    guard !requiresJSON || data.withUnsafeBytes({ JSONScanner.isJSON($0) }) else {
      let context = EncodingError.Context(codingPath: [], debugDescription: "the result isn't JSON")
      throw EncodingError.invalidValue(value, context)
    }
    return (String(decoding: data, as: UTF8.self), data.withUnsafeBytes { TitleRule.titleInJSON($0) })
  }

  /// Returns the JSON of a value and the title in it, or `nil` if it can't be written in one pass.
  private func quickText(of value: some Encodable) -> (text: String, title: String?)? {
    let output = JSONOutput(self)
    do {
      try JSONValueEncoder(output).writeWhole(value)
      return output.composer.finish()
    } catch {
      return nil
    }
  }
}

/// The text to write, and its strategies.
final class JSONOutput {
  // One thread writes a text, and calls of the composer don't lead to other calls.
  @exclusivity(unchecked) var composer = JSONComposer()
  let writing: JSONWriting

  init(_ writing: JSONWriting) {
    self.writing = writing
  }
}

/// The end of an attempt to write a value in one pass.
struct JSONUnfit: Error {}
