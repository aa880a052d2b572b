internal import CofferDocuments
internal import CofferFoundation

/// The encoder that's passed to types, which writes a value at its place in the text.
final class JSONValueEncoder: Encoder {
  let output: JSONOutput
  private var slot = JSONComposer.Slot.whole
  /// The array or object that is the value.
  private var container = JSONComposer.Container.none
  private var outerPath: JSONCodingPath?
  private var key: (any CodingKey)?
  private var ownPath: JSONCodingPath?
  /// An encoder for the next nested value.
  private var spare: JSONValueEncoder?

  init(_ output: JSONOutput) {
    self.output = output
  }

  /// The value's path, which is made when a nested value or an error needs it.
  var path: JSONCodingPath? {
    if ownPath == nil, let key { ownPath = JSONCodingPath(outerPath, key) }
    return ownPath
  }

  var codingPath: [any CodingKey] { JSONCodingPath.keys(path) }

  var userInfo: [CodingUserInfoKey: Any] { output.writing.userInfo }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    KeyedEncodingContainer(JSONKeyedWriter<Key>(self, begin(object: true)))
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer {
    JSONUnkeyedWriter(self, begin(object: false))
  }

  func singleValueContainer() -> any SingleValueEncodingContainer { self }

  /// Begins the value's container, or returns the already begun container, such as a superclass's container.
  private func begin(object isObject: Bool) -> JSONComposer.Container {
    if output.composer.isObject(container) != isObject { container = output.composer.begin(object: isObject, in: slot) }
    return container
  }

  // MARK: Nested values

  /// Writes the text's top-level value. The value may write nothing.
  func writeWhole(_ value: some Encodable) throws {
    if try !writeSimple(value) { try writeParts(of: value) }
  }

  /// Writes the value of a member or element.
  func write<Value: Encodable>(
    _ value: Value, in slot: JSONComposer.Slot, path: @autoclosure () -> JSONCodingPath?,
    key: @autoclosure () -> any CodingKey
  ) throws {
    do {
      if try !writeSimple(value) {
        var nested = nested(in: slot, path: path(), key: key())
        try nested.writeParts(of: value)
        if isKnownUniquelyReferenced(&nested) { spare = nested }
      }
    } catch {
      // The type's own code may catch the error, but the text has a part of the value.
      output.composer.setUnfit()
      throw error
    }
    output.composer.end(slot)
  }

  /// Returns an encoder for a nested value.
  func nested(in slot: JSONComposer.Slot, path: JSONCodingPath?, key: any CodingKey) -> JSONValueEncoder {
    let encoder = spare ?? JSONValueEncoder(output)
    spare = nil
    encoder.slot = slot
    encoder.container = .none
    encoder.outerPath = path
    encoder.key = key
    encoder.ownPath = nil
    return encoder
  }

  /// Lets a value write itself, or the closure of a strategy write it.
  private func writeParts(of value: some Encodable) throws {
    if case .custom(let encode) = output.writing.dates, let date = value as? Date {
      try encode(date, self)
    } else if case .custom(let encode) = output.writing.data, let data = value as? Data {
      try encode(data, self)
    } else {
      try value.encode(to: self)
    }
  }
}

// MARK: - The encoder as a container of one value

extension JSONValueEncoder: SingleValueEncodingContainer {
  private func begin() throws {
    if output.composer.isEmpty(slot) { return }
    output.composer.setUnfit()
    throw JSONUnfit()
  }

  func encodeNil() throws {
    try begin()
    output.composer.appendNull()
  }

  func encode<Value: Encodable>(_ value: Value) throws {
    try begin()
    do {
      if try writeSimple(value) { return }
      try writeParts(of: value)
    } catch {
      output.composer.setUnfit()
      throw error
    }
    if output.composer.isEmpty(slot) { _ = output.composer.begin(object: true, in: slot) }
  }

  func encode(_ value: Bool) throws {
    try begin()
    output.composer.append(value)
  }
  func encode(_ value: String) throws {
    try begin()
    output.composer.append(value)
  }
  func encode(_ value: Double) throws {
    try begin()
    try append(value)
  }
  func encode(_ value: Float) throws {
    try begin()
    try append(value)
  }
  func encode(_ value: Int) throws { try encode(integer: value) }
  func encode(_ value: Int8) throws { try encode(integer: value) }
  func encode(_ value: Int16) throws { try encode(integer: value) }
  func encode(_ value: Int32) throws { try encode(integer: value) }
  func encode(_ value: Int64) throws { try encode(integer: value) }
  func encode(_ value: Int128) throws { try encode(integer: value) }
  func encode(_ value: UInt) throws { try encode(integer: value) }
  func encode(_ value: UInt8) throws { try encode(integer: value) }
  func encode(_ value: UInt16) throws { try encode(integer: value) }
  func encode(_ value: UInt32) throws { try encode(integer: value) }
  func encode(_ value: UInt64) throws { try encode(integer: value) }
  func encode(_ value: UInt128) throws { try encode(integer: value) }

  @inline(__always)
  private func encode(integer value: some FixedWidthInteger) throws {
    try begin()
    append(value)
  }
}
