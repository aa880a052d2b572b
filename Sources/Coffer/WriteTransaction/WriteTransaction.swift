internal import CofferEngine
internal import CofferRecords
internal import CofferSQLite
internal import CofferSealing

/// The scope of `write`, which is committed when the closure returns, or rolled back if it throws. It's valid until
/// then.
///
/// It also has the calls of ``StoreReading``, which include its own changes. A call that throws doesn't change the
/// store, unless its documentation requires a rollback. In addition to the documented errors, every call can throw
/// `diskFull`, `ioFailure`, `misuse` after the end of its scope, and `cancelled` in a canceled task.
public struct WriteTransaction: StoreReading, ~Copyable {
  public let _transaction: _StoreTransaction

  package init(_ transaction: StoreTransaction) {
    _transaction = transaction
  }
}

// MARK: - Documents

extension WriteTransaction {
  /// Inserts a document. Creates the collection if it's missing.
  ///
  /// The document gets the next ID, unless `wanted` specifies an ID, for example in an import. Writes one row, and
  /// encrypts the text once.
  ///
  /// - Returns: The document's ID, which isn't reused, except after ``truncate(_:restartingIDs:)`` with restarted IDs.
  /// - Throws: `alreadyExists` for an ID that's taken, `noNumberLeft`, `duplicateKey`, `tooLarge`, or `invalidArgument`
  ///   for an invalid ID, a neighbor or parent in another collection, attributes with a ``Attributes/fault``, or a
  ///   collection name that's empty or longer than 1 KiB.
  @discardableResult
  public func insert(
    _ document: Document, into collection: DocumentCollection, at placement: Placement = .bottom,
    id wanted: DocumentID? = nil
  ) throws(StoreError) -> DocumentID {
    let known = try transaction.collection(named: collection.name)
    let record =
      if let known { known } else {
        try transaction.collectionEditor.newCollection(collection.name, CollectionSettings())
      }
    return try transaction.editor.insert(document, in: record, isNew: known == nil, id: wanted, at: placement)
  }

  /// Changes a document in place.
  ///
  /// If the collection derives titles, a title derived from the old text is derived again from the new text. If the
  /// closure throws, the document doesn't change. If the closure doesn't change the document, the call doesn't write.
  /// If the closure sets `isJSON` to `false`, the document loses its value's schema version.
  ///
  /// - Parameters:
  ///   - id: The document's ID.
  ///   - keepingDate: Whether to keep the modification date. A date that the closure sets always takes effect.
  ///   - mode: The action to take if the closure leaves the text empty.
  ///   - change: Called once with the document and its text.
  /// - Returns: `false` if the new text is empty and was skipped, so the document didn't change.
  /// - Throws: Errors of `change`, `noSuchDocument`, `duplicateKey`, `tooLarge`, `invalidArgument`, `emptyText`,
  ///   `damaged`. If another document with the former key is damaged, the transaction must be rolled back, which happens
  ///   when the error leaves `write`.
  @discardableResult
  public func update(
    _ id: DocumentID, keepingDate: Bool = false, whenEmpty mode: Document.EmptyText = .store,
    _ change: (inout Document) throws -> Void
  ) throws -> Bool {
    let written = try transaction.writer.rowsWritten
    var old = try transaction.storedDocument(id)
    var new = old.document
    new.wasDated.value = false
    try change(&new)
    guard try transaction.editor.takes(new, mode, as: id) else { return false }
    // Reread the document if the closure wrote to the store.
    if try transaction.writer.rowsWritten != written { old = try transaction.storedDocument(id) }
    // If the store doesn't keep titles, the title can't change.
    if transaction.keys.session.titles == .none { new.title = old.document.title }
    if old.document.isJSON, !new.isJSON { new.attributes = CodableValues.attributes(of: new, with: new) }
    guard !new.isIdentical(to: old.document) else { return true }
    // Keep a date that the closure set. If the closure removed the date, use the current date.
    let isDated = new.wasDated.value || new.modified != old.document.modified
    if !isDated, !keepingDate { new.modified = nil }
    new.modified = new.modified ?? .now()
    new.title = try transaction.editor.title(of: new, insteadOf: old)
    try transaction.editor.replace(old, with: new)
    return true
  }

