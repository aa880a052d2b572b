internal import CofferDocuments

/// A writer of an object's members.
struct JSONKeyedWriter<Key: CodingKey>: KeyedEncodingContainerProtocol {
  private let encoder: JSONValueEncoder
  private let container: JSONComposer.Container
  /// The path of a nested container, which doesn't have its own encoder.
  private let nestedPath: JSONCodingPath?

  init(_ encoder: JSONValueEncoder, _ container: JSONComposer.Container, nestedPath: JSONCodingPath? = nil) {
    self.encoder = encoder
    self.container = container
    self.nestedPath = nestedPath
  }

  private var path: JSONCodingPath? { nestedPath ?? encoder.path }

  var codingPath: [any CodingKey] { JSONCodingPath.keys(path) }

  @inline(__always)
  private func begin(_ key: some CodingKey) throws -> JSONComposer.Slot {
    guard let slot = encoder.output.composer.beginMember(key.stringValue, of: container) else { throw JSONUnfit() }
    return slot
  }

  mutating func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws {
    try encoder.write(value, in: try begin(key), path: path, key: key)
  }

  mutating func nestedContainer<NestedKey: CodingKey>(
    keyedBy type: NestedKey.Type, forKey key: Key
  ) -> KeyedEncodingContainer<NestedKey> {
    KeyedEncodingContainer(
      JSONKeyedWriter<NestedKey>(encoder, beginNested(object: true, key), nestedPath: JSONCodingPath(path, key)))
  }

  mutating func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
    JSONUnkeyedWriter(encoder, beginNested(object: false, key), nestedPath: JSONCodingPath(path, key))
  }

  private func beginNested(object isObject: Bool, _ key: Key) -> JSONComposer.Container {
    guard let slot = try? begin(key) else { return .none }
    return encoder.output.composer.begin(object: isObject, in: slot)
  }

  mutating func superEncoder() -> any Encoder { superEncoder(JSONCodingKey.super) }

  mutating func superEncoder(forKey key: Key) -> any Encoder { superEncoder(key) }

  private func superEncoder(_ key: some CodingKey) -> any Encoder {
    // Without a slot, the text is void already, and whatever is written belongs nowhere.
    encoder.nested(in: (try? begin(key)) ?? .whole, path: path, key: key)
  }

  // MARK: Scalars

  @inline(__always)
  private func member(_ key: Key, _ append: () throws -> Void) throws {
    let slot = try begin(key)
    do {
      try append()
    } catch {
      encoder.output.composer.setUnfit()
      throw error
    }
    encoder.output.composer.end(slot)
  }

  mutating func encodeNil(forKey key: Key) throws { try member(key) { encoder.output.composer.appendNull() } }
  mutating func encode(_ value: Bool, forKey key: Key) throws {
    try member(key) { encoder.output.composer.append(value) }
  }
  mutating func encode(_ value: String, forKey key: Key) throws {
    try member(key) { encoder.output.composer.append(value) }
  }
  mutating func encode(_ value: Double, forKey key: Key) throws { try member(key) { try encoder.append(value) } }
  mutating func encode(_ value: Float, forKey key: Key) throws { try member(key) { try encoder.append(value) } }
  mutating func encode(_ value: Int, forKey key: Key) throws { try member(key) { encoder.append(value) } }
  mutating func encode(_ value: Int8, forKey key: Key) throws { try member(key) { encoder.append(value) } }
  mutating func encode(_ value: Int16, forKey key: Key) throws { try member(key) { encoder.append(value) } }
  mutating func encode(_ value: Int32, forKey key: Key) throws { try member(key) { encoder.append(value) } }
  mutating func encode(_ value: Int64, forKey key: Key) throws { try member(key) { encoder.append(value) } }
  mutating func encode(_ value: Int128, forKey key: Key) throws { try member(key) { encoder.append(value) } }
  mutating func encode(_ value: UInt, forKey key: Key) throws { try member(key) { encoder.append(value) } }
  mutating func encode(_ value: UInt8, forKey key: Key) throws { try member(key) { encoder.append(value) } }
  mutating func encode(_ value: UInt16, forKey key: Key) throws { try member(key) { encoder.append(value) } }
  mutating func encode(_ value: UInt32, forKey key: Key) throws { try member(key) { encoder.append(value) } }
  mutating func encode(_ value: UInt64, forKey key: Key) throws { try member(key) { encoder.append(value) } }
  mutating func encode(_ value: UInt128, forKey key: Key) throws { try member(key) { encoder.append(value) } }
}
