internal import CofferDocuments

/// A description of why coding a value failed, with the member's path, the expected type and the actual kind.
///
/// The description doesn't reveal document content. It includes member names declared by the type, but replaces
/// dictionary keys with `[…]`, because they're content.
enum CodingFault {
  static func reason(_ error: any Error, in json: UnsafeRawBufferPointer? = nil) -> String {
    switch error {
    case DecodingError.keyNotFound(let key, let context):
      return "\(place(context.codingPath)) has no member \(name(key))"
    case DecodingError.valueNotFound(let type, let context):
      return "\(place(context.codingPath)) is null; its type is \(type)"
    case DecodingError.typeMismatch(let type, let context):
      return "\(place(context.codingPath)) is \(kind(at: context.codingPath, in: json)); its type is \(type)"
    case DecodingError.dataCorrupted(let context):
      let isJSON = json.map { JSONPath(steps: []).find(in: $0) != nil } ?? true
      guard isJSON else { return "the text is not JSON" }
      // Foundation doesn't report a path for a number that its type can't represent.
      guard !context.codingPath.isEmpty else { return "it has a value that its type can't hold" }
      return "\(place(context.codingPath)), \(kind(at: context.codingPath, in: json)), is not one that its type takes"
    case EncodingError.invalidValue(let value, let context):
      return "\(place(context.codingPath)), of the type \(type(of: value)), has no form in JSON"
    default:
      return "its code threw \(type(of: error))"
    }
  }

  static func place(_ path: [any CodingKey]) -> String {
    var text = ""
    for key in path {
      let name = name(key)
      text += text.isEmpty || name.hasPrefix("[") ? name : ".\(name)"
    }
    return text.isEmpty ? "the value" : text
  }

  private static func name(_ key: any CodingKey) -> String {
    if let index = index(key) { return "[\(index)]" }
    // Declared keys are plain enumeration cases. Dictionary keys are data, which other keys contain, also as a case's
    // value.
    let mirror = Mirror(reflecting: key)
    return mirror.displayStyle == .enum && mirror.children.isEmpty ? key.stringValue : "[…]"
  }

  /// Returns the index in an array, or `nil` for a dictionary key that's a number.
  private static func index(_ key: any CodingKey) -> Int? {
    key.intValue.flatMap { key.stringValue == "Index \($0)" ? $0 : nil }
  }

  private static func kind(at path: [any CodingKey], in json: UnsafeRawBufferPointer?) -> String {
    let steps = path.map { key in
      index(key).map(JSONPath.Step.element) ?? .member(Array(key.stringValue.utf8))
    }
    switch json.flatMap({ JSONPath(steps: steps).find(in: $0) })?.kind {
    case .null: return "null"
    case .bool: return "a boolean"
    case .number: return "a number"
    case .string: return "a string"
    case .array: return "an array"
    case .object: return "an object"
    case nil: return "something else"
    }
  }
}
