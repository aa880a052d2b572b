internal import CofferEngine
internal import CofferRecords
internal import CofferSearch

extension DocumentStore {
  /// Adds indexes to a collection and builds them in one transaction.
  ///
  /// Declaring an existing index leaves it unchanged, unless its word settings differ. Building indexes decrypts every
  /// document in the collection. Other writers wait until it ends.
  ///
  /// - Returns: The numbers of values and NULLs of the collection's indexed fields, or an empty array if the call
  ///   doesn't add a field. A field without any value probably has a wrong path or kind
  ///   (``IndexedField/hasOnlyNulls``).
  /// - Throws: `noSuchCollection`, `invalidArgument` for an invalid path or name, or for several fields that aren't
  ///   declared, `alreadyExists` for a column name that's taken, `tooLarge` for too many indexes, or `damaged` with a
  ///   document's ID. The indexes are then unchanged.
  @discardableResult
  package func index(
    _ collection: DocumentCollection, _ indexes: DocumentIndex..., progress: ProgressHandler? = nil
  ) throws(StoreError) -> [IndexedField] {
    try index(collection, indexes, progress: progress)
  }

  /// Declares a collection's indexes from an array, and builds them in one transaction.
  ///
  /// - Returns: The result of the variadic form.
  /// - Throws: The errors of the variadic form. The indexes are then unchanged.
  @discardableResult
  package func index(
    _ collection: DocumentCollection, _ indexes: [DocumentIndex], progress: ProgressHandler? = nil
  ) throws(StoreError) -> [IndexedField] {
    let dates = engine.options.values.dates
    return try engine.changeIndexes(of: collection, progress, countingFields: true) { entry throws(StoreError) in
      try entry.add(indexes, dates: dates)
    }
  }

  /// Returns the numbers of values and NULLs of a collection's indexed fields.
  ///
  /// Reads one column of the index for each field, after adding documents missing from the index.
  ///
  /// - Throws: `noSuchCollection`, `damaged`, or `indexBehind` if the index lacks too many documents.
  public func indexedFields(of collection: DocumentCollection) throws(StoreError) -> [IndexedField] {
    try engine.indexedFields(of: collection)
  }

  /// Drops a collection's indexes and deletes their pages. If you don't specify indexes, drops all of them.
  ///
  /// Fields are identified by name only, for example `.field("price", "", as: .number)`. Missing indexes are ignored.
  ///
  /// - Throws: `noSuchCollection`, `locked`, `readOnly`, `diskFull`, or `invalidArgument` for a field that a
  ///   multi-field index needs. The indexes are then unchanged.
  package func dropIndexes(_ collection: DocumentCollection, _ indexes: [DocumentIndex] = []) throws(StoreError) {
    try engine.changeIndexes(of: collection, nil, countingFields: false) { entry throws(StoreError) in
      try entry.remove(indexes.isEmpty ? entry.indexes : indexes)
    }
  }

  /// Updates all indexes in the file in one transaction, regardless of how many documents are missing.
  ///
  /// Decrypts the documents that an index lacks, or all documents of the indexed collections if an index's pages are
  /// damaged. Other writers wait until the call ends.
  ///
  /// - Returns: Whether the file was changed.
  /// - Throws: `damaged` with a document's ID, `locked`, `readOnly`, `diskFull`, or `cancelled` if `progress` throws.
  ///   The file is then unchanged. `damaged` without an ID if an index couldn't be opened and was removed. You can then
  ///   declare it again.
  @discardableResult
  public func updateIndexes(progress: ProgressHandler? = nil) throws(StoreError) -> Bool {
    try engine.updateIndexes(progress)
  }

  /// Compares all indexes with the documents, like a full ``verify(_:against:requiring:allowingRekey:progress:)``.
  ///
  /// - Returns: The differences, which are empty without indexes or differences, and the numbers of values and NULLs of
  ///   each collection's fields.
  /// - Throws: `damaged` with a document's ID. `indexBehind` if an index lacks too many documents.
  package func checkIndexes(
    progress: ProgressHandler? = nil
  ) throws(StoreError) -> (problems: [Verdict.IndexProblem], fields: [(collection: String, field: IndexedField)]) {
    try engine.checkIndexes(progress)
  }
}

extension StoreReading where Self: ~Copyable {
  /// Returns a collection's declared indexes, or an empty array if it doesn't have any or doesn't exist.
  ///
  /// Reads the declaration without reading the indexes.
  ///
  /// - Throws: `damaged`.
  public func indexes(of collection: DocumentCollection) throws(StoreError) -> [DocumentIndex] {
    transaction.notes?.noteEverything()
    guard let record = try transaction.collection(named: collection.name),
      let entry = try StoreIndexes(transaction).declaration().collection(record.id), entry.uid == record.uid
    else { return [] }
    return entry.indexes
  }
}
