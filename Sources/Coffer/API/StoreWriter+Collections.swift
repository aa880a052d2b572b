internal import CofferRecords

extension StoreWriter {
  /// Creates an empty collection. A collection that is created by inserting a document has the default settings of this
  /// method.
  ///
  /// ```swift
  /// if try !tx.exists(notes) { try tx.create(notes, titleRule: .derived) }
  /// ```
  ///
  /// - Parameters:
  ///   - collection: the name, 1 byte to 1 KiB of UTF-8.
  ///   - titleRule: the rule for documents without a title.
  ///   - foldsKeys: makes keys that differ only in case or composition one key.
  ///   - attributes: an app's own data about the collection: at most 64 KiB of JSON.
  /// - Returns: the collection's number and settings.
  /// - Throws: `alreadyExists`; `invalidArgument` for a name that is empty or longer than 1 KiB; `tooLarge`.
  @discardableResult
  public func create(
    _ collection: DocumentCollection, titleRule: TitleRule = .asGiven, foldsKeys: Bool = false,
    attributes: Attributes = Attributes()
  ) throws(StoreError) -> CollectionInfo {
    let record = try transaction.newCollection(
      collection.name, CollectionSettings(titleRule: titleRule, foldsKeys: foldsKeys, attributes: attributes))
    try transaction.writer.insertCollection(record)
    return CollectionInfo(record, count: 0)
  }

  /// Renames a collection; its documents don't change.
  ///
  /// - Returns: the collection under its new name. The old name no longer exists.
  /// - Throws: `noSuchCollection`, `alreadyExists`, `invalidArgument`.
  @discardableResult
  public func rename(_ collection: DocumentCollection, to name: String) throws(StoreError) -> DocumentCollection {
    let old = try transaction.requireCollection(collection)
    try transaction.checkCollectionName(name)
    var renamed = old
    renamed.name = name
    try transaction.change(renamed)
    return DocumentCollection(name)
  }

  /// Changes a collection's settings; nil keeps a setting.
  ///
  /// Another title rule applies to later documents only: existing titles don't change. Another folding rebuilds the
  /// blind index of every key in the collection and seals the heads of those documents again.
  ///
  /// - Throws: `noSuchCollection`; `duplicateKey` if folding makes two keys equal, and `invalidArgument` for a key that
  ///   is to be folded but is no text: the transaction must then be rolled back, as it is when the error leaves
  ///   `write`.
  public func change(
    _ collection: DocumentCollection, titleRule: TitleRule? = nil, foldsKeys: Bool? = nil,
    attributes: Attributes? = nil
  ) throws(StoreError) {
    let old = try transaction.requireCollection(collection)
    var new = old
    new.settings.titleRule = titleRule ?? old.titleRule
    new.settings.foldsKeys = foldsKeys ?? old.foldsKeys
    new.settings.attributes = attributes ?? old.settings.attributes
    guard new != old else { return }
    try transaction.check(new.settings.attributes)
    try transaction.change(new)
    if new.foldsKeys != old.foldsKeys { try transaction.refold(new) }
  }

  /// Gives the collections of the store an order, which ``ReadScope/collections()`` lists them in.
  ///
  /// - Parameter collections: the first ones; others follow in the order that they have. A new collection is the last.
  /// - Throws: `noSuchCollection`; `invalidArgument` for one that is named twice.
  public func arrange(_ collections: [DocumentCollection]) throws(StoreError) {
    var records: [CollectionRecord] = []
    for collection in collections { records.append(try transaction.requireCollection(collection)) }
    let chosen = Set(records.map(\.id))
    guard chosen.count == records.count else {
      throw StoreError(.invalidArgument, "a collection is named twice")
    }
    records += try transaction.orderedCollections().filter { !chosen.contains($0.id) }
    try transaction.arrange(records)
  }

  /// Removes a collection with all its documents.
  ///
  /// - Throws: `noSuchCollection`, `damaged`.
  public func drop(_ collection: DocumentCollection) throws(StoreError) {
    try transaction.writer.deleteCollection(try transaction.requireCollection(collection))
  }

  /// Deletes all documents of a collection; keeps the collection and its settings.
  ///
  /// With `restartingIDs` the ids of deleted documents are given out again. Ids are unique in the whole store, so the
  /// next id becomes the lowest above all documents that remain in any collection: 1 only if none remains. Otherwise an
  /// id is never reused for other content.
  ///
  /// - Returns: the number of deleted documents; 0 if the collection doesn't exist yet.
  /// - Throws: `damaged`.
  @discardableResult
  public func truncate(_ collection: DocumentCollection, restartingIDs: Bool = false) throws(StoreError) -> Int {
    guard let record = try transaction.collection(named: collection.name) else { return 0 }
    let before = transaction.state.count
    try transaction.writer.deleteDocuments(in: record)
    if restartingIDs { try transaction.writer.restartIDs() }
    return Int(before - transaction.state.count)
  }

  /// Replaces all documents of the collection by these, in their order; creates the collection if it is missing.
  ///
  /// With `restartingIDs` the ids of deleted documents are given out again, as ``truncate(_:restartingIDs:)`` does. If
  /// a document is refused, the replacement is incomplete: the transaction must then be rolled back, as it is when the
  /// error leaves `write`.
  ///
  /// - Returns: their ids, in order.
  /// - Throws: `duplicateKey`, `tooLarge`, `invalidArgument`, `noNumberLeft`, `damaged`.
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
