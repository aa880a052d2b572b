internal import CofferRecords
internal import CofferSQLite
internal import CofferSealing

/// The scope of `write`: committed as a whole when the closure returns, undone if it throws. Valid until then.
///
/// It reads what ``ReadScope`` reads, its changes included. A call that throws has changed nothing, unless its
/// description says that the transaction must be rolled back. Beside the errors that a call lists, each can throw
/// `diskFull`, `ioFailure`, `misuse` after the end of its scope, and `cancelled` in a task that was cancelled.
public struct StoreWriter: ReadScope, ~Copyable {
  public let _transaction: StoreTransaction

  init(_ transaction: StoreTransaction) {
    _transaction = transaction
  }
}

// MARK: - Documents

extension StoreWriter {
  /// Adds a document; creates the collection if it is missing.
  ///
  /// The id is the next one, unless `wanted` names one to keep, as an import does. Writes one row, and seals the text
  /// once.
  ///
  /// - Returns: its id, which no later document gets, except after ``truncate(_:restartingIDs:)`` with restarted ids.
  /// - Throws: `alreadyExists` for a taken id, `noNumberLeft`, `duplicateKey`, `tooLarge`; `invalidArgument` for an id
  ///   that no document can have, a neighbour or parent in another collection, attributes with a ``Attributes/fault``,
  ///   or the name of a collection that is empty or longer than 1 KiB.
  @discardableResult
  public func insert(
    _ document: Document, into collection: DocumentCollection, at placement: Placement = .bottom,
    id wanted: DocumentID? = nil
  ) throws(StoreError) -> DocumentID {
    let known = try transaction.collection(named: collection.name)
    let record =
      if let known { known } else {
        try transaction.newCollection(collection.name, CollectionSettings())
      }
    return try transaction.insert(document, in: record, isNew: known == nil, id: wanted, at: placement)
  }

  /// Adds a document, unless its text is empty and the caller does not want empty texts: `mode` decides.
  ///
  /// - Returns: its id; nil if it was skipped, and nothing was created.
  /// - Throws: `emptyText`, and errors of ``insert(_:into:at:id:)``.
  @discardableResult
  public func insert(
    _ document: Document, into collection: DocumentCollection, at placement: Placement = .bottom,
    id wanted: DocumentID? = nil, whenEmpty mode: EmptyTextMode
  ) throws(StoreError) -> DocumentID? {
    guard try transaction.takes(document, mode) else { return nil }
    return try insert(document, into: collection, at: placement, id: wanted)
  }

  /// Changes a document in place; its id can't be lost.
  ///
  /// If the collection derives titles, a title derived from the old text is replaced by the new text's. If the closure
  /// throws, the document stays as it is. A closure that changes nothing costs one read.
  ///
  /// - Parameters:
  ///   - id: the document.
  ///   - dating: the date of the change. A date that the closure sets is kept, also if it is the same as before.
  ///   - mode: leaves the document as it is, or throws, if the closure leaves its text empty.
  ///   - change: called once with the document, its text included.
  /// - Returns: false if it was skipped, and is unchanged.
  /// - Throws: errors of `change`; `noSuchDocument`, `duplicateKey`, `tooLarge`, `invalidArgument`, `emptyText`,
  ///   `damaged`.
  @discardableResult
  public func update(
    _ id: DocumentID, dating: Dating = .now, whenEmpty mode: EmptyTextMode = .store,
    _ change: (inout Document) throws -> Void
  ) throws -> Bool {
    let written = try transaction.writer.rowsWritten
    var old = try transaction.storedDocument(id)
    var new = old.document
    new.wasDated.value = false
    try change(&new)
    guard try transaction.takes(new, mode, as: id) else { return false }
    // The closure may itself have written to the store.
    if try transaction.writer.rowsWritten != written { old = try transaction.storedDocument(id) }
    guard !new.isIdentical(to: old.document) else { return true }
    // A date that the closure gave is kept, one that it took away is the clock's.
    let isDated = new.wasDated.value || new.modified != old.document.modified
    if !isDated, dating == .now { new.modified = nil }
    new.modified = new.modified ?? .now()
    new.title = try transaction.title(of: new, insteadOf: old)
    try transaction.replace(old, with: new)
    return true
  }

  /// Replaces the document of that id, or adds one under it, at the bottom.
  ///
  /// Keeps what `document` doesn't give: title, key, attributes, parent and creation date; the place stays. Opens the
  /// old text.
  ///
  /// - Returns: true if it was added.
  /// - Throws: `alreadyExists` for a document of another collection, `duplicateKey`, `tooLarge`, `invalidArgument`,
  ///   `damaged`.
  @discardableResult
  public func put(_ document: Document, id: DocumentID, into collection: DocumentCollection) throws(StoreError) -> Bool
  {
    guard try transaction.hasRow(id) else {
      try insert(document, into: collection, id: id)
      return true
    }
    try transaction.overwrite(try transaction.storedDocument(id, in: collection), with: document)
    return false
  }

  /// Replaces the document with that key, or adds one at the bottom; creates the collection if it is missing.
  ///
  /// Keeps what `document` doesn't give: title, attributes, parent and creation date; the place stays. Its own key is
  /// not looked at. Opens the old text.
  ///
  /// - Returns: the document's id.
  /// - Throws: `noNumberLeft`, `tooLarge`, `invalidArgument`, `damaged`.
  @discardableResult
  public func put(_ document: Document, into collection: DocumentCollection, key: ExternalKey) throws(StoreError)
    -> DocumentID
  {
    var document = document
    document.key = key
    guard let id = try id(forKey: key, in: collection) else { return try insert(document, into: collection) }
    try transaction.overwrite(try transaction.storedDocument(id), with: document)
    return id
  }

  /// Deletes one document. Its children stay, and still name it as their parent.
  ///
  /// - Throws: `noSuchDocument`, and `damaged` for a row that is not the one that was written.
  public func delete(_ id: DocumentID) throws(StoreError) {
    try transaction.writer.delete(id)
  }

  /// Deletes the document with that key.
  ///
  /// - Returns: its id; nil if no document has the key.
  /// - Throws: `damaged`.
  @discardableResult
  public func delete(forKey key: ExternalKey, in collection: DocumentCollection) throws(StoreError) -> DocumentID? {
    guard let id = try id(forKey: key, in: collection) else { return nil }
    try delete(id)
    return id
  }

  /// Runs `body`. If it throws, its changes are undone and the rest of the transaction continues.
  ///
  /// - Returns: the result of `body`.
  /// - Throws: errors of `body`, after its changes were undone.
  @discardableResult
  public func savepoint<T>(_ body: (inout StoreWriter) throws -> T) throws -> T {
    try transaction.savepoint {
      var inner = StoreWriter(transaction)
      return try body(&inner)
    }
  }
}
