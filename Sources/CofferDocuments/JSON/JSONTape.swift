/// The values in a JSON text, which can be read in any order after a single scan.
///
/// An entry represents a name or a value, in the text's order. An array's elements and an object's members follow its
/// entry. A member's name precedes its value.
package struct JSONTape {
  /// The maximum length of a text. The length of each value, and its number of entries, then fits an entry.
  static let maximumByteCount = 1 << 28 - 1

  package private(set) var entries: [Entry] = []

  /// Scans valid UTF-8 that is one JSON value.
  package init(_ bytes: UnsafeRawBufferPointer) throws(JSONError) {
    guard bytes.count <= Self.maximumByteCount else { throw JSONError(.malformed, at: 0, "the JSON is too long") }
    entries.reserveCapacity(min(max(bytes.count / 32, 8), 4096))
    var scanner = JSONScanner(bytes)
    scanner.skipWhitespace()
    try appendValue(&scanner, depth: 0)
    scanner.skipWhitespace()
    if scanner.next != nil { throw scanner.malformed("text after the value") }
    entries.append(Entry(.null))
  }

  /// The entry of a null that isn't in the text.
  package var null: Int { entries.count - 1 }

  private mutating func appendValue(_ scanner: inout JSONScanner, depth: Int) throws(JSONError) {
    switch scanner.next {
    case JSONByte.quote:
      entries.append(Entry(try scanner.scanString()))
    case JSONByte.openBrace:
      try appendObject(&scanner, depth: depth + 1)
    case JSONByte.openBracket:
      let head = entries.count
      entries.append(Entry(.null))
      try scanner.openArray(depth: depth + 1)
      var count = 0
      while try scanner.hasNextElement(isFirst: count == 0) {
        try appendValue(&scanner, depth: depth + 1)
        count += 1
      }
      entries[head] = Entry(.array, place: count, count: entries.count - head)
    case 0x2D?, (0x30...0x39)?:
      let token = try scanner.scanNumber()
      entries.append(
        Entry(.number, isMarked: token.isInteger, place: token.range.lowerBound, count: token.range.count))
    default:
      let isTrue = scanner.next == UInt8(ascii: "t")
      entries.append(Entry(try scanner.skipValue() == .bool ? .bool : .null, isMarked: isTrue))
    }
  }

  private mutating func appendObject(_ scanner: inout JSONScanner, depth: Int) throws(JSONError) {
    let head = entries.count
    entries.append(Entry(.null))
    try scanner.openObject(depth: depth)
    var count = 0
    var isPlain = true
    var isSorted = true
    var previous = 0..<0
    while let name = try scanner.nextName(isFirst: count == 0) {
      entries.append(Entry(name))
      isPlain = isPlain && !name.hasEscapes && scanner.isASCII(name.range)
      isSorted = isPlain && isSorted && (count == 0 || scanner.precedes(previous, name.range))
      previous = name.range
      count += 1
      try appendValue(&scanner, depth: depth)
    }
    entries[head] = Entry(
      isPlain ? .plainObject : .object, isMarked: isSorted, place: count, count: entries.count - head)
  }
}

extension JSONTape {
  package enum Kind: UInt32 {
    case null, bool, number, string, array
    /// An object whose names are ASCII without escapes, so names are equal if their bytes are equal.
    case plainObject
    case object
  }

  /// A name or a value in eight bytes.
  package struct Entry {
    /// The offset of a string's or number's first byte, or the number of elements or members.
    let place: UInt32
    /// The kind, the mark, and in 28 bits the number of bytes of a string or number, or the number of entries of an
    /// array or object with its own.
    let bits: UInt32

    init(_ kind: Kind, isMarked: Bool = false, place: Int = 0, count: Int = 0) {
      self.place = UInt32(truncatingIfNeeded: place)
      bits = kind.rawValue << 29 | (isMarked ? 1 << 28 : 0) | UInt32(truncatingIfNeeded: count)
    }

    init(_ string: JSONScanner.StringToken) {
      self.init(
        .string, isMarked: string.hasEscapes, place: string.range.lowerBound, count: string.range.count)
    }

    package var kind: Kind { Kind(rawValue: bits >> 29)! }
    /// Whether the value is `true`, an integer literal, a string with escapes, or an object whose names are plain and
    /// in ascending order, and therefore unique.
    package var isMarked: Bool { bits & 1 << 28 != 0 }
    /// The number of elements or members.
    package var count: Int { Int(place) }
    /// The bytes of a string between its quotes, or of a number.
    package var range: Range<Int> { Int(place)..<Int(place) + Int(bits & Self.countMask) }
    /// The number of entries of the value.
    package var span: Int { bits >> 29 < Kind.array.rawValue ? 1 : Int(bits & Self.countMask) }

    private static let countMask: UInt32 = 1 << 28 - 1
  }
}

// MARK: - Members

extension JSONTape {
  /// Finds the first member of a name in a plain object.
  ///
  /// - Parameters:
  ///   - name: The name in UTF-8.
  ///   - object: The entry of the object.
  ///   - start: The name entry to compare first. Only a marked object's search can start in the middle.
  ///   - bytes: The JSON text.
  /// - Returns: The entry of the value, or `nil` if no name has these bytes.
  package func member(
    _ name: UnsafeBufferPointer<UInt8>, of object: Int, from start: Int, in bytes: UnsafeRawBufferPointer
  ) -> Int? {
    entries.withUnsafeBufferPointer { entries in
      let head = entries[object]
      let end = object + head.span
      var index = start < end ? start : object + 1
      for _ in 0..<head.count {
        let range = entries[index].range
        if range.count == name.count, Self.equals(name, bytes, at: range.lowerBound) { return index + 1 }
        index += 1
        index += entries[index].span
        if index == end { index = object + 1 }
      }
      return nil
    }
  }

  /// Returns the value of a name or string, without its escapes.
  package func string(at index: Int, in bytes: UnsafeRawBufferPointer) -> String {
    let entry = entries[index]
    let token = JSONScanner.StringToken(range: entry.range, hasEscapes: entry.isMarked)
    return JSONScanner(bytes, in: token.range).string(of: token)
  }

  /// Returns the value of an integer literal, or `nil` for other numbers, or beyond 64 bits.
  package func integer(at index: Int, in bytes: UnsafeRawBufferPointer) -> Int64? {
    let entry = entries[index]
    return JSONScanner(bytes, in: entry.range).integer(
      of: JSONScanner.NumberToken(range: entry.range, isInteger: entry.isMarked))
  }

  @inline(__always)
  private static func equals(
    _ name: UnsafeBufferPointer<UInt8>, _ bytes: UnsafeRawBufferPointer, at offset: Int
  ) -> Bool {
    for index in 0..<name.count where name[index] != bytes[offset + index] { return false }
    return true
  }
}

extension JSONScanner {
  @inline(__always)
  fileprivate func isASCII(_ range: Range<Int>) -> Bool {
    var all: UInt8 = 0
    for offset in range { all |= byte(at: offset) }
    return all < 0x80
  }

  @inline(__always)
  fileprivate func precedes(_ one: Range<Int>, _ other: Range<Int>) -> Bool {
    for index in 0..<min(one.count, other.count) {
      let (byte, otherByte) = (byte(at: one.lowerBound + index), self.byte(at: other.lowerBound + index))
      if byte != otherByte { return byte < otherByte }
    }
    return one.count < other.count
  }
}
