// Determines a text's encoding from its byte order mark, or otherwise from the caller's choice. An encoding is never
// guessed. The bytes' appearance only determines the suggestions in an error.
extension TextDecoder {
  private struct Mark {
    let bytes: [UInt8]
    /// The mark's encoding, or `nil` if it isn't supported.
    let encoding: TextEncoding?
    let name: String

    init(_ encoding: TextEncoding) {
      self.init(bytes: encoding.byteOrderMark, encoding: encoding, name: encoding.rawValue)
    }

    private init(bytes: [UInt8], encoding: TextEncoding?, name: String) {
      (self.bytes, self.encoding, self.name) = (bytes, encoding, name)
    }

    /// The marks for UTF-32 come first, because one of them begins with UTF-16's.
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

  /// Searches for a mark in the pending bytes and the input. Drops the mark and sets the encoding.
  ///
  /// - Returns: The number of input bytes in the mark, or `nil` if more input is needed. All bytes are then kept.
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
      var error = TextCodingError(
        code: .unsupportedEncoding, byteOffset: 0, reason: "byte order mark of \(mark.name)")
      error.lookalike = .utf32
      throw error
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

  /// Adds the encodings that the bytes resemble to an error.
  func addSuggestions(to error: inout TextCodingError, in input: UnsafeRawBufferPointer) {
    let start = min(max(0, error.byteOffset - bytesConsumed), input.count)
    // The bytes before the first invalid byte are also text.
    let begin = bytesConsumed == 0 ? max(0, start - 4096) & ~3 : start
    let window = UnsafeRawBufferPointer(rebasing: input[begin..<min(input.count, start + 4096)])
    if let wide = UnreadEncoding(wideLookOf: window, isWhole: begin == 0) {
      error.lookalike = wide
    } else if let order = utf16Order(of: window, at: bytesConsumed + begin) {
      error.suggestions = [order]
    } else if error.code == .needsMark {
      error.suggestions = [.utf16LittleEndian, .utf16BigEndian]
    } else if window.contains(0) {
      // With other invalid bytes, the input isn't text.
      if UTF8Validity.isValid(window.withoutCutCharacter) { error.suggestions = [.utf8] }
    } else if Self.isMostlyUTF8(input[max(0, start - 4096)..<min(input.count, start + 4096)]) {
      error.suggestions = [.utf8]
    } else {
      let rest = input[start...].prefix(4096)
      error.lookalike = UnreadEncoding(lookOf: UnsafeRawBufferPointer(rebasing: rest))
      guard error.lookalike == nil else { return }
      error.suggestions = [.windows1252, .windows1251].filter { $0.codePage?.decodes(rest) == true }
    }
  }

  /// Returns whether bytes contain more valid UTF-8 characters beyond ASCII than faults.
  private static func isMostlyUTF8(_ bytes: Slice<UnsafeRawBufferPointer>) -> Bool {
    var rest = UnsafeRawBufferPointer(rebasing: bytes).withoutCutCharacter
    var (characters, faults) = (0, 0)
    while let source = rest.baseAddress, !rest.isEmpty {
      let count: Int
      switch UTF8Scalar.read(source, available: rest.count) {
      case .character(_, let length):
        count = length
        characters += length > 1 ? 1 : 0
      case .fault(_, let length):
        count = length
        faults += 1
      case .incomplete:
        count = rest.count
      }
      rest = UnsafeRawBufferPointer(rebasing: rest[count...])
    }
    return characters > faults
  }

  /// Returns the UTF-16 byte order, if the bytes resemble UTF-16.
  ///
  /// Most text contains ASCII, at least as spaces and line endings. In UTF-16, these characters have a zero byte,
  /// always on the same side. In UTF-8, zeros are rare, and other control characters are even rarer.
  private func utf16Order(of window: UnsafeRawBufferPointer, at offset: Int) -> TextEncoding? {
    var zeros = (even: 0, odd: 0)
    for index in window.indices where window[index] == 0 {
      if (offset + index) % 2 == 0 { zeros.even += 1 } else { zeros.odd += 1 }
    }
    let units = window.count / 2
    let (more, fewer) = (max(zeros.even, zeros.odd), min(zeros.even, zeros.odd))
    guard more > 4 * fewer, more * 128 >= units, units > 0 else { return nil }
    let order: TextEncoding = zeros.odd > zeros.even ? .utf16LittleEndian : .utf16BigEndian
    let (high, low) = Self.halves(of: window, at: offset, order)
    guard !zip(high, low).contains(where: { $0 == 0 && ($1 & 0x7F).isControl && !$1.isWhitespace }) else { return nil }
    let isText = UTF8Validity.isValid(window.withoutCutCharacter) && !window.contains(where: \.isUnusualControl)
    guard isText, 2 * more <= units else { return order }
    // The letters of most alphabets are below U+2000, so their high bytes would be control characters in UTF-8.
    let small = (high: high.count(where: \.isControl), low: low.count(where: \.isControl))
    return units >= 8 && 10 * small.high >= 9 * high.count && 4 * small.low < small.high ? order : nil
  }

  /// Returns the high and low bytes of the complete UTF-16 code units.
  private static func halves(
    of window: UnsafeRawBufferPointer, at offset: Int, _ order: TextEncoding
  ) -> (high: [UInt8], low: [UInt8]) {
    let start = offset % 2
    let units = max(0, window.count - start) / 2
    let first = (0..<units).map { window[start + 2 * $0] }
    let second = (0..<units).map { window[start + 2 * $0 + 1] }
    return order == .utf16BigEndian ? (first, second) : (second, first)
  }
}

extension UInt8 {
  /// Whether the byte is a control character other than NUL, whitespace and ESC.
  fileprivate var isUnusualControl: Bool { isControl && self != 0 && !isWhitespace && self != 0x1B }

  fileprivate var isControl: Bool { self < 0x20 }

  fileprivate var isWhitespace: Bool { (0x09...0x0D).contains(self) }
}

extension UnsafeRawBufferPointer {
  /// The bytes without incomplete characters at both ends.
  fileprivate var withoutCutCharacter: UnsafeRawBufferPointer {
    var rest = self[...]
    while rest.count > count - 3, let first = rest.first, first & 0xC0 == 0x80 { rest.removeFirst() }
    let tail = rest.suffix(3).lastIndex { $0 & 0xC0 != 0x80 }
    if let tail, self[tail] >= 0xC0 { rest = rest[..<tail] }
    return UnsafeRawBufferPointer(rebasing: rest)
  }
}
