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
        if offset + 1 < end, Self.isShortEscape(self.byte(at: offset + 1)) {
          offset += 2
          continue
        }
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
      let mark = byte(at: offset + 1)
      if mark == UInt8(ascii: "u") {
        offset += Self.appendScalar(first: hexUnit(at: offset + 2), second: { hexUnit(at: offset + 8) }, to: &output)
      } else {
        output.append(Self.value(ofShortEscape: mark))
        offset += 2
      }
    }
  }

  /// Writes the unescaped value of a scanned string, in UTF-8, to memory with space for the token's bytes.
  ///
  /// - Returns: The number of bytes written.
  package func copyValue(of token: StringToken, to memory: UnsafeMutableRawBufferPointer) -> Int {
    precondition(memory.count >= token.range.count, "internal error: no room for a string")
    guard let target = memory.baseAddress else { return 0 }
    let backslashes = EightBytes.repeating(JSONByte.backslash)
    let limit = token.range.upperBound
    var offset = token.range.lowerBound
    var used = 0
    while limit - offset >= 8 {
      let word = UInt64(littleEndian: base.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
      // Values aren't longer than their escapes, so the word fits. The next bytes overwrite its unused part.
      target.storeBytes(of: word.littleEndian, toByteOffset: used, as: UInt64.self)
      let marks = EightBytes.marks(in: word, equalTo: backslashes)
      // A branch, because a sum of both cases would make each address wait for the bytes before it.
      guard marks != 0 else {
        (offset, used) = (offset + 8, used + 8)
        continue
      }
      let plain = EightBytes.index(ofLowest: marks)
      (offset, used) = (offset + plain, used + plain)
      copyEscape(at: &offset, to: target, &used)
    }
    while offset < limit {
      let byte = byte(at: offset)
      if byte == JSONByte.backslash {
        copyEscape(at: &offset, to: target, &used)
      } else {
        memory[used] = byte
        (offset, used) = (offset + 1, used + 1)
      }
    }
    return used
  }

  /// Writes the value of the escape at an offset, and steps over it.
  @inline(__always)
  private func copyEscape(at offset: inout Int, to target: UnsafeMutableRawPointer, _ used: inout Int) {
    let mark = byte(at: offset + 1)
    if mark == UInt8(ascii: "u") {
      let (scalar, length) = Self.scalar(first: hexUnit(at: offset + 2)) { hexUnit(at: offset + 8) }
      for byte in UTF8.encode(Unicode.Scalar(scalar)!)! {
        target.storeBytes(of: byte, toByteOffset: used, as: UInt8.self)
        used += 1
      }
      offset += length
    } else {
      target.storeBytes(of: Self.value(ofShortEscape: mark), toByteOffset: used, as: UInt8.self)
      (offset, used) = (offset + 2, used + 1)
    }
  }

  @inline(__always)
  private static func value(ofShortEscape mark: UInt8) -> UInt8 {
    switch mark {
    case UInt8(ascii: "b"): 0x08
    case UInt8(ascii: "t"): 0x09
    case UInt8(ascii: "n"): 0x0A
    case UInt8(ascii: "f"): 0x0C
    case UInt8(ascii: "r"): 0x0D
    default: mark
    }
  }

  /// Returns the value of a scanned string.
  package func value(of token: StringToken) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(token.range.count)
    appendValue(of: token, to: &bytes)
    return bytes
  }

  /// Returns the value of a scanned string.
  func string(of token: StringToken) -> String {
    guard token.hasEscapes else {
      return String(
        decoding: UnsafeRawBufferPointer(start: base + token.range.lowerBound, count: token.range.count), as: UTF8.self)
    }
    return String(unsafeUninitializedCapacity: token.range.count) {
      copyValue(of: token, to: UnsafeMutableRawBufferPointer($0))
    }
  }

  /// Returns whether a scanned string has exactly this value.
  package func equals(_ token: StringToken, _ text: StaticString) -> Bool {
    equals(token, UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
  }

  /// Returns whether a scanned string has exactly this value.
  package func equals(_ token: StringToken, _ value: [UInt8]) -> Bool {
    value.withUnsafeBytes { equals(token, $0) }
  }

  /// Returns whether a scanned string has exactly this value.
  func equals(_ token: StringToken, _ value: UnsafeRawBufferPointer) -> Bool {
    guard !token.hasEscapes else { return value.elementsEqual(self.value(of: token)) }
    guard token.range.count == value.count else { return false }
    for (offset, byte) in zip(token.range, value) where self.byte(at: offset) != byte { return false }
    return true
  }

  /// Returns the scanned number as an integer, or `nil` if it has a fraction or exponent, or exceeds 64 bits.
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

  /// Returns whether a byte after a backslash ends the escape.
  @inline(__always)
  private static func isShortEscape(_ mark: UInt8) -> Bool {
    switch mark {
    case JSONByte.quote, JSONByte.backslash, UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
      UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
      true
    default: false
    }
  }

  private mutating func skipEscape() throws(JSONError) {
    let start = position
    advance(to: start + 1)
    guard let mark = next else { throw malformed("an escape is cut off") }
    guard !Self.isShortEscape(mark) else { return advance(to: start + 2) }
    guard mark == UInt8(ascii: "u") else { throw malformed("there is no such escape") }
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

  /// Returns the UTF-16 unit for four valid digits.
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

  /// Returns the scalar, and the length of the escapes in the input.
  private static func scalar(first: UInt16, second: () -> UInt16) -> (UInt32, length: Int) {
    guard first & 0xFC00 == 0xD800 else { return (UInt32(first), 6) }
    return (0x10000 + (UInt32(first & 0x3FF) << 10 | UInt32(second() & 0x3FF)), 12)
  }
}
