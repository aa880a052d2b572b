internal import CofferDocuments

/// The members of an object.
struct JSONKeyedReader<Key: CodingKey>: KeyedDecodingContainerProtocol {
  private let decoder: JSONValueDecoder
  private let object: Int
  private let path: JSONCodingPath?
  /// The members by name, of an object in which a search would be wrong or long.
  private let names: JSONMemberNames?

  init(_ decoder: JSONValueDecoder, object: Int, path: JSONCodingPath?) {
    self.decoder = decoder
    self.object = object
    self.path = path
    names = JSONMemberNames.isNeeded(for: object, in: decoder.source) ? JSONMemberNames() : nil
  }

  var codingPath: [any CodingKey] { JSONCodingPath.keys(path) }

  var allKeys: [Key] {
    let source = decoder.source
    guard source.tape.entries[object].isMarked else {
      return JSONMemberNames.table(of: object, in: source).keys.compactMap { Key(stringValue: $0) }
    }
    var keys: [Key] = []
    var index = object + 1
    for _ in 0..<source.tape.entries[object].count {
      if let key = Key(stringValue: source.tape.string(at: index, in: source.bytes)) {
        keys.append(key)
      }
      index += 1
      index += source.tape.entries[index].span
    }
    return keys
  }

  func contains(_ key: Key) -> Bool { find(key.stringValue) != nil }

  func decodeNil(forKey key: Key) throws -> Bool { decoder.kind(of: try require(key)) == .null }

  func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
    try decoder.value(type, at: try require(key)) { inner(key) }
  }

  func decodeIfPresent<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value? {
    try findValue(key).map { try decoder.value(type, at: $0) { inner(key) } }
  }

  func nestedContainer<NestedKey: CodingKey>(
    keyedBy type: NestedKey.Type, forKey key: Key
  ) throws -> KeyedDecodingContainer<NestedKey> {
    try decoder.with(try require(key), path: JSONCodingPath(path, key)) { try decoder.container(keyedBy: type) }
  }

  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
    try decoder.with(try require(key), path: JSONCodingPath(path, key)) { try decoder.unkeyedContainer() }
  }

  func superDecoder() throws -> any Decoder { superDecoder(JSONCodingKey.super) }

  func superDecoder(forKey key: Key) throws -> any Decoder { superDecoder(key) }

  /// A missing member is `null`, as with Foundation.
  private func superDecoder(_ key: some CodingKey) -> any Decoder {
    JSONValueDecoder(
      decoder.source, top: find(key.stringValue) ?? decoder.source.tape.null, path: JSONCodingPath(path, key))
  }

  // MARK: Finding

  /// Returns the entry of a member's value, or `nil` if there's no such member.
  private func find(_ wanted: String) -> Int? {
    let source = decoder.source
    var name = wanted
    let isNext = decoder.cursor.object == object
    let first = isNext && source.tape.entries[object].isMarked ? decoder.cursor.next : object + 1
    let found: Int?
    if let names {
      found = names.find(name, of: object, from: first, in: source)
    } else {
      found =
        name.withUTF8 { source.tape.member($0, of: object, from: first, in: source.bytes) }
        ?? JSONMemberNames.find(foreign: name, of: object, in: source)
    }
    if let found { decoder.cursor = (object, found + source.tape.entries[found].span) }
    return found
  }

  private func require(_ key: Key) throws -> Int {
    if let found = find(key.stringValue) { return found }
    throw DecodingError.keyNotFound(
      key,
      .init(
        codingPath: codingPath, debugDescription: "No value associated with key \(key) (\"\(key.stringValue)\")."))
  }

  /// Returns the entry of a member's value, or `nil` if it's missing or null.
  private func findValue(_ key: Key) -> Int? {
    find(key.stringValue).flatMap { decoder.kind(of: $0) == .null ? nil : $0 }
  }

  /// Returns the path of a member's value.
  private func inner(_ key: Key) -> JSONCodingPath? { JSONCodingPath(path, key) }
}

// MARK: - Scalars

