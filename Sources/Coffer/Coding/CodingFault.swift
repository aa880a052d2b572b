internal import CofferDocuments

/// The reason for which a value can't be coded, in words: the path of the member, the type wanted and the kind found.
///
/// No content of a document is in it. Names of members are those that the type declares; a key of a dictionary, which
/// is content, is written as `[…]`.
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
      // Foundation gives no path for a number that its type can't hold.
      guard !context.codingPath.isEmpty else { return "it has a value that its type can't hold" }
      return "\(place(context.codingPath)), \(kind(at: context.codingPath, in: json)), is not one that its type takes"
    case EncodingError.invalidValue(let value, let context):
      return "\(place(context.codingPath)), of the type \(type(of: value)), has no form in JSON"
    default:
      return "its code threw \(type(of: error))"
    }
  }

  private static func place(_ path: [any CodingKey]) -> String {
    var text = ""
    for key in path {
      let name = name(key)
      text += text.isEmpty || name.hasPrefix("[") ? name : ".\(name)"
    }
    return text.isEmpty ? "the value" : text
  }

  private static func name(_ key: any CodingKey) -> String {
    if let index = key.intValue { return "[\(index)]" }
    // Declared keys are cases of an enumeration; those of a dictionary are data.
    return Mirror(reflecting: key).displayStyle == .enum ? key.stringValue : "[…]"
  }

  private static func kind(at path: [any CodingKey], in json: UnsafeRawBufferPointer?) -> String {
    let steps = path.map { key in
      key.intValue.map(JSONPath.Step.element) ?? .member(Array(key.stringValue.utf8))
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
