internal import FoundationEssentials

/// Members of rows that are JSON in a text column, such as `json -> '$.tags'`.
enum NestedValues {
  /// Decodes as `JSONDecoder` does by default, which is how stored values are written.
  static func decode(_ type: any Decodable.Type, _ json: String) throws -> any Decodable {
    try JSONDecoder().decode(type, from: Data(json.utf8))
  }
}