extension JSONKeyedReader {
  @inline(__always)
  private func integer<Integer: FixedWidthInteger & Decodable>(_ key: Key) throws -> Integer {
    try decoder.integer(at: try require(key)) { inner(key) }
  }

  @inline(__always)
  private func integerIfPresent<Integer: FixedWidthInteger & Decodable>(_ key: Key) throws -> Integer? {
    try findValue(key).map { try decoder.integer(at: $0) { inner(key) } }
  }

  func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool {
    try decoder.bool(at: try require(key)) { inner(key) }
  }
  func decode(_ type: String.Type, forKey key: Key) throws -> String {
    try decoder.string(at: try require(key)) { inner(key) }
  }
  func decode(_ type: Double.Type, forKey key: Key) throws -> Double {
    try decoder.double(at: try require(key)) { inner(key) }
  }
  func decode(_ type: Float.Type, forKey key: Key) throws -> Float {
    try decoder.float(at: try require(key)) { inner(key) }
  }
  func decode(_ type: Int.Type, forKey key: Key) throws -> Int { try integer(key) }
  func decode(_ type: Int8.Type, forKey key: Key) throws -> Int8 { try integer(key) }
  func decode(_ type: Int16.Type, forKey key: Key) throws -> Int16 { try integer(key) }
  func decode(_ type: Int32.Type, forKey key: Key) throws -> Int32 { try integer(key) }
  func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 { try integer(key) }
  func decode(_ type: Int128.Type, forKey key: Key) throws -> Int128 { try integer(key) }
  func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt { try integer(key) }
  func decode(_ type: UInt8.Type, forKey key: Key) throws -> UInt8 { try integer(key) }
  func decode(_ type: UInt16.Type, forKey key: Key) throws -> UInt16 { try integer(key) }
  func decode(_ type: UInt32.Type, forKey key: Key) throws -> UInt32 { try integer(key) }
  func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 { try integer(key) }
  func decode(_ type: UInt128.Type, forKey key: Key) throws -> UInt128 { try integer(key) }

  func decodeIfPresent(_ type: Bool.Type, forKey key: Key) throws -> Bool? {
    try findValue(key).map { try decoder.bool(at: $0) { inner(key) } }
  }
  func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? {
    try findValue(key).map { try decoder.string(at: $0) { inner(key) } }
  }
  func decodeIfPresent(_ type: Double.Type, forKey key: Key) throws -> Double? {
    try findValue(key).map { try decoder.double(at: $0) { inner(key) } }
  }
  func decodeIfPresent(_ type: Float.Type, forKey key: Key) throws -> Float? {
    try findValue(key).map { try decoder.float(at: $0) { inner(key) } }
  }
  func decodeIfPresent(_ type: Int.Type, forKey key: Key) throws -> Int? { try integerIfPresent(key) }
  func decodeIfPresent(_ type: Int8.Type, forKey key: Key) throws -> Int8? { try integerIfPresent(key) }
  func decodeIfPresent(_ type: Int16.Type, forKey key: Key) throws -> Int16? { try integerIfPresent(key) }
  func decodeIfPresent(_ type: Int32.Type, forKey key: Key) throws -> Int32? { try integerIfPresent(key) }
  func decodeIfPresent(_ type: Int64.Type, forKey key: Key) throws -> Int64? { try integerIfPresent(key) }
  func decodeIfPresent(_ type: UInt.Type, forKey key: Key) throws -> UInt? { try integerIfPresent(key) }
  func decodeIfPresent(_ type: UInt8.Type, forKey key: Key) throws -> UInt8? { try integerIfPresent(key) }
  func decodeIfPresent(_ type: UInt16.Type, forKey key: Key) throws -> UInt16? { try integerIfPresent(key) }
  func decodeIfPresent(_ type: UInt32.Type, forKey key: Key) throws -> UInt32? { try integerIfPresent(key) }
  func decodeIfPresent(_ type: UInt64.Type, forKey key: Key) throws -> UInt64? { try integerIfPresent(key) }
}
