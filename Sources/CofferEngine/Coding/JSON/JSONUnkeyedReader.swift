internal import CofferDocuments

/// The elements of an array.
struct JSONUnkeyedReader: UnkeyedDecodingContainer {
  private let decoder: JSONValueDecoder
  private let path: JSONCodingPath?
  /// The entry of the next element.
  private var next: Int
  private let total: Int
  private(set) var currentIndex = 0

  init(_ decoder: JSONValueDecoder, array: Int, path: JSONCodingPath?) {
    self.decoder = decoder
    self.path = path
    next = array + 1
    total = decoder.source.tape.entries[array].count
  }

  var codingPath: [any CodingKey] { JSONCodingPath.keys(path) }
  var count: Int? { total }
  var isAtEnd: Bool { currentIndex >= total }

  mutating func decodeNil() throws -> Bool {
    guard decoder.kind(of: try require(Never.self)) == .null else { return false }
    advance()
    return true
  }

  mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    let value = try decoder.value(type, at: try require(type)) { elementPath }
    advance()
    return value
  }

  mutating func decodeIfPresent<Value: Decodable>(_ type: Value.Type) throws -> Value? {
    let value =
      try presentElement.map { try decoder.value(type, at: $0) { elementPath } }
    advance()
    return value
  }

  mutating func nestedContainer<NestedKey: CodingKey>(
    keyedBy type: NestedKey.Type
  ) throws -> KeyedDecodingContainer<NestedKey> {
    let element = try require(KeyedDecodingContainer<NestedKey>.self)
    let container = try decoder.with(element, path: elementPath) { try decoder.container(keyedBy: type) }
    advance()
    return container
  }

  mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
    let element = try require((any UnkeyedDecodingContainer).self)
    let container = try decoder.with(element, path: elementPath) { try decoder.unkeyedContainer() }
    advance()
    return container
  }

  mutating func superDecoder() throws -> any Decoder {
    let element = try require((any Decoder).self)
    let superDecoder = JSONValueDecoder(decoder.source, top: element, path: elementPath)
    advance()
    return superDecoder
  }

  // MARK: Elements

  private var elementPath: JSONCodingPath { JSONCodingPath(path, JSONCodingKey.index(currentIndex)) }

  @inline(__always)
  private func require(_ type: any Any.Type) throws -> Int {
    if !isAtEnd { return next }
    throw DecodingError.valueNotFound(
      type,
      .init(codingPath: JSONCodingPath.keys(elementPath), debugDescription: "Unkeyed container is at end."))
  }

  @inline(__always)
  private mutating func advance() {
    if !isAtEnd { next += decoder.source.tape.entries[next].span }
    currentIndex += 1
  }

  /// The next element, or `nil` if it's null, or at the end.
  private var presentElement: Int? { isAtEnd || decoder.kind(of: next) == .null ? nil : next }

  // MARK: Scalars

  @inline(__always)
  private func read<Value>(
    _ element: Int, _ decode: (JSONValueDecoder, Int, () -> JSONCodingPath?) throws -> Value
  ) throws -> Value {
    try decode(decoder, element) { elementPath }
  }

  @inline(__always)
  private mutating func element<Value>(
    _ decode: (JSONValueDecoder, Int, () -> JSONCodingPath?) throws -> Value
  ) throws -> Value {
    let value = try read(try require(Value.self), decode)
    advance()
    return value
  }

  /// Decodes the next element, and advances also over a null and at the end.
  @inline(__always)
  private mutating func elementIfPresent<Value>(
    _ decode: (JSONValueDecoder, Int, () -> JSONCodingPath?) throws -> Value
  ) throws -> Value? {
    let value = try presentElement.map { try read($0, decode) }
    advance()
    return value
  }

  mutating func decode(_ type: Bool.Type) throws -> Bool { try element { try $0.bool(at: $1, $2) } }
  mutating func decode(_ type: String.Type) throws -> String { try element { try $0.string(at: $1, $2) } }
  mutating func decode(_ type: Double.Type) throws -> Double { try element { try $0.double(at: $1, $2) } }
  mutating func decode(_ type: Float.Type) throws -> Float { try element { try $0.float(at: $1, $2) } }
  mutating func decode(_ type: Int.Type) throws -> Int { try element { try $0.integer(at: $1, $2) } }
  mutating func decode(_ type: Int8.Type) throws -> Int8 { try element { try $0.integer(at: $1, $2) } }
  mutating func decode(_ type: Int16.Type) throws -> Int16 { try element { try $0.integer(at: $1, $2) } }
  mutating func decode(_ type: Int32.Type) throws -> Int32 { try element { try $0.integer(at: $1, $2) } }
  mutating func decode(_ type: Int64.Type) throws -> Int64 { try element { try $0.integer(at: $1, $2) } }
  mutating func decode(_ type: Int128.Type) throws -> Int128 { try element { try $0.integer(at: $1, $2) } }
  mutating func decode(_ type: UInt.Type) throws -> UInt { try element { try $0.integer(at: $1, $2) } }
  mutating func decode(_ type: UInt8.Type) throws -> UInt8 { try element { try $0.integer(at: $1, $2) } }
  mutating func decode(_ type: UInt16.Type) throws -> UInt16 { try element { try $0.integer(at: $1, $2) } }
  mutating func decode(_ type: UInt32.Type) throws -> UInt32 { try element { try $0.integer(at: $1, $2) } }
  mutating func decode(_ type: UInt64.Type) throws -> UInt64 { try element { try $0.integer(at: $1, $2) } }
  mutating func decode(_ type: UInt128.Type) throws -> UInt128 { try element { try $0.integer(at: $1, $2) } }

  mutating func decodeIfPresent(_ type: Bool.Type) throws -> Bool? { try elementIfPresent { try $0.bool(at: $1, $2) } }
  mutating func decodeIfPresent(_ type: String.Type) throws -> String? {
    try elementIfPresent { try $0.string(at: $1, $2) }
  }
  mutating func decodeIfPresent(_ type: Double.Type) throws -> Double? {
    try elementIfPresent { try $0.double(at: $1, $2) }
  }
  mutating func decodeIfPresent(_ type: Float.Type) throws -> Float? {
    try elementIfPresent { try $0.float(at: $1, $2) }
  }
  mutating func decodeIfPresent(_ type: Int.Type) throws -> Int? { try elementIfPresent { try $0.integer(at: $1, $2) } }
  mutating func decodeIfPresent(_ type: Int8.Type) throws -> Int8? {
    try elementIfPresent { try $0.integer(at: $1, $2) }
  }
  mutating func decodeIfPresent(_ type: Int16.Type) throws -> Int16? {
    try elementIfPresent { try $0.integer(at: $1, $2) }
  }
  mutating func decodeIfPresent(_ type: Int32.Type) throws -> Int32? {
    try elementIfPresent { try $0.integer(at: $1, $2) }
  }
  mutating func decodeIfPresent(_ type: Int64.Type) throws -> Int64? {
    try elementIfPresent { try $0.integer(at: $1, $2) }
  }
  mutating func decodeIfPresent(_ type: Int128.Type) throws -> Int128? {
    try elementIfPresent { try $0.integer(at: $1, $2) }
  }
  mutating func decodeIfPresent(_ type: UInt.Type) throws -> UInt? {
    try elementIfPresent { try $0.integer(at: $1, $2) }
  }
  mutating func decodeIfPresent(_ type: UInt8.Type) throws -> UInt8? {
    try elementIfPresent { try $0.integer(at: $1, $2) }
  }
  mutating func decodeIfPresent(_ type: UInt16.Type) throws -> UInt16? {
    try elementIfPresent { try $0.integer(at: $1, $2) }
  }
  mutating func decodeIfPresent(_ type: UInt32.Type) throws -> UInt32? {
    try elementIfPresent { try $0.integer(at: $1, $2) }
  }
  mutating func decodeIfPresent(_ type: UInt64.Type) throws -> UInt64? {
    try elementIfPresent { try $0.integer(at: $1, $2) }
  }
  mutating func decodeIfPresent(_ type: UInt128.Type) throws -> UInt128? {
    try elementIfPresent { try $0.integer(at: $1, $2) }
  }
}
