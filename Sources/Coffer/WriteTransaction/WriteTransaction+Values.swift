internal import CofferEngine
internal import CofferRecords

// Codable values, each stored as a document's JSON text. The default title is the JSON's `title` or `name` string.

extension WriteTransaction {
  /// Inserts a value as a document with the value's JSON as its text. Creates the collection if it's missing.
  ///
  /// - Parameters:
  ///   - value: The value to encode, with the strategies in ``OpenOptions/values``.
  ///   - collection: The collection.
  ///   - placement: The position in the collection's order.
  ///   - key: A custom name for the document, which must be unique in the collection, or `nil`.
  ///   - title: The title for lists, or `nil` to use the value's `title` or `name`.
  ///   - attributes: Details for headers, which can be read without the value.
  ///   - id: The document's ID, or `nil` to use the next ID.
  /// - Returns: The document's ID.
  /// - Throws: `notEncodable`, `duplicateKey`, `alreadyExists`, `tooLarge`, `invalidArgument`, `noNumberLeft`.
  @discardableResult
  public func insert(
    _ value: some Encodable & Sendable, into collection: DocumentCollection, at placement: Placement = .bottom,
    key: DocumentKey? = nil, title: String? = nil, attributes: Attributes = Attributes(), id: DocumentID? = nil
  ) throws(StoreError) -> DocumentID {
    var document = try transaction.values.document(of: value, title: title, attributes)
    document.key = key
    return try insert(document, into: collection, at: placement, id: id)
  }

  /// Replaces the document with a key by a value, or inserts a document with this key. Creates the collection if it's
  /// missing.
  ///
  /// An existing document keeps its parent, position and creation date, the attributes if `attributes` is empty, and a
  /// title that wasn't derived from the old value. It also keeps members that the value's type doesn't have, because a
  /// newer program may have written them. The call replaces only documents that it can read or, if the type isn't
  /// decodable, documents without members that the new value doesn't have.
  ///
  /// - Returns: The document's ID, and whether the document was inserted.
  /// - Throws: `notEncodable`, `noNumberLeft`, `tooLarge`, `invalidArgument`, `damaged`, or `notDecodable` if the
  ///   existing document has a newer schema version, or can't be replaced by this type. To replace it regardless, delete
  ///   it first.
  @discardableResult
  public func put(
    _ value: some Encodable & Sendable, into collection: DocumentCollection, key: DocumentKey, title: String? = nil,
    attributes: Attributes = Attributes()
  ) throws(StoreError) -> (id: DocumentID, isNew: Bool) {
    guard let id = try id(forKey: key, in: collection) else {
      return (try insert(value, into: collection, key: key, title: title, attributes: attributes), true)
    }
    try overwrite(try transaction.storedDocument(id), with: value, key: key, title: title, attributes)
    return (id, false)
  }

  /// Replaces the document with an ID by a value, or inserts a document with this ID.
  ///
  /// An existing document keeps its key, and the same properties as in ``put(_:into:key:title:attributes:)``.
  ///
  /// - Returns: The ID, and whether the document was inserted.
  /// - Throws: `notEncodable`, `notDecodable`, `tooLarge`, `invalidArgument`, `damaged`, or `alreadyExists` if the ID
  ///   belongs to a document in another collection.
  @discardableResult
  public func put(
    _ value: some Encodable & Sendable, id: DocumentID, into collection: DocumentCollection, title: String? = nil,
    attributes: Attributes = Attributes()
  ) throws(StoreError) -> (id: DocumentID, isNew: Bool) {
    guard try transaction.hasRow(id) else {
      return (try insert(value, into: collection, title: title, attributes: attributes, id: id), true)
    }
    try overwrite(
      try transaction.storedDocument(id, in: collection), with: value, key: nil, title: title, attributes)
    return (id, false)
  }

  /// Changes a document's value in place. Decrypts the text twice, and encrypts it once if it changed.
  ///
  /// ```swift
  /// try tx.update(id, as: Note.self) { $0.tags.append("read") }
  /// ```
  ///
  /// A title derived from the old value is derived again from the new value. Members that the type doesn't have are
  /// kept, because a newer program may have written them. If the closure throws, the document doesn't change. To change
  /// the attributes too, use ``update(_:keepingDate:whenEmpty:_:)`` in the same transaction.
  ///
  /// - Parameters:
  ///   - id: The document's ID.
  ///   - type: The value's type.
  ///   - keepingDate: Whether to keep the modification date.
  ///   - change: Called once with the value.
  /// - Throws: Errors of `change`, `noSuchDocument`, `notDecodable`, `notEncodable`, `tooLarge`, `damaged`.
  public func update<Value: Codable & Sendable>(
    _ id: DocumentID, as type: Value.Type, keepingDate: Bool = false, _ change: (inout Value) throws -> Void
  ) throws {
    let values = transaction.values
    let old = try transaction.storedValue(id)
    var value = try values.value(type, old)
    try change(&value)
    let text = try values.text(try values.text(of: value), of: type, replacing: old, wasRead: true)
    try update(id, keepingDate: keepingDate) { document in
      let title = document.titleInJSON
      document.text = text
      document.isJSON = true
      document.attributes = try values.stamped(document.attributes, for: type)
      if document.title.isIdentical(to: title) { document.title = document.titleInJSON }
    }
  }

  /// Migrates a collection's values with an older schema version to the current version. Their dates don't change.
  ///
  /// Other documents and current values aren't written. Reads every header, but only decrypts older values.
  ///
  /// In a store that syncs, each written value is an edit of the text. If two devices write the same value, for example
  /// in a ``Migration``, the edits conflict although nobody edited the value. If somebody edited it on one of the
  /// devices, that edit can remain only in the document with "(other version)" in its title. In such a store, leave the
  /// older values, which ``VersionedValue/migrate(_:)`` converts when they're read (``OlderValue``). Otherwise, call
  /// this method on one device only, and outside a migration, after the other devices have synced.
  ///
  /// - Returns: The number of migrated values.
  /// - Throws: `notDecodable` with the ID of the first value that has a newer version or can't be migrated. The
  ///   transaction must then be rolled back, which happens when the error leaves `write`.
  @discardableResult
  public func migrateValues<Value: VersionedValue>(_ type: Value.Type, in collection: DocumentCollection) throws -> Int
  {
    var old: [DocumentID] = []
    try forEachHeader(in: collection) { header in
      if header.isJSON, CodableValues.schema(of: header) != type.schema { old.append(header.id) }
    }
    for id in old { try update(id, as: type, keepingDate: true) { _ in } }
    return old.count
  }

  /// Replaces a document's value, and its title if the title was derived from the old value.
  private func overwrite(
    _ old: StoredDocument, with value: some Encodable & Sendable, key: DocumentKey?, title: String?,
    _ attributes: Attributes
  ) throws(StoreError) {
    var old = old
    // A migration of the old value can use the header.
    old.header = try transaction.counted(old.header)
    let kept = attributes.isEmpty ? old.document.attributes : attributes
    var document = try transaction.values.document(of: value, replacing: old, title: title, kept)
    document.key = key
    let wasGiven = old.document.title != nil && !old.document.title.isIdentical(to: old.document.titleInJSON)
    if title == nil, wasGiven { document.title = old.document.title }
    try transaction.editor.overwrite(old, with: document, keepingTitle: wasGiven)
  }
}
