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
///
/// A document is found by its identity, because copies can have it under different IDs.
package struct DocumentRestoration {
  /// The IDs of this store's documents by identity, which are read once if an ID isn't enough.
  private final class Identities {
    var ids: [UniqueID: Int64]?
  }

  private let identities = Identities()
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
    try transaction.writer.keepsOwnRange = true
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
    let freed = try freeKeys(of: rows)
    var outcomes: [DocumentID: RestoreOutcome] = [:]
    let attachments = AttachmentRestoration(into: store, from: backup)
    for row in rows {
      let (outcome, id) = try restore(row)
      let isChanged = try attachments.restore(DocumentID(row.id), as: DocumentID(id))
      outcomes[DocumentID(row.id)] = isChanged && outcome == .unchanged ? .changed : outcome
    }
    // Set parents now, because a parent can be restored after its child.
    for row in rows where row.fields.parent != nil {
      guard let id = try here(row).map({ DocumentID($0.id) }) else { continue }
      let header = try transaction.header(of: id)
      let record = try transaction.requireCollection(of: header)
      let parent = try parent(of: row, as: id.rawValue, in: record)
      guard parent != header.parent else { continue }
      try transaction.writer.setParent(of: id, to: parent?.rawValue)
      if outcomes[DocumentID(row.id)] == .unchanged { outcomes[DocumentID(row.id)] = .changed }
    }
    // A document that a merge left without its key gets the key that a restored document no longer has.
    for (key, collection) in freed { try transaction.writer.release(key, in: collection) }
    return ids.map { outcomes[$0]! }
  }

  /// Returns this store's row of a document in the backup, or `nil` if this store doesn't have the document.
  private func here(_ row: RestoredRow) throws(StoreError) -> RestoredRow? {
    if let same = try RestoredRow.find(row.id, in: store), same.uid == row.uid { return same }
    if identities.ids == nil {
      var ids: [UniqueID: Int64] = [:]
      try store.forEachRow(skippingDamaged: true) { row, head in ids[head.uid] = row.fields.id }
      identities.ids = ids
    }
    guard let id = identities.ids![row.uid] else { return nil }
    return try RestoredRow.find(id, in: store)
  }

  /// Removes changing keys and parents first, so documents can exchange them.
  ///
  /// - Returns: The removed keys with their collections.
  private func freeKeys(of rows: [RestoredRow]) throws(StoreError) -> [(DocumentKey, collection: UInt32)] {
    var freed: [(DocumentKey, collection: UInt32)] = []
    for row in rows {
      guard let here = try here(row) else { continue }
      let id = DocumentID(here.id)
      let (old, new) = (try store.header(here.id), try backup.header(row.id))
      if let key = old.key, key != new.key {
        freed.append((key, here.fields.collection))
        try transaction.writer.rewrite(id, changing: .blindIndex, .key, as: .head) { content, _ throws(StoreError) in
          content.key = nil
          content.blindIndex = nil
        }
      }
      if old.parent != nil, old.parent != new.parent { try transaction.writer.setParent(of: id, to: nil) }
    }
    return freed
  }

  /// Restores a document, and returns the outcome and the document's ID in this store.
  private func restore(_ row: RestoredRow) throws(StoreError) -> (RestoreOutcome, id: Int64) {
    let record = try collection(of: row)
    guard let here = try here(row) else {
      let id = DocumentID(row.id)
      guard try !transaction.hasRow(id) else {
        throw StoreError(
          .alreadyExists, "document \(id) is another one here: its id was given again",
          hint: "export the one of the backup, and import it", documentID: id)
      }
      try insert(row, as: row.id, in: record)
      return (.added, row.id)
    }
    let id = DocumentID(here.id)
    // A document whose text can't be opened is inserted again, because replacing it would need the old text.
    if try hasDamagedText(id) {
      // The restored document only has the backup's attachments, so record the removal of other attachments.
      let kept = Set(try backup.attachments(of: DocumentID(row.id)).map(\.uid))
      for record in try store.attachments(of: id) where !kept.contains(record.uid) {
        try transaction.writer.noteDeletion(of: record.uid)
      }
      try transaction.writer.delete(id, notingDeletion: false)
      try insert(row, as: here.id, in: record)
      return (.changed, here.id)
    }
    var document = try backup.document(row.id).document
    let old = try transaction.storedDocument(id)
    let parent = try parent(of: row, as: here.id, in: record)
    document.parent = parent ?? (old.document.parent == document.parent ? document.parent : nil)
    // If the store doesn't keep titles, the title can't be restored.
    if transaction.keys.session.titles == .none { document.title = old.document.title }
    let isElsewhere = record.id != here.fields.collection
    let wanted = try place(of: row, in: record)
    let current = try currentPlacement(of: here, restoredFrom: row, in: record)
    let isMoved = isElsewhere || wanted != current
    guard isMoved || !document.isIdentical(to: old.document) else { return (.unchanged, here.id) }
    if isElsewhere || document.key != old.document.key {
      try transaction.editor.requireUnusedKey(document.key, in: record, by: id)
    }
    let position = isMoved ? try transaction.order.position(for: wanted, in: record.id) : nil
    try transaction.writer.replace(transaction.storedDocument(id), with: document, in: record, movedTo: position)
    // The document's children remain in their collection.
    if isElsewhere { try transaction.editor.detachFormerChildren(of: here.id, in: record.id) }
    return (.changed, here.id)
  }

  private func insert(_ row: RestoredRow, as id: Int64, in record: CollectionRecord) throws(StoreError) {
    var document = try backup.document(row.id).document
    document.parent = try parent(of: row, as: id, in: record)
    try transaction.editor.requireUnusedKey(document.key, in: record, by: nil)
    let position = try transaction.order.position(for: place(of: row, in: record), in: record.id)
    let writer = try transaction.writer
    let history = try writer.historyOfReturn(row.history, parent: document.parent)
    try writer.insert(document, id: id, in: record, isNew: false, position: position, now: .now(), history: history)
    try transaction.editor.detachFormerChildren(of: id, in: record.id)
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
  private func parent(
    of row: RestoredRow, as id: Int64, in record: CollectionRecord
  ) throws(StoreError) -> DocumentID? {
    guard let number = row.fields.parent, let there = try RestoredRow.find(number, in: backup),
      let parent = try here(there).map({ DocumentID($0.id) })
    else { return nil }
    do throws(StoreError) {
      try transaction.editor.requireParent(parent, of: id, isNew: false, in: record.id)
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
  private func currentPlacement(
    of here: RestoredRow, restoredFrom row: RestoredRow, in record: CollectionRecord
  ) throws(StoreError) -> Placement {
    let collection = row.fields.collection
    return try placement(of: here, in: store) { id throws(StoreError) in
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
