internal import CofferDocuments
internal import CofferEngine
internal import CofferRecords
internal import CofferSQLite

/// Finds this store's documents and deletions by identity, and reads all of them only if necessary.
final class MyDocuments {
  private let store: PairedStore
  /// Whether the other store's commits may have other names here, so a document can precede its birth here.
  private let looksUpAll: Bool
  private var collections: [UInt32: UniqueID]?
  private var ids: [UniqueID: Int64]?
  private var deletions: [UniqueID: DeletionRecord]?
  /// Some documents' known IDs, which avoid reading all documents.
  private var likely: [UniqueID: Int64] = [:]

  private var transaction: StoreTransaction { store.transaction }

  init(_ store: PairedStore, lookingUpAll looksUpAll: Bool = false) {
    self.store = store
    self.looksUpAll = looksUpAll
  }

  /// Returns this store's version of the other store's document, or `nil` if this store doesn't have it.
  ///
  /// - Throws: `damaged` if a row can't be opened.
  func find(_ theirs: MergeDocument, _ replicas: JointReplicas) throws(StoreError) -> MergeDocument? {
    if let here = try document(id: theirs.id), here.uid == theirs.uid { return here }
    return neverHad(theirs, replicas) ? nil : try document(theirs.uid)
  }

  /// Returns whether this store never had the other store's document, and therefore doesn't have its deletion either.
  ///
  /// The store then doesn't include the document's birth, and the birth wasn't renewed. A decision or a restore renews
  /// the birth and sets `kept`. A deleted text that loses again also renews it, without giving a part the new dot.
  func neverHad(_ theirs: MergeDocument, _ replicas: JointReplicas) -> Bool {
    let isFirstBirth = theirs.dots.kept.isZero && theirs.partDots.dropFirst().contains(theirs.dots.born)
    return !looksUpAll && isFirstBirth && !replicas.iInclude(theirs.dots.born)
  }

  /// Returns the document with an identity, which probably has an ID.
  func document(_ uid: UniqueID, likely id: Int64) throws(StoreError) -> MergeDocument? {
    if let here = try document(id: id), here.uid == uid { return here }
    return try document(uid)
  }

  /// Returns the document with an identity.
  func document(_ uid: UniqueID) throws(StoreError) -> MergeDocument? {
    guard let id = try id(of: uid) else { return nil }
    return try document(id: id)
  }

  /// Reads the documents with these IDs, because later lookups are likely to need them.
  func prepare(_ ids: [Int64]) throws(StoreError) {
    for id in ids { if let here = try document(id: id) { likely[here.uid] = id } }
  }

  /// Returns the ID of the document with an identity. Reads all documents once, unless `prepare(_:)` read the document.
  func id(of uid: UniqueID) throws(StoreError) -> Int64? {
    if let id = likely[uid] { return id }
    if ids == nil {
      var known: [UniqueID: Int64] = [:]
      known.reserveCapacity(Int(clamping: transaction.state.count))
      try store.forEachRow { row, head throws(StoreError) in
        guard known.updateValue(row.fields.id, forKey: head.uid) == nil else {
          throw .damagedDocument(row.fields.id, "another document has its identity")
        }
      }
      ids = known
    }
    return ids![uid]
  }

  /// Returns the document with an ID.
  func document(id: Int64) throws(StoreError) -> MergeDocument? {
    try store.rowIfPresent(id) { row, head throws(StoreError) in
      guard let collection = try collectionUIDs()[row.fields.collection] else {
        throw .damagedDocument(id, "its collection is gone")
      }
      var document = try MergeDocument(row, head, in: collection) { dots in dots }
      document.keepsTitle = transaction.keys.session.titles != .none
      return document
    }
  }

  /// Returns the deletion of the document with an identity. The first call reads all deletions.
  func deletion(of uid: UniqueID) throws(StoreError) -> DeletionRecord? {
    try knownDeletions()[uid]
  }

  func allDeletions() throws(StoreError) -> [DeletionRecord] {
    Array(try knownDeletions().values)
  }

  private func knownDeletions() throws(StoreError) -> [UniqueID: DeletionRecord] {
    if deletions == nil {
      var known: [UniqueID: DeletionRecord] = [:]
      if transaction.state.deletionCount > 0 {
        try store.naming { () throws(StoreError) in
          try DeletionWalk.forEach(transaction.database, within: transaction.limits) { row throws(StoreError) in
            let record = try DeletionRecord(row, transaction.keys)
            known[record.uid] = record
          }
        }
      }
      deletions = known
    }
    return deletions!
  }

  /// Returns a deletion's current row.
  func deletionRow(of uid: UniqueID) throws(StoreError) -> DeletionRow? {
    guard let record = try deletion(of: uid) else { return nil }
    for columns in try transaction.database.rows(SQL.deletion, record.number) {
      return try DeletionRow(columns.values, generation: transaction.limits.generation)
    }
    return nil
  }

  private func collectionUIDs() throws(StoreError) -> [UInt32: UniqueID] {
    if let collections { return collections }
    let known = Dictionary(
      try transaction.storedCollections().map { ($0.id, $0.uid) }, uniquingKeysWith: { one, _ in one })
    collections = known
    return known
  }
}
