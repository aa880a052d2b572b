/// Lays out JSON for people, with one member or element on each line.
enum JSONLayout {
  /// The maximum indent, because hostile JSON could otherwise grow without limit.
  private static let deepestIndent = 32

  /// Returns indented JSON, and the same ranges in it. Strings and numbers remain unchanged.
  ///
  /// - Parameters:
  ///   - json: JSON as stores keep it.
  ///   - ranges: Sorted ranges of bytes in strings.
  static func indented(_ json: UnsafeRawBufferPointer, marking ranges: [Range<Int>]) -> ([UInt8], [Range<Int>]) {
    var output: [UInt8] = []
    output.reserveCapacity(json.count + json.count / 4)
    var marked: [Range<Int>] = []
    var rest = ranges[...]
    var start = 0
    var depth = 0
    var (isString, isEscaped) = (false, false)

    func endLine() {
      output.append(0x0A)
      output.append(contentsOf: repeatElement(0x20, count: 2 * min(depth, deepestIndent)))
    }

    for (offset, byte) in json.enumerated() {
      if let range = rest.first, range.lowerBound == offset { start = output.count }
      if let range = rest.first, range.upperBound == offset {
        marked.append(start..<output.count)
        rest = rest.dropFirst()
        if let range = rest.first, range.lowerBound == offset { start = output.count }
      }
      if isString {
        output.append(byte)
        if isEscaped {
          isEscaped = false
        } else if byte == 0x5C {
          isEscaped = true
        } else if byte == 0x22 {
          isString = false
        }
        continue
      }
      switch byte {
      case 0x22:
        output.append(byte)
        isString = true
      case UInt8(ascii: "{"), UInt8(ascii: "["):
        output.append(byte)
        depth += 1
        let next = json[(offset + 1)...].first { $0 > 0x20 }
        if next != UInt8(ascii: "}"), next != UInt8(ascii: "]") { endLine() }
      case UInt8(ascii: "}"), UInt8(ascii: "]"):
        depth = max(0, depth - 1)
        if let last = output.last, last != UInt8(ascii: "{"), last != UInt8(ascii: "[") { endLine() }
        output.append(byte)
      case UInt8(ascii: ","):
        output.append(byte)
        endLine()
      case UInt8(ascii: ":"):
        output += [byte, 0x20]
      case 0...0x20: break
      default: output.append(byte)
      }
    }
    return (output, marked)
  }
}
