internal import CofferRecords
internal import FoundationEssentials

/// Codable values as the texts of documents: JSON with its members sorted by name and no spaces, the same bytes for the
/// same value.
///
/// Dates and data are written as `JSONEncoder` does by default: a date as its seconds since 2001, which lose nothing;
/// data as base64.
enum CodableValues {
  private static let encoder: JSONEncoder = {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return encoder
  }()
  private static let decoder = JSONDecoder()

  /// - Throws: `notEncodable`.
  static func text(of value: some Encodable) throws(StoreError) -> String {
    do {
      return String(decoding: try encoder.encode(value), as: UTF8.self)
    } catch {
      throw StoreError(.notEncodable, "a \(type(of: value)) can't be written as JSON: \(reason(error))")
    }
  }

  /// - Throws: `notDecodable`.
  static func value<Value: Decodable>(_ type: Value.Type, _ opened: OpenedDocument) throws(StoreError) -> Value {
    do {
      return try decoder.decode(type, from: Data(opened.utf8))
    } catch {
      let id = opened.header.id
      throw StoreError(
        .notDecodable, "document \(id) is no \(type): \(reason(error))",
        hint: opened.header.isJSON ? "it was stored as another type" : "its text was not stored as a value",
        documentID: id)
    }
  }

  /// The reason, without any content of the document: names of members are the type's, at the places where it asks for
  /// them.
  private static func reason(_ error: any Error) -> String {
    switch error {
    case DecodingError.keyNotFound(let key, _): "it has no \(key.stringValue)"
    case DecodingError.valueNotFound(let type, _): "a value of type \(type) is null"
    case DecodingError.typeMismatch(let type, _): "a value is no \(type)"
    case DecodingError.dataCorrupted: "its text or a value in it is malformed"
    case is EncodingError: "a value has no place in JSON"
    default: "the type refused it"
    }
  }
}
