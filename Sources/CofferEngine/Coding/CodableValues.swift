package import CofferFoundation
internal import CofferRecords

/// Codable values as document texts. The JSON has sorted members and no spaces, so equal values have equal bytes,
/// except for sets, and dictionaries whose keys aren't strings or integers.
package struct CodableValues: Sendable {
  /// The attribute that stores a value's schema version.
  package static let schemaName = "schema"

  let coding: ValueCoding

  package init(coding: ValueCoding) {
    self.coding = coding
  }

  // MARK: Dates

  /// How values contain dates, or `nil` if they contain them as ISO 8601.
  package var dates: StoredDates? { coding.dates }

  /// Returns the number that values contain for a date, or `nil` if they contain dates in another form.
  package func number(of date: Date) -> Double? {
    (try? coding.writing.encode([date]).text).flatMap { Double($0.dropFirst().dropLast()) }
  }

  /// Returns the date in a value's JSON, or `nil` if the store's coder doesn't read it as a date.
  package func date(inJSON json: UnsafeRawBufferPointer) -> Date? {
    try? coding.reading.decode(Date.self, from: json)
  }

  // MARK: Writing

  /// - Throws: `notEncodable`.
  package func text(of value: some Encodable) throws(StoreError) -> String {
    try encoded(value).text
  }

  /// Returns a value's JSON, and the title in it.
  private func encoded(_ value: some Encodable) throws(StoreError) -> (text: String, title: String?) {
    do {
      return try coding.writing.encode(value, requiringJSON: true)
    } catch {
      throw StoreError(.notEncodable, "the \(type(of: value)) can't be written as JSON: \(CodingFault.reason(error))")
    }
  }

  /// Creates a document from a value.
  package func document(of value: some Encodable, title: String?, _ attributes: Attributes) throws(StoreError)
    -> Document
  {
    let new = try encoded(value)
    return Document(
      title: title ?? new.title, text: new.text, attributes: try stamped(attributes, for: type(of: value)), isJSON: true
    )
  }

  /// Returns a document with a value that replaces a stored document.
  ///
  /// - Throws: The errors of ``text(_:of:replacing:)``.
  package func document(
    of value: some Encodable, replacing old: StoredDocument, title: String?, _ attributes: Attributes
  ) throws(StoreError) -> Document {
    let new = try encoded(value)
    // Check the stored document first, because its attributes may be kept.
    let kept = try text(new.text, of: type(of: value), replacing: old)
    var document = Document(
      title: title ?? new.title, text: kept, attributes: try stamped(attributes, for: type(of: value)), isJSON: true)
    // The title can be a member that the type doesn't have.
    if title == nil, !kept.isIdentical(to: new.text) { document.title = document.titleInJSON }
    return document
  }

  /// Returns the attributes with the type's schema version added, if it has one.
  ///
  /// - Throws: `invalidArgument` if the type's version is invalid, or if the attributes have a version that the type
  ///   can't read.
  package func stamped(_ attributes: Attributes, for type: Any.Type) throws(StoreError) -> Attributes {
    let versioned = type as? any VersionedValue.Type
    let schema = try Self.newestSchema(of: type, versioned)
    guard versioned != nil else {
      if case .number(let number)? = attributes.isEmpty ? nil : attributes[Self.schemaName], number != 1 {
        let name = String(describing: type)
        throw StoreError(
          .invalidArgument, "the attribute \(Self.schemaName) is a version that \(name) can't have",
          hint: "make \(name) a VersionedValue, or leave out the attribute")
      }
      return attributes
    }
    var attributes = attributes
    attributes[Self.schemaName] = .number(Double(schema))
    return attributes
  }

  /// Returns the attributes that a document keeps with another text. Removes the schema version, unless the text is
  /// still the same value.
  package static func attributes(of old: Document, with new: Document) -> Attributes {
    var attributes = old.attributes
    guard !attributes.isEmpty, case .number? = attributes[schemaName],
      !new.isJSON || !new.text.isIdentical(to: old.text)
    else { return attributes }
    attributes[schemaName] = nil
    return attributes
  }

  // MARK: Replacing

  /// Returns the text of a value that replaces a stored document, which is the new text with the stored value's unknown
  /// members.
  ///
  /// - Parameters:
  ///   - new: The new value's text.
  ///   - type: The new value's type. If it isn't decodable, it replaces only values whose members it writes.
  ///   - wasRead: Whether the stored document was read as this type.
  /// - Throws: `notDecodable` if the stored document can't be read as this type, or if unknown members can't be kept.
  package func text(
    _ new: String, of type: any Encodable.Type, replacing old: StoredDocument, wasRead: Bool = false
  ) throws(StoreError) -> String {
    if let decodable = type as? any Decodable.Type {
      return try text(new, of: decodable, replacing: old, wasRead: wasRead)
    }
    _ = try Self.schema(of: old.header, as: type, nil)
    // An unknown member can't be distinguished from a member that the value lacks.
    guard !old.header.isJSON || JSONKeeping.hasMembers(Array(new.utf8), of: Array(old.document.text.utf8)) else {
      let id = old.header.id
      let name = String(describing: type)
      throw StoreError(
        .notDecodable, "document \(id) has members that \(name) doesn't write",
        hint: "make \(name) Decodable, so that members are kept that it doesn't have, or delete the document first",
        documentID: id)
    }
    return new
  }

  private func text<Value: Decodable>(
    _ new: String, of type: Value.Type, replacing old: StoredDocument, wasRead: Bool
  ) throws(StoreError) -> String {
    let known: Value? = wasRead ? nil : try value(type, old)
    let versioned = type as? any VersionedValue.Type
    // A migration decides which members of an older value remain.
    guard try Self.schema(of: old.header, as: type, versioned) == Self.newestSchema(of: type, versioned) else {
      return new
    }
    if Self.haveSameMembers(new, old.document.text) { return new }
    var stored = old.document.text
    // Foundation also reads texts that aren't strict JSON, in which members can't be found.
    guard stored.withUTF8({ JSONScanner.isJSON(UnsafeRawBufferPointer($0)) }) else {
      let id = old.header.id
      throw StoreError(
        .notDecodable,
        "the text of document \(id) isn't strict JSON, so members that \(type) doesn't have can't be kept",
        hint: "replace the text with strict JSON, or delete the document first", documentID: id)
    }
    do {
      let kept = try JSONKeeping.keep(in: Array(new.utf8), membersOf: Array(old.document.text.utf8)) {
        let stored: Value = if let known { known } else { try value(type, old) }
        guard let stored = stored as? any Encodable else { return [] }
        return Array(try text(of: stored).utf8)
      }
      return kept.map { String(decoding: $0, as: UTF8.self) } ?? new
    } catch let error as StoreError {
      throw error
    } catch {
      let id = old.header.id
      throw StoreError(
        .notDecodable,
        "document \(id) has members that \(type) doesn't have, in an array whose elements can't be found again",
        hint: "update this program, or change and move the elements in two steps", documentID: id)
    }
  }

  // MARK: Reading

  /// Decodes a value, and migrates it if it has an older schema version.
  ///
  /// - Throws: `notDecodable`, or `invalidArgument` if the type's schema version is invalid.
  package func value<Value: Decodable>(_ type: Value.Type, _ opened: OpenedDocument) throws(StoreError) -> Value {
    let versioned = type as? any VersionedValue.Type
    let schema = try Self.schema(of: opened.header, as: type, versioned)
    guard let versioned else { return try decode(type, opened) }
    guard let value = try current(versioned, opened, schema) as? Value else {
      preconditionFailure("internal error: a value of another type than asked for")
    }
    return value
  }

  /// Decodes a value, or returns `nil` for a document that isn't a value of this type, if such documents are skipped.
  package func value<Value: Decodable>(
    _ type: Value.Type, _ opened: OpenedDocument, skippingOthers isSkippingOthers: Bool
  ) throws(StoreError) -> Value? {
    if isSkippingOthers, !opened.header.isJSON { return nil }
    do throws(StoreError) {
      return try value(type, opened)
    } catch {
      guard isSkippingOthers, error.code == .notDecodable else { throw error }
      return nil
    }
  }

  /// Returns whether a value has its type's schema version, so reading it doesn't call `migrate`.
  package func isCurrent<Value: Decodable>(_ type: Value.Type, _ header: DocumentHeader) -> Bool {
    guard let versioned = type as? any VersionedValue.Type else { return true }
    return Self.schema(of: header) == versioned.schema
  }

  /// Decodes the value of a stored document.
  package func value<Value: Decodable>(_ type: Value.Type, _ stored: StoredDocument) throws(StoreError) -> Value {
    var text = stored.document.text
    return try text.withUTF8 { utf8 in
      Result { () throws(StoreError) in
        try value(type, OpenedDocument(header: stored.header, utf8: UnsafeRawBufferPointer(utf8)))
      }
    }.get()
  }

  /// Decodes JSON of a query's column, such as `json -> '$.tags'`.
  ///
  /// - Throws: The errors of `JSONDecoder.decode(_:from:)`, and the errors of the type's own code.
  package func value(_ type: any Decodable.Type, inJSON json: String) throws -> any Decodable {
    func decoded<Value: Decodable>(_ type: Value.Type) throws -> Value {
      var json = json
      return try json.withUTF8 { try coding.reading.decode(type, from: UnsafeRawBufferPointer($0)) }
    }
    return try decoded(type)
  }

  private static func haveSameMembers(_ one: String, _ other: String) -> Bool {
    var (one, other) = (one, other)
    return one.withUTF8 { one in
      other.withUTF8 { JSONKeeping.haveSameMembers(UnsafeRawBufferPointer(one), UnsafeRawBufferPointer($0)) }
    }
  }

  /// The schema versions that an attribute holds exactly.
  private static let schemas = 1...1 << 53

  /// Returns the schema version of a document's value, or `nil` if the attribute isn't a version. Values without the
  /// attribute have version 1.
  package static func schema(of header: DocumentHeader) -> Int? {
    guard !header.attributes.isEmpty, let schema = header.attributes[schemaName] else { return 1 }
    return schema.integer.flatMap { schemas.contains($0) ? $0 : nil }
  }

  /// Returns the current schema version of a type, which is 1 for a type without versions.
  ///
  /// - Throws: `invalidArgument`.
  private static func newestSchema(of type: Any.Type, _ versioned: (any VersionedValue.Type)?) throws(StoreError) -> Int
  {
    guard let versioned else { return 1 }
    let schema = versioned.schema
    guard schemas.contains(schema) else {
      throw StoreError(
        .invalidArgument, "\(type) has schema version \(schema), which isn't a version",
        hint: "versions start at 1, and grow by 1 with each change of the type")
    }
    return schema
  }

  /// Returns the schema version of a document's value, if the type can read it.
  ///
  /// - Throws: `notDecodable`, or `invalidArgument` if the type's schema version is invalid.
  private static func schema(
    of header: DocumentHeader, as type: Any.Type, _ versioned: (any VersionedValue.Type)?
  ) throws(StoreError) -> Int {
    let newest = try newestSchema(of: type, versioned)
    guard let schema = schema(of: header) else {
      // An app may use the attribute for something else.
      if versioned == nil, header.attributes[schemaName]?.number == nil { return 1 }
      throw StoreError(
        .notDecodable, "document \(header.id) has a schema version that isn't one",
        hint: "correct its attribute \(schemaName)", documentID: header.id)
    }
    guard schema <= newest else {
      throw StoreError(
        .notDecodable,
        "document \(header.id) has schema version \(schema) of \(type); this program knows versions up to \(newest)",
        hint: "update this program", documentID: header.id)
    }
    return schema
  }

  private func current<Value: VersionedValue>(
    _ type: Value.Type, _ opened: OpenedDocument, _ schema: Int
  ) throws(StoreError) -> Value {
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
      return try coding.reading.decode(type, from: opened.utf8)
    } catch {
      let id = opened.header.id
      throw StoreError(
        .notDecodable, "document \(id) is no \(type): \(CodingFault.reason(error, in: opened.utf8))",
        hint: hint(for: error, as: type, opened.header), documentID: id)
    }
  }

  private func hint(for error: any Error, as type: Any.Type, _ header: DocumentHeader) -> ErrorHint {
    guard header.isJSON else { return "its text was not stored as a value" }
    guard case DecodingError.keyNotFound(_, let context) = error else { return "it was stored as another type" }
    let name = String(describing: type)
    // The defaults of a type don't supply the members of nested values.
    guard context.codingPath.isEmpty else {
      return """
        if the type of \(CodingFault.place(context.codingPath)) gained this member, make it optional, or make \(name) a \
        VersionedValue with a higher 'schema' whose 'migrate' supplies it; otherwise, it was stored as another type
        """
    }
    return """
      if \(name) gained this member, make it optional, or make \(name) a VersionedValue whose 'defaults' supply it; \
      otherwise, it was stored as another type
      """
  }
}
