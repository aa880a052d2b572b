internal import CofferRecords

extension StoreWriter {
  /// Makes an empty collection. One that documents are put into without having been made has the settings that are
  /// usual here.
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

  /// Gives a collection another name; its documents stay as they are.
  ///
  /// - Returns: the collection under its new name. Under the old one there is none from here on.
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

  /// Changes a collection's settings; what is nil stays.
  ///
  /// Another title rule holds for documents to come: titles that are there stay. Another folding looks up every key of
  /// the collection anew and seals the heads of their documents.
  ///
  /// - Throws: `noSuchCollection`; `duplicateKey` where folding makes one key of two, and `invalidArgument` for a key
  ///   to be folded that is no text: the transaction must then be rolled back, as it is when the error leaves `write`.
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

  /// Deletes all documents of a collection, which stays with its settings.
  ///
  /// - Parameter restartingIDs: gives the numbers of deleted documents again. Numbers are unique in the whole store, so
  ///   the next one becomes the lowest above all documents that remain in any collection: 1 only where none remains.
  ///   By default a number never comes back with other content.
  /// - Returns: how many there were.
  /// - Throws: `noSuchCollection`, `damaged`.
  @discardableResult
  public func truncate(_ collection: DocumentCollection, restartingIDs: Bool = false) throws(StoreError) -> Int {
    let record = try transaction.requireCollection(collection)
    let before = transaction.state.count
    try transaction.writer.deleteDocuments(in: record)
    if restartingIDs { try transaction.writer.restartIDs() }
    return Int(before - transaction.state.count)
  }

  /// Puts these documents in the place of all that the collection holds, in their order; makes it where it is missing.
  ///
  /// One that is refused leaves nothing half replaced: the transaction must then be rolled back, as it is when the
  /// error leaves `write`.
  ///
  /// - Returns: their numbers, in order.
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
