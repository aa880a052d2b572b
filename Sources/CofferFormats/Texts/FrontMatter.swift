internal import CofferDocuments

/// Attributes at the beginning of a text, as YAML scalars and lists of scalars between two `---` lines.
///
/// An unquoted number or word is a string unless it's written as in JSON, so `1.10` is unchanged. Maps, multiline
/// texts, tags, anchors and comments are faults, because attributes can't represent them.
enum FrontMatter {
  struct Fault: Error {
    let position: Int
    let reason: String
  }

  private typealias Bytes = ArraySlice<UInt8>

  private static let fence = Array("---".utf8)

  /// Reads a text's front matter.
  ///
  /// - Returns: The attributes and the position of the remaining text, or `nil` if the text doesn't begin with front
  ///   matter.
  static func read(
    _ bytes: UnsafeRawBufferPointer, from start: Int
  ) throws(Fault) -> (attributes: Attributes, end: Int)? {
    guard let first = bytes.line(from: start, isFinal: true), bytes[first.content].elementsEqual(fence) else {
      return nil
    }
    // Names are bytes, as in attributes.
    var members: [[UInt8]: (name: String, value: AttributeValue)] = [:]
    // The last line's member without a value, which a list can follow.
    var open: (name: String, list: [AttributeValue])?
    var position = first.end
    while position < bytes.count, let line = bytes.line(from: position, isFinal: true) {
      let content = Array(bytes[line.content])[...]
      let isEnd = content.elementsEqual(fence) || content.elementsEqual("...".utf8)
      if !isEnd, open != nil, let item = listItem(content) {
        guard let value = scalar(item) else { throw unfit(at: position) }
        open?.list.append(value)
      } else if isEnd || !trimmed(content).isEmpty {
        if let open { members[Array(open.name.utf8)]?.value = open.list.isEmpty ? .null : .array(open.list) }
        open = nil
        if isEnd { return (attributes(members.values.map { ($0.name, $0.value) }), line.end) }
        guard let (name, rest) = member(content) else { throw unfit(at: position) }
        guard members.updateValue((name, .null), forKey: Array(name.utf8)) == nil else {
          throw Fault(position: position, reason: "front matter with the same name twice")
        }
        if rest.isEmpty {
          open = (name, [])
        } else {
          guard let value = rest.first == JSONByte.openBracket ? list(rest) : scalar(rest) else {
            throw unfit(at: position)
          }
          members[Array(name.utf8)]?.value = value
        }
      }
      position = line.end
    }
    throw Fault(position: start, reason: "front matter without the line --- that ends it")
  }

  private static func unfit(at position: Int) -> Fault {
    Fault(position: position, reason: "front matter that is neither a scalar nor a list of scalars")
  }

  private static func attributes(_ members: [(String, AttributeValue)]) -> Attributes {
    do throws(JSONError) {
      return try Attributes(members)
    } catch {
      preconditionFailure("internal error: scalars and lists that JSON does not hold")
    }
  }

  // MARK: Lines

  /// Returns a name and the text after its colon.
  private static func member(_ line: Bytes) -> (name: String, rest: Bytes)? {
    var rest: Bytes
    let name: [UInt8]
    if let quoted = quoted(line) {
      name = quoted.value
      rest = quoted.rest
    } else {
      let end = line.indices.first {
        line[$0] == JSONByte.colon && ($0 + 1 == line.endIndex || line[$0 + 1] == Self.space)
      }
      guard let end, isPlain(line[..<end], inList: false) else { return nil }
      name = Array(line[..<end])
      rest = line[end...]
    }
    guard rest.popFirst() == JSONByte.colon, rest.isEmpty || rest.first == Self.space else { return nil }
    return (String(decoding: name, as: UTF8.self), trimmed(rest))
  }

  /// Returns the content of a line `- item`, which can be indented.
  private static func listItem(_ line: Bytes) -> Bytes? {
    var item = trimmed(line)
    guard item.popFirst() == UInt8(ascii: "-"), item.isEmpty || item.first == Self.space else { return nil }
    return trimmed(item)
  }

  /// Returns a list `[a, b]` in one line.
  private static func list(_ text: Bytes) -> AttributeValue? {
    var rest = trimmed(text.dropFirst())
    if rest.elementsEqual([JSONByte.closeBracket]) { return .array([]) }
    var values: [AttributeValue] = []
    while true {
      if let quoted = quoted(rest) {
        values.append(.string(String(decoding: quoted.value, as: UTF8.self)))
        rest = trimmed(quoted.rest)
      } else {
        guard let end = rest.firstIndex(where: { $0 == JSONByte.comma || $0 == JSONByte.closeBracket }) else {
          return nil
        }
        let item = trimmed(rest[..<end])
        guard !item.isEmpty, let value = scalar(item, inList: true) else { return nil }
        values.append(value)
        rest = rest[end...]
      }
      switch rest.popFirst() {
      case JSONByte.comma: rest = trimmed(rest)
      case JSONByte.closeBracket: return rest.isEmpty ? .array(values) : nil
      default: return nil
      }
    }
  }

  // MARK: Scalars

