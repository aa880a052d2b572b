internal import CofferEngine
internal import CofferRecords

/// A store's verified rows that changed since a generation.
///
/// The sealed ring lists the changes if it reaches back to the generation. Each listed row must have been written in the
/// generation that lists it, because an attacker without a key can replay an earlier row. Otherwise, a walk proves all
/// rows.
struct RecentChanges {
  /// The changed documents' IDs, in ascending order.
  var documents: [Int64] = []
  var collections: [CollectionRecord] = []
  var deletions: [DeletionRow] = []
  /// The deleted documents' IDs, as far as the ring lists them.
  var deletedIDs: [Int64] = []

  /// Verifies all rows of a store, and returns the changed rows.
  ///
  /// - Throws: `setMismatch` if rows are missing, old or forged, or `damaged`.
  static func walked(in store: PairedStore, since generation: UInt64) throws(StoreError) -> RecentChanges {
    let transaction = store.transaction
    var changes = RecentChanges()
    try store.requireWhole { row, _ throws(StoreError) in
      if row.fields.revision > generation { changes.documents.append(row.fields.id) }
    }
    try store.naming { () throws(StoreError) in
      changes.collections = try transaction.storedCollections().filter { $0.revision > generation }
      try DeletionWalk.forEach(transaction.database, within: transaction.limits) { row throws(StoreError) in
        if row.revision > generation { changes.deletions.append(row) }
      }
    }
    return changes
  }

  /// Returns the changes that the ring lists, or `nil` if the ring doesn't reach back or the rows don't match it.
  ///
  /// - Parameter withAttachments: Whether to return documents whose row is older than the generation that lists them,
  ///   because their attachments changed in it. The ring can't show that such a row is the latest one.
  static func listed(
    in store: PairedStore, since generation: UInt64, withAttachments: Bool = false
  ) throws(StoreError) -> RecentChanges? {
    try store.naming { () throws(StoreError) in
      try RingListing(store, since: generation, acceptsOlder: withAttachments)?.changes()
    }
  }
}

/// The latest entries of the ring for each document and collection.
private struct RingListing {
  /// The maximum number of listed documents. Reading more of them one by one takes longer than a walk, and a key holder
  /// can list any number of documents that don't exist.
  private static let limit = 1 << 20

  private let store: PairedStore
  private let generation: UInt64
  private let acceptsOlder: Bool
  /// The latest generation that lists each document, and whether it lists the document as deleted.
  private var last: [Int64: (generation: UInt64, isDeleted: Bool)] = [:]
  private var lastOfCollections: [UInt32: UInt64] = [:]

  /// - Returns: `nil` if the ring doesn't list all changes since the generation, or lists too many documents.
  init?(_ store: PairedStore, since generation: UInt64, acceptsOlder: Bool) {
    self.store = store
    self.generation = generation
    self.acceptsOlder = acceptsOlder
    guard let ring = store.transaction.start.ring.changes(after: generation) else { return nil }
    var count = 0
    for (generation, changes) in ring {
      guard case .entries(let entries) = changes else { return nil }
      for entry in entries {
        if entry.kind == .collection { lastOfCollections[entry.collection] = generation }
        for ids in entry.ranges where count <= Self.limit { count += min(ids.count, Self.limit + 1) }
        guard count <= Self.limit else { return nil }
        for id in entry.ranges.joined() {
          // A move to another collection is a deletion and an insertion in one generation.
          let isSame = last[id]?.generation == generation
          let isDeleted = entry.kind == .deleted && !(isSame && last[id]?.isDeleted == false)
          last[id] = (generation, isDeleted)
        }
      }
    }
  }

  /// Returns the listed rows, or `nil` if one of them isn't as the ring lists it.
  func changes() throws(StoreError) -> RecentChanges? {
    var changes = RecentChanges()
    guard let deleted = try addDocuments(to: &changes), try addCollections(to: &changes) else { return nil }
    var deletions: [UInt64: Int] = [:]
    let transaction = store.transaction
    try transaction.database.forEachRow(SQL.deletionsSince, [Int64(clamping: generation)]) { row throws(StoreError) in
      let row = try DeletionRow(try row.values(), generation: transaction.limits.generation)
      // Manipulated pages can return a row any number of times.
      guard row.number > changes.deletions.last?.number ?? 0 else {
        throw .damagedStore("the row of a deletion is out of its place")
      }
      deletions[row.revision, default: 0] += 1
      changes.deletions.append(row)
      return true
    }
    // Require the deletion rows, because a later merge wouldn't find a deletion whose row is missing.
    return deleted.allSatisfy { deletions[$0.key, default: 0] >= $0.value } ? changes : nil
  }

  /// Adds the documents, and returns the number of deleted ones by generation.
  private func addDocuments(to changes: inout RecentChanges) throws(StoreError) -> [UInt64: Int]? {
    var deleted: [UInt64: Int] = [:]
    for (id, named) in last {
      do throws(StoreError) {
        let revision = try store.row(id) { row, _ in row.fields.revision }
        guard !named.isDeleted, acceptsOlder ? revision <= named.generation : revision == named.generation else {
          return nil
        }
        changes.documents.append(id)
      } catch {
        switch (error.code, named.isDeleted) {
        case (.noSuchDocument, true):
          deleted[named.generation, default: 0] += 1
          changes.deletedIDs.append(id)
        case (.noSuchDocument, false): return nil
        // A damaged row is reported when it's read.
        case (.damaged, false): changes.documents.append(id)
        default: throw error
        }
      }
    }
    changes.documents.sort()
    return deleted
  }

  private func addCollections(to changes: inout RecentChanges) throws(StoreError) -> Bool {
    let collections = try store.transaction.storedCollections()
    // A collection is never removed.
    let numbers = Set(collections.map(\.id))
    guard lastOfCollections.keys.allSatisfy(numbers.contains) else { return false }
    guard collections.allSatisfy({ $0.revision == lastOfCollections[$0.id] ?? min($0.revision, generation) }) else {
      return false
    }
    changes.collections = collections.filter { $0.revision > generation }
    return true
  }
}
