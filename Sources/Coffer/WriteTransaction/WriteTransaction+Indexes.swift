internal import CofferEngine
internal import CofferRecords
internal import CofferSearch

extension WriteTransaction {
  /// Replaces a collection's indexes with these indexes, by building missing indexes and dropping all others.
  ///
  /// ```swift
  /// try store.write { try $0.setIndexes([.words(), .field("date", "$.date", as: .date)], of: "notes") }
  /// ```
  ///
  /// If the declaration is unchanged, the call only reads it, so you can make it at each start. Otherwise, building
  /// decrypts every document in the collection. You don't need to update the indexes, because writes don't change them,
  /// and searches and queries add missing documents. Searches and queries in this transaction use the new indexes. Creates
  /// the collection if it's missing and there are indexes to declare.
  ///
  /// - Parameters:
  ///   - indexes: The indexes. A field replaces an existing field with the same name and another path or kind.
  ///   - collection: The collection.
  ///   - progress: Called after each batch of indexed documents.
  /// - Returns: The numbers of values and NULLs of the collection's indexed fields, or an empty array if the fields
  ///   didn't change. A field without any value probably has a wrong path or kind (``IndexedField/hasOnlyNulls``).
  /// - Throws: `invalidArgument` for an invalid path or name, or for several fields that aren't in the list,
  ///   `alreadyExists` for a column name that's taken, `tooLarge` for too many fields, `damaged` with a document's ID,
  ///   or `cancelled` if `progress` throws. The indexes are then unchanged.
  @discardableResult
  public func setIndexes(
    _ indexes: [DocumentIndex], of collection: DocumentCollection, progress: ProgressHandler? = nil
  ) throws(StoreError) -> [IndexedField] {
    let isThere = try exists(collection)
    guard isThere || !indexes.isEmpty else { return [] }
    let dates = transaction.values.dates
    do {
      return try savepoint { tx in
        if !isThere { try tx.create(collection) }
        let stored = StoreIndexes(tx.transaction)
        let hasNewFields = try stored.change(of: collection, progress) { entry throws(StoreError) in
          try entry.set(indexes, dates: dates)
        }
        return hasNewFields ? try stored.fields(of: collection) : []
      }
    } catch let error as StoreError {
      throw error
    } catch {
      throw StoreError(.systemFailure, "the indexes couldn't be changed: \(type(of: error))")
    }
  }
}