  /// Replaces the document with an ID, or inserts a document with this ID at the bottom. Creates the collection if it's
  /// missing.
  ///
  /// An existing document keeps its position, and the title, key, attributes, parent and creation date that `document`
  /// doesn't have, except for the schema version of a value with another text. Decrypts the old text.
  ///
  /// - Returns: The ID, and whether the document was inserted.
  /// - Throws: `alreadyExists` if the ID belongs to a document in another collection, `duplicateKey`, `tooLarge`,
  ///   `invalidArgument`, and `damaged` as in ``update(_:keepingDate:whenEmpty:_:)``.
  @discardableResult
  public func put(_ document: Document, id: DocumentID, into collection: DocumentCollection) throws(StoreError)
    -> (id: DocumentID, isNew: Bool)
  {
    guard try transaction.hasRow(id) else {
      return (try insert(document, into: collection, id: id), true)
    }
    try transaction.editor.overwrite(try transaction.storedDocument(id, in: collection), with: document)
    return (id, false)
  }

  /// Replaces the document with a key, or inserts a document with this key at the bottom. Creates the collection if
  /// it's missing.
  ///
  /// An existing document keeps its position, and the title, attributes, parent and creation date that `document`
  /// doesn't have, except for the schema version of a value with another text. The key of `document` is ignored. Decrypts
  /// the old text.
  ///
  /// - Returns: The document's ID, and whether the document was inserted.
  /// - Throws: `noNumberLeft`, `tooLarge`, `invalidArgument`, and `damaged` as in
  ///   ``update(_:keepingDate:whenEmpty:_:)``.
  @discardableResult
  public func put(_ document: Document, into collection: DocumentCollection, key: DocumentKey) throws(StoreError)
    -> (id: DocumentID, isNew: Bool)
  {
    var document = document
    document.key = key
    guard let id = try id(forKey: key, in: collection) else { return (try insert(document, into: collection), true) }
    try transaction.editor.overwrite(try transaction.storedDocument(id), with: document)
    return (id, false)
  }

  /// Deletes a document without decrypting its text.
  ///
  /// Children that aren't deleted keep the document's ID as their parent.
  ///
  /// - Parameters:
  ///   - id: The document's ID.
  ///   - includingDescendants: Whether to also delete the document's children, their children and so on.
  /// - Throws: `noSuchDocument`, or `damaged` if a row was changed. The documents are then kept. If another document
  ///   with the same key is damaged, the transaction must be rolled back, which happens when the error leaves `write`.
  public func delete(_ id: DocumentID, includingDescendants: Bool = false) throws(StoreError) {
    guard includingDescendants else { return try transaction.writer.delete(id) }
    try delete(CollectionOfOne(id), includingDescendants: true)
  }

  /// Deletes the document with a key.
  ///
  /// - Returns: The deleted document's ID, or `nil` if no document has the key.
  /// - Throws: `damaged`, as in `delete(_:includingDescendants:)`.
  @discardableResult
  public func delete(forKey key: DocumentKey, in collection: DocumentCollection) throws(StoreError) -> DocumentID? {
    guard let id = try id(forKey: key, in: collection) else { return nil }
    try delete(id)
    return id
  }

  /// Runs `body`. If it throws, its changes are undone and the rest of the transaction continues.
  ///
  /// - Returns: The result of `body`.
  /// - Throws: Errors of `body`, after its changes are undone.
  @discardableResult
  public func savepoint<T>(_ body: (inout WriteTransaction) throws -> T) throws -> T {
    try transaction.savepoint {
      var inner = WriteTransaction(transaction)
      return try body(&inner)
    }
  }
}
