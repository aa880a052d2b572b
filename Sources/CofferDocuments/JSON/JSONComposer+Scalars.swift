// Values without a container. The caller has already begun their slots.
extension JSONComposer {
  package mutating func append(_ string: String) { JSONWriter.appendString(string, to: &bytes) }

  package mutating func append(_ integer: Int64) { JSONWriter.appendInteger(integer, to: &bytes) }

  package mutating func append(_ bool: Bool) { append(literal: bool ? "true" : "false") }

  package mutating func appendNull() { append(literal: "null") }

  /// Appends unchanged text, such as a number's digits.
  package mutating func append(literal: String) {
    var literal = literal
    literal.withUTF8 { bytes.append(contentsOf: $0) }
  }

  package mutating func append(base64 data: UnsafeRawBufferPointer) {
    bytes.append(JSONByte.quote)
    Base64.append(encoding: data, to: &bytes)
    bytes.append(JSONByte.quote)
  }

  /// Appends the shortest digits that read back as the same number, as Swift prints them, but an integer without `.0`.
  package mutating func append(real: Double) {
    // Swift prints these numbers without an exponent. Zero has a sign.
    if real.magnitude < 0x1p53, real == real.rounded(.towardZero), real != 0 || real.sign == .plus {
      append(Int64(real))
    } else {
      append(realDescription: real.description)
    }
  }

  package mutating func append(real: Float) { append(realDescription: real.description) }

  private mutating func append(realDescription text: String) {
    append(literal: text.hasSuffix(".0") ? String(text.dropLast(2)) : text)
  }

  /// Appends an array of strings.
  package mutating func append(_ strings: [String]) {
    bytes.append(JSONByte.openBracket)
    for (index, string) in strings.enumerated() {
      if index > 0 { bytes.append(JSONByte.comma) }
      append(string)
    }
    bytes.append(JSONByte.closeBracket)
  }

  package mutating func append(_ integers: [Int]) {
    bytes.append(JSONByte.openBracket)
    for (index, integer) in integers.enumerated() {
      if index > 0 { bytes.append(JSONByte.comma) }
      append(Int64(integer))
    }
    bytes.append(JSONByte.closeBracket)
  }

  /// Appends finite numbers.
  package mutating func append(reals: [Double]) {
    bytes.append(JSONByte.openBracket)
    for (index, real) in reals.enumerated() {
      if index > 0 { bytes.append(JSONByte.comma) }
      append(real: real)
    }
    bytes.append(JSONByte.closeBracket)
  }
}
