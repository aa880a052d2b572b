package import CofferDocuments
internal import CofferSQLite
internal import CofferSealing

// Handles keys that several documents in a collection have, because of a merge (FORMAT, "Lookup").

extension RecordWriter {
  /// Assigns a key to its holder, which is the document with the key's least dot among all documents in a collection
  /// with the key.
  ///
  /// - Returns: The documents that have the key but don't hold it.
  @discardableResult
  package func settle(_ key: DocumentKey, in collection: UInt32) throws(StoreError) -> [DocumentID] {
    guard let record = try collections.storedRecords(within: limits).first(where: { $0.id == collection }) else {
      return []
    }
    let candidates = try documents(with: key, in: record)
    guard let first = candidates.min(by: isBefore) else { return [] }
    if candidates.count > 1 { noteSharedKey() }
    // Change the holder last, because two documents can't hold the key.
    for other in candidates where other.id != first.id && !other.isHeldElsewhere { try mark(other.id, true) }
    if first.isHeldElsewhere { try mark(first.id, false) }
    return candidates.map(\.id).filter { $0 != first.id }.sorted()
  }

  private struct Candidate {
    let id: DocumentID
    let uid: UniqueID
    let dot: Dot
    let isHeldElsewhere: Bool
  }

  private func isBefore(_ one: Candidate, _ other: Candidate) -> Bool {
    if one.dot != other.dot { return replicas.isBefore(one.dot, other.dot) }
    return one.uid < other.uid
  }

  private func documents(with key: DocumentKey, in record: CollectionRecord) throws(StoreError) -> [Candidate] {
    let reader = RecordReader(database, keys)
    defer { reader.end() }
    let folded = try record.folded(key)
    var found: [Candidate] = []
    for context in keys.epochs {
      let index = try keys.blindIndex(ofFolded: folded, in: record.id, under: context)
      var others: [DocumentID] = []
      let statement = try database.statement(SQL.heldElsewhere, Int64(record.id))
      try index.withBytes { index throws(StoreError) in
        try statement.bindBlob(index, at: 2)
        defer { statement.reset() }
        while try statement.step() {
          let id = DocumentID(statement.int64(at: 0))
          // The index of a malicious file can return a row any number of times.
          guard id.rawValue > others.last?.rawValue ?? 0 else {
            throw .damagedDocument(id.rawValue, "the index of keys gives it out of its place")
          }
          others.append(id)
        }
      }
      if let holder = try reader.holder(ofBlindIndex: index, in: record.id, within: limits) { others.append(holder) }
      for id in others {
        let row = try reader.row(id, withBody: false, within: limits)
        let head = try reader.opener.openHead(row, acceptsNewer: true)
        try row.fields.require(record.id)
        guard try record.folds(head.key, to: folded) else {
          throw .damagedDocument(id.rawValue, "the index of keys names it for another key")
        }
        found.append(
          Candidate(
            id: id, uid: head.uid, dot: DocumentDots(checked: head.dots).key,
            isHeldElsewhere: row.fields.isKeyHeldElsewhere))
      }
    }
    return found
  }

  private func mark(_ id: DocumentID, _ isHeldElsewhere: Bool) throws(StoreError) {
    try rewrite(id, changing: .flags, [], as: .head, acceptingNewer: true) { _, fields throws(StoreError) in
      fields.isKeyHeldElsewhere = isHeldElsewhere
    }
  }
}
