internal import CofferCopies
internal import CofferEngine
internal import CofferRecords

/// The deleted documents and their positions, for ``WriteTransaction/restore(_:)``.
///
/// The texts are Strings, so they aren't erased from memory. Attachment contents are kept in memory up to 512 KiB in
/// total, and then in an encrypted file without a name, which the value's last copy releases.
public struct DeletedDocuments: Sendable {
  struct Entry: Sendable {
    let id: DocumentID
    let document: Document
    /// The identity of the document in copies.
    let history: DocumentHistory
    /// The key, if another document held it.
    let hiddenKey: DocumentKey?
    let collection: CollectionInfo
    /// An identity that distinguishes the collection from a later collection with the same number.
    let collectionUID: UniqueID
    let position: DocumentPosition
    /// The nearest neighbors that weren't deleted with the document.
    var previous: DocumentID?
    var next: DocumentID?
    let attachments: [KeptAttachment]
  }

  /// The position after a document that wasn't deleted, or at the top.
  struct Gap: Hashable {
    let collection: UniqueID
    let previous: DocumentID?
  }

  let entries: [Entry]
  /// The contents of the attachments.
  let contents: SealedContents

  /// The IDs in the order of deletion.
  public var ids: [DocumentID] { entries.map(\.id) }
  /// The documents in the order of ``ids``.
  public var documents: [Document] { entries.map(\.document) }
}

extension WriteTransaction {
  /// Deletes documents without decrypting their texts.
  ///
  /// Repeated IDs are ignored. Children that aren't deleted keep the deleted document's ID as their parent.
  ///
  /// - Parameters:
  ///   - ids: The documents' IDs.
  ///   - includingDescendants: Whether to also delete each document's children, their children and so on.
  /// - Throws: `noSuchDocument`, or `damaged` if a row was changed. All documents are then kept.
  public func delete(_ ids: some Sequence<DocumentID>, includingDescendants: Bool = false) throws(StoreError) {
    let ids = try distinct(ids, includingDescendants: includingDescendants)
    try undoingOnError { () throws(StoreError) in
      for id in ids { try transaction.writer.delete(id) }
    }
  }

  /// Deletes documents and returns them, so ``restore(_:)`` can undo the deletion.
  ///
  /// Decrypts every text and keeps it in memory. Also decrypts every attachment, and keeps the contents in an encrypted
  /// file without a name in `TMPDIR`, or in memory if they're small. Otherwise the same as
  /// `delete(_:includingDescendants:)`.
  ///
  /// - Parameters:
  ///   - ids: The documents' IDs.
  ///   - includingDescendants: Whether to also delete each document's children, their children and so on.
  /// - Returns: The documents in the order of `ids`, each followed by its descendants.
  /// - Throws: `noSuchDocument`, `damaged`, `otherFormat`, or `diskFull` or `ioFailure` if the contents of attachments
  ///   can't be kept. All documents are then kept.
  @discardableResult
  public func deleteUndoably(_ ids: some Sequence<DocumentID>, includingDescendants: Bool = false) throws(StoreError)
    -> DeletedDocuments
  {
    let ids = try distinct(ids, includingDescendants: includingDescendants)
    var entries: [DeletedDocuments.Entry] = []
    let contents = SealedContents(of: "the attachments of deleted documents")
    for id in ids { entries.append(try entry(of: id, keepingAttachmentsIn: contents)) }
    passOver(Set(ids), in: &entries)
    try undoingOnError { () throws(StoreError) in
      for id in ids { try transaction.writer.delete(id) }
    }
    return DeletedDocuments(entries: entries, contents: contents)
  }

  /// Restores deleted documents with their IDs, dates, keys, attributes, parents and attachments. The attachments get new
  /// IDs.
  ///
  /// Each document follows the nearest document that it followed before. If that's missing, it precedes the nearest
  /// document that it preceded, or else gets its old position. A dropped collection is created again. A parent that's
  /// in another collection or a descendant now is omitted.
  ///
  /// ```swift
  /// let deleted = try store.write { try $0.deleteUndoably([id], includingDescendants: true) }
  /// undoManager.register { try store.write { try $0.restore(deleted) } }
  /// ```
  ///
  /// - Throws: `alreadyExists` if an ID is taken, for example by an earlier call, `duplicateKey`, or `ioFailure` if the
  ///   contents of attachments can't be read. The documents then remain deleted.
  public func restore(_ deleted: DeletedDocuments) throws(StoreError) {
    let inOrder = deleted.entries.sorted { ($0.position, $0.id) < ($1.position, $1.id) }
    try requireDeleted(deleted)
    try undoingOnError { () throws(StoreError) in
      // Documents that followed the same document, or were at the top, keep their order.
      var last: [DeletedDocuments.Gap: DocumentID] = [:]
      for var entry in inOrder {
        let gap = DeletedDocuments.Gap(collection: entry.collectionUID, previous: entry.previous)
        entry.previous = last[gap] ?? entry.previous
        try restore(entry)
        try transaction.editor.restore(entry.attachments, from: deleted.contents, to: entry.id)
        last[gap] = entry.id
      }
    }
  }

