internal import CofferEngine
internal import CofferRecords

extension WriteTransaction {
  /// Creates an empty collection. Inserting a document into a missing collection creates it with this method's default
  /// settings.
  ///
  /// ```swift
  /// if try !tx.exists("notes") { try tx.create("notes", titleRule: .derived) }
  /// ```
  ///
  /// - Parameters:
  ///   - collection: The name, from 1 byte to 1 KiB of UTF-8.
  ///   - titleRule: The rule for documents without a title.
  ///   - foldsKeys: Whether to treat keys that only differ in case or composition as equal.
  ///   - attributes: Custom data about the collection, at most 64 KiB of JSON with 511 levels.
  /// - Returns: The collection's number and settings.
  /// - Throws: `alreadyExists`, `tooLarge`, or `invalidArgument` for a name that's empty or longer than 1 KiB, or for
  ///   attributes that can't be stored.
  @discardableResult
  public func create(
    _ collection: DocumentCollection, titleRule: TitleRule = .asGiven, foldsKeys: Bool = false,
    attributes: Attributes = Attributes()
  ) throws(StoreError) -> CollectionInfo {
    let record = try transaction.collectionEditor.newCollection(
      collection.name, CollectionSettings(titleRule: titleRule, foldsKeys: foldsKeys, attributes: attributes))
    try transaction.writer.insertCollection(record)
    return CollectionInfo(record, count: 0)
  }

  /// Renames a collection, without changing its documents.
  ///
  /// - Returns: The collection with its new name. The old name no longer exists.
  /// - Throws: `noSuchCollection`, `alreadyExists`, `invalidArgument`.
  @discardableResult
  public func rename(_ collection: DocumentCollection, to name: String) throws(StoreError) -> DocumentCollection {
    let old = try transaction.requireCollection(collection)
    try transaction.collectionEditor.checkCollectionName(name)
    var renamed = old
    renamed.rename(to: name)
    try transaction.collectionEditor.change(renamed)
    return DocumentCollection(name)
  }

  /// Changes a collection's settings. `nil` keeps a setting.
  ///
  /// A new title rule only applies to later documents, so existing titles don't change. Changing `foldsKeys`
  /// re-encrypts the heads of documents with a key.
  ///
  /// - Throws: `noSuchCollection`, or `tooLarge` and `invalidArgument` for attributes. `duplicateKey` if folding makes
  ///   two keys equal, and `invalidArgument` if a key to fold isn't text. After these two errors, the transaction must
  ///   be rolled back, which happens when the error leaves `write`.
  public func update(
    _ collection: DocumentCollection, titleRule: TitleRule? = nil, foldsKeys: Bool? = nil,
    attributes: Attributes? = nil
  ) throws(StoreError) {
    let old = try transaction.requireCollection(collection)
    var new = old
    new.settings.titleRule = titleRule ?? old.titleRule
    new.settings.foldsKeys = foldsKeys ?? old.foldsKeys
    new.settings.attributes = attributes ?? old.settings.attributes
    guard new != old else { return }
    try transaction.collectionEditor.check(new.settings.attributes)
    try transaction.collectionEditor.change(new)
    if new.foldsKeys != old.foldsKeys { try transaction.collectionEditor.refold(new) }
  }

  /// Reorders the collections that ``StoreReading/collections()`` lists.
  ///
  /// - Parameter collections: The first collections in their new order. Other collections follow in their current
  ///   order. A collection that's created later is the last.
  /// - Throws: `noSuchCollection`, or `invalidArgument` if a collection is listed twice.
  public func reorder(_ collections: [DocumentCollection]) throws(StoreError) {
    var records: [CollectionRecord] = []
    for collection in collections { records.append(try transaction.requireCollection(collection)) }
    let chosen = Set(records.map(\.id))
    guard chosen.count == records.count else {
      throw StoreError(.invalidArgument, "a collection is named twice")
    }
    records += try transaction.orderedCollections().filter { !chosen.contains($0.id) }
    try transaction.collectionEditor.arrange(records)
  }

  /// Deletes a collection with all its documents.
  ///
  /// - Throws: `noSuchCollection`. `damaged` if a document can't be deleted. The transaction must then be rolled back,
  ///   which happens when the error leaves `write`.
  public func drop(_ collection: DocumentCollection) throws(StoreError) {
    try transaction.writer.dropCollection(try transaction.requireCollection(collection))
  }

  /// Deletes all documents of a collection, but keeps the collection and its settings.
  ///
  /// With `restartingIDs`, new documents can reuse deleted documents' IDs. Because IDs are unique in the whole store,
  /// the next ID becomes the lowest ID above all remaining documents in any collection, which is 1 only if the store is
  /// empty. Otherwise, IDs are never reused.
  ///
  /// - Returns: The number of deleted documents, or 0 if the collection doesn't exist yet.
  /// - Throws: `rekeyUnfinished` if IDs can't restart because a rekey is unfinished. `damaged` if a document can't be
  ///   deleted. The transaction must then be rolled back, which happens when the error leaves `write`.
  @discardableResult
  public func truncate(_ collection: DocumentCollection, restartingIDs: Bool = false) throws(StoreError) -> Int {
    guard let record = try transaction.collection(named: collection.name) else { return 0 }
    let before = transaction.state.count
    if restartingIDs { try transaction.writer.requireNoClosedEpoch() }
    try transaction.writer.deleteDocuments(in: record)
    if restartingIDs { try transaction.writer.restartIDs() }
    return Int(before - transaction.state.count)
  }

  /// Replaces all documents of a collection with new documents, in order. Creates the collection if it's missing.
  ///
  /// With `restartingIDs`, new documents can reuse deleted documents' IDs, as in ``truncate(_:restartingIDs:)``. If a
  /// document is rejected, the replacement is incomplete, so the transaction must be rolled back, which happens when
  /// the error leaves `write`.
  ///
  /// - Returns: The new documents' IDs, in order.
  /// - Throws: `duplicateKey`, `tooLarge`, `invalidArgument`, `noNumberLeft`, `damaged`, or `rekeyUnfinished` as in
  ///   ``truncate(_:restartingIDs:)``.
  @discardableResult
  public func replaceAll(
    in collection: DocumentCollection, with documents: some Sequence<Document>, restartingIDs: Bool = false
  ) throws(StoreError) -> [DocumentID] {
    if try exists(collection) {
      try truncate(collection, restartingIDs: restartingIDs)
    } else {
      try create(collection)
    }
    do throws(StoreError) {
      var ids: [DocumentID] = []
      for document in documents { ids.append(try insert(document, into: collection)) }
      return ids
    } catch {
      try transaction.writer.fail(error)
      throw error
    }
  }
}
