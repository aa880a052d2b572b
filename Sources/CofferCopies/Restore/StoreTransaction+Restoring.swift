package import CofferDocuments
package import CofferEngine
internal import CofferRecords

/// The result of restoring a document from another copy.
public enum RestoreOutcome: String, Sendable, Hashable {
  /// The document was missing and was added.
  case added
  /// The document's contents or position differed and were updated.
  case changed
  /// The document already matched the other copy, so it wasn't written.
  case unchanged
}

// Restoring single documents from a backup.

extension StoreTransaction {
  /// Restores documents and returns the outcomes in the order of `ids`.
  package func restore(_ ids: [DocumentID], from backup: StoreTransaction) throws(StoreError) -> [RestoreOutcome] {
    var rows: [MergeRow] = []
    for id in Set(ids) {
      guard let row = try backup.mergeRow(id.rawValue) else { throw .noSuchDocument(id) }
      rows.append(row)
    }
    // Restore in the backup's order, so each document can be the next document's predecessor.
    rows.sort {
      ($0.fields.collection, $0.fields.position, $0.id) < ($1.fields.collection, $1.fields.position, $1.id)
    }
    try freeKeys(of: rows, from: backup)
    var outcomes: [DocumentID: RestoreOutcome] = [:]
    for row in rows { outcomes[DocumentID(row.id)] = try restore(row, from: backup) }
    // Set parents now, because a parent can be restored after its child.
    for row in rows where row.fields.parent != nil {
      let id = DocumentID(row.id)
      let header = try header(of: id)
      let record = try requireCollection(of: header)
      let parent = try parent(of: row, in: record)
      guard parent != header.parent else { continue }
      try writer.setParent(of: id, to: parent?.rawValue)
      if outcomes[id] == .unchanged { outcomes[id] = .changed }
    }
    return ids.map { outcomes[$0]! }
  }

  /// Removes changing keys and parents first, so documents can exchange them.
  private func freeKeys(of rows: [MergeRow], from backup: StoreTransaction) throws(StoreError) {
    for row in rows {
      let id = DocumentID(row.id)
      guard let here = try mergeRow(row.id), here.stamps.uid == row.stamps.uid else { continue }
      let (old, new) = (try header(of: id), try backup.header(of: id))
      if old.key != nil, old.key != new.key {
        try writer.rewrite(id, changing: .blindIndex, as: .head) { content, _ throws(StoreError) in
          content.key = nil
          content.blindIndex = nil
        }
      }
      if old.parent != nil, old.parent != new.parent { try writer.setParent(of: id, to: nil) }
    }
  }

  private func restore(_ row: MergeRow, from backup: StoreTransaction) throws(StoreError) -> RestoreOutcome {
    let id = DocumentID(row.id)
    var document = try backup.document(id)
    let record = try collection(of: row, in: backup)
    guard let here = try mergeRow(row.id) else {
      document.parent = try parent(of: row, in: record)
      try requireUnusedKey(document.key, in: record, by: nil)
      try requireNoChildrenInOtherCollections(of: row.id, in: record.id)
      let position = try position(for: place(of: row, in: record, backup), in: record.id)
      let stamps = DocumentStamps(born: try writer.revision, uid: row.stamps.uid)
      try writer.insert(
        document, id: row.id, in: record, isNew: false, position: position, now: .now(), stamps: stamps)
      return .added
    }
    guard here.stamps.uid == row.stamps.uid else {
      throw StoreError(
        .alreadyExists, "document \(id) is another one here: its id was given again",
        hint: "export the one of the backup, and import it", documentID: id)
    }
    let old = try storedDocument(id)
    let parent = try parent(of: row, in: record)
    document.parent = parent ?? (old.document.parent == document.parent ? document.parent : nil)
    let isElsewhere = record.id != here.fields.collection
    let wanted = try place(of: row, in: record, backup)
    let current = try currentPlacement(of: here, in: record, backup)
    let isMoved = isElsewhere || wanted != current
    guard isMoved || !document.isIdentical(to: old.document) else { return .unchanged }
    if isElsewhere || document.key != old.document.key { try requireUnusedKey(document.key, in: record, by: id) }
    let position = isMoved ? try self.position(for: wanted, in: record.id) : nil
    try writer.replace(storedDocument(id), with: document, in: record, movedTo: position)
    return .changed
  }

