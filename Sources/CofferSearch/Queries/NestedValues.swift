internal import CofferEngine
internal import CofferFoundation

/// A decoder for row members that are JSON in a text column, such as `json -> '$.tags'`.
enum NestedValues {
  /// Decodes JSON with `JSONDecoder`'s default settings, because stored values are written with default settings.
  static func decode(_ type: any Decodable.Type, _ json: String) throws -> any Decodable {
    try JSONDecoder().decode(type, from: Data(json.utf8))
  }
}
