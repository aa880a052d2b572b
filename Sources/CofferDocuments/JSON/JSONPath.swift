/// A path to a value inside a JSON value: `price`, `address.city`, `$.tags[0]`, `["a.b"].c`.
///
/// A path selects object members by name and array elements by index from 0. The leading `$`, which is the whole value,
/// is optional. Quote names that contain `.` or `[`, as in SQLite's paths. Double-quoted names can contain `\"` and
/// JSON's other escapes.
public struct JSONPath: Hashable, Sendable {
  package enum Step: Hashable, Sendable {
    case member([UInt8])
    case element(Int)
  }

  let steps: [Step]

  package init(steps: [Step]) {
    self.steps = steps
  }

  /// Parses a path.
  ///
  /// - Returns: The path, or `nil` if it's invalid.
  public init?(_ text: some StringProtocol) {
    var rest = Array(text.utf8)[...]
    var steps: [Step] = []
    if rest.first == UInt8(ascii: "$") {
      rest.removeFirst()
    } else if let first = rest.first, first != JSONByte.openBracket, first != UInt8(ascii: ".") {
      // The dot before the first name goes with the dollar.
      rest = [UInt8(ascii: ".")] + rest
    }
    while let mark = rest.popFirst() {
      let step: Step? =
        switch mark {
        case UInt8(ascii: "."): Self.name(&rest)
        case JSONByte.openBracket: Self.bracketed(&rest)
        default: nil
        }
      guard let step else { return nil }
      steps.append(step)
    }
    self.steps = steps
  }

  /// Creates the path of a member, whose name can contain any characters.
  public init(member name: some StringProtocol) {
    steps = [.member(Array(name.utf8))]
  }

  private static func name(_ rest: inout ArraySlice<UInt8>) -> Step? {
    if let quoted = quoted(&rest) { return .member(quoted) }
    guard rest.first != JSONByte.quote else { return nil }
    let name = rest.prefix { $0 != UInt8(ascii: ".") && $0 != JSONByte.openBracket }
    rest = rest.dropFirst(name.count)
    return name.isEmpty ? nil : .member(Array(name))
  }

  private static func bracketed(_ rest: inout ArraySlice<UInt8>) -> Step? {
    let step: Step?
    if let quoted = quoted(&rest) {
      step = .member(quoted)
    } else {
      let digits = rest.prefix { (0x30...0x39).contains($0) }
      rest = rest.dropFirst(digits.count)
      step = Int(String(decoding: digits, as: UTF8.self)).map { .element($0) }
    }
    return rest.popFirst() == JSONByte.closeBracket ? step : nil
  }

  /// Returns the text between two quotes, with resolved escapes in double quotes. Returns `nil` without consuming bytes
  /// if the quotation is invalid.
  private static func quoted(_ rest: inout ArraySlice<UInt8>) -> [UInt8]? {
    guard let quote = rest.first, quote == JSONByte.quote || quote == UInt8(ascii: "'") else { return nil }
    guard quote == JSONByte.quote else {
      guard let end = rest.dropFirst().firstIndex(of: quote) else { return nil }
      defer { rest = rest[(end + 1)...] }
      return Array(rest[(rest.startIndex + 1)..<end])
    }
    let name = rest.withUnsafeBytes { bytes -> (bytes: [UInt8], count: Int)? in
      var scanner = JSONScanner(bytes)
      guard let token = try? scanner.scanString() else { return nil }
      return (scanner.value(of: token), scanner.position)
    }
    guard let name else { return nil }
    rest = rest.dropFirst(name.count)
    return name.bytes
  }
}

extension JSONPath: CustomStringConvertible {
  /// The path as this type and SQLite's JSON functions read it: `$.tags[0]`, `$."a.b"`.
  public var description: String {
    var text: [UInt8] = [UInt8(ascii: "$")]
    for step in steps {
      switch step {
      case .element(let index): text += "[\(index)]".utf8
      case .member(let name):
        text.append(UInt8(ascii: "."))
        if !name.isEmpty, name.allSatisfy(Self.isPlain) {
          text += name
        } else {
          name.withUnsafeBytes { JSONWriter.appendString($0, to: &text) }
        }
      }
    }
    return String(decoding: text, as: UTF8.self)
  }

  /// Returns whether a name's byte doesn't need quotes, which applies to letters, digits, `_`, `-` and non-ASCII bytes.
  private static func isPlain(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "_"), UInt8(ascii: "-"), 0x80...: true
    default: false
    }
  }
}

extension JSONPath {
  /// Finds the value in a JSON text in UTF-8. If a name is repeated, its first member counts.
  ///
  /// - Returns: The value, or `nil` if it's missing or the bytes aren't JSON.
  package func find(in json: UnsafeRawBufferPointer) -> (kind: JSONScanner.Kind, range: Range<Int>)? {
    var whole = JSONScanner(json)
    guard let document = try? whole.scanDocument() else { return nil }
    return find(in: json, document)
  }

  /// Finds the value in a JSON text in UTF-8, whose scan returned `document`.
  package func find(
    in json: UnsafeRawBufferPointer, _ document: (kind: JSONScanner.Kind, range: Range<Int>)
  ) -> (kind: JSONScanner.Kind, range: Range<Int>)? {
    var found = document
    for step in steps {
      guard let inner = try? Self.take(step, json, found.range) else { return nil }
      found = inner
    }
    return found
  }

  private static func take(_ step: Step, _ json: UnsafeRawBufferPointer, _ range: Range<Int>) throws(JSONError)
    -> (kind: JSONScanner.Kind, range: Range<Int>)?
  {
    var scanner = JSONScanner(json, in: range)
    switch (step, scanner.next) {
    case (.member(let wanted), JSONByte.openBrace):
      try scanner.openObject(depth: 1)
      var isFirst = true
      while let name = try scanner.nextName(isFirst: isFirst) {
        let start = scanner.position
        let kind = try scanner.skipValue(depth: 1)
        if scanner.equals(name, wanted) { return (kind, start..<scanner.position) }
        isFirst = false
      }
    case (.element(let wanted), JSONByte.openBracket):
      try scanner.openArray(depth: 1)
      var index = 0
      while try scanner.hasNextElement(isFirst: index == 0) {
        let start = scanner.position
        let kind = try scanner.skipValue(depth: 1)
        if index == wanted { return (kind, start..<scanner.position) }
        index += 1
      }
    default: break
    }
    return nil
  }
}

extension JSONPath {
  /// Returns the string at the path, or `nil` if it's missing or has another type.
  package func string(in json: UnsafeRawBufferPointer) -> String? {
    guard let found = find(in: json), found.kind == .string else { return nil }
    return String(decoding: Self.bytes(ofStringAt: found.range, in: json), as: UTF8.self)
  }

  package static func bytes(ofStringAt range: Range<Int>, in json: UnsafeRawBufferPointer) -> [UInt8] {
    var scanner = JSONScanner(json, in: range)
    guard let token = try? scanner.scanString() else { return [] }
    return scanner.value(of: token)
  }
}