  /// Throws if a merge has restored a document, possibly with another ID.
  private func requireDeleted(_ deleted: DeletedDocuments) throws(StoreError) {
    let writer = try transaction.writer
    var identities = Set(deleted.entries.map(\.history.uid))
    identities.subtract(try writer.deletedIdentities(among: identities))
    guard !identities.isEmpty else { return }
    try PairedStore(transaction).forEachRow(skippingDamaged: true) { row, head throws(StoreError) in
      guard identities.contains(head.uid) else { return }
      throw StoreError(
        .alreadyExists, "document \(row.fields.id) is one of the deleted documents, and is there again",
        documentID: DocumentID(row.fields.id))
    }
  }

  /// Returns each document once, followed by its descendants if they're included.
  private func distinct(_ ids: some Sequence<DocumentID>, includingDescendants: Bool) throws(StoreError)
    -> [DocumentID]
  {
    var seen: Set<DocumentID> = []
    var found: [DocumentID] = []
    for id in ids where seen.insert(id).inserted {
      found.append(id)
      guard includingDescendants else { continue }
      for header in try descendants(of: id) where seen.insert(header.id).inserted { found.append(header.id) }
    }
    return found
  }

  /// Runs `body`. If it throws, its changes are undone.
  func undoingOnError(_ body: () throws(StoreError) -> Void) throws(StoreError) {
    try expectingStoreErrors { try transaction.savepoint(body) }
  }

  private func entry(of id: DocumentID, keepingAttachmentsIn contents: SealedContents) throws(StoreError)
    -> DeletedDocuments.Entry
  {
    let stored = try transaction.storedDocument(id)
    let record = try transaction.requireCollection(of: stored.header)
    let (before, after) = try transaction.order.neighbours(of: stored.header)
    return DeletedDocuments.Entry(
      id: id, document: stored.document, history: stored.history,
      hiddenKey: stored.fields.isKeyHeldElsewhere ? stored.storedKey : nil,
      collection: CollectionInfo(record, count: 0),
      collectionUID: record.uid,
      position: stored.header.position, previous: before, next: after,
      attachments: try transaction.editor.keepAttachments(of: id, in: contents))
  }

  /// Replaces deleted neighbors with the nearest remaining neighbors.
  private func passOver(_ deleted: Set<DocumentID>, in entries: inout [DeletedDocuments.Entry]) {
    let order = entries.indices.sorted {
      (entries[$0].position, entries[$0].id) < (entries[$1].position, entries[$1].id)
    }
    var places: [DocumentID: Int] = [:]
    for index in order {
      places[entries[index].id] = index
      guard let neighbour = entries[index].previous, deleted.contains(neighbour) else { continue }
      // The neighbor precedes it in the same collection, so the neighbor's own value is already final.
      entries[index].previous = places[neighbour].flatMap { entries[$0].previous }
    }
    for index in order.reversed() {
      guard let neighbour = entries[index].next, deleted.contains(neighbour) else { continue }
      entries[index].next = places[neighbour].flatMap { entries[$0].next }
    }
  }

  private func restore(_ entry: DeletedDocuments.Entry) throws(StoreError) {
    let record = try collection(of: entry)
    var document = entry.document
    document.key = document.key ?? entry.hiddenKey
    if let parent = document.parent, try transaction.hasRow(parent) {
      do throws(StoreError) {
        try transaction.editor.requireParent(parent, of: entry.id.rawValue, isNew: false, in: record.id)
      } catch {
        guard error.code == .invalidArgument else { throw error }
        document.parent = nil
      }
    }
    let placement = try placement(of: entry, in: record)
    _ = try transaction.editor.add(
      document, in: record, id: entry.id, titleRule: nil, requiringParent: false,
      history: try transaction.writer.historyOfReturn(entry.history, parent: document.parent),
      sharingKey: entry.hiddenKey != nil
    ) {
      () throws(StoreError) in
      try transaction.order.position(for: placement, in: record.id)
    }
  }

  private func collection(of entry: DeletedDocuments.Entry) throws(StoreError) -> CollectionRecord {
    let old = entry.collection
    if let record = try transaction.collections().first(where: { $0.uid == entry.collectionUID }) { return record }
    if let record = try transaction.collection(named: old.name) { return record }
    try create(old.handle, titleRule: old.titleRule, foldsKeys: old.foldsKeys, attributes: old.attributes)
    return try transaction.requireCollection(old.handle)
  }

  private func placement(of entry: DeletedDocuments.Entry, in record: CollectionRecord) throws(StoreError) -> Placement
  {
    func isThere(_ id: DocumentID?) throws(StoreError) -> Bool {
      guard let id else { return false }
      return try transaction.unverifiedFields(of: id)?.collection == record.id
    }
    if try isThere(entry.previous), let previous = entry.previous { return .after(previous) }
    if try isThere(entry.next), let next = entry.next { return .before(next) }
    return try transaction.order.placement(of: entry.position, entry.id, in: record.id)
  }
}