  /// Returns a document's collection in the backup, found by identity or name, or recreated if it's missing.
  private func collection(of row: MergeRow, in backup: StoreTransaction) throws(StoreError) -> CollectionRecord {
    guard let there = try backup.collections().first(where: { $0.id == row.fields.collection }) else {
      throw .damagedDocument(row.id, "its collection is gone")
    }
    if let record = try collections().first(where: { $0.uid == there.uid }) { return record }
    if let record = try collection(named: there.name) { return record }
    var record = try newCollection(there.name, there.settings)
    record.uid = there.uid
    try writer.insertCollection(record)
    return record
  }

  /// Returns the parent from the backup, or `nil` if it isn't a valid parent here.
  private func parent(of row: MergeRow, in record: CollectionRecord) throws(StoreError) -> DocumentID? {
    guard let parent = row.fields.parent.map({ DocumentID($0) }) else { return nil }
    do throws(StoreError) {
      try requireParent(parent, of: row.id, isNew: false, in: record.id)
      return parent
    } catch {
      guard error.code == .invalidArgument else { throw error }
      return nil
    }
  }

  // MARK: Places

  /// Returns a placement from the backup. It's after the nearest preceding document in both stores, else before the
  /// nearest following document, else at the top.
  private func place(of row: MergeRow, in record: CollectionRecord, _ backup: StoreTransaction) throws(StoreError)
    -> Placement
  {
    try backup.placement(of: row) { id throws(StoreError) in try isHere(id, record, backup) }
  }

  /// Returns a document's current placement, relative to the same documents.
  private func currentPlacement(of row: MergeRow, in record: CollectionRecord, _ backup: StoreTransaction)
    throws(StoreError)
    -> Placement
  {
    let collection = try backup.mergeRow(row.id)?.fields.collection
    return try placement(of: row) { id throws(StoreError) in
      guard try isHere(id, record, backup) else { return false }
      return try backup.unverifiedFields(of: DocumentID(id))?.collection == collection
    }
  }

  private func placement(of row: MergeRow, beside matches: (Int64) throws(StoreError) -> Bool) throws(StoreError)
    -> Placement
  {
    if let id = try nearest(to: row, SQL.entryBefore, where: matches) { return .after(DocumentID(id)) }
    if let id = try nearest(to: row, SQL.entryAfter, where: matches) { return .before(DocumentID(id)) }
    return .top
  }

  /// Returns whether a document in the backup is also in this store's collection.
  private func isHere(_ id: Int64, _ record: CollectionRecord, _ backup: StoreTransaction) throws(StoreError) -> Bool {
    guard let here = try mergeRow(id), here.fields.collection == record.id else { return false }
    do throws(StoreError) {
      return try backup.mergeRow(id)?.stamps.uid == here.stamps.uid
    } catch {
      // Skip damaged neighbors, because their position isn't reliable.
      guard error.code == .damaged else { throw error }
      return false
    }
  }

  /// Returns the nearest matching document before or after a row, depending on the statement.
  private func nearest(
    to row: MergeRow, _ next: String, where matches: (Int64) throws(StoreError) -> Bool
  ) throws(StoreError) -> Int64? {
    var place = (position: row.fields.position, id: row.id)
    while let entry = try entry(next, Int64(row.fields.collection), place.position, place.id) {
      if try matches(entry.id) { return entry.id }
      place = (entry.position, entry.id)
    }
    return nil
  }
}
