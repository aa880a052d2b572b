extension StringProtocol {
  /// Returns the text with a replacement for each ASCII character, also for one before a combining mark.
  ///
  /// `replacing(_:with:)` of the standard library compares Characters, and a quotation mark with a combining mark is
  /// another Character, but still ends a quotation.
  package func replacing(ascii character: Unicode.Scalar, with replacement: String) -> String {
    let byte = UInt8(ascii: character)
    var bytes: [UInt8] = []
    for next in utf8 {
      if next == byte { bytes += replacement.utf8 } else { bytes.append(next) }
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
