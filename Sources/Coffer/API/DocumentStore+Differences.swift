internal import CofferRecords
public import FoundationEssentials

extension DocumentStore {
  /// The differences of two stores, from this one to the other: documents that were added, removed, changed and moved.
  ///
  /// ```swift
  /// let differences = try store.differences(to: newer)
  /// for changed in differences.changed where changed.parts.contains(.text) { show(changed.before, changed.after) }
  /// ```
  ///
  /// Both stores are read whole, each in one transaction, and proved: every head, set and count, and the text of every
  /// pair of documents. Memory rises by some 40 bytes for each document, and with the differences.
  ///
  /// - Parameters:
  ///   - other: the second store, of a version that this library reads; it is only read.
  ///   - pairing: identity for a store and its copies, editable ones included; key or title otherwise.
  ///   - progress: called with the number of documents compared; if it throws, the comparison ends.
  /// - Throws: `invalidArgument` for stores without a common origin that are to be paired by identity; `damaged` with
  ///   the id, `setMismatch`, and errors of `progress`.
  public func differences(
    to other: DocumentStore, by pairing: DocumentPairing = .identity, progress: ProgressHandler? = nil
  ) throws -> StoreDifferences {
    try engine.read { one in
      try other.engine.read { other in try StoreComparison(one, other, pairing, progress).run() }
    }
  }

  /// The documents whose sealed rows differ between two files of one store, such as a backup and the store; needs no
  /// key and proves nothing.
  ///
  /// Both files are walked by id, one row of each in memory.
  ///
  /// - Returns: the ids that only one file has, and those whose rows differ; all lists are sorted by id.
  /// - Throws: `invalidArgument` for files of two stores; `noSuchFile`, `notAStore`, `otherFormat`, `damaged`,
  ///   `locked`.
  public static func rowDifferences(from one: URL, to other: URL, wait: Duration? = .seconds(10)) throws(StoreError)
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
