// The canonical form of RFC 8785, in which a value has one text only.
extension JSONScanner {
  /// Parses the next object and appends it in canonical form, unless it's empty.
  ///
  /// - Parameter keepsDigits: Makes a string of a number whose digits the canonical form changes, instead of throwing.
  /// - Throws: `notAnObject`, and the errors of ``scanNode(depth:keepsDigits:)``.
  package mutating func appendCanonicalObject(
    to output: inout [UInt8], keepsDigits: Bool = false
  ) throws(JSONError) {
    guard next == JSONByte.openBrace else {
      throw JSONError(.notAnObject, at: position, "attributes are a JSON object")
    }
    // Most input is canonical already, and checking that costs a fraction of parsing it into nodes.
    var look = self
    if look.skipPlainCanonical(depth: 0) {
      let source = UnsafeRawBufferPointer(start: base + position, count: look.position - position)
      if source.count > 2 { output.append(contentsOf: source) }
      self = look
      return
    }
    let node = try scanNode(keepsDigits: keepsDigits)
    if case .object(let members) = node, members.isEmpty { return }
    node.appendCanonical(to: &output)
  }

  /// Steps over the object that begins here, if it is in canonical form and not empty.
  package mutating func takeCanonicalObject() -> Bool {
    guard next == JSONByte.openBrace else { return false }
    let start = position
    var look = self
    if look.skipPlainCanonical(depth: 0) {
      self = look
      return position - start > 2
    }
    guard let node = try? scanNode(), case .object(let members) = node, !members.isEmpty else { return false }
    var canonical: [UInt8] = []
    node.appendCanonical(to: &canonical)
    return bytes(in: start..<position).elementsEqual(canonical)
  }

  /// Skips a value that's certainly canonical, with sorted names and short integers, and without white space and
  /// escapes.
  ///
  /// - Returns: `false`, at an undefined position, if this can't be decided without parsing.
  private mutating func skipPlainCanonical(depth: Int) -> Bool {
    guard depth < Self.maximumDepth else { return false }
    switch next {
    case JSONByte.quote:
      return plainString() != nil
    case JSONByte.openBrace:
      return skipPlainObject(depth: depth)
    case JSONByte.openBracket:
      advance(to: position + 1)
      if take(JSONByte.closeBracket) { return true }
      while skipPlainCanonical(depth: depth + 1) {
        if take(JSONByte.closeBracket) { return true }
        guard take(JSONByte.comma) else { return false }
      }
      return false
    case (0x30...0x39)?:
      guard let token = try? scanNumber() else { return false }
      return token.isInteger && token.range.count <= 15
    case UInt8(ascii: "t"), UInt8(ascii: "f"), UInt8(ascii: "n"):
      return (try? skipValue()) != nil
    default:
      return false
    }
  }

  private mutating func skipPlainObject(depth: Int) -> Bool {
    advance(to: position + 1)
    if take(JSONByte.closeBrace) { return true }
    var last: Range<Int>?
    while let name = plainString() {
      if let last {
        let isInOrder = JSONOrder.precedes(bytes(in: last), bytes(in: name))
        guard isInOrder else { return false }
      }
      last = name
      guard take(JSONByte.colon), skipPlainCanonical(depth: depth + 1) else { return false }
      if take(JSONByte.closeBrace) { return true }
      guard take(JSONByte.comma) else { return false }
    }
    return false
  }

  private mutating func plainString() -> Range<Int>? {
    guard let token = try? scanString(), !token.hasEscapes else { return nil }
    return token.range
  }

  private func bytes(in range: Range<Int>) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: base + range.lowerBound, count: range.count)
  }
}
