/// A pull parser for one strict RFC 8259 value in valid UTF-8, which reports the ranges of its parts.
///
/// Strings and numbers are scanned as ranges, without creating values. The scanner rejects escaped unpaired surrogates,
/// which RFC 8259 allows but texts can't contain. It also rejects more than ``maximumDepth`` levels, so hostile input
/// can't exhaust the stack.
package struct JSONScanner {
  /// The deepest nesting of arrays and objects.
  package static let maximumDepth = 512

  package enum Kind: Hashable, Sendable {
    case null, bool, number, string, array, object
  }

  /// A string between its quotes.
  package struct StringToken: Hashable, Sendable {
    package let range: Range<Int>
    package let hasEscapes: Bool
  }

  package struct NumberToken: Hashable, Sendable {
    package let range: Range<Int>
    /// True for a literal without fraction and exponent.
    package let isInteger: Bool
  }

  package let base: UnsafeRawPointer
  let end: Int
  /// The next byte to look at, counted from the start of the buffer.
  package private(set) var position: Int

  /// Creates a scanner for a range of a buffer, which must outlive the scanner. Offsets count from the buffer's start.
  package init(_ bytes: UnsafeRawBufferPointer, in range: Range<Int>) {
    precondition(range.upperBound <= bytes.count, "internal error: range outside the buffer")
    // An empty buffer may not have an address. This address is never read.
    base = bytes.baseAddress ?? UnsafeRawPointer(bitPattern: 16)!
    position = range.lowerBound
    end = range.upperBound
  }

  package init(_ bytes: UnsafeRawBufferPointer) {
    self.init(bytes, in: 0..<bytes.count)
  }

  /// The next byte, or `nil` at the end.
  @inline(__always)
  package var next: UInt8? {
    position < end ? byte(at: position) : nil
  }

  @inline(__always)
  func byte(at offset: Int) -> UInt8 {
    base.load(fromByteOffset: offset, as: UInt8.self)
  }

  /// Scans a single value with optional surrounding white space.
  ///
  /// - Returns: what it is, and where it begins and ends.
  package mutating func scanDocument() throws(JSONError) -> (kind: Kind, range: Range<Int>) {
    skipWhitespace()
    let start = position
    let kind = try skipValue()
    let range = start..<position
    skipWhitespace()
    if position < end { throw malformed("text after the value") }
    return (kind, range)
  }

  /// Returns whether valid UTF-8 is a single JSON value with optional surrounding white space.
  package static func isJSON(_ bytes: UnsafeRawBufferPointer) -> Bool {
    var scanner = JSONScanner(bytes)
    return (try? scanner.scanDocument()) != nil
  }

  @inline(__always)
  package mutating func skipWhitespace() {
    while position < end {
      switch byte(at: position) {
      case 0x20, 0x09, 0x0A, 0x0D: position += 1
      default: return
      }
    }
  }

  /// Skips the next byte if it's `byte`.
  @inline(__always)
  package mutating func take(_ byte: UInt8) -> Bool {
    guard position < end, self.byte(at: position) == byte else { return false }
    position += 1
    return true
  }

  /// Steps over one value, which must begin here.
  @discardableResult
  package mutating func skipValue(depth: Int = 0) throws(JSONError) -> Kind {
    guard position < end else { throw malformed("a value is missing") }
    switch byte(at: position) {
    case JSONByte.quote:
      _ = try scanString()
      return .string
    case JSONByte.openBrace:
      try skipObject(depth: depth + 1)
      return .object
    case JSONByte.openBracket:
      try skipArray(depth: depth + 1)
      return .array
    case 0x2D, 0x30...0x39:
      _ = try scanNumber()
      return .number
    case UInt8(ascii: "t"):
      try skipWord("true")
      return .bool
    case UInt8(ascii: "f"):
      try skipWord("false")
      return .bool
    case UInt8(ascii: "n"):
      try skipWord("null")
      return .null
    default:
      throw malformed("no value begins like this")
    }
  }

  /// Steps over `{`, to be followed by ``nextName(isFirst:)`` for each member.
  package mutating func openObject(depth: Int) throws(JSONError) {
    if depth > Self.maximumDepth { throw tooDeep() }
    guard take(JSONByte.openBrace) else { throw JSONError(.notAnObject, at: position, "not an object") }
  }

  /// Returns the next member's name and skips its colon, or returns `nil` after the closing brace.
  package mutating func nextName(isFirst: Bool) throws(JSONError) -> StringToken? {
    skipWhitespace()
    if take(JSONByte.closeBrace) { return nil }
    if !isFirst {
      guard take(JSONByte.comma) else { throw malformed("a comma or closing brace is missing") }
      skipWhitespace()
    }
    guard next == JSONByte.quote else { throw malformed("a member's name is missing") }
    let name = try scanString()
    skipWhitespace()
    guard take(JSONByte.colon) else { throw malformed("a colon is missing") }
    skipWhitespace()
    return name
  }

  /// Steps over `[`, to be followed by ``hasNextElement(isFirst:)`` for each element.
  package mutating func openArray(depth: Int) throws(JSONError) {
    if depth > Self.maximumDepth { throw tooDeep() }
    guard take(JSONByte.openBracket) else { throw malformed("not an array") }
  }

  /// Returns `true` before an element, and `false` after the closing bracket.
  package mutating func hasNextElement(isFirst: Bool) throws(JSONError) -> Bool {
    skipWhitespace()
    if take(JSONByte.closeBracket) { return false }
    if !isFirst {
      guard take(JSONByte.comma) else { throw malformed("a comma or closing bracket is missing") }
      skipWhitespace()
    }
    return true
  }

  private mutating func skipObject(depth: Int) throws(JSONError) {
    try openObject(depth: depth)
    var isFirst = true
    while try nextName(isFirst: isFirst) != nil {
      try skipValue(depth: depth)
      isFirst = false
    }
  }

  private mutating func skipArray(depth: Int) throws(JSONError) {
    try openArray(depth: depth)
    var isFirst = true
    while try hasNextElement(isFirst: isFirst) {
      try skipValue(depth: depth)
      isFirst = false
    }
  }

  package mutating func skipWord(_ word: StaticString) throws(JSONError) {
    let count = word.utf8CodeUnitCount
    guard end - position >= count else { throw malformed("no value begins like this") }
    for index in 0..<count where byte(at: position + index) != word.utf8Start[index] {
      throw malformed("no value begins like this")
    }
    position += count
  }

  mutating func advance(to offset: Int) {
    position = offset
  }

  func malformed(_ reason: String) -> JSONError {
    JSONError(.malformed, at: position, position < end ? reason : "\(reason): the JSON ends here")
  }

  private func tooDeep() -> JSONError {
    JSONError(.tooDeep, at: position, "more than \(Self.maximumDepth) arrays and objects inside each other")
  }
}
