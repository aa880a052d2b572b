internal import CofferDocuments
internal import CofferRecords

/// Creates collections and changes their names, settings and order.
package struct CollectionEditor {
  package let transaction: StoreTransaction

  package init(_ transaction: StoreTransaction) {
    self.transaction = transaction
  }

  /// Returns a new collection, or a dropped collection to recreate, without writing it.
  package func newCollection(_ name: String, _ settings: CollectionSettings) throws(StoreError) -> CollectionRecord {
    try transaction.requireNoRowInsertion()
    try checkCollectionName(name)
    try check(settings.attributes)
    var collections = try NewCollections(transaction)
    return try collections.record(name, settings)
  }

  /// Returns the collection with that name, and creates it with these settings if it's missing.
  package func openOrCreate(_ collection: DocumentCollection, titleRule: TitleRule, foldsKeys: Bool = false)
    throws(StoreError) -> CollectionRecord
  {
    if let record = try transaction.collection(named: collection.name) { return record }
    let record = try newCollection(
      collection.name, CollectionSettings(titleRule: titleRule, foldsKeys: foldsKeys))
    try transaction.writer.insertCollection(record)
    return record
  }

  /// Reorders the collections to match `records`.
  package func arrange(_ records: [CollectionRecord]) throws(StoreError) {
    for (index, record) in records.enumerated() where record.settings.order != Int64(index + 1) {
      var moved = record
      moved.settings.order = Int64(index + 1)
      try change(moved, from: record)
    }
  }

  /// Replaces a collection's row with a new name or settings, sealed under the active epoch.
  package func change(_ record: CollectionRecord) throws(StoreError) {
    try change(record, from: try transaction.collections().first { $0.id == record.id })
  }

  private func change(_ record: CollectionRecord, from known: CollectionRecord?) throws(StoreError) {
    var changed = record
    let writer = try transaction.writer
    try writer.willWrite()
    changed.revision = writer.revision
    if known?.storedName.isIdentical(to: record.storedName) != true { changed.dots.name = writer.dot }
    if known?.settings != record.settings { changed.dots.settings = writer.dot }
    changed.dots.stamp = writer.dot
    try writer.replaceCollection(with: changed)
  }

  package func check(_ attributes: Attributes) throws(StoreError) {
    if let fault = attributes.fault { throw .refusedAttributes(fault) }
    guard attributes.canonicalJSON.count <= StoreFormat.maximumCollectionData else {
      throw StoreError(
        .tooLarge, "the attributes of a collection have at most \(ByteCount(StoreFormat.maximumCollectionData)) of JSON"
      )
    }
    guard CollectionSettings(attributes: attributes).isReadable else {
      throw StoreError(
        .invalidArgument,
        "the attributes of a collection have at most \(JSONScanner.maximumDepth - 1) levels of arrays and objects",
        hint: "use fewer levels")
    }
  }

  package func checkCollectionName(_ name: String) throws(StoreError) {
    guard (1...StoreFormat.maximumCollectionName).contains(name.utf8.count) else {
      throw StoreError(
        .invalidArgument, "a collection name must be 1 to \(StoreFormat.maximumCollectionName) bytes")
    }
    try Self.requireFree(name)
    guard try transaction.collection(named: name) == nil else {
      throw StoreError(
        .alreadyExists, "there is a collection of that name already",
        hint: "use it, or choose another name: \(.collections) has the names")
    }
  }

  /// Requires a name that an app can give to a collection.
  static func requireFree(_ name: String) throws(StoreError) {
    guard name != CollectionRecord.nameOfMigrations else {
      throw StoreError(
        .invalidArgument, "the collection \(name) is reserved for the names of migrations", hint: "choose another name")
    }
  }

  // MARK: Settings

  /// Recomputes the blind indexes of a collection's keys after a folding change. Rows without a key don't change.
  ///
  /// - Parameter sharesKeys: Whether two documents may get one key, as in a merge.
  /// - Throws: `duplicateKey` if two keys become equal, or `invalidArgument` if a key to fold isn't text. The
  ///   transaction must then be rolled back.
  package func refold(_ record: CollectionRecord, sharingKeys sharesKeys: Bool = false) throws(StoreError) {
    let writer = try transaction.writer
    try writer.changing { () throws(StoreError) in
      var shared: [DocumentKey] = []
      var last: Int64 = 0
      while case let ids = try writer.ids(SQL.keyedIDsAfter, Int64(record.id), last, RecordWriter.idPage),
        !ids.isEmpty
      {
        for id in ids {
          if let key = try refold(id, in: record, sharingKeys: sharesKeys) { shared.append(key) }
        }
        last = try RecordWriter.end(ofPage: ids, after: last)
      }
      // Every row must have its new index first.
      for key in shared { try writer.settle(key, in: record.id) }
    }
  }

  /// Recomputes a row's blind index.
  ///
  /// - Returns: The key if other documents can have the same one.
  private func refold(
    _ id: DocumentID, in record: CollectionRecord, sharingKeys sharesKeys: Bool
  ) throws(StoreError) -> DocumentKey? {
    var isShared = false
    var key: DocumentKey?
    let index = try transaction.reading { reader throws(StoreError) -> [UInt8]? in
      let row = try reader.row(id, withBody: false, within: transaction.limits)
      try row.fields.require(record.id)
      key = try reader.opener.openHead(row, acceptsNewer: sharesKeys).key.map { DocumentKey(bytes: $0) }
      guard let key else { return nil }
      isShared = row.fields.isKeyHeldElsewhere
      for context in transaction.keys.epochs {
        let index = try transaction.keys.blindIndex(of: key, in: record, under: context)
        guard let other = try reader.holder(ofBlindIndex: index, in: record.id, within: transaction.limits), other != id
        else { continue }
        isShared = true
        if sharesKeys { continue }
        // The other row can still have the index of its former folding.
        let head = try reader.opener.openHead(
          try reader.row(other, withBody: false, within: transaction.limits), acceptsNewer: true)
        guard try record.folds(head.key, to: try record.folded(key)) else { continue }
        throw StoreError(.duplicateKey, "documents \(other) and \(id) would have the same key", documentID: id)
      }
      return try transaction.keys.blindIndex(of: key, in: record, under: transaction.keys.active)
    }
    guard let index, let key else { return nil }
    let writer = try transaction.writer
    try writer.rewrite(id, changing: .blindIndex, [], as: [], acceptingNewer: sharesKeys) {
      content, fields throws(StoreError) in
      content.blindIndex = index
      fields.isKeyHeldElsewhere = isShared
    }
    return isShared ? key : nil
  }
}
