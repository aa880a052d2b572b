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
  /// - Parameter pairing: by identity for a store and its copies, editable ones included; by key or title otherwise.
  /// - Throws: `invalidArgument` for stores without a common origin that are to be paired by identity; `damaged` with the
  ///   id, `setMismatch`, and errors of `progress`.
  public func differences(
    to other: DocumentStore, by pairing: DocumentPairing = .identity, progress: ProgressHandler? = nil
  ) throws -> StoreDifferences {
    try engine.read { one in
      try other.engine.read { other in try StoreComparison(one, other, pairing, progress).run() }
    }
  }

  /// The documents whose sealed rows differ between two files of one store, such as a backup and the store; needs no key
  /// and proves nothing.
  ///
  /// - Throws: `invalidArgument` for files of two stores; `noSuchFile`, `notAStore`, `otherFormat`, `damaged`, `locked`.
  public static func rowDifferences(from one: URL, to other: URL, wait: Duration? = .seconds(10)) throws(StoreError)
    -> RowDifferences
  {
    try withFile(one, wait) { left throws(StoreError) in
      try withFile(other, wait) { right throws(StoreError) in
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
