package import CofferCopies
internal import CofferEngine
package import CofferFoundation
internal import CofferRecords

extension DocumentStore {
  /// Returns the added, removed, changed and moved documents between this store and another store.
  ///
  /// ```swift
  /// let differences = try store.differences(to: newer)
  /// for changed in differences.changed where changed.parts.contains(.text) { show(changed.before, changed.after) }
  /// ```
  ///
  /// Reads and verifies both stores completely, each in one transaction, including every head, set and count, and the
  /// texts of all pairs of documents. Compares attachments by name, media type, date and SHA-256. Uses about 40 bytes
  /// of memory per document, in addition to the differences.
  ///
  /// - Parameters:
  ///   - other: The second store, in a format version that this library supports. It's only read.
  ///   - pairing: `identity` for a store, its backups and its editable copies, and key or title otherwise.
  ///   - allowsRekey: Whether to accept two files of one store with different root keys. Whoever had a former key
  ///     can have written that file.
  ///   - progress: Called with the number of compared documents. Throwing from it ends the comparison.
  /// - Throws: `invalidArgument` if `identity` pairs stores that can't be merged. `rolledBack` for files of one store
  ///   with two root keys, unless `allowsRekey` is `true`. `damaged` with the ID, `setMismatch`, and errors of
  ///   `progress`.
  public func differences(
    to other: DocumentStore, by pairing: StoreDifferences.Pairing = .identity,
    allowingRekey allowsRekey: Bool = false, progress: ProgressHandler? = nil
  ) throws -> StoreDifferences {
    try engine.read { one in
      try other.engine.read { other in
        try StoreComparison(one, other, pairing, allowingRekey: allowsRekey, progress).run()
      }
    }
  }

  /// Returns the documents whose encrypted rows differ between two files of one store, such as a backup and the store.
  /// Doesn't need a key, and doesn't verify the rows.
  ///
  /// Reads both files in ID order, and keeps one row of each file in memory.
  ///
  /// - Returns: The IDs in only one of the files, and the IDs with different rows. All lists are sorted.
  /// - Throws: `invalidArgument` for files of two stores. `noSuchFile`, `notAStore`, `otherFormat`, `damaged` or
  ///   `locked`.
  package static func rowDifferences(from one: URL, to other: URL, wait: Duration? = .seconds(10)) throws(StoreError)
    -> RowDifferences
  {
    try StoreFile.reading(one.path, wait) { left throws(StoreError) in
      try StoreFile.reading(other.path, wait) { right throws(StoreError) in
        guard try left.readHeader().0.storeID == right.readHeader().0.storeID else {
          throw StoreError(
            .invalidArgument, "the files are of two stores: without a key only files of one store can be compared",
            hint: "compare them with their keys")
        }
        return try RowDifferences(left, right)
      }
    }
  }
}
