internal import CofferDocuments
internal import CofferFoundation

/// The decoder that's passed to types. The same decoder is used for nested values, and `top` is its current value.
final class JSONValueDecoder: Decoder {
  let source: JSONSource
  // Exclusive access isn't checked, because one thread decodes a value, and accesses aren't kept.
  /// The entry of the current value.
  @exclusivity(unchecked) private(set) var top: Int
  /// The path of the current value.
  @exclusivity(unchecked) private(set) var path: JSONCodingPath?
  /// The entry after the last found value, where the search for the object's next member starts, because members are
  /// usually read in order.
  @exclusivity(unchecked) var cursor = (object: -1, next: 0)

  init(_ source: JSONSource, top: Int, path: JSONCodingPath?) {
    self.source = source
    self.top = top
    self.path = path
  }

  var codingPath: [any CodingKey] { JSONCodingPath.keys(path) }

  var userInfo: [CodingUserInfoKey: Any] { source.reading.userInfo }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    switch kind(of: top) {
    case .plainObject, .object:
      return KeyedDecodingContainer(JSONKeyedReader<Key>(self, object: top, path: path))
    default:
      throw wrongContainer([String: Any].self, "keyed")
    }
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    guard kind(of: top) == .array else { throw wrongContainer([Any].self, "unkeyed") }
    return JSONUnkeyedReader(self, array: top, path: path)
  }

  func singleValueContainer() throws -> any SingleValueDecodingContainer { self }

  /// Calls a closure while the decoder stands for a nested value.
  @inline(__always)
  func with<Result>(_ value: Int, path: JSONCodingPath?, _ body: () throws -> Result) rethrows -> Result {
    let outer = (top, self.path, cursor)
    top = value
    self.path = path
    defer { (top, self.path, cursor) = outer }
    return try body()
  }

  @inline(__always)
  func kind(of value: Int) -> JSONTape.Kind { source.tape.entries[value].kind }

  private func wrongContainer(_ type: any Any.Type, _ container: String) -> DecodingError {
    if kind(of: top) == .null {
      return .valueNotFound(
        type,
        .init(
          codingPath: codingPath,
          debugDescription: "Cannot get \(container) decoding container -- found null value instead"))
    }
    return mismatch(type, at: top, path)
  }

  func mismatch(_ type: any Any.Type, at value: Int, _ path: JSONCodingPath?) -> DecodingError {
    let found =
      switch kind(of: value) {
      case .null: "null"
      case .bool: "bool"
      case .number: "number"
      case .string: "a string"
      case .array: "an array"
      case .plainObject, .object: "a dictionary"
      }
    return .typeMismatch(
      type,
      .init(
        codingPath: JSONCodingPath.keys(path),
        debugDescription: "Expected to decode \(type) but found \(found) instead."))
  }

  func requireValue(_ type: any Any.Type, at value: Int, _ path: () -> JSONCodingPath?) throws {
    guard kind(of: value) == .null else { return }
    throw DecodingError.valueNotFound(
      type,
      .init(
        codingPath: JSONCodingPath.keys(path()),
        debugDescription: "Cannot get value of type \(type) -- found null value instead"))
  }
}

// MARK: - The decoder as a container of one value

extension JSONValueDecoder: SingleValueDecodingContainer {
  func decodeNil() -> Bool { kind(of: top) == .null }

  func decode(_ type: Bool.Type) throws -> Bool { try bool(at: top) { path } }
  func decode(_ type: String.Type) throws -> String { try string(at: top) { path } }
  func decode(_ type: Double.Type) throws -> Double { try double(at: top) { path } }
  func decode(_ type: Float.Type) throws -> Float { try float(at: top) { path } }
  func decode(_ type: Int.Type) throws -> Int { try integer(at: top) { path } }
  func decode(_ type: Int8.Type) throws -> Int8 { try integer(at: top) { path } }
  func decode(_ type: Int16.Type) throws -> Int16 { try integer(at: top) { path } }
  func decode(_ type: Int32.Type) throws -> Int32 { try integer(at: top) { path } }
  func decode(_ type: Int64.Type) throws -> Int64 { try integer(at: top) { path } }
  func decode(_ type: Int128.Type) throws -> Int128 { try integer(at: top) { path } }
  func decode(_ type: UInt.Type) throws -> UInt { try integer(at: top) { path } }
  func decode(_ type: UInt8.Type) throws -> UInt8 { try integer(at: top) { path } }
  func decode(_ type: UInt16.Type) throws -> UInt16 { try integer(at: top) { path } }
  func decode(_ type: UInt32.Type) throws -> UInt32 { try integer(at: top) { path } }
  func decode(_ type: UInt64.Type) throws -> UInt64 { try integer(at: top) { path } }
  func decode(_ type: UInt128.Type) throws -> UInt128 { try integer(at: top) { path } }

  func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    try value(type, at: top) { path }
  }
}
