internal import CofferRecords

extension StoreWriter {
  /// Creates an empty collection. A collection that is created by inserting a document has the default settings of this
  /// method.
  ///
  /// ```swift
  /// if try !tx.exists(notes) { try tx.create(notes, titleRule: .derived) }
  /// ```
  ///
  /// - Throws: `alreadyExists`, `invalidArgument` for a name that is empty or longer than 1 KiB.
  @discardableResult
  public func create(_ collection: DocumentCollection, titleRule: TitleRule = .asGiven, foldsKeys: Bool = false)
    throws(StoreError) -> CollectionInfo
  {
    let record = try transaction.newCollection(collection.name, titleRule: titleRule, foldsKeys: foldsKeys)
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
  public func change(_ collection: DocumentCollection, titleRule: TitleRule? = nil, foldsKeys: Bool? = nil)
    throws(StoreError)
  {
    let old = try transaction.requireCollection(collection)
    var new = old
    new.titleRule = titleRule ?? old.titleRule
    new.foldsKeys = foldsKeys ?? old.foldsKeys
    guard new != old else { return }
    try transaction.change(new)
    if new.foldsKeys != old.foldsKeys { try transaction.refold(new) }
  }

  /// Removes a collection with all its documents.
  ///
  /// - Throws: `noSuchCollection`, `damaged`.
  public func drop(_ collection: DocumentCollection) throws(StoreError) {
    try transaction.writer.deleteCollection(try transaction.requireCollection(collection))
  }

  /// Deletes all documents of a collection; keeps the collection and its settings.
  ///
  /// - Parameter restartingIDs: gives out the ids of deleted documents again. Ids are unique in the whole store, so the
  ///   next id becomes the lowest above all documents that remain in any collection: 1 only if none remains. By default
  ///   an id is never reused for other content.
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
  /// If one is refused, the replacement is incomplete: the transaction must then be rolled back, as it is when the
  /// error leaves `write`.
  ///
  /// - Returns: their ids, in order.
  /// - Throws: `duplicateKey`, `tooLarge`, `invalidArgument`.
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
