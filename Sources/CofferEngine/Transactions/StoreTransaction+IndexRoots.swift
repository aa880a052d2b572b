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
  /// A Boolean value that indicates whether the store has indexes, including this transaction's indexes.
  ///
  /// It's `false` if the store was opened with a publisher, because a slot holder could have forged index pages.
  package var hasIndexes: Bool {
    guard keys.proof == nil else { return false }
    return hasIndexesAfter ?? (keys.session.header.compatible & IndexTables.feature != 0)
  }

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
    try forgetIndexes()
    return roots
  }

  /// Writes index roots, encrypted under the current keys.
  func putIndexRoots(_ roots: [IndexRoot]) throws(StoreError) {
    for root in roots { try put(root) }
  }

  /// Writes an index's root, and its identity into the state.
  ///
  /// - Returns: The sealed root.
  @discardableResult
  package func put(_ root: IndexRoot) throws(StoreError) -> [UInt8] {
    if hasWritten { try writer.noteIndex() }
    try setIdentity(root.identity, ofIndex: root.part)
    return try IndexTables(database).put(root, keys)
  }

  /// Deletes an index with its pages.
  package func deleteIndex(_ part: UInt32) throws(StoreError) {
    try setIdentity(nil, ofIndex: part)
    try IndexTables(database).delete(part)
  }

  /// Removes the identities of all indexes but some from the state.
  package func forgetIndexes(but parts: [UInt32] = []) throws(StoreError) {
    for part in IndexPart.all where !parts.contains(part) { try setIdentity(nil, ofIndex: part) }
  }

  private func setIdentity(_ identity: UniqueID?, ofIndex part: UInt32) throws(StoreError) {
    guard state[index: part] != identity else { return }
    try writer.willWrite()
    try writer.state[index: part] = identity
  }
}
