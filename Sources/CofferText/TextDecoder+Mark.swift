// Finds a text's encoding: by its byte order mark, else by the caller's choice. An encoding is never guessed; the look of
// the bytes only makes the suggestions of an error.
extension TextDecoder {
  private struct Mark {
    let bytes: [UInt8]
    /// Nil for an encoding that is not supported.
    let encoding: TextEncoding?
    let name: String

    init(_ encoding: TextEncoding) {
      self.init(bytes: encoding.byteOrderMark, encoding: encoding, name: encoding.rawValue)
    }

    private init(bytes: [UInt8], encoding: TextEncoding?, name: String) {
      (self.bytes, self.encoding, self.name) = (bytes, encoding, name)
    }

    /// UTF-32's come first: one of them begins with UTF-16's.
    static let all = [
      Mark(bytes: [0xFF, 0xFE, 0, 0], encoding: nil, name: "UTF-32, little end first"),
      Mark(bytes: [0, 0, 0xFE, 0xFF], encoding: nil, name: "UTF-32, big end first"),
      Mark(.utf8), Mark(.utf16LittleEndian), Mark(.utf16BigEndian),
    ]

    static func counting(for choice: EncodingChoice) -> [Mark] {
      guard case .fixed(let encoding) = choice else { return all }
      return all.filter { $0.encoding == encoding }
    }
  }

  /// Looks for a mark in the pending bytes and the input; drops it and sets the encoding.
  ///
  /// - Returns: the number of the input's bytes that belong to the mark; nil, with all of them kept, when more input must
  ///   decide.
  mutating func findMark(_ input: UnsafeRawBufferPointer, isFinal: Bool) throws(TextCodingError) -> Int? {
    let (word, count) = pending.joined(with: input)
    let head = (0..<min(count, 4)).map { UInt8(truncatingIfNeeded: word >> UInt64(8 * $0)) }
    let marks = Mark.counting(for: choice)
    if !isFinal, marks.contains(where: { head.count < $0.bytes.count && $0.bytes.starts(with: head) }) {
      pending.keep(word, from: 0, to: count)
      return nil
    }
    let mark = marks.first { head.starts(with: $0.bytes) }
    if let mark, mark.encoding == nil {
      throw TextCodingError(
        code: .unsupportedEncoding, byteOffset: 0, reason: "byte order mark of \(mark.name)")
    }
    switch choice {
    case .automatic:
      encoding = mark?.encoding ?? .utf8
      isUndecided = mark == nil
    case .fixed(let fixed):
      encoding = fixed
    case .utf16WithMark:
      guard mark != nil && mark?.encoding != .utf8 || head.isEmpty else {
        var error = TextCodingError(code: .needsMark, byteOffset: 0, reason: "no byte order mark of UTF-16")
        if mark != nil { error.suggestions = [.utf8] }
        throw error
      }
      encoding = mark?.encoding ?? .utf8
    }
    markWasFound = mark != nil
    let length = mark?.bytes.count ?? 0
    let kept = pending.count
    pending.drop(min(kept, length))
    return max(0, length - kept)
  }

  /// Encodings that the bytes resemble, from the invalid one on.
  ///
  /// Most text holds ASCII, at least as spaces and line ends; in UTF-16 these have a zero on one side, always the same.
  func suggestions(for error: TextCodingError, in input: UnsafeRawBufferPointer) -> [TextEncoding] {
    let start = min(max(0, error.byteOffset - bytesConsumed), input.count)
    let window = input[start...].prefix(4096)
    var zeros = (even: 0, odd: 0)
    for index in window.indices where window[index] == 0 {
      if (bytesConsumed + index) % 2 == 0 { zeros.even += 1 } else { zeros.odd += 1 }
    }
    let units = window.count / 2
    let likely: TextEncoding? =
      if zeros.odd > 4 * zeros.even, zeros.odd * 128 >= units {
        .utf16LittleEndian
      } else if zeros.even > 4 * zeros.odd, zeros.even * 128 >= units {
        .utf16BigEndian
      } else {
        nil
      }
    if let likely { return [likely] }
    if error.code == .needsMark { return [.utf16LittleEndian, .utf16BigEndian] }
    return zeros.even + zeros.odd > 0 ? [.utf8] : [.windows1252, .windows1251, .utf8]
  }
}
