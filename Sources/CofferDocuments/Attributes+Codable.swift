// In Codable types, attributes are a JSON object, like a dictionary written by `JSONEncoder`.

extension AttributeValue: Codable {
  /// Decoders round integers longer than 64 bits to doubles, and return one value for a repeated name.
  /// ``Attributes/init(json:)`` rejects both.
  ///
  /// - Throws: `DecodingError` for a 64-bit integer that a double can't represent exactly.
  public init(from decoder: any Decoder) throws {
    if let members = try? decoder.container(keyedBy: AttributeName.self) {
      self = .object(try Self.members(of: members))
    } else if var elements = try? decoder.unkeyedContainer() {
      var values: [AttributeValue] = []
      while !elements.isAtEnd { values.append(try elements.decode(AttributeValue.self)) }
      self = .array(values)
    } else {
      self = try Self.scalar(decoder.singleValueContainer())
    }
  }

  /// Encodes the value as JSON.
  ///
  /// - Throws: `EncodingError` for an infinite number, NaN, or an unrepresentable value.
  public func encode(to encoder: any Encoder) throws {
    switch self {
    case .object(let members):
      var container = encoder.container(keyedBy: AttributeName.self)
      for (name, value) in members { try container.encode(value, forKey: AttributeName(stringValue: name)) }
    case .array(let elements):
      var container = encoder.unkeyedContainer()
      for element in elements { try container.encode(element) }
    default:
      var container = encoder.singleValueContainer()
      switch self {
      case .bool(let value): try container.encode(value)
      case .string(let text): try container.encode(text)
      // Encode integers without a fraction, like canonical JSON.
      case .number(let value): try Int64(exactly: value).map { try container.encode($0) } ?? container.encode(value)
      case .unrepresentable(let reason):
        throw EncodingError.invalidValue(self, .init(codingPath: encoder.codingPath, debugDescription: reason))
      default: try container.encodeNil()
      }
    }
  }

  fileprivate static func members(of container: KeyedDecodingContainer<AttributeName>) throws
    -> [String: AttributeValue]
  {
    var members: [String: AttributeValue] = [:]
    for name in container.allKeys {
      members[name.stringValue] = try container.decode(AttributeValue.self, forKey: name)
    }
    return members
  }

  private static func scalar(_ container: any SingleValueDecodingContainer) throws -> AttributeValue {
    if container.decodeNil() { return .null }
    if let value = try? container.decode(Bool.self) { return .bool(value) }
    if let text = try? container.decode(String.self) { return .string(text) }
    let value = try container.decode(Double.self)
    let isRounded =
      if let integer = try? container.decode(Int64.self) {
        Double(exactly: integer) == nil
      } else if let integer = try? container.decode(UInt64.self) {
        Double(exactly: integer) == nil
      } else {
        false
      }
    if isRounded {
      throw DecodingError.dataCorruptedError(
        in: container, debugDescription: "an integer that a double can't hold exactly")
    }
    return .number(value)
  }
}

extension Attributes: Codable {
  /// Decodes an object.
  ///
  /// - Throws: `DecodingError` for other values, and for a 64-bit integer that a double can't represent exactly.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: AttributeName.self)
    do {
      try self.init(try AttributeValue.members(of: container))
    } catch let error as JSONError {
      throw DecodingError.dataCorrupted(.init(codingPath: decoder.codingPath, debugDescription: error.reason))
    }
  }

  /// Encodes the attributes as an object.
  ///
  /// - Throws: `EncodingError` for attributes with a ``fault``.
  public func encode(to encoder: any Encoder) throws {
    if let fault {
      throw EncodingError.invalidValue(self, .init(codingPath: encoder.codingPath, debugDescription: fault.reason))
    }
    var container = encoder.container(keyedBy: AttributeName.self)
    for (name, value) in members { try container.encode(value, forKey: AttributeName(stringValue: name)) }
  }
}

private struct AttributeName: CodingKey {
  let stringValue: String
  var intValue: Int? { nil }

  init(stringValue: String) { self.stringValue = stringValue }
  init?(intValue: Int) { nil }
}
