/// Visits the strings of a JSON value in order, and optionally the names of members, without building a tree.
package struct JSONStringWalk {
  package struct Found {
    package let token: JSONScanner.StringToken
    /// The string is the name of a member.
    package let isName: Bool
  }

  private enum Level {
    /// An object, with the name of the current member.
    case object(JSONScanner.StringToken?)
    /// An array, with the index of the current element.
    case array(Int)
  }

  private enum Next {
    case value
    case member(isFirst: Bool)
    case element(isFirst: Bool)
    /// After a returned string. The levels are still the string's path.
    case afterString
    case end
  }

  package private(set) var scanner: JSONScanner
  private let withNames: Bool
  private var levels: [Level] = []
  private var next = Next.value

  /// Creates a walk through valid UTF-8, which must outlive the walk.
  package init(_ json: UnsafeRawBufferPointer, withNames: Bool) {
    scanner = JSONScanner(json)
    self.withNames = withNames
    scanner.skipWhitespace()
  }

  /// Returns the next string, or `nil` at the end of the value.
  ///
  /// - Throws: The errors of ``JSONScanner``, at the first byte that isn't valid JSON.
  package mutating func nextString() throws(JSONError) -> Found? {
    while true {
      switch next {
      case .value:
        if let string = try beginValue() { return string }
      case .member(let isFirst):
        guard let name = try scanner.nextName(isFirst: isFirst) else {
          levels.removeLast()
          endValue()
          continue
        }
        levels[levels.count - 1] = .object(name)
        next = .value
        if withNames { return Found(token: name, isName: true) }
      case .element(let isFirst):
        if try scanner.hasNextElement(isFirst: isFirst) {
          next = .value
        } else {
          levels.removeLast()
          endValue()
        }
      case .afterString:
        endValue()
      case .end:
        scanner.skipWhitespace()
        guard scanner.next == nil else { throw scanner.malformed("text after the value") }
        return nil
      }
    }
  }

  /// The path of the last string, or of its member if the string is a name.
  package var path: JSONPath {
    JSONPath(
      steps: levels.compactMap { level in
        switch level {
        case .object(let name): name.map { .member(scanner.value(of: $0)) }
        case .array(let index): .element(index)
        }
      })
  }

  /// Returns the string between two quotes in a text, or `nil` if the range doesn't contain a string.
  package static func string(at place: Range<Int>, in json: UnsafeRawBufferPointer) -> String? {
    guard place.lowerBound >= 1, place.upperBound < json.count else { return nil }
    var scanner = JSONScanner(json, in: place.lowerBound - 1..<place.upperBound + 1)
    guard let token = try? scanner.scanString(), token.range == place else { return nil }
    return String(decoding: scanner.value(of: token), as: UTF8.self)
  }

  private mutating func beginValue() throws(JSONError) -> Found? {
    switch scanner.next {
    case JSONByte.quote:
      next = .afterString
      return Found(token: try scanner.scanString(), isName: false)
    case JSONByte.openBrace:
      try scanner.openObject(depth: levels.count + 1)
      levels.append(.object(nil))
      next = .member(isFirst: true)
    case JSONByte.openBracket:
      try scanner.openArray(depth: levels.count + 1)
      levels.append(.array(0))
      next = .element(isFirst: true)
    default:
      try scanner.skipValue()
      endValue()
    }
    return nil
  }

  private mutating func endValue() {
    switch levels.last {
    case .object: next = .member(isFirst: false)
    case .array(let index):
      levels[levels.count - 1] = .array(index + 1)
      next = .element(isFirst: false)
    case nil: next = .end
    }
  }
}
