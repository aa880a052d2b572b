internal import CofferDocuments

/// A writer of an array's elements.
struct JSONUnkeyedWriter: UnkeyedEncodingContainer {
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

  var count: Int { encoder.output.composer.count(of: container) }

  @inline(__always)
  private func begin() throws -> JSONComposer.Slot {
    guard let slot = encoder.output.composer.beginElement(of: container) else { throw JSONUnfit() }
    return slot
  }

  mutating func encode<Value: Encodable>(_ value: Value) throws {
    let index = count
    try encoder.write(value, in: try begin(), path: path, key: JSONCodingKey.index(index))
  }

  mutating func nestedContainer<NestedKey: CodingKey>(
    keyedBy type: NestedKey.Type
  ) -> KeyedEncodingContainer<NestedKey> {
    let path = JSONCodingPath(path, JSONCodingKey.index(count))
    return KeyedEncodingContainer(
      JSONKeyedWriter<NestedKey>(encoder, beginNested(object: true), nestedPath: path))
  }

  mutating func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
    let path = JSONCodingPath(path, JSONCodingKey.index(count))
    return JSONUnkeyedWriter(encoder, beginNested(object: false), nestedPath: path)
  }

  private func beginNested(object isObject: Bool) -> JSONComposer.Container {
    guard let slot = try? begin() else { return .none }
    return encoder.output.composer.begin(object: isObject, in: slot)
  }

  mutating func superEncoder() -> any Encoder {
    // Foundation inserts the element when the encoder is released, so only it knows the order.
    encoder.output.composer.setUnfit()
    return encoder.nested(in: .whole, path: path, key: JSONCodingKey.index(count))
  }

  // MARK: Scalars

  @inline(__always)
  private func element(_ append: () throws -> Void) throws {
    let slot = try begin()
    do {
      try append()
    } catch {
      encoder.output.composer.setUnfit()
      throw error
    }
    encoder.output.composer.end(slot)
  }

  mutating func encodeNil() throws { try element { encoder.output.composer.appendNull() } }
  mutating func encode(_ value: Bool) throws { try element { encoder.output.composer.append(value) } }
  mutating func encode(_ value: String) throws { try element { encoder.output.composer.append(value) } }
  mutating func encode(_ value: Double) throws { try element { try encoder.append(value) } }
  mutating func encode(_ value: Float) throws { try element { try encoder.append(value) } }
  mutating func encode(_ value: Int) throws { try element { encoder.append(value) } }
  mutating func encode(_ value: Int8) throws { try element { encoder.append(value) } }
  mutating func encode(_ value: Int16) throws { try element { encoder.append(value) } }
  mutating func encode(_ value: Int32) throws { try element { encoder.append(value) } }
  mutating func encode(_ value: Int64) throws { try element { encoder.append(value) } }
  mutating func encode(_ value: Int128) throws { try element { encoder.append(value) } }
  mutating func encode(_ value: UInt) throws { try element { encoder.append(value) } }
  mutating func encode(_ value: UInt8) throws { try element { encoder.append(value) } }
  mutating func encode(_ value: UInt16) throws { try element { encoder.append(value) } }
  mutating func encode(_ value: UInt32) throws { try element { encoder.append(value) } }
  mutating func encode(_ value: UInt64) throws { try element { encoder.append(value) } }
  mutating func encode(_ value: UInt128) throws { try element { encoder.append(value) } }
}
