// Decodes and encodes texts that are entirely in memory.
extension TextDecoder {
  /// Decodes an entire text to UTF-8.
  ///
  /// - Returns: Valid UTF-8 without a byte order mark.
  /// - Throws: `invalidBytes` in the mode `fail`. `needsMark`, `unsupportedEncoding` and `undecidedEncoding` if the
  ///   encoding can't be determined.
  public static func utf8(
    from bytes: [UInt8], in choice: EncodingChoice, onError errorMode: CodingErrorMode = .fail
  ) throws(TextCodingError) -> [UInt8] {
    var decoder = TextDecoder(choice, onError: errorMode)
    return try wholeText(bytes) { (input, output) throws(TextCodingError) in
      try decoder.decode(input, into: output, isFinal: true)
    }
  }
}

extension TextEncoder {
  /// Encodes an entire UTF-8 text.
  ///
  /// - Returns: The text's bytes, after a byte order mark if `mark` is `true`.
  /// - Throws: `unencodableCharacter` in the mode `fail`, or `invalidBytes` for text that isn't UTF-8.
  public static func bytes(
    fromUTF8 text: [UInt8], in encoding: TextEncoding, mark: Bool = false, onError errorMode: CodingErrorMode = .fail
  ) throws(TextCodingError) -> [UInt8] {
    var encoder = TextEncoder(encoding, mark: mark, onError: errorMode)
    return try wholeText(text) { (input, output) throws(TextCodingError) in
      try encoder.encode(input, into: output, isFinal: true)
    }
  }
}

private func wholeText(
  _ input: [UInt8],
  _ code: (UnsafeRawBufferPointer, UnsafeMutableRawBufferPointer) throws(TextCodingError) -> (
    consumed: Int, written: Int
  )
) throws(TextCodingError) -> [UInt8] {
  var result: [UInt8] = []
  var buffer = [UInt8](repeating: 0, count: min(max(64, input.count * 2), 256 << 10))
  var done = 0
  repeat {
    let step = try input.withUnsafeBufferPointer { (all) throws(TextCodingError) in
      try buffer.withUnsafeMutableBufferPointer { (output) throws(TextCodingError) in
        try code(
          UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(all)[done...]), UnsafeMutableRawBufferPointer(output))
      }
    }
    done += step.consumed
    result += buffer[..<step.written]
  } while done < input.count
  return result
}
