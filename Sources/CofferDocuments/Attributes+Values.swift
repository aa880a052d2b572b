/// The value of an attribute.
public enum AttributeValue: Hashable, Sendable {
  case null
  case bool(Bool)
  case number(Double)
  case string(String)
  case array([AttributeValue])
  case object([String: AttributeValue])
}

extension Attributes {
  /// Attributes by name.
  ///
  /// - Throws: `inexactNumber` for a number that is not finite, `tooDeep` beyond 512 levels.
  public init(_ members: [String: AttributeValue]) throws(JSONError) {
    guard !members.isEmpty else {
      self.init()
      return
    }
    var output: [UInt8] = []
    try AttributeValue.object(members).node(depth: 0).appendCanonical(to: &output)
    self.init(uncheckedCanonicalJSON: output)
  }

  /// The value of that name, or nil; each call parses the JSON again.
  public subscript(name: String) -> AttributeValue? {
    let wanted = Array(name.utf8)
    return nodes.first { $0.name == wanted }.map { AttributeValue($0.value) }
  }

  /// Every attribute by name.
  public var members: [String: AttributeValue] {
    AttributeValue.members(of: nodes)
  }

  private var nodes: [JSONNode.Member] {
    canonicalJSON.withUnsafeBytes { buffer in
      var scanner = JSONScanner(buffer)
      guard !buffer.isEmpty, case .object(let members) = try? scanner.scanNode() else { return [] }
      return members
    }
  }
}

extension Attributes: ExpressibleByDictionaryLiteral {
  public init(dictionaryLiteral elements: (String, AttributeValue)...) {
    do throws(JSONError) {
      try self.init(Dictionary(uniqueKeysWithValues: elements))
    } catch {
      preconditionFailure("these are no attributes: \(error.reason)")
    }
  }
}

extension Attributes: CustomStringConvertible {
  /// The canonical JSON.
  public var description: String {
    isEmpty ? "{}" : String(decoding: canonicalJSON, as: UTF8.self)
  }
}

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

  /// A dictionary takes names that differ only in how accents are composed for one: the first is kept.
  fileprivate static func members(of members: [JSONNode.Member]) -> [String: AttributeValue] {
    Dictionary(members.map { (String(decoding: $0.name, as: UTF8.self), AttributeValue($0.value)) }) { first, _ in
      first
    }
  }

  fileprivate func node(depth: Int) throws(JSONError) -> JSONNode {
    if depth > JSONScanner.maximumDepth {
      throw JSONError(.tooDeep, at: 0, "more than \(JSONScanner.maximumDepth) arrays and objects inside each other")
    }
    switch self {
    case .null: return .null
    case .bool(let value): return .bool(value)
    case .number(let value):
      guard value.isFinite else { throw JSONError(.inexactNumber, at: 0, "JSON has no such number") }
      return .number(value)
    case .string(let text): return .string(Array(text.utf8))
    case .array(let elements):
      var nodes: [JSONNode] = []
      for element in elements { nodes.append(try element.node(depth: depth + 1)) }
      return .array(nodes)
    case .object(let members):
      var nodes: [JSONNode.Member] = []
      for (name, value) in members {
        nodes.append(JSONNode.Member(name: Array(name.utf8), value: try value.node(depth: depth + 1)))
      }
      return .object(nodes.sorted { JSONOrder.precedes($0.name, $1.name) })
    }
  }
}

extension AttributeValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
  ExpressibleByBooleanLiteral, ExpressibleByNilLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
  public init(stringLiteral value: String) { self = .string(value) }
  public init(integerLiteral value: Int) {
    guard let number = Double(exactly: value) else {
      preconditionFailure("an integer that a double cannot hold exactly; write it as a string")
    }
    self = .number(number)
  }
  public init(floatLiteral value: Double) { self = .number(value) }
  public init(booleanLiteral value: Bool) { self = .bool(value) }
  public init(nilLiteral: ()) { self = .null }
  public init(arrayLiteral elements: AttributeValue...) { self = .array(elements) }
  public init(dictionaryLiteral elements: (String, AttributeValue)...) {
    self = .object(Dictionary(uniqueKeysWithValues: elements))
  }
}
