/// Decodes a row's member from JSON in a text column, for a type that a column can't represent.
///
/// The module above provides the closure, because this module doesn't know JSON.
package typealias NestedDecoding = @Sendable (_ type: any Decodable.Type, _ json: String) throws -> any Decodable

extension QueryResult {
  /// Returns all rows as values of a `Decodable` type, decoded with `SQLiteRow.decoded(as:)`, or an empty array without
  /// rows.
  ///
  /// - Throws: `notDecodable` at the first row that doesn't match the type.
  public func decoded<Value: Decodable>(as type: Value.Type) throws(SQLiteError) -> [Value] {
    var values: [Value] = []
    values.reserveCapacity(rows.count)
    for row in rows { values.append(try row.decoded(as: type)) }
    return values
  }
}

extension SQLiteRow {
  /// Returns the row as a value of a `Decodable` type, with members from the columns with the same names.
  ///
  /// Members are read like columns in ``subscript(_:as:)``. An optional member is `nil` if the column is NULL or
  /// missing. Columns without a member are ignored. A type that represents a single value, such as `Int`, reads the
  /// first column.
  ///
  /// - Throws: `notDecodable`, with the column's name and both types.
  public func decoded<Value: Decodable>(as type: Value.Type) throws(SQLiteError) -> Value {
    do {
      if let readable = type as? any SQLiteValueReadable.Type {
        let column = ColumnDecoder(value: values[0], name: columns.names[0], columns: columns, codingPath: [])
        return try column.read(readable) as! Value
      }
      return try Value(from: RowDecoder(row: self))
    } catch {
      throw SQLiteError(decoding: error, as: type)
    }
  }
}

extension SQLiteError {
  /// Creates an error from a type's decoding error, without including values.
  fileprivate init(decoding error: any Error, as type: Any.Type) {
    switch error {
    case let error as SQLiteError: self = error
    case DecodingError.keyNotFound(let key, _): self = .noColumn(key.stringValue, as: type)
    case DecodingError.dataCorrupted(let context), DecodingError.valueNotFound(_, let context),
      DecodingError.typeMismatch(_, let context):
      let place = context.codingPath.first.map { " the column \($0.stringValue)" } ?? " a row"
      self.init(.notDecodable, "\(type) does not take\(place): \(type) finds a value of another kind in it")
    default: self.init(.notDecodable, "\(type) does not take a row: its own initializer refused it")
    }
  }
}

/// A decoder for a row as an object.
private struct RowDecoder: Decoder {
  let row: SQLiteRow
  var codingPath: [any CodingKey] { [] }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedDecodingContainer<Key> {
    KeyedDecodingContainer(RowContainer(row: row))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    throw SQLiteError(.notDecodable, "a row is no array: decode a type with members, or one value")
  }

  func singleValueContainer() -> any SingleValueDecodingContainer {
    ColumnDecoder(value: row.values[0], name: row.columns.names[0], columns: row.columns, codingPath: [])
  }
}

private struct RowContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
  let row: SQLiteRow
  var codingPath: [any CodingKey] { [] }
  var allKeys: [Key] { row.columnNames.compactMap { Key(stringValue: $0) } }

  func contains(_ key: Key) -> Bool { row.columns.index(of: key.stringValue) != nil }

  func decodeNil(forKey key: Key) throws -> Bool { row[key.stringValue]?.isNull ?? true }

  func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
    let name = key.stringValue
    guard let value = row[name] else { throw SQLiteError.noColumn(name, as: type) }
    return try ColumnDecoder(value: value, name: name, columns: row.columns, codingPath: [key]).decode(type)
  }

  func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type, forKey key: Key
  ) throws -> KeyedDecodingContainer<Nested> {
    throw ColumnDecoder.unsupported(key.stringValue)
  }

  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
    throw ColumnDecoder.unsupported(key.stringValue)
  }

  // Classes need this, because the superclass reads the same row.
  func superDecoder() -> any Decoder { RowDecoder(row: row) }
  func superDecoder(forKey key: Key) -> any Decoder { RowDecoder(row: row) }
}

/// A decoder for one column's value.
private struct ColumnDecoder: Decoder, SingleValueDecodingContainer {
  /// An error for a type with members or elements, which must be decoded from JSON.
  private struct NeedsJSON: Error {}

  let value: SQLiteValue
  let name: String
  let columns: Columns
  let codingPath: [any CodingKey]
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  static func unsupported(_ column: String) -> SQLiteError {
    SQLiteError(
      .notDecodable, "the column \(column) can't be read as an object or array by its container",
      hint: "decode the member as a Decodable type")
  }

  func read<Value: SQLiteValueReadable>(_ type: Value.Type) throws(SQLiteError) -> Value {
    guard let value = Value(sqliteValue: value) else { throw .wrongType(value.storageClass, in: name, as: type) }
    return value
  }

  // MARK: One value

  func decodeNil() -> Bool { value.isNull }

  func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    if let readable = type as? any SQLiteValueReadable.Type { return try read(readable) as! Value }
    do {
      return try Value(from: self)
    } catch is NeedsJSON {
      guard case .text(let json) = value, let nested = columns.nested else {
        throw SQLiteError.wrongType(value.storageClass, in: name, as: type)
      }
      do {
        return try nested(type, json) as! Value
      } catch {
        throw SQLiteError(.notDecodable, "the text in the column \(name) is not the JSON of a \(type)")
      }
    }
  }

  // MARK: A decoder of types that wrap one value

  func singleValueContainer() -> any SingleValueDecodingContainer { self }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> { throw NeedsJSON() }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer { throw NeedsJSON() }
}
