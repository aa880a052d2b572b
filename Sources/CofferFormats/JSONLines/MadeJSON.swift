internal import CofferDocuments

/// JSON made from what other formats hold and JSON has no word for (see the command's page, "What becomes a document").
enum MadeJSON {
  /// `{"$base64":"…"}`
  static func append(bytes: UnsafeRawBufferPointer, to output: inout [UInt8]) {
    output += #"{"$base64":""#.utf8
    Base64.append(encoding: bytes, to: &output)
    output += #""}"#.utf8
  }

  /// Exact; where numbers are doubles (RFC 8785), an integer that none is equal to becomes a string.
  static func append(integer: Int64, isCanonical: Bool = false, to output: inout [UInt8]) {
    let isString = isCanonical && integer.magnitude > 1 << 53
    if isString { output.append(JSONByte.quote) }
    JSONWriter.appendInteger(integer, to: &output)
    if isString { output.append(JSONByte.quote) }
  }

  /// The shortest digits that read back as the same number, with a point or an exponent, so that it stays a real; by
  /// RFC 8785 without. `{"$real":"inf"}`, `-inf` or `nan` where it is not finite.
  static func append(real: Double, isCanonical: Bool = false, to output: inout [UInt8]) {
    guard real.isFinite else {
      let name = real.isNaN ? "nan" : real < 0 ? "-inf" : "inf"
      output += #"{"$real":"\#(name)"}"#.utf8
      return
    }
    if isCanonical {
      JSONWriter.appendNumber(real, to: &output)
    } else {
      output += real.description.utf8
    }
  }
}
