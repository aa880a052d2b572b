/// A parsed JSON value, from which the canonical form is written.
///
/// Names and strings are bytes, because names that only differ in accent composition are equal as `String`.
indirect enum JSONNode {
  case null
  case bool(Bool)
  case number(Double)
  case string([UInt8])
  case array([JSONNode])
  case object([Member])

  struct Member {
    let name: [UInt8]
    let value: JSONNode
  }

  /// Appends the value in the form of RFC 8785. Objects must be sorted.
  func appendCanonical(to output: inout [UInt8]) {
    switch self {
    case .null: output += "null".utf8
    case .bool(let value): output += (value ? "true" : "false").utf8
    case .number(let value): JSONWriter.appendNumber(value, to: &output)
    case .string(let bytes): bytes.withUnsafeBytes { JSONWriter.appendString($0, to: &output) }
    case .array(let elements):
      output.append(JSONByte.openBracket)
      for (index, element) in elements.enumerated() {
        if index > 0 { output.append(JSONByte.comma) }
        element.appendCanonical(to: &output)
      }
      output.append(JSONByte.closeBracket)
    case .object(let members):
      output.append(JSONByte.openBrace)
      for (index, member) in members.enumerated() {
        if index > 0 { output.append(JSONByte.comma) }
        member.name.withUnsafeBytes { JSONWriter.appendString($0, to: &output) }
        output.append(JSONByte.colon)
        member.value.appendCanonical(to: &output)
      }
      output.append(JSONByte.closeBrace)
    }
  }
}

extension JSONScanner {
  /// Parses the first member of a name in the object that begins here, as ``scanNode(depth:keepsDigits:)`` does.
  mutating func scanMember(_ wanted: UnsafeRawBufferPointer) throws(JSONError) -> JSONNode? {
    try openObject(depth: 1)
    var isFirst = true
    while let name = try nextName(isFirst: isFirst) {
      if equals(name, wanted) { return try scanNode(depth: 1) }
      try skipValue(depth: 1)
      isFirst = false
    }
    return nil
  }

  /// Parses the next value as I-JSON (RFC 7493), without repeated names and numbers that a double can't represent.
  ///
  /// - Parameter keepsDigits: Makes a string of a number whose digits the canonical form changes, instead of throwing.
  mutating func scanNode(depth: Int = 0, keepsDigits: Bool = false) throws(JSONError) -> JSONNode {
    guard let first = next else { throw malformed("a value is missing") }
    switch first {
    case JSONByte.quote:
      return .string(value(of: try scanString()))
    case JSONByte.openBrace:
      return try scanObjectNode(depth: depth + 1, keepsDigits: keepsDigits)
    case JSONByte.openBracket:
      try openArray(depth: depth + 1)
      var elements: [JSONNode] = []
      while try hasNextElement(isFirst: elements.isEmpty) {
        elements.append(try scanNode(depth: depth + 1, keepsDigits: keepsDigits))
      }
      return .array(elements)
    case 0x2D, 0x30...0x39:
      let token = try scanNumber()
      if let value = exactValue(of: token), !keepsDigits || keepsEveryDigit(of: token, in: value) {
        return .number(value)
      }
      guard keepsDigits else {
        throw JSONError(
          .inexactNumber, at: token.range.lowerBound,
          "a number that a double cannot hold exactly; write it as a string")
      }
      return .string(literal(token))
    default:
      switch try skipValue() {
      case .null: return .null
      default: return .bool(first == UInt8(ascii: "t"))
      }
    }
  }

  private mutating func scanObjectNode(depth: Int, keepsDigits: Bool) throws(JSONError) -> JSONNode {
    let start = position
    try openObject(depth: depth)
    var members: [JSONNode.Member] = []
    while let name = try nextName(isFirst: members.isEmpty) {
      let name = value(of: name)
      members.append(JSONNode.Member(name: name, value: try scanNode(depth: depth, keepsDigits: keepsDigits)))
    }
    members.sort { JSONOrder.precedes($0.name, $1.name) }
    for (member, following) in zip(members, members.dropFirst()) where member.name == following.name {
      throw JSONError(.duplicateName, at: start, "an object with the same name twice")
    }
    return .object(members)
  }

  /// Returns a number as a double, or `nil` for an integer literal whose canonical form differs, and for a number
  /// beyond a double's range.
  private func exactValue(of token: NumberToken) -> Double? {
    if let integer = integer(of: token), let value = Double(exactly: integer) { return value }
    let text = String(decoding: literal(token), as: UTF8.self)
    guard let value = Double(text), value.isFinite, !token.isInteger || isExact(value, text) else { return nil }
    return value
  }

  /// Returns whether the integer equals the double, or its literal is the canonical form, which reads back as the same
  /// double.
  private func isExact(_ value: Double, _ text: String) -> Bool {
    // Beyond 64 bits, 128 bits suffice for 38 digits, and longer plain literals are never exact on purpose.
    if let integer = Int128(text), Double(exactly: integer) != nil { return true }
    return canonical(value).elementsEqual(text.utf8)
  }

  /// Returns whether the canonical form keeps the integer's digits. It doesn't for 2^62, because 4611686018427388000 is
  /// the same double.
  private func keepsEveryDigit(of token: NumberToken, in value: Double) -> Bool {
    !token.isInteger || value.magnitude <= 0x1p53 || canonical(value) == literal(token)
  }

  private func canonical(_ value: Double) -> [UInt8] {
    var digits: [UInt8] = []
    JSONWriter.appendNumber(value, to: &digits)
    return digits
  }

  private func literal(_ token: NumberToken) -> [UInt8] {
    Array(UnsafeRawBufferPointer(start: base + token.range.lowerBound, count: token.range.count))
  }
}
