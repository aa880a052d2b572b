/// The value of an attribute.
public enum AttributeValue: Hashable, Sendable {
  /// A JSON null, which differs from a missing attribute.
  case null
  /// A Boolean value.
  case bool(Bool)
  /// A number, which is a double because JSON numbers are compared as doubles. Integers are exact up to 2^53.
  case number(Double)
  /// A string.
  case string(String)
  /// An array. Its elements can have different types.
  case array([AttributeValue])
  /// An object, as its members by name.
  case object([String: AttributeValue])
  /// A literal that JSON can't represent exactly, with the reason. Writing it throws an error.
  case unrepresentable(String)
}

// MARK: - Content by type

extension AttributeValue {
  /// The string, or `nil` if the value has another type.
  public var string: String? { if case .string(let text) = self { text } else { nil } }
  /// The number, or `nil` if the value has another type.
  public var number: Double? { if case .number(let value) = self { value } else { nil } }
  /// The number as an integer, or `nil` if the value isn't an integer that `Int` can hold.
  public var integer: Int? { number.flatMap { Int(exactly: $0) } }
  /// The Boolean value, or `nil` if the value has another type.
  public var bool: Bool? { if case .bool(let value) = self { value } else { nil } }
  /// The elements, or `nil` if the value has another type.
  public var array: [AttributeValue]? { if case .array(let elements) = self { elements } else { nil } }
  /// The members by name, or `nil` if the value has another type.
  public var object: [String: AttributeValue]? { if case .object(let members) = self { members } else { nil } }
  /// The date of a string in ISO 8601, or `nil` if the value isn't such a string.
  public var timestamp: Timestamp? { string.flatMap { Timestamp(iso8601: $0) } }

  /// Creates a string that ``timestamp`` reads, in ISO 8601 in UTC with milliseconds.
  public init(_ timestamp: Timestamp) {
    self = .string(timestamp.description)
  }
}

// MARK: - Literals

extension AttributeValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
  ExpressibleByBooleanLiteral, ExpressibleByNilLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
  public init(stringLiteral value: String) { self = .string(value) }
  public init(integerLiteral value: Int) {
    self =
      Double(exactly: value).map(AttributeValue.number)
      ?? .unrepresentable("an integer that a double can't hold exactly: write it as a string")
  }
  public init(floatLiteral value: Double) { self = .number(value) }
  public init(booleanLiteral value: Bool) { self = .bool(value) }
  public init(nilLiteral: ()) { self = .null }
  public init(arrayLiteral elements: AttributeValue...) { self = .array(elements) }
  public init(dictionaryLiteral elements: (String, AttributeValue)...) {
    let members = Dictionary(elements) { first, _ in first }
    self = members.count == elements.count ? .object(members) : .unrepresentable("an object with one name twice")
  }
}

// MARK: - As JSON

extension AttributeValue {
  init(_ node: JSONNode) {
    switch node {
    case .null: self = .null
    case .bool(let value): self = .bool(value)
    case .number(let value): self = .number(value)
    case .string(let bytes): self = .string(String(decoding: bytes, as: UTF8.self))
    case .array(let elements): self = .array(elements.map(AttributeValue.init))
    case .object(let members): self = .object(Self.members(of: members))
    }
  }

  /// Returns the members as a dictionary, with the first member of each name. Names that only differ in accent
  /// composition are equal strings.
  static func members(of members: [JSONNode.Member]) -> [String: AttributeValue] {
    Dictionary(members.map { (String(decoding: $0.name, as: UTF8.self), AttributeValue($0.value)) }) { first, _ in
      first
    }
  }

  /// Appends the value in the form of RFC 8785.
  ///
  /// - Parameter depth: The number of arrays and objects around the value.
  func appendCanonical(to output: inout [UInt8], depth: Int) throws(JSONError) {
    switch self {
    case .null: output += "null".utf8
    case .bool(let value): output += (value ? "true" : "false").utf8
    case .number(let value):
      guard value.isFinite else { throw JSONError(.inexactNumber, at: 0, "a number that is not finite") }
      JSONWriter.appendNumber(value, to: &output)
    case .string(let text): JSONWriter.appendString(text, to: &output)
    case .array(let elements):
      try Self.requireLevel(inside: depth)
      output.append(JSONByte.openBracket)
      for (index, element) in elements.enumerated() {
        if index > 0 { output.append(JSONByte.comma) }
        try element.appendCanonical(to: &output, depth: depth + 1)
      }
      output.append(JSONByte.closeBracket)
    case .object(let members):
      try Self.appendCanonical(members.map { ($0.key, $0.value) }, to: &output, depth: depth)
    case .unrepresentable(let reason): throw JSONError(.inexactNumber, at: 0, reason)
    }
  }

  /// Appends an object with the members, which can be in any order.
  ///
  /// - Throws: `duplicateName`, and the errors of ``appendCanonical(to:depth:)``.
  static func appendCanonical(
    _ members: [(String, AttributeValue)], to output: inout [UInt8], depth: Int
  ) throws(JSONError) {
    try requireLevel(inside: depth)
    var members = members
    func isInOrder(_ one: Int, _ other: Int) -> Bool {
      JSONOrder.precedes(members[one].0.utf8, members[other].0.utf8)
    }
    if !members.indices.dropFirst().allSatisfy({ isInOrder($0 - 1, $0) }) {
      members.sort { JSONOrder.precedes($0.0.utf8, $1.0.utf8) }
      guard members.indices.dropFirst().allSatisfy({ isInOrder($0 - 1, $0) }) else {
        throw JSONError(.duplicateName, at: 0, "an attribute name twice")
      }
    }
    output.append(JSONByte.openBrace)
    for (index, (name, value)) in members.enumerated() {
      if index > 0 { output.append(JSONByte.comma) }
      JSONWriter.appendString(name, to: &output)
      output.append(JSONByte.colon)
      try value.appendCanonical(to: &output, depth: depth + 1)
    }
    output.append(JSONByte.closeBrace)
  }

  /// Requires that another array or object, which may be empty, can be nested in `depth` arrays and objects.
  private static func requireLevel(inside depth: Int) throws(JSONError) {
    guard depth < JSONScanner.maximumDepth else {
      throw JSONError(.tooDeep, at: 0, "more than \(JSONScanner.maximumDepth) arrays and objects inside each other")
    }
  }
}
