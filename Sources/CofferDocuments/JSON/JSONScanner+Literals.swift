extension JSONScanner {
  /// Steps over the string that begins here.
  package mutating func scanString() throws(JSONError) -> StringToken {
    guard take(JSONByte.quote) else { throw malformed("a string is missing") }
    let start = position
    var offset = start
    var hasEscapes = false
    let quotes = EightBytes.repeating(JSONByte.quote)
    let backslashes = EightBytes.repeating(JSONByte.backslash)
    while true {
      while offset + 8 <= end {
        let word = UInt64(littleEndian: base.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
        let marks =
          EightBytes.marks(in: word, equalTo: quotes) | EightBytes.marks(in: word, equalTo: backslashes)
          | EightBytes.controlMarks(in: word)
        if marks != 0 {
          offset += EightBytes.index(ofLowest: marks)
          break
        }
        offset += 8
      }
      guard offset < end else {
        advance(to: end)
        throw malformed("a string is not closed")
      }
      let byte = byte(at: offset)
      if byte == JSONByte.quote {
        advance(to: offset + 1)
        return StringToken(range: start..<offset, hasEscapes: hasEscapes)
      } else if byte == JSONByte.backslash {
        hasEscapes = true
        advance(to: offset)
        try skipEscape()
        offset = position
      } else if byte < 0x20 {
        advance(to: offset)
        throw malformed("a control character in a string must be escaped")
      } else {
        offset += 1
      }
    }
  }

  /// Steps over the number that begins here.
  package mutating func scanNumber() throws(JSONError) -> NumberToken {
    let start = position
    var isInteger = true
    _ = take(0x2D)
    if !take(0x30) {
      try skipDigits()
    }
    if take(UInt8(ascii: ".")) {
      isInteger = false
      try skipDigits()
    }
    if take(UInt8(ascii: "e")) || take(UInt8(ascii: "E")) {
      isInteger = false
      if !take(UInt8(ascii: "+")) { _ = take(UInt8(ascii: "-")) }
      try skipDigits()
    }
    return NumberToken(range: start..<position, isInteger: isInteger)
  }

  /// Appends the unescaped value of a scanned string, in UTF-8.
  package func appendValue(of token: StringToken, to output: inout [UInt8]) {
    let bytes = UnsafeRawBufferPointer(start: base, count: end)
    guard token.hasEscapes else {
      output.append(contentsOf: bytes[token.range])
      return
    }
    var offset = token.range.lowerBound
    let limit = token.range.upperBound
    while offset < limit {
      var runEnd = offset
      while runEnd < limit, byte(at: runEnd) != JSONByte.backslash { runEnd += 1 }
      if runEnd > offset {
        output.append(contentsOf: UnsafeRawBufferPointer(rebasing: bytes[offset..<runEnd]))
      }
      offset = runEnd
      guard offset < limit else { return }
      switch byte(at: offset + 1) {
      case UInt8(ascii: "b"): output.append(0x08)
      case UInt8(ascii: "t"): output.append(0x09)
      case UInt8(ascii: "n"): output.append(0x0A)
      case UInt8(ascii: "f"): output.append(0x0C)
      case UInt8(ascii: "r"): output.append(0x0D)
      case UInt8(ascii: "u"):
        offset += Self.appendScalar(first: hexUnit(at: offset + 2), second: { hexUnit(at: offset + 8) }, to: &output)
        continue
      case let other: output.append(other)
      }
      offset += 2
    }
  }

  /// Writes the unescaped value of a scanned string, in UTF-8, to memory with room for the token's bytes.
  ///
  /// - Returns: the number of bytes written.
  package func copyValue(of token: StringToken, to memory: UnsafeMutableRawBufferPointer) -> Int {
    precondition(memory.count >= token.range.count, "internal error: no room for a string")
    var used = 0
    func write(_ byte: UInt8) {
      memory[used] = byte
      used += 1
    }
    var offset = token.range.lowerBound
    while true {
      let run = offset..<nextBackslash(from: offset, to: token.range.upperBound)
      if !run.isEmpty {
        let bytes = UnsafeRawBufferPointer(start: base + run.lowerBound, count: run.count)
        UnsafeMutableRawBufferPointer(rebasing: memory[used...]).copyMemory(from: bytes)
        used += run.count
      }
      offset = run.upperBound
      guard offset < token.range.upperBound else { return used }
      switch self.byte(at: offset + 1) {
      case UInt8(ascii: "b"): write(0x08)
      case UInt8(ascii: "t"): write(0x09)
      case UInt8(ascii: "n"): write(0x0A)
      case UInt8(ascii: "f"): write(0x0C)
      case UInt8(ascii: "r"): write(0x0D)
      case UInt8(ascii: "u"):
        // No scalar is longer in UTF-8 than its escape.
        let (scalar, length) = Self.scalar(first: hexUnit(at: offset + 2)) { hexUnit(at: offset + 8) }
        for byte in UTF8.encode(Unicode.Scalar(scalar)!)! { write(byte) }
        offset += length
        continue
      case let other: write(other)
      }
      offset += 2
    }
  }

  /// The offset of the next backslash in a string, or `end`.
  private func nextBackslash(from start: Int, to end: Int) -> Int {
    let backslashes = EightBytes.repeating(JSONByte.backslash)
    var offset = start
    while offset + 8 <= end {
      let word = UInt64(littleEndian: base.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
      let marks = EightBytes.marks(in: word, equalTo: backslashes)
      if marks != 0 { return offset + EightBytes.index(ofLowest: marks) }
      offset += 8
    }
    while offset < end, byte(at: offset) != JSONByte.backslash { offset += 1 }
    return offset
  }

  /// The value of a scanned string.
  package func value(of token: StringToken) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(token.range.count)
    appendValue(of: token, to: &bytes)
    return bytes
  }

  /// True when a scanned string has exactly this value.
  package func equals(_ token: StringToken, _ text: StaticString) -> Bool {
    guard !token.hasEscapes else {
      return value(of: token).elementsEqual(UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }
    guard token.range.count == text.utf8CodeUnitCount else { return false }
    for index in 0..<token.range.count
    where byte(at: token.range.lowerBound + index) != text.utf8Start[index] {
      return false
    }
    return true
  }

  /// True when a scanned string has exactly this value.
  package func equals(_ token: StringToken, _ value: [UInt8]) -> Bool {
    guard !token.hasEscapes else { return self.value(of: token) == value }
    return token.range.count == value.count
      && value.elementsEqual(UnsafeRawBufferPointer(start: base + token.range.lowerBound, count: value.count))
  }

  /// The scanned number as an integer; nil with a fraction or exponent, or beyond 64 bits.
  package func integer(of token: NumberToken) -> Int64? {
    guard token.isInteger else { return nil }
    let isNegative = byte(at: token.range.lowerBound) == 0x2D
    var value: Int64 = 0
    for offset in (token.range.lowerBound + (isNegative ? 1 : 0))..<token.range.upperBound {
      let digit = Int64(byte(at: offset) - 0x30)
      let (product, tooBig) = value.multipliedReportingOverflow(by: 10)
      let (sum, tooFar) =
        isNegative ? product.subtractingReportingOverflow(digit) : product.addingReportingOverflow(digit)
      if tooBig || tooFar { return nil }
      value = sum
    }
    return value
  }

  private mutating func skipDigits() throws(JSONError) {
    let start = position
    while position < end, case 0x30...0x39 = byte(at: position) {
      advance(to: position + 1)
    }
    if position == start { throw malformed("a digit is missing") }
  }

  private mutating func skipEscape() throws(JSONError) {
    let start = position
    advance(to: start + 1)
    guard let mark = next else { throw malformed("an escape is cut off") }
    switch mark {
    case JSONByte.quote, JSONByte.backslash, UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
      UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
      advance(to: start + 2)
    case UInt8(ascii: "u"):
      advance(to: start + 2)
      let unit = try scanHexUnit()
      if unit & 0xFC00 == 0xDC00 {
        throw JSONError(.loneSurrogate, at: start, "the escape of an unpaired surrogate")
      }
      if unit & 0xFC00 == 0xD800 {
        guard take(JSONByte.backslash), take(UInt8(ascii: "u")), try scanHexUnit() & 0xFC00 == 0xDC00 else {
          throw JSONError(.loneSurrogate, at: start, "the escape of an unpaired surrogate")
        }
      }
    default:
      throw malformed("there is no such escape")
    }
  }

  private mutating func scanHexUnit() throws(JSONError) -> UInt16 {
    var unit: UInt16 = 0
    for _ in 0..<4 {
      guard let digit = next, let value = Hexadecimal.value(of: digit) else {
        throw malformed("a hexadecimal digit is missing")
      }
      unit = unit << 4 | UInt16(value)
      advance(to: position + 1)
    }
    return unit
  }

  /// The UTF-16 unit of four digits that are known to be valid.
  private func hexUnit(at offset: Int) -> UInt16 {
    (0..<4).reduce(0) { $0 << 4 | UInt16(Hexadecimal.value(of: byte(at: offset + $1)) ?? 0) }
  }

  /// Appends the scalar of one escape, or of two that form a surrogate pair.
  ///
  /// - Returns: the length of the escapes in the input.
  private static func appendScalar(first: UInt16, second: () -> UInt16, to output: inout [UInt8]) -> Int {
    let (scalar, length) = scalar(first: first, second: second)
    UTF8Bytes.append(scalar, to: &output)
    return length
  }

  /// The scalar, and the length of the escapes in the input.
  private static func scalar(first: UInt16, second: () -> UInt16) -> (UInt32, length: Int) {
    guard first & 0xFC00 == 0xD800 else { return (UInt32(first), 6) }
    return (0x10000 + (UInt32(first & 0x3FF) << 10 | UInt32(second() & 0x3FF)), 12)
  }
}
