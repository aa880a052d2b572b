internal import CofferRecords

// Collections: names, settings, counts.

extension StoreTransaction {
  package func collections() throws(StoreError) -> [CollectionRecord] {
    try requireOpen()
    return try connection.collections.records(within: limits)
  }

  /// Returns the identity of each collection for subscribers.
  func followedCollections() throws(StoreError) -> [CollectionID: FollowedCollection] {
    Dictionary(
      uniqueKeysWithValues: try collections().map {
        (CollectionID($0.id), FollowedCollection(name: $0.name, uid: $0.uid))
      })
  }

  package func collection(named name: String) throws(StoreError) -> CollectionRecord? {
    // Compare bytes, because composed and decomposed forms are different names.
    try collections().first { $0.name.isIdentical(to: name) }
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

  /// Returns a new collection with the next number, without writing it.
  package func newCollection(_ name: String, _ settings: CollectionSettings) throws(StoreError) -> CollectionRecord {
    try checkCollectionName(name)
    try check(settings.attributes)
    let known = try collections()
    let highest = known.map(\.id).max() ?? 0
    guard highest < UInt32(Int32.max) else { throw StoreError(.tooLarge, "no more collections can be made") }
    var settings = settings
    settings.order = known.map(\.settings.order).max() ?? 0
    return try .new(highest + 1, name: name, settings: settings, revision: try writer.revision, keys)
  }

  /// Returns the collection with that name, and creates it with these settings if it's missing.
  package func openOrCreate(_ collection: DocumentCollection, titleRule: TitleRule, foldsKeys: Bool = false)
    throws(StoreError) -> CollectionRecord
  {
    if let record = try self.collection(named: collection.name) { return record }
    let record = try newCollection(
      collection.name, CollectionSettings(titleRule: titleRule, foldsKeys: foldsKeys))
    try writer.insertCollection(record)
    return record
  }

  /// Returns the collections in list order.
  package func orderedCollections() throws(StoreError) -> [CollectionRecord] {
    try collections().sorted { ($0.settings.order, $0.id) < ($1.settings.order, $1.id) }
  }

  /// Reorders the collections to match `records`.
  package func arrange(_ records: [CollectionRecord]) throws(StoreError) {
    for (index, record) in records.enumerated() where record.settings.order != Int64(index + 1) {
      var moved = record
      moved.settings.order = Int64(index + 1)
      try change(moved)
    }
  }

  /// Replaces a collection's row with a new name or settings, sealed under the active epoch.
  package func change(_ record: CollectionRecord) throws(StoreError) {
    var changed = record
    changed.epoch = keys.active.epoch
    changed.revision = try writer.revision
    changed.edited = changed.revision
    try writer.replaceCollection(with: changed)
  }

  package func check(_ attributes: Attributes) throws(StoreError) {
    if let fault = attributes.fault { throw .refusedAttributes(fault) }
    guard attributes.canonicalJSON.count <= StoreFormat.maximumCollectionData else {
      throw StoreError(
        .tooLarge, "the attributes of a collection have at most \(ByteCount(StoreFormat.maximumCollectionData)) of JSON"
      )
    }
  }

  package func checkCollectionName(_ name: String) throws(StoreError) {
    guard (1...StoreFormat.maximumCollectionName).contains(name.utf8.count) else {
      throw StoreError(
        .invalidArgument, "a collection name must be 1 to \(StoreFormat.maximumCollectionName) bytes")
    }
    guard try collection(named: name) == nil else {
      throw StoreError(.alreadyExists, "there is a collection of that name already")
    }
  }

  // MARK: Settings

  /// Recomputes the blind indexes of a collection's keys after a folding change. Rows without a key don't change.
  ///
  /// - Throws: `duplicateKey` if two keys become equal, or `invalidArgument` if a key to fold isn't text. The
  ///   transaction must then be rolled back.
  package func refold(_ record: CollectionRecord) throws(StoreError) {
    let writer = try writer
    try writer.changing { () throws(StoreError) in
      var last: Int64 = 0
      while case let ids = try writer.ids(SQL.keyedIDsAfter, Int64(record.id), last, RecordWriter.idPage),
        !ids.isEmpty
      {
        for id in ids { try refold(id, in: record) }
        last = ids[ids.count - 1].rawValue
      }
    }
  }

  private func refold(_ id: DocumentID, in record: CollectionRecord) throws(StoreError) {
    let index = try reading { reader throws(StoreError) -> [UInt8]? in
      let row = try reader.row(id, withBody: false, within: limits)
      try row.fields.require(record.id)
      guard let key = try reader.opener.openHead(row).key.map({ DocumentKey(bytes: $0) }) else { return nil }
      for context in keys.epochs {
        let index = try keys.blindIndex(of: key, in: record, under: context)
        guard let other = try reader.holder(ofBlindIndex: index, in: record.id, within: limits), other != id
        else { continue }
        throw StoreError(.duplicateKey, "documents \(other) and \(id) would have the same key", documentID: id)
      }
      return try keys.blindIndex(of: key, in: record, under: keys.active)
    }
    guard let index else { return }
    try writer.rewrite(id, changing: .blindIndex, as: []) { content, _ throws(StoreError) in content.blindIndex = index
    }
  }

  // MARK: Counts from the indexes

  package func count(in collection: CollectionRecord) throws(StoreError) -> Int {
    Int(try database.integer(SQL.countInCollection, Int64(collection.id)) ?? 0)
  }

  package func documentCounts() throws(StoreError) -> [UInt32: Int] {
    try requireOpen()
    var counts: [UInt32: Int] = [:]
    try database.forEachRow(SQL.documentsPerCollection) { row in
      if let id = UInt32(exactly: row.int64(at: 0)) { counts[id] = Int(row.int64(at: 1)) }
      return true
    }
    return counts
  }
}
