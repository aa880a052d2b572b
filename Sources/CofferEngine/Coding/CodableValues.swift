internal import CofferFoundation
internal import CofferRecords

/// Codable values as document texts. The JSON has sorted members and no spaces, so equal values have equal bytes.
package struct CodableValues: Sendable {
  /// The attribute that stores a value's schema version.
  private static let schemaName = "schema"

  let coding: ValueCoding

  package init(coding: ValueCoding) {
    self.coding = coding
  }

  // MARK: Writing

  /// - Throws: `notEncodable`.
  package func text(of value: some Encodable) throws(StoreError) -> String {
    do {
      return String(decoding: try coding.encoder.encode(value), as: UTF8.self)
    } catch {
      throw StoreError(.notEncodable, "the \(type(of: value)) can't be written as JSON: \(CodingFault.reason(error))")
    }
  }

  /// Creates a document from a value.
  package func document(of value: some Encodable, title: String?, _ attributes: Attributes) throws(StoreError)
    -> Document
  {
    var document = Document(
      title: title, text: try text(of: value), attributes: stamped(attributes, for: type(of: value)), isJSON: true)
    document.title = title ?? document.titleInJSON
    return document
  }

  /// Returns the attributes with the type's schema version added, if it has one.
  package func stamped(_ attributes: Attributes, for type: any Encodable.Type) -> Attributes {
    guard let type = type as? any VersionedValue.Type else { return attributes }
    var attributes = attributes
    attributes[Self.schemaName] = .number(Double(type.schema))
    return attributes
  }

  // MARK: Reading

  /// Decodes a value, and migrates it if it has an older schema version.
  ///
  /// - Throws: `notDecodable`.
  package func value<Value: Decodable>(_ type: Value.Type, _ opened: OpenedDocument) throws(StoreError) -> Value {
    guard let versioned = type as? any VersionedValue.Type else { return try decode(type, opened) }
    guard let value = try current(versioned, opened) as? Value else {
      preconditionFailure("internal error: a value of another type than asked for")
    }
    return value
  }

  /// Returns the schema version of a document's value.
  package static func schema(of header: DocumentHeader) -> Int {
    header.attributes.isEmpty ? 1 : header.attributes[schemaName]?.integer ?? 1
  }

  private func current<Value: VersionedValue>(_ type: Value.Type, _ opened: OpenedDocument) throws(StoreError) -> Value
  {
    let schema = Self.schema(of: opened.header)
    guard schema <= Value.schema else {
      let id = opened.header.id
      throw StoreError(
        .notDecodable,
        "document \(id) has schema version \(schema) of \(type); this program knows versions up to \(Value.schema)",
        hint: "update this program", documentID: id)
    }
    if schema == Value.schema { return try decodeFilled(type, opened) }
    do {
      return try Value.migrate(OlderValue(schema: schema, opened: opened, values: self))
    } catch let error as StoreError {
      throw error
    } catch {
      let id = opened.header.id
      throw StoreError(
        .notDecodable,
        "document \(id) can't be migrated from schema version \(schema) of \(type): \(CodingFault.reason(error))",
        documentID: id)
    }
  }

  /// Decodes a value, with missing members supplied by the type's defaults.
  func decodeFilled<Value: VersionedValue>(_ type: Value.Type, _ opened: OpenedDocument) throws(StoreError) -> Value {
    do throws(StoreError) {
      return try decode(type, opened)
    } catch {
      guard let defaults = Value.defaults else { throw error }
      var json = try text(of: defaults)
      let filled = json.withUTF8 { JSONFilling.object(opened.utf8, with: UnsafeRawBufferPointer($0)) }
      guard let filled else { throw error }
      return try filled.withBytes { bytes throws(StoreError) in
        try decode(type, OpenedDocument(header: opened.header, utf8: bytes))
      }
    }
  }

  /// Decodes JSON of the type's schema version.
  ///
  /// - Throws: `notDecodable`, with the member's path.
  func decode<Value: Decodable>(_ type: Value.Type, _ opened: OpenedDocument) throws(StoreError) -> Value {
    do {
      return try coding.decoder.decode(type, from: Data(opened.utf8))
    } catch {
      let id = opened.header.id
      throw StoreError(
        .notDecodable, "document \(id) is no \(type): \(CodingFault.reason(error, in: opened.utf8))",
        hint: opened.header.isJSON ? "it was stored as another type" : "its text was not stored as a value",
        documentID: id)
    }
  }
}
