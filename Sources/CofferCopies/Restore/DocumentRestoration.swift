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

/// A document of the store or the backup, with its verified head.
private struct RestoredRow {
  let fields: RowFields
  let position: DocumentPosition
  let history: DocumentHistory

  var uid: UniqueID { history.uid }
  var id: Int64 { fields.id }

  /// Returns a document's row, or `nil` if the document doesn't exist.
  static func find(_ id: Int64, in store: PairedStore) throws(StoreError) -> RestoredRow? {
    try store.rowIfPresent(id) { row, head in
      RestoredRow(
        fields: row.fields, position: DocumentPosition(verified: row.position), history: DocumentHistory(head))
    }
  }
}

/// Restores single documents from a backup.
package struct DocumentRestoration {
  private let store: PairedStore
  private let backup: PairedStore
  private let isProved: Bool

  private var transaction: StoreTransaction { store.transaction }

  /// - Parameter isProved: Whether the backup's rows are proved. Otherwise, documents that are sealed with a former key
  ///   are refused.
  /// - Throws: `invalidArgument` for a backup without a common origin. `rolledBack` for files of one store with two root
  ///   keys, unless `allowsRekey` is `true`.
  package init(
    into transaction: StoreTransaction, from backup: PairedStore, proved isProved: Bool,
    allowingRekey allowsRekey: Bool
  ) throws(StoreError) {
    store = PairedStore(transaction)
    self.backup = backup
    self.isProved = isProved
    try store.requireCommonOrigin(with: backup, hint: "export them there, and import them here")
    if !allowsRekey { try store.requireSameRootKey(as: backup) }
  }

  /// Restores documents and returns the outcomes in the order of `ids`.
  package func restore(_ ids: [DocumentID]) throws(StoreError) -> [RestoreOutcome] {
    var rows: [RestoredRow] = []
    for id in Set(ids) {
      guard let row = try RestoredRow.find(id.rawValue, in: backup) else { throw .noSuchDocument(id) }
      if !isProved { try backup.requireCurrentKey(id.rawValue) }
      rows.append(row)
    }
    // Restore in the backup's order, so each document can be the next document's predecessor.
    rows.sort {
      ($0.fields.collection, $0.position, $0.id) < ($1.fields.collection, $1.position, $1.id)
    }
    try freeKeys(of: rows)
    var outcomes: [DocumentID: RestoreOutcome] = [:]
    let attachments = AttachmentRestoration(into: store, from: backup)
    for row in rows {
      let id = DocumentID(row.id)
      let outcome = try restore(row)
      outcomes[id] = try attachments.restore(id) && outcome == .unchanged ? .changed : outcome
    }
    // Set parents now, because a parent can be restored after its child.
    for row in rows where row.fields.parent != nil {
      let id = DocumentID(row.id)
      let header = try transaction.header(of: id)
      let record = try transaction.requireCollection(of: header)
      let parent = try parent(of: row, in: record)
      guard parent != header.parent else { continue }
      try transaction.writer.setParent(of: id, to: parent?.rawValue)
      if outcomes[id] == .unchanged { outcomes[id] = .changed }
    }
    return ids.map { outcomes[$0]! }
  }

  /// Removes changing keys and parents first, so documents can exchange them.
  private func freeKeys(of rows: [RestoredRow]) throws(StoreError) {
    for row in rows {
      let id = DocumentID(row.id)
      guard let here = try RestoredRow.find(row.id, in: store), here.uid == row.uid else { continue }
      let (old, new) = (try store.header(row.id), try backup.header(row.id))
      if old.key != nil, old.key != new.key {
        try transaction.writer.rewrite(id, changing: .blindIndex, .key, as: .head) { content, _ throws(StoreError) in
          content.key = nil
          content.blindIndex = nil
        }
      }
      if old.parent != nil, old.parent != new.parent { try transaction.writer.setParent(of: id, to: nil) }
    }
  }

  private func restore(_ row: RestoredRow) throws(StoreError) -> RestoreOutcome {
    let id = DocumentID(row.id)
    var document = try backup.document(row.id).document
    let record = try collection(of: row)
    guard let here = try RestoredRow.find(row.id, in: store) else {
      document.parent = try parent(of: row, in: record)
      try transaction.editor.requireUnusedKey(document.key, in: record, by: nil)
      let position = try transaction.order.position(for: place(of: row, in: record), in: record.id)
      let writer = try transaction.writer
      let history = try writer.historyOfReturn(row.history, parent: document.parent)
      try writer.insert(
        document, id: row.id, in: record, isNew: false, position: position, now: .now(), history: history)
      try transaction.editor.detachFormerChildren(of: row.id, in: record.id)
      return .added
    }
    guard here.uid == row.uid else {
      throw StoreError(
        .alreadyExists, "document \(id) is another one here: its id was given again",
        hint: "export the one of the backup, and import it", documentID: id)
    }
    // A document whose text can't be opened is inserted again, because replacing it would need the old text.
    if try hasDamagedText(id) {
      try transaction.writer.delete(id, notingDeletion: false)
      _ = try restore(row)
      return .changed
    }
    let old = try transaction.storedDocument(id)
    let parent = try parent(of: row, in: record)
    document.parent = parent ?? (old.document.parent == document.parent ? document.parent : nil)
    let isElsewhere = record.id != here.fields.collection
    let wanted = try place(of: row, in: record)
    let current = try currentPlacement(of: here, in: record)
    let isMoved = isElsewhere || wanted != current
    guard isMoved || !document.isIdentical(to: old.document) else { return .unchanged }
    if isElsewhere || document.key != old.document.key {
      try transaction.editor.requireUnusedKey(document.key, in: record, by: id)
    }
    let position = isMoved ? try transaction.order.position(for: wanted, in: record.id) : nil
    try transaction.writer.replace(transaction.storedDocument(id), with: document, in: record, movedTo: position)
    return .changed
  }

  /// Returns whether the text of a document with a sound head is damaged.
  private func hasDamagedText(_ id: DocumentID) throws(StoreError) -> Bool {
    do throws(StoreError) {
      _ = try transaction.storedDocument(id)
      return false
    } catch {
      guard error.code == .damaged else { throw error }
      return true
    }
  }

  /// Returns a document's collection in the backup, found by identity or name, or recreated if it's missing.
  private func collection(of row: RestoredRow) throws(StoreError) -> CollectionRecord {
    guard let there = try backup.collections().first(where: { $0.id == row.fields.collection }) else {
      throw .damagedDocument(row.id, "its collection is gone")
    }
    if let record = try store.collections().first(where: { $0.uid == there.uid }) { return record }
    if let record = try transaction.collection(named: there.name) { return record }
    let record = try transaction.collectionEditor.newCollection(there.name, there.settings)
    try transaction.writer.insertCollection(record)
    return record
  }

  /// Returns the parent from the backup, or `nil` if it isn't a valid parent here.
  private func parent(of row: RestoredRow, in record: CollectionRecord) throws(StoreError) -> DocumentID? {
    guard let parent = row.fields.parent.map({ DocumentID($0) }) else { return nil }
    do throws(StoreError) {
      try transaction.editor.requireParent(parent, of: row.id, isNew: false, in: record.id)
      return parent
    } catch {
      guard error.code == .invalidArgument else { throw error }
      return nil
    }
  }

  // MARK: Places

  /// Returns a placement from the backup. It's after the nearest preceding document in both stores, else before the
  /// nearest following document, else at the top.
  private func place(of row: RestoredRow, in record: CollectionRecord) throws(StoreError) -> Placement {
    try placement(of: row, in: backup) { id throws(StoreError) in try isHere(id, record) }
  }

  /// Returns a document's current placement, relative to the same documents.
  private func currentPlacement(of row: RestoredRow, in record: CollectionRecord) throws(StoreError) -> Placement {
    let collection = try RestoredRow.find(row.id, in: backup)?.fields.collection
    return try placement(of: row, in: store) { id throws(StoreError) in
      guard try isHere(id, record) else { return false }
      return try backup.transaction.unverifiedFields(of: DocumentID(id))?.collection == collection
    }
  }

  private func placement(
    of row: RestoredRow, in store: PairedStore, beside matches: (Int64) throws(StoreError) -> Bool
  ) throws(StoreError) -> Placement {
    if let id = try nearest(to: row, SQL.entryBefore, in: store, where: matches) { return .after(DocumentID(id)) }
    if let id = try nearest(to: row, SQL.entryAfter, in: store, where: matches) { return .before(DocumentID(id)) }
    return .top
  }

  /// Returns whether a document in the backup is also in this store's collection.
  private func isHere(_ id: Int64, _ record: CollectionRecord) throws(StoreError) -> Bool {
    guard let here = try RestoredRow.find(id, in: store), here.fields.collection == record.id else {
      return false
    }
    do throws(StoreError) {
      return try RestoredRow.find(id, in: backup)?.uid == here.uid
    } catch {
      // Skip damaged neighbors, because their position isn't reliable.
      guard error.code == .damaged else { throw error }
      return false
    }
  }

  /// Returns the nearest matching document before or after a row, depending on the statement.
  private func nearest(
    to row: RestoredRow, _ next: String, in store: PairedStore,
    where matches: (Int64) throws(StoreError) -> Bool
  ) throws(StoreError) -> Int64? {
    var place = (position: row.position, id: row.id)
    while let entry = try store.transaction.order.entry(next, in: row.fields.collection, place.position, place.id) {
      if try matches(entry.id) { return entry.id }
      place = (entry.position, entry.id)
    }
    return nil
  }
}
