internal import CofferSQLite
internal import CofferSealing

// Collections in and out, the set hash along with them.

extension StoreTransaction {
  /// A collection that isn't there yet, under the next number.
  func newCollection(_ name: String, titleRule: TitleRule, foldsKeys: Bool) throws(StoreError) -> CollectionRecord {
    try checkCollectionName(name)
    let highest = try collections().map(\.id).max() ?? 0
    guard highest < UInt32(Int32.max) else { throw StoreError(.tooLarge, "no more collections can be made") }
    return CollectionRecord(
      id: highest + 1, epoch: keys.active.epoch, revision: revision, name: name, titleRule: titleRule,
      foldsKeys: foldsKeys)
  }

  func insertCollection(_ record: CollectionRecord) throws(StoreError) {
    try willWrite()
    let sealed = try record.seal(keys)
    try changing { () throws(StoreError) in
      try storing { () throws(SQLiteError) in
        _ = try database.execute(
          SQL.insertCollection, Int64(record.id), Int64(record.epoch), Int64(record.revision), sealed)
      }
      let element = try element(of: record.id, record.epoch, record.revision, sealed)
      state.set.add(element)
      changes.changeCollection(nil, to: element)
    }
    connection.forgetCollections()
  }

  /// Seals a collection anew, with another name or under another epoch.
  func replaceCollection(_ old: CollectionRecord, with new: CollectionRecord) throws(StoreError) {
    try willWrite()
    let before = try element(of: old)
    let sealed = try new.seal(keys)
    try changing { () throws(StoreError) in
      try storing { () throws(SQLiteError) in
        _ = try database.execute(
          SQL.updateCollection, Int64(new.epoch), Int64(new.revision), sealed, Int64(new.id))
      }
      let after = try element(of: new.id, new.epoch, new.revision, sealed)
      state.set.subtract(before)
      state.set.add(after)
      changes.changeCollection(before, to: after)
    }
    connection.forgetCollections()
  }

  func deleteCollection(_ record: CollectionRecord) throws(StoreError) {
    try willWrite()
    let before = try element(of: record)
    try changing { () throws(StoreError) in
      try deleteDocuments(in: record)
      try storing { () throws(SQLiteError) in _ = try database.execute(SQL.deleteCollection, Int64(record.id)) }
      state.set.subtract(before)
      changes.changeCollection(before, to: nil)
    }
    connection.forgetCollections()
  }

  /// All of them, a page of ids at a time; or, when one is damaged, nothing that can be committed.
  func deleteDocuments(in record: CollectionRecord) throws(StoreError) {
    try willWrite()
    try changing { () throws(StoreError) in
      while case let ids = try ids(SQL.someIDsInCollection, Int64(record.id), Self.idPage), !ids.isEmpty {
        for id in ids { try delete(id, in: record.id) }
      }
    }
  }

  /// So many ids are read at a time where rows are changed on the way.
  static let idPage: Int64 = 1024

  func checkCollectionName(_ name: String) throws(StoreError) {
    guard (1...StoreFormat.maximumCollectionName).contains(name.utf8.count) else {
      throw StoreError(
        .invalidArgument, "a collection's name has 1 to \(StoreFormat.maximumCollectionName) bytes")
    }
    guard try collection(named: name) == nil else {
      throw StoreError(.alreadyExists, "there is a collection of that name already")
    }
  }

  // MARK: Settings

  /// Looks every key up by another folding; rows without one stay as they are.
  ///
  /// - Throws: `duplicateKey` where two keys become one, `invalidArgument` for a key to be folded that is no text. Only
  ///   a rollback is left then.
  func refold(_ old: CollectionRecord, as new: CollectionRecord) throws(StoreError) {
    try changing { () throws(StoreError) in
      var last: Int64 = 0
      while case let ids = try ids(SQL.keyedIDsAfter, Int64(old.id), last, Self.idPage), !ids.isEmpty {
        for id in ids { try refold(id, in: new) }
        last = ids[ids.count - 1].rawValue
      }
    }
  }

  private func refold(_ id: DocumentID, in record: CollectionRecord) throws(StoreError) {
    let key = try withRow(id, body: false) { row, _ throws(StoreError) in
      try row.fields.require(record.id)
      return try connection.opener.openHead(row).key.map { ExternalKey(bytes: $0) }
    }
    guard let key else { return }
    for context in keys.epochs {
      let lookup = try keys.lookup(of: key, in: record, under: context)
      guard let other = try holder(ofLookup: lookup, in: record.id), other != id else { continue }
      throw StoreError(.duplicateKey, "documents \(other) and \(id) would have the same key", documentID: id)
    }
    let lookup = try keys.lookup(of: key, in: record, under: keys.active)
    try rewrite(id, as: .placed) { content, _ throws(StoreError) in content.lookup = lookup }
  }

  // MARK: Numbers

  /// Makes the next number the lowest above all that remain in the store: what was deleted above them is given again.
  func restartIDs() throws(StoreError) {
    try willWrite()
    let highest = try database.stored { database throws(SQLiteError) in try database.firstValue(SQL.highestID) }
    state.nextID = if case .integer(let id)? = highest { UInt64(id) + 1 } else { 1 }
  }

  /// Takes out every row, sound or not, of documents and collections; numbers begin at 1 again.
  func deleteEverything() throws(StoreError) {
    try willWrite()
    try changing { () throws(StoreError) in
      try storing { () throws(SQLiteError) in
        for sql in SQL.deleteEverything { _ = try database.execute(sql) }
      }
    }
    connection.forgetCollections()
    state.set = SetHash()
    state.count = 0
    state.nextID = 1
  }

  private func element(of record: CollectionRecord) throws(StoreError) -> SetHash {
    guard let row = try connection.readCollectionRows(state).first(where: { $0.id == record.id }) else {
      throw StoreError(.noSuchCollection, "collection #\(record.id) is gone")
    }
    return try element(of: row.id, row.epoch, row.revision, row.sealed)
  }

  private func element(of id: UInt32, _ epoch: UInt32, _ revision: UInt64, _ sealed: [UInt8]) throws(StoreError)
    -> SetHash
  {
    try sealing { () throws(SealingError) in
      try CollectionRecord.element(
        id: id, epoch: epoch, revision: revision, sealed: sealed, keys: keys)
    }
  }
}
