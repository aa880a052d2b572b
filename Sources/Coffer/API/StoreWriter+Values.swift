internal import CofferRecords

// Values of any Codable type, each the JSON text of a document. Their default title is in their JSON: the string
// `title`, or else `name`.

extension StoreWriter {
  /// Adds a value as a document; creates the collection if it is missing.
  ///
  /// - Parameters:
  ///   - title: the title for lists; nil takes the value's `title` or `name`.
  ///   - attributes: details for headers, which can be read without the value.
  /// - Throws: `notEncodable`, `duplicateKey`, `alreadyExists`, `tooLarge`, `invalidArgument`.
  @discardableResult
  public func insert(
    _ value: some Encodable & Sendable, into collection: DocumentCollection, at placement: Placement = .bottom,
    key: ExternalKey? = nil, title: String? = nil, attributes: Attributes = Attributes(), id: DocumentID? = nil
  ) throws(StoreError) -> DocumentID {
    var document = try Self.document(of: value, title: title, attributes)
    document.key = key
    return try insert(document, into: collection, at: placement, id: id)
  }

  /// Replaces the document with that key by a value, or adds one.
  ///
  /// Keeps what the call does not give: attributes, parent, place, the creation date, and a title that was given.
  ///
  /// - Throws: `notEncodable`, `tooLarge`, `invalidArgument`, `damaged`.
  @discardableResult
  public func put(
    _ value: some Encodable & Sendable, into collection: DocumentCollection, key: ExternalKey, title: String? = nil,
    attributes: Attributes = Attributes()
  ) throws(StoreError) -> DocumentID {
    var document = try Self.document(of: value, title: title, attributes)
    document.key = key
    guard let id = try id(forKey: key, in: collection) else { return try insert(document, into: collection) }
    try overwrite(try transaction.storedDocument(id), with: document, title: title)
    return id
  }

  /// Replaces the document of that id by a value, or adds one under it; keeps what
  /// ``put(_:into:key:title:attributes:)`` keeps.
  ///
  /// - Returns: true if it was added.
  /// - Throws: `notEncodable`, `tooLarge`, `damaged`; `alreadyExists` if it is in another collection.
  @discardableResult
  public func put(
    _ value: some Encodable & Sendable, id: DocumentID, into collection: DocumentCollection, title: String? = nil,
    attributes: Attributes = Attributes()
  ) throws(StoreError) -> Bool {
    let document = try Self.document(of: value, title: title, attributes)
    guard try transaction.hasRow(id) else {
      try insert(document, into: collection, id: id)
      return true
    }
    try overwrite(try transaction.storedDocument(id, in: collection), with: document, title: title)
    return false
  }

  /// Changes a document that is a value, in place.
  ///
  /// ```swift
  /// try tx.update(id, as: Note.self) { $0.tags.append("read") }
  /// ```
  ///
  /// - Throws: `noSuchDocument`, `notDecodable`, `notEncodable`, `tooLarge`, `damaged`.
  public func update<Value: Codable & Sendable>(
    _ id: DocumentID, as type: Value.Type, _ change: (inout Value) -> Void
  ) throws(StoreError) {
    var value = try self.value(type, of: id)
    change(&value)
    let text = try CodableValues.text(of: value)
    try update(id) { document in
      let title = document.titleInJSON
      document.text = text
      document.isJSON = true
      if document.title == title { document.title = document.titleInJSON }
    }
  }

  static func document(of value: some Encodable, title: String?, _ attributes: Attributes)
    throws(StoreError) -> Document
  {
    var document = Document(
      title: title, text: try CodableValues.text(of: value), attributes: attributes, isJSON: true)
    document.title = title ?? document.titleInJSON
    return document
  }

  /// A title derived from the old value changes with the value; a title that was given stays.
  private func overwrite(_ old: StoredDocument, with document: Document, title: String?) throws(StoreError) {
    var document = document
    let wasGiven = old.document.title != nil && old.document.title != old.document.titleInJSON
    var old = old
    if title == nil, wasGiven { document.title = old.document.title }
    if !wasGiven { old.document.title = nil }
    try transaction.overwrite(old, with: document)
  }
}
