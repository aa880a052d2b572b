internal import CofferRecords

/// The declared indexes of one collection.
public struct CollectionIndexes: Sendable, Hashable {
  /// The collection's name.
  public let collection: String
  /// The indexes of the collection; at least one.
  public let indexes: [DocumentIndex]
}

extension DocumentStore {
  /// Declares indexes of a collection and builds them, in one transaction.
  ///
  /// From then on they are kept up to date without a call: writes don't touch them, and the next search or query adds
  /// what is missing. Declared again, an index stays; words with another treatment of diacritics replace those before.
  ///
  /// ```swift
  /// try store.index("orders", .field("price", "$.price", as: .number), .field("date", "$.date", as: .date))
  /// try store.index("notes", .words(), .substrings)
  /// ```
  ///
  /// The build opens every document of the collection; other writers wait meanwhile.
  ///
  /// - Throws: `noSuchCollection`, `invalidArgument` for a path or name that can't be one, `alreadyExists` for a
  ///   column's name that is taken, `damaged` with the id of a document; then nothing is declared.
  public func index(
    _ collection: DocumentCollection, _ indexes: DocumentIndex..., progress: ProgressHandler? = nil
  ) throws(StoreError) {
    try index(collection, indexes, progress: progress)
  }

  /// Declares indexes of a collection and builds them, in one transaction, with the indexes in an array.
  ///
  /// - Throws: the errors of the form that takes the indexes one by one; then nothing is declared.
  public func index(
    _ collection: DocumentCollection, _ indexes: [DocumentIndex], progress: ProgressHandler? = nil
  ) throws(StoreError) {
    try engine.changeIndexes(of: collection, progress) { entry throws(StoreError) in
      for index in indexes { try entry.add(index) }
    }
  }

  /// Drops indexes of a collection and deletes their pages; without names of any, drops all of them.
  ///
  /// A field is named by its name alone: `.field("price", "", as: .number)`. An index that the collection does not have
  /// is passed over.
  ///
  /// - Throws: `noSuchCollection`; `locked`, `readOnly`, `diskFull`. Nothing is dropped then.
  public func dropIndexes(_ collection: DocumentCollection, _ indexes: [DocumentIndex] = []) throws(StoreError) {
    try engine.changeIndexes(of: collection, nil) { entry throws(StoreError) in
      for index in indexes.isEmpty ? entry.indexes : indexes { entry.remove(index) }
    }
  }

  /// The declared indexes of every collection that has some, in the order of ``ReadScope/collections()``; empty without
  /// any. Reads the declaration, not the indexes.
  ///
  /// - Throws: `damaged`, and errors of beginning a read transaction: `locked`, `keyChanged`, `closed`.
  public func indexes() throws(StoreError) -> [CollectionIndexes] {
    try engine.reading { transaction throws(StoreError) in
      let declared = try transaction.indexDeclaration()
      return try transaction.orderedCollections().compactMap { record in
        guard let entry = declared.collection(record.id), entry.uid == record.uid else { return nil }
        return CollectionIndexes(collection: record.name, indexes: entry.indexes)
      }
    }
  }

  /// Brings all indexes up to date in the file, however much is missing, in one transaction.
  ///
  /// Opens the documents that are missing in an index, and all documents of the indexed collections if the pages of an
  /// index are damaged. Other writers wait meanwhile.
  ///
  /// - Returns: whether anything was written.
  /// - Throws: `damaged` with the id of a document; `locked`, `readOnly`, `diskFull`, and `cancelled` if `progress`
  ///   throws. The file is then as before. `damaged` without an id if an index could not be opened: it was removed, and
  ///   must be declared again.
  @discardableResult
  public func updateIndexes(progress: ProgressHandler? = nil) throws(StoreError) -> Bool {
    try engine.updateIndexes(progress)
  }

  /// Compares all indexes with the documents: every title, word and field that they hold is found again from the opened
  /// rows, and nothing else is in them.
  ///
  /// Proves first that the pages are those that were written last. Documents that are missing in an index are added in
  /// memory before the comparison. Opens every document of an indexed collection; memory holds two numbers for each.
  ///
  /// - Returns: the differences; none for sound indexes and for a store without any. `updateIndexes(progress:)` makes
  ///   an index again whose pages are damaged; ``dropIndexes(_:_:)`` and `index` any other.
  /// - Throws: `damaged` with the id of a document; `indexBehind` if more is missing than memory may hold.
  public func checkIndexes(progress: ProgressHandler? = nil) throws(StoreError) -> [IndexProblem] {
    try engine.checkIndexes(progress)
  }
}
