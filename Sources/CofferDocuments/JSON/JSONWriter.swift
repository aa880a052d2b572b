/// Appends JSON to bytes, in the one form of RFC 8785: the shortest escapes, numbers as ECMAScript prints them.
package enum JSONWriter {
  /// Appends valid UTF-8 as a string with its quotes.
  package static func appendString(_ bytes: UnsafeRawBufferPointer, to output: inout [UInt8]) {
    output.append(JSONByte.quote)
    appendEscaped(bytes, to: &output)
    output.append(JSONByte.quote)
  }

  package static func appendString(_ text: String, to output: inout [UInt8]) {
    var text = text
    text.withUTF8 { appendString(UnsafeRawBufferPointer($0), to: &output) }
  }

  /// Appends valid UTF-8 with quotes, backslashes and control characters escaped.
  package static func appendEscaped(_ bytes: UnsafeRawBufferPointer, to output: inout [UInt8]) {
    guard let base = bytes.baseAddress else { return }
    let count = bytes.count
    let quotes = EightBytes.repeating(JSONByte.quote)
    let backslashes = EightBytes.repeating(JSONByte.backslash)
    var runStart = 0
    var offset = 0
    while offset < count {
      if offset + 8 <= count {
        let word = UInt64(littleEndian: base.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
        let marks =
          EightBytes.marks(in: word, equalTo: quotes) | EightBytes.marks(in: word, equalTo: backslashes)
          | EightBytes.controlMarks(in: word)
        if marks == 0 {
          offset += 8
          continue
        }
        offset += EightBytes.index(ofLowest: marks)
      }
      let byte = base.load(fromByteOffset: offset, as: UInt8.self)
      if byte >= 0x20, byte != JSONByte.quote, byte != JSONByte.backslash {
        offset += 1
        continue
      }
      output.append(contentsOf: UnsafeRawBufferPointer(start: base + runStart, count: offset - runStart))
      appendEscape(of: byte, to: &output)
      offset += 1
      runStart = offset
    }
    output.append(contentsOf: UnsafeRawBufferPointer(start: base + runStart, count: count - runStart))
  }

  /// Appends a finite number as ECMAScript's `Number::toString` prints it (RFC 8785, 3.2.2.3).
  package static func appendNumber(_ value: Double, to output: inout [UInt8]) {
    precondition(value.isFinite, "internal error: JSON has no such number")
    if value == value.rounded(.towardZero), value.magnitude < 1e15 {
      appendInteger(Int64(value), to: &output)
      return
    }
    // Swift prints the shortest digits that read back as the same double, which are ECMAScript's; only the layout
    // differs.
    var digits: [UInt8] = []
    var exponent = 0
    var hasPoint = false
    var text = value.magnitude.description[...]
    if let mark = text.firstIndex(of: "e") {
      exponent = Int(text[text.index(after: mark)...])!
      text = text[..<mark]
    }
    for byte in text.utf8 {
      if byte == UInt8(ascii: ".") {
        hasPoint = true
      } else if !digits.isEmpty || byte != 0x30 {
        digits.append(byte)
        if hasPoint { exponent -= 1 }
      } else if hasPoint {
        exponent -= 1
      }
    }
    while digits.last == 0x30 {
      digits.removeLast()
      exponent += 1
    }
    if value < 0 { output.append(UInt8(ascii: "-")) }
    appendDecimal(digits, exponent: exponent, to: &output)
  }

  package static func appendInteger(_ value: Int64, to output: inout [UInt8]) {
    if value < 0 { output.append(UInt8(ascii: "-")) }
    var rest = value.magnitude
    var divisor: UInt64 = 1
    while rest / divisor >= 10 { divisor *= 10 }
    while divisor > 0 {
      output.append(0x30 + UInt8(rest / divisor))
      rest %= divisor
      divisor /= 10
    }
  }

  /// Lays out digits × 10^exponent by ECMAScript's rules: plain from 1e-6 up to below 1e21.
  private static func appendDecimal(_ digits: [UInt8], exponent: Int, to output: inout [UInt8]) {
    let point = digits.count + exponent
    if exponent >= 0, point <= 21 {
      output += digits
      output += [UInt8](repeating: 0x30, count: exponent)
    } else if point > 0, point <= 21 {
      output += digits[..<point]
      output.append(UInt8(ascii: "."))
      output += digits[point...]
    } else if point <= 0, point > -6 {
      output += [0x30, UInt8(ascii: ".")]
      output += [UInt8](repeating: 0x30, count: -point)
      output += digits
    } else {
      output.append(digits[0])
      if digits.count > 1 {
        output.append(UInt8(ascii: "."))
        output += digits[1...]
      }
      output.append(UInt8(ascii: "e"))
      output.append(UInt8(ascii: point > 0 ? "+" : "-"))
      appendInteger(Int64((point - 1).magnitude), to: &output)
    }
  }

  private static func appendEscape(of byte: UInt8, to output: inout [UInt8]) {
    output.append(JSONByte.backslash)
    switch byte {
    case JSONByte.quote, JSONByte.backslash: output.append(byte)
    case 0x08: output.append(UInt8(ascii: "b"))
    case 0x09: output.append(UInt8(ascii: "t"))
    case 0x0A: output.append(UInt8(ascii: "n"))
    case 0x0C: output.append(UInt8(ascii: "f"))
    case 0x0D: output.append(UInt8(ascii: "r"))
    default:
      output += [UInt8(ascii: "u"), 0x30, 0x30, Hexadecimal.digit(byte >> 4), Hexadecimal.digit(byte & 0xF)]
    }
  }
}
