extension StringProtocol {
  /// Replaces each occurrence of an ASCII character, also before a combining mark.
  ///
  /// The standard library's `replacing(_:with:)` compares Characters. A quotation mark with a combining mark is a
  /// different Character, but still ends a quotation.
  package func replacing(ascii character: Unicode.Scalar, with replacement: String) -> String {
    let byte = UInt8(ascii: character)
    var bytes: [UInt8] = []
    for next in utf8 {
      if next == byte { bytes += replacement.utf8 } else { bytes.append(next) }
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
