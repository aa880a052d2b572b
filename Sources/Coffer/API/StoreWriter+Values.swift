internal import CofferRecords

// Values of any Codable type, each the JSON text of a document. Their default title is in their JSON: the string
// `title`, or else `name`.

extension StoreWriter {
  /// Adds a value as a document, its text the value's JSON; creates the collection if it is missing.
  ///
  /// - Parameters:
  ///   - value: the value to encode; see ``OpenOptions/values``.
  ///   - collection: the collection.
  ///   - placement: the place in the collection's order.
  ///   - key: the caller's own name for the document, unique in the collection; nil for none.
  ///   - title: the title for lists; nil takes the value's `title` or `name`.
  ///   - attributes: details for headers, which can be read without the value.
  ///   - id: an id to keep; nil takes the next one.
  /// - Returns: the document's id.
  /// - Throws: `notEncodable`, `duplicateKey`, `alreadyExists`, `tooLarge`, `invalidArgument`, `noNumberLeft`.
  @discardableResult
  public func insert(
    _ value: some Encodable & Sendable, into collection: DocumentCollection, at placement: Placement = .bottom,
    key: ExternalKey? = nil, title: String? = nil, attributes: Attributes = Attributes(), id: DocumentID? = nil
  ) throws(StoreError) -> DocumentID {
    var document = try transaction.values.document(of: value, title: title, attributes)
    document.key = key
    return try insert(document, into: collection, at: placement, id: id)
  }

  /// Replaces the document with that key by a value, or adds one.
  ///
  /// Keeps what the call does not give: attributes, parent, place, the creation date, and a title that was given.
  ///
  /// - Returns: the document's id.
  /// - Throws: `notEncodable`, `tooLarge`, `invalidArgument`, `damaged`.
  @discardableResult
  public func put(
    _ value: some Encodable & Sendable, into collection: DocumentCollection, key: ExternalKey, title: String? = nil,
    attributes: Attributes = Attributes()
  ) throws(StoreError) -> DocumentID {
    guard let id = try id(forKey: key, in: collection) else {
      return try insert(value, into: collection, key: key, title: title, attributes: attributes)
    }
    try overwrite(try transaction.storedDocument(id), with: value, key: key, title: title, attributes)
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
    guard try transaction.hasRow(id) else {
      try insert(value, into: collection, title: title, attributes: attributes, id: id)
      return true
    }
    try overwrite(
      try transaction.storedDocument(id, in: collection), with: value, key: nil, title: title, attributes)
    return false
  }

  /// Changes a document that is a value, in place. Opens and seals the text once.
  ///
  /// ```swift
  /// try tx.update(id, as: Note.self) { $0.tags.append("read") }
  /// ```
  ///
  /// If the closure throws, the document stays as it is. `dating` is the date of the change.
  ///
  /// - Throws: errors of `change`; `noSuchDocument`, `notDecodable`, `notEncodable`, `tooLarge`, `damaged`.
  public func update<Value: Codable & Sendable>(
    _ id: DocumentID, as type: Value.Type, dating: Dating = .now, _ change: (inout Value) throws -> Void
  ) throws {
    try update(id, as: type, dating: dating) { value, _ in try change(&value) }
  }

  /// Changes a value and the attributes of its document together.
  ///
  /// ```swift
  /// try tx.update(id, as: Note.self) { note, attributes in
  ///   note.isPinned = true
  ///   attributes["pinned"] = true
  /// }
  /// ```
  ///
  /// - Throws: errors of `change`; `noSuchDocument`, `notDecodable`, `notEncodable`, `tooLarge`, `invalidArgument` for
  ///   attributes with a ``Attributes/fault``, `damaged`.
  public func update<Value: Codable & Sendable>(
    _ id: DocumentID, as type: Value.Type, dating: Dating = .now,
    _ change: (inout Value, inout Attributes) throws -> Void
  ) throws {
    var stored = try storedValue(type, of: id)
    var attributes = stored.header.attributes
    try change(&stored.value, &attributes)
    let values = transaction.values
    let text = try values.text(of: stored.value)
    try update(id, dating: dating) { document in
      let title = document.titleInJSON
      document.text = text
      document.isJSON = true
      document.attributes = values.stamped(attributes, for: type)
      if document.title == title { document.title = document.titleInJSON }
    }
  }

  /// Writes every value of a collection that has an older schema version in the current one; its dates stay.
  ///
  /// Documents that are no values, and those of the current version, are not written. Reads every header, and opens the
  /// values of an older version.
  ///
  /// - Returns: the number of values that were written.
  /// - Throws: `notDecodable` with the id at the first value that can't be migrated: the transaction must then be
  ///   rolled back, as it is when the error leaves `write`.
  @discardableResult
  public func migrateValues<Value: VersionedValue>(_ type: Value.Type, in collection: DocumentCollection) throws -> Int
  {
    var old: [DocumentID] = []
    try forEachHeader(in: collection) { header in
      if header.isJSON, CodableValues.schema(of: header) != type.schema { old.append(header.id) }
    }
    for id in old { try update(id, as: type, dating: .keep) { _ in } }
    return old.count
  }

  /// A title derived from the old value changes with the value; a title that was given stays.
  private func overwrite(
    _ old: StoredDocument, with value: some Encodable & Sendable, key: ExternalKey?, title: String?,
    _ attributes: Attributes
  ) throws(StoreError) {
    let kept = attributes.isEmpty ? old.document.attributes : attributes
    var document = try transaction.values.document(of: value, title: title, kept)
    document.key = key
    let wasGiven = old.document.title != nil && old.document.title != old.document.titleInJSON
    var old = old
    if title == nil, wasGiven { document.title = old.document.title }
    if !wasGiven { old.document.title = nil }
    try transaction.overwrite(old, with: document)
  }
}
