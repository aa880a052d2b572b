internal import CofferDocuments

// Converts JSON from a property list to the property list's values.
extension BinaryPropertyListWriter {
  /// Appends the JSON value at the scanner's position as the property list value that reads as this JSON.
  ///
  /// - Throws: `JSONError` for invalid JSON, or for null, which other property list readers don't accept.
  mutating func append(json scanner: inout JSONScanner, depth: Int = 0) throws -> UInt32 {
    switch scanner.next {
    case JSONByte.quote:
      let text = scanner.value(of: try scanner.scanString())
      if let date = Timestamp(iso8601: text) { return try append(date: date) }
      return try text.withUnsafeBytes { Result(utf8: $0, in: &self) }.get()
    case JSONByte.openBrace:
      return try append(object: &scanner, depth: depth + 1)
    case JSONByte.openBracket:
      try scanner.openArray(depth: depth + 1)
      var elements: [UInt32] = []
      while try scanner.hasNextElement(isFirst: elements.isEmpty) {
        elements.append(try append(json: &scanner, depth: depth + 1))
      }
      return try append(array: elements)
    case UInt8(ascii: "t"):
      try scanner.skipWord("true")
      return try append(bool: true)
    case UInt8(ascii: "f"):
      try scanner.skipWord("false")
      return try append(bool: false)
    default:
      return try append(number: try scanner.scanNumber(), scanner)
    }
  }

  /// Appends a JSON value without null.
  mutating func append(json bytes: [UInt8]) throws(FormatError) -> UInt32 {
    let result: Result<UInt32, any Error> = bytes.withUnsafeBytes { buffer in
      var scanner = JSONScanner(buffer)
      return Result { try append(json: &scanner) }
    }
    do {
      return try result.get()
    } catch let error as FormatError {
      throw error
    } catch {
      preconditionFailure("internal error: attributes that are not JSON")
    }
  }

  private mutating func append(object scanner: inout JSONScanner, depth: Int) throws -> UInt32 {
    var behind = scanner
    try behind.skipValue(depth: depth - 1)
    let source = scanner.position..<behind.position
    if let token = scanner.base64Token(in: source) {
      var data: [UInt8] = []
      // Other strings remain dictionary members.
      if scanner.value(of: token).withUnsafeBytes({ Base64.append(decoding: $0, to: &data) }) {
        scanner = behind
        return try append(data: data)
      }
    }
    var keys: [UInt32] = []
    var values: [UInt32] = []
    try scanner.openObject(depth: depth)
    while let name = try scanner.nextName(isFirst: keys.isEmpty) {
      keys.append(try append(key: scanner.value(of: name)))
      values.append(try append(json: &scanner, depth: depth))
    }
    return try append(keys: keys, values: values)
  }

  private mutating func append(number token: JSONScanner.NumberToken, _ scanner: JSONScanner) throws -> UInt32 {
    if let integer = scanner.integer(of: token) { return try append(integer: Int128(integer)) }
    let text = String(
      decoding: UnsafeRawBufferPointer(start: scanner.base + token.range.lowerBound, count: token.range.count),
      as: UTF8.self)
    if token.isInteger, let integer = Int128(text) { return try append(integer: integer) }
    return try append(real: Double(text) ?? .nan)
  }
}

extension Result where Success == UInt32, Failure == FormatError {
  fileprivate init<Output>(utf8: UnsafeRawBufferPointer, in writer: inout BinaryPropertyListWriter<Output>) {
    do throws(FormatError) {
      self = .success(try writer.append(utf8: utf8))
    } catch {
      self = .failure(error)
    }
  }
}

extension Timestamp {
  /// Parses the form that ``description`` writes.
  fileprivate init?(iso8601 text: [UInt8]) {
    guard text.count == 24, text.last == UInt8(ascii: "Z") else { return nil }
    self.init(iso8601: String(decoding: text, as: UTF8.self))
    guard description.utf8.elementsEqual(text) else { return nil }
  }
}
