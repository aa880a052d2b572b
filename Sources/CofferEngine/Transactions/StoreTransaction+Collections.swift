internal import CofferRecords

// Reading collections. ``CollectionEditor`` writes them.

extension StoreTransaction {
  package func collections() throws(StoreError) -> [CollectionRecord] {
    try requireOpen()
    return try connection.collections.records(within: limits)
  }

  /// Returns all collections, including dropped collections.
  package func storedCollections() throws(StoreError) -> [CollectionRecord] {
    try requireOpen()
    return try connection.collections.storedRecords(within: limits)
  }

  /// Returns the identity of each collection for subscribers.
  func followedCollections() throws(StoreError) -> [CollectionID: FollowedCollection] {
    Dictionary(
      uniqueKeysWithValues: try collections().map {
        (CollectionID($0.id), FollowedCollection(name: $0.name, uid: $0.uid, foldsKeys: $0.foldsKeys))
      })
  }

  package func collection(named name: String) throws(StoreError) -> CollectionRecord? {
    // Compare bytes, because composed and decomposed forms are different names.
    let record = try collections().first { $0.name.isIdentical(to: name) }
    if let record { notes?.note(record.id) }
    return record
  }

  package func requireCollection(_ handle: DocumentCollection) throws(StoreError) -> CollectionRecord {
    guard let record = try collection(named: handle.name) else {
      throw StoreError(
        .noSuchCollection, "there is no collection of that name", hint: "\(.collections) lists the collections")
    }
    return record
  }

  package func requireCollection(of header: DocumentHeader) throws(StoreError) -> CollectionRecord {
    guard let record = try collections().first(where: { $0.id == header.collection.rawValue }) else {
      throw StoreError(
        .damaged, "collection \(header.collection) is gone, but document \(header.id) is there",
        documentID: header.id)
    }
    return record
  }

  /// Returns the collections in list order.
  package func orderedCollections() throws(StoreError) -> [CollectionRecord] {
    try collections().sorted { ($0.settings.order, $0.id) < ($1.settings.order, $1.id) }
  }

  package func count(in collection: CollectionRecord) throws(StoreError) -> Int {
    if let count = try countInOnlyCollection() { return count }
    return Int(try database.integer(SQL.countInCollection, Int64(collection.id)) ?? 0)
  }

  /// Returns the number of all documents if the store has one collection, because SQLite counts a whole index faster.
  private func countInOnlyCollection() throws(StoreError) -> Int? {
    guard try collections().count == 1 else { return nil }
    return Int(try documentCount() ?? 0)
  }

  /// Returns the number of document rows. A connection's first count stops after the state's count, because a malicious
  /// file can have any number of rows. Later counts are faster, because SQLite counts a whole index by page.
  func documentCount() throws(StoreError) -> Int64? {
    if connection.hasCounted { return try database.integer(SQL.documentCount) }
    let count = try database.integer(SQL.count(of: .order), Int64(clamping: state.count &+ 1))
    connection.hasCounted = count.map { UInt64($0) == state.count } ?? false
    return count
  }

  package func documentCounts() throws(StoreError) -> [UInt32: Int] {
    notes?.noteEverything()
    if let count = try countInOnlyCollection() { return [try collections()[0].id: count] }
    var counts: [UInt32: Int] = [:]
    try database.forEachRow(SQL.documentsPerCollection) { row in
      if let id = UInt32(exactly: row.int64(at: 0)) { counts[id] = Int(row.int64(at: 1)) }
      return true
    }
    return counts
  }
}
