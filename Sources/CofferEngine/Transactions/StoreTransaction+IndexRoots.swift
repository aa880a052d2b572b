internal import CofferRecords

/// The numbers of a store's indexes.
package enum IndexPart {
  /// The words, substrings and fields of all collections.
  package static let contents: UInt32 = 1
  /// The title lists.
  package static let titles: UInt32 = 2
  package static let all = [contents, titles]
}

// Index roots are part of the format, so a key change preserves them. CofferSearch defines the index contents.
extension StoreTransaction {
  /// A Boolean value that indicates whether the store has indexes.
  package var hasIndexes: Bool { keys.session.header.compatible & IndexTables.feature != 0 }

  /// Deletes all index pages, because they are encrypted under the old keys.
  ///
  /// - Returns: The roots without pages, for `putIndexRoots(_:)` under the new keys. A root that can't be opened is
  ///   omitted.
  func removeIndexPages() throws(StoreError) -> [IndexRoot] {
    let tables = IndexTables(database)
    guard try tables.exist() else { return [] }
    var roots: [IndexRoot] = []
    for part in IndexPart.all where hasIndexes {
      guard let row = try tables.root(of: part) else { continue }
      do throws(StoreError) {
        var root = try IndexRoot(part: part, epoch: row.epoch, sealed: row.sealed, keys)
        try root.restart()
        roots.append(root)
      } catch {
        guard error.code == .damaged else { throw error }
        logger.warning("index \(part) can't be opened and is removed")
      }
    }
    try tables.empty()
    return roots
  }

  /// Writes index roots, encrypted under the current keys.
  func putIndexRoots(_ roots: [IndexRoot]) throws(StoreError) {
    let tables = IndexTables(database)
    for root in roots { try tables.put(root, keys) }
  }
}
