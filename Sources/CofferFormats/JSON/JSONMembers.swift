internal import CofferDocuments

/// The members of exported records, in the order of writing.
enum DocumentMember: UInt8, CaseIterable {
  case collection, id, position, title, text, key, created, modified, attributes, parent, json, attachments

  var name: StaticString {
    switch self {
    case .collection: "collection"
    case .id: "id"
    case .position: "position"
    case .title: "title"
    case .text: "text"
    case .key: "key"
    case .created: "created"
    case .modified: "modified"
    case .attributes: "attributes"
    case .parent: "parent"
    case .json: "json"
    case .attachments: "attachments"
    }
  }
}

/// A member's value, scanned but not parsed.
struct ScannedValue: Sendable {
  enum Content: Sendable {
    case string(JSONScanner.StringToken)
    case number(JSONScanner.NumberToken)
    case bool(Bool)
    case null
    case object
    case array
  }

  let content: Content
  /// The value's range in the input.
  let source: Range<Int>
}

extension JSONScanner {
  /// Reads an object, and calls `body` with each name and value.
  mutating func forEachMember(
    _ body: (_ name: StringToken, _ value: ScannedValue, _ scanner: JSONScanner) -> Void
  ) throws(JSONError) {
    try openObject(depth: 1)
    var isFirst = true
    while let name = try nextName(isFirst: isFirst) {
      isFirst = false
      let value = try scanMemberValue()
      body(name, value, self)
    }
  }

  /// Scans the value of a member of the record's root.
  mutating func scanMemberValue() throws(JSONError) -> ScannedValue {
    let start = position
    let content: ScannedValue.Content
    switch next {
    case JSONByte.quote:
      content = .string(try scanString())
    case 0x2D?, (0x30...0x39)?:
      content = .number(try scanNumber())
    case let first:
      switch try skipValue(depth: 1) {
      case .object: content = .object
      case .array: content = .array
      case .null: content = .null
      default: content = .bool(first == UInt8(ascii: "t"))
      }
    }
    return ScannedValue(content: content, source: start..<position)
  }

  /// Returns whether a value without whitespace is or contains null.
  func holdsNull(in value: ScannedValue) -> Bool {
    switch value.content {
    case .null: return true
    case .string, .number, .bool: return false
    case .object, .array: break
    }
    let json = UnsafeRawBufferPointer(start: base + value.source.lowerBound, count: value.source.count)
    var isInString = false
    var isEscaped = false
    // Outside of strings, no other literal contains an n.
    return json.contains { byte in
      if isEscaped {
        isEscaped = false
      } else if byte == JSONByte.quote {
        isInString.toggle()
      } else if isInString {
        isEscaped = byte == UInt8(ascii: "\\")
      } else {
        return byte == UInt8(ascii: "n")
      }
      return false
    }
  }

  /// Returns the exported record's member with this name.
  func documentMember(_ name: StringToken) -> DocumentMember? {
    switch name.hasEscapes ? -1 : name.range.count {
    case 2: return equals(name, "id") ? .id : nil
    case 3: return equals(name, "key") ? .key : nil
    case 4: return equals(name, "text") ? .text : equals(name, "json") ? .json : nil
    case 5: return equals(name, "title") ? .title : nil
    case 6: return equals(name, "parent") ? .parent : nil
    case 7: return equals(name, "created") ? .created : nil
    case 8: return equals(name, "modified") ? .modified : equals(name, "position") ? .position : nil
    case 10: return equals(name, "collection") ? .collection : equals(name, "attributes") ? .attributes : nil
    case 11: return equals(name, "attachments") ? .attachments : nil
    case -1: return DocumentMember.allCases.first { equals(name, $0.name) }
    default: return nil
    }
  }

  /// Returns the string of `{"$base64":"…"}`, or `nil` for other objects.
  func base64Token(in range: Range<Int>) -> StringToken? {
    var scanner = JSONScanner(UnsafeRawBufferPointer(start: base, count: range.upperBound), in: range)
    do throws(JSONError) {
      try scanner.openObject(depth: 1)
      guard let name = try scanner.nextName(isFirst: true), scanner.equals(name, "$base64"),
        scanner.next == JSONByte.quote
      else { return nil }
      let token = try scanner.scanString()
      return try scanner.nextName(isFirst: false) == nil && !token.hasEscapes ? token : nil
    } catch {
      return nil
    }
  }
}
