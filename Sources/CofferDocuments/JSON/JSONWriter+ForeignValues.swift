// Values of other formats without a JSON type (see the command's page, "Documents of an input").
extension JSONWriter {
  /// Appends `{"$base64":"…"}`.
  package static func append(base64 bytes: UnsafeRawBufferPointer, to output: inout [UInt8]) {
    output += #"{"$base64":""#.utf8
    Base64.append(encoding: bytes, to: &output)
    output += #""}"#.utf8
  }

  /// Appends 16 bytes as a UUID, as `JSONEncoder` writes one: `"E621E1F8-C36C-495A-93FC-0C247A3E6E5F"`.
  package static func append(uuid bytes: UnsafeRawBufferPointer, to output: inout [UInt8]) {
    output.append(JSONByte.quote)
    for (index, byte) in bytes.enumerated() {
      if [4, 6, 8, 10].contains(index) { output.append(UInt8(ascii: "-")) }
      for nibble in [byte >> 4, byte & 0xF] { output.append(nibble < 10 ? 0x30 + nibble : 0x37 + nibble) }
    }
    output.append(JSONByte.quote)
  }

  /// Appends an exact integer. In canonical JSON, where numbers are doubles (RFC 8785), an integer that a double can't
  /// represent becomes a string.
  package static func append(exact integer: Int64, isCanonical: Bool = false, to output: inout [UInt8]) {
    let isString = isCanonical && integer.magnitude > 1 << 53
    if isString { output.append(JSONByte.quote) }
    appendInteger(integer, to: &output)
    if isString { output.append(JSONByte.quote) }
  }

  /// Appends the shortest digits that read back as the same number. Except in canonical JSON, a point or an exponent
  /// marks it as a real. If the number isn't finite, appends `{"$real":"inf"}`, with `-inf` or `nan` accordingly.
  package static func append(real: Double, isCanonical: Bool = false, to output: inout [UInt8]) {
    guard real.isFinite else {
      let name = real.isNaN ? "nan" : real < 0 ? "-inf" : "inf"
      output += #"{"$real":"\#(name)"}"#.utf8
      return
    }
    if isCanonical {
      appendNumber(real, to: &output)
    } else {
      output += real.description.utf8
    }
  }
}