  private static func scalar(_ text: Bytes, inList: Bool = false) -> AttributeValue? {
    if text.isEmpty { return .null }
    if let quoted = quoted(text) {
      return quoted.rest.isEmpty ? .string(String(decoding: quoted.value, as: UTF8.self)) : nil
    }
    guard isPlain(text, inList: inList) else { return nil }
    if text.elementsEqual("null".utf8) || text.elementsEqual("~".utf8) { return .null }
    if text.elementsEqual("true".utf8) { return .bool(true) }
    if text.elementsEqual("false".utf8) { return .bool(false) }
    let string = String(decoding: text, as: UTF8.self)
    if let number = Double(string), number.isFinite {
      var canonical: [UInt8] = []
      JSONWriter.appendNumber(number, to: &canonical)
      if canonical.elementsEqual(text) { return .number(number) }
    }
    return .string(string)
  }

  /// Returns the quoted string at the beginning, which is `"…"` with JSON escapes, or `'…'` with doubled quotes.
  private static func quoted(_ text: Bytes) -> (value: [UInt8], rest: Bytes)? {
    if text.first == JSONByte.quote {
      return text.withUnsafeBytes { bytes in
        var scanner = JSONScanner(bytes)
        guard let token = try? scanner.scanString() else { return nil }
        return (scanner.value(of: token), text.dropFirst(scanner.position))
      }
    }
    guard text.first == Self.apostrophe else { return nil }
    var value: [UInt8] = []
    var rest = text.dropFirst()
    while let byte = rest.popFirst() {
      if byte != Self.apostrophe {
        value.append(byte)
      } else if rest.first == Self.apostrophe {
        value.append(rest.removeFirst())
      } else {
        return (value, rest)
      }
    }
    return nil
  }

  /// Returns whether a text doesn't need quotes.
  private static func isPlain(_ text: Bytes, inList: Bool) -> Bool {
    guard let first = text.first, let last = text.last, first != Self.space, last != Self.space,
      last != JSONByte.colon, !"?:,[]{}#&*!|>'\"%@`".utf8.contains(first)
    else { return false }
    if first == UInt8(ascii: "-"), text.count == 1 || text.dropFirst().first == Self.space { return false }
    for (byte, next) in zip(text, text.dropFirst())
    where byte == JSONByte.colon && next == Self.space || byte == Self.space && next == UInt8(ascii: "#") {
      return false
    }
    return !text.contains { $0 < 0x20 || $0 == 0x7F || inList && ",[]{}".utf8.contains($0) }
  }

  private static func trimmed(_ text: Bytes) -> Bytes {
    var text = text.drop { $0 == Self.space }
    while text.last == Self.space { text.removeLast() }
    return text
  }

  private static let space = UInt8(ascii: " ")
  private static let apostrophe = UInt8(ascii: "'")
}

// MARK: - Writing

extension FrontMatter {
  /// Returns a document's front matter, which is empty if the document doesn't have attributes and its text can't be
  /// mistaken for front matter.
  ///
  /// - Throws: `unencodable` for an attribute with other values than scalars and lists of scalars.
  static func bytes(for document: OpenedDocument) throws(FormatError) -> [UInt8] {
    let attributes = document.header.attributes
    let firstLine = document.utf8.line(from: 0, isFinal: true)?.content ?? 0..<0
    guard !attributes.isEmpty || document.utf8[firstLine].elementsEqual(fence) else { return [] }
    var bytes = fence + [Byte.lineFeed]
    var isFit = true
    attributes.forEachMember { name, value, scanner in
      if isPlain(name[...], inList: false), !name.contains(JSONByte.colon) {
        bytes += name
      } else {
        name.withUnsafeBytes { JSONWriter.appendString($0, to: &bytes) }
      }
      bytes += ": ".utf8
      isFit = append(value, scanner, inList: false, to: &bytes) && isFit
      bytes.append(Byte.lineFeed)
    }
    guard isFit else {
      throw FormatError(
        .unencodable,
        "document \(document.header.id) has an attribute that is neither a scalar nor a list of scalars, which front "
          + "matter cannot hold: leave --front-matter out, and index.ndjson holds the attributes")
    }
    return bytes + fence + [Byte.lineFeed]
  }

  /// - Returns: `false` if front matter can't represent the value.
  private static func append(
    _ value: ScannedValue, _ scanner: JSONScanner, inList: Bool, to bytes: inout [UInt8]
  ) -> Bool {
    let buffer = UnsafeRawBufferPointer(start: scanner.base, count: value.source.upperBound)
    switch value.content {
    case .null, .bool, .number:
      bytes += buffer[value.source]
      return true
    case .string(let token):
      let string = scanner.value(of: token)
      if case .string(let read)? = scalar(string[...], inList: inList), read.utf8.elementsEqual(string),
        isPlain(string[...], inList: inList)
      {
        bytes += string
      } else {
        string.withUnsafeBytes { JSONWriter.appendString($0, to: &bytes) }
      }
      return true
    case .array where !inList:
      var elements = JSONScanner(buffer, in: value.source)
      bytes.append(JSONByte.openBracket)
      var isFirst = true
      do throws(JSONError) {
        try elements.openArray(depth: 1)
        while try elements.hasNextElement(isFirst: isFirst) {
          if !isFirst { bytes += ", ".utf8 }
          isFirst = false
          guard append(try elements.scanMemberValue(), elements, inList: true, to: &bytes) else { return false }
        }
      } catch {
        preconditionFailure("internal error: attributes that are not canonical")
      }
      bytes.append(JSONByte.closeBracket)
      return true
    case .array, .object:
      return false
    }
  }
}
