internal import CofferRecords

/// Creates collections and changes their names, settings and order.
package struct CollectionEditor {
  package let transaction: StoreTransaction

  package init(_ transaction: StoreTransaction) {
    self.transaction = transaction
  }

  /// Returns a new collection with the next number, without writing it.
  package func newCollection(_ name: String, _ settings: CollectionSettings) throws(StoreError) -> CollectionRecord {
    try checkCollectionName(name)
    try check(settings.attributes)
    let known = try transaction.collections()
    let highest = known.map(\.id).max() ?? 0
    guard highest < UInt32(Int32.max) else { throw StoreError(.tooLarge, "no more collections can be made") }
    var settings = settings
    settings.order = known.map(\.settings.order).max() ?? 0
    return try .new(
      highest + 1, name: name, settings: settings, revision: try transaction.writer.revision, transaction.keys)
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
      try change(moved)
    }
  }

  /// Replaces a collection's row with a new name or settings, sealed under the active epoch.
  package func change(_ record: CollectionRecord) throws(StoreError) {
    var changed = record
    changed.epoch = transaction.keys.active.epoch
    changed.revision = try transaction.writer.revision
    changed.edited = changed.revision
    try transaction.writer.replaceCollection(with: changed)
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
    guard try transaction.collection(named: name) == nil else {
      throw StoreError(.alreadyExists, "there is a collection of that name already")
    }
  }

  // MARK: Settings

  /// Recomputes the blind indexes of a collection's keys after a folding change. Rows without a key don't change.
  ///
  /// - Throws: `duplicateKey` if two keys become equal, or `invalidArgument` if a key to fold isn't text. The
  ///   transaction must then be rolled back.
  package func refold(_ record: CollectionRecord) throws(StoreError) {
    let writer = try transaction.writer
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
    let index = try transaction.reading { reader throws(StoreError) -> [UInt8]? in
      let row = try reader.row(id, withBody: false, within: transaction.limits)
      try row.fields.require(record.id)
      guard let key = try reader.opener.openHead(row).key.map({ DocumentKey(bytes: $0) }) else { return nil }
      for context in transaction.keys.epochs {
        let index = try transaction.keys.blindIndex(of: key, in: record, under: context)
        guard let other = try reader.holder(ofBlindIndex: index, in: record.id, within: transaction.limits), other != id
        else { continue }
        throw StoreError(.duplicateKey, "documents \(other) and \(id) would have the same key", documentID: id)
      }
      return try transaction.keys.blindIndex(of: key, in: record, under: transaction.keys.active)
    }
    guard let index else { return }
    try transaction.writer.rewrite(id, changing: .blindIndex, as: []) { content, _ throws(StoreError) in
      content.blindIndex = index
    }
  }
}
