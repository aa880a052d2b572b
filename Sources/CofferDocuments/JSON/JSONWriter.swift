/// Appends JSON to bytes in the form of RFC 8785, with the shortest escapes and ECMAScript's number format.
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
    let escapes = countOfEscapes(in: bytes)
    guard escapes > 0 else { return output.append(contentsOf: bytes) }
    let start = output.count
    output.append(contentsOf: repeatElement(0, count: bytes.count + escapes * (longestEscape - 1)))
    let written = output.withUnsafeMutableBytes {
      copyEscaped(bytes, to: UnsafeMutableRawBufferPointer(rebasing: $0[start...]))
    }
    output.removeLast(output.count - start - written)
  }

  /// The length of an escape such as `\u001f`.
  private static let longestEscape = 6

  /// Writes the bytes to memory with space for the longest escape at each escaped byte.
  ///
  /// - Returns: The number of bytes written.
  private static func copyEscaped(
    _ bytes: UnsafeRawBufferPointer, to memory: UnsafeMutableRawBufferPointer
  ) -> Int {
    guard let base = bytes.baseAddress, let target = memory.baseAddress else { return 0 }
    let quotes = EightBytes.repeating(JSONByte.quote)
    let backslashes = EightBytes.repeating(JSONByte.backslash)
    var offset = 0
    var written = 0
    while bytes.count - offset >= 8 {
      let word = UInt64(littleEndian: base.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
      // The next bytes overwrite the unused part of the escape.
      target.storeBytes(of: word.littleEndian, toByteOffset: written, as: UInt64.self)
      let marks =
        EightBytes.marks(in: word, equalTo: quotes) | EightBytes.marks(in: word, equalTo: backslashes)
        | EightBytes.controlMarks(in: word)
      // A branch, because a sum of both cases would make each address wait for the bytes before it.
      guard marks != 0 else {
        offset += 8
        written += 8
        continue
      }
      let plain = EightBytes.index(ofLowest: marks)
      offset += plain
      written += plain
      written += writeEscape(of: base.load(fromByteOffset: offset, as: UInt8.self), to: target + written)
      offset += 1
    }
    while offset < bytes.count {
      let byte = bytes[offset]
      if needsEscape(byte) {
        written += writeEscape(of: byte, to: target + written)
      } else {
        memory[written] = byte
        written += 1
      }
      offset += 1
    }
    return written
  }

  /// Returns whether bytes of valid UTF-8 differ from their form in a string.
  static func needsEscapes(_ bytes: UnsafeRawBufferPointer) -> Bool { countOfEscapes(in: bytes) > 0 }

  /// Counts the bytes that need an escape.
  private static func countOfEscapes(in bytes: UnsafeRawBufferPointer) -> Int {
    typealias Block = SIMD16<UInt8>
    // Operators between a vector and a number are generic functions, which would be called for each block.
    let (quotes, backslashes) = (Block(repeating: JSONByte.quote), Block(repeating: JSONByte.backslash))
    let (controls, one) = (Block(repeating: 0x20), Block(repeating: 1))
    var count = 0
    var offset = 0
    while bytes.count - offset >= Block.scalarCount {
      // Each lane counts to 255.
      var lanes = Block.zero
      let blocks = min(255, (bytes.count - offset) / Block.scalarCount)
      for _ in 0..<blocks {
        let block = bytes.loadUnaligned(fromByteOffset: offset, as: Block.self)
        let isEscaped = (block .== quotes) .| (block .== backslashes) .| (block .< controls)
        lanes.replace(with: lanes &+ one, where: isEscaped)
        offset += Block.scalarCount
      }
      count += Int(SIMD16<UInt16>(truncatingIfNeeded: lanes).wrappedSum())
    }
    while offset < bytes.count {
      if needsEscape(bytes[offset]) { count += 1 }
      offset += 1
    }
    return count
  }

  @inline(__always)
  private static func needsEscape(_ byte: UInt8) -> Bool {
    byte < 0x20 || byte == JSONByte.quote || byte == JSONByte.backslash
  }

  /// Appends a finite number as ECMAScript's `Number::toString` prints it (RFC 8785, 3.2.2.3).
  package static func appendNumber(_ value: Double, to output: inout [UInt8]) {
    precondition(value.isFinite, "internal error: JSON has no such number")
    if value == value.rounded(.towardZero), value.magnitude < 1e15 {
      appendInteger(Int64(value), to: &output)
      return
    }
    // Swift prints the shortest digits that read back as the same double, like ECMAScript. Only the layout differs.
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

  /// - Returns: The length of the escape.
  @inline(__always)
  private static func writeEscape(of byte: UInt8, to target: UnsafeMutableRawPointer) -> Int {
    target.storeBytes(of: JSONByte.backslash, as: UInt8.self)
    let mark: UInt8
    switch byte {
    case JSONByte.quote, JSONByte.backslash: mark = byte
    case 0x08: mark = UInt8(ascii: "b")
    case 0x09: mark = UInt8(ascii: "t")
    case 0x0A: mark = UInt8(ascii: "n")
    case 0x0C: mark = UInt8(ascii: "f")
    case 0x0D: mark = UInt8(ascii: "r")
    default:
      let rest = [UInt8(ascii: "u"), 0x30, 0x30, Hexadecimal.digit(byte >> 4), Hexadecimal.digit(byte & 0xF)]
      (target + 1).copyMemory(from: rest, byteCount: rest.count)
      return longestEscape
    }
    target.storeBytes(of: mark, toByteOffset: 1, as: UInt8.self)
    return 2
  }
}
