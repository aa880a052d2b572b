internal import CofferRecords

/// Documents as they were when they were deleted, with their places: for ``StoreWriter/putBack(_:)``.
///
/// Its texts are Strings, which nothing wipes.
public struct DeletedDocuments: Sendable {
  struct Entry: Sendable {
    let id: DocumentID
    let document: Document
    /// The identity that copies know the document by.
    let uid: UInt64
    let collection: CollectionInfo
    /// Tells its collection from a later one of the same number.
    let collectionUID: UInt64
    let position: Int64
    /// The nearest documents before and behind it that were not deleted with it.
    var previous: DocumentID?
    var next: DocumentID?
  }

  /// The place behind a document that stayed, or at the top.
  struct Gap: Hashable {
    let collection: UInt64
    let previous: DocumentID?
  }

  let entries: [Entry]

  /// The ids in the order of their deletion; empty if nothing was deleted.
  public var ids: [DocumentID] { entries.map(\.id) }
  /// The documents in the order of ``ids``.
  public var documents: [Document] { entries.map(\.document) }
}

extension StoreWriter {
  /// Deletes documents and returns them, so that they can be put back.
  ///
  /// Opens and holds every text. Children stay, and still name a deleted document as their parent. An id that comes
  /// again is passed over.
  ///
  /// - Returns: the documents with their places, in the order of `ids`.
  /// - Throws: `noSuchDocument`, `damaged`; nothing is deleted then.
  @discardableResult
  public func remove(_ ids: some Sequence<DocumentID>) throws -> DeletedDocuments {
    var entries: [DeletedDocuments.Entry] = []
    var seen: Set<DocumentID> = []
    for id in ids where seen.insert(id).inserted { entries.append(try entry(of: id)) }
    passOver(seen, in: &entries)
    return try savepoint { writer in
      for entry in entries { try writer.delete(entry.id) }
      return DeletedDocuments(entries: entries)
    }
  }

  /// Deletes a document and all its descendants, and returns them, so that they can be put back.
  ///
  /// - Returns: this document first, each before its own children.
  /// - Throws: `noSuchDocument`, `damaged`; nothing is deleted then.
  @discardableResult
  public func deleteWithDescendants(_ id: DocumentID) throws -> DeletedDocuments {
    try remove([id] + (try descendants(of: id).map(\.id)))
  }

  /// Puts deleted documents back, with their ids, dates, keys, attributes and parents.
  ///
  /// Each goes behind the nearest document that it was behind, or else before the nearest one that it was before, or
  /// else where its position was. A collection that was dropped is created again. A parent that is in another
  /// collection now is left out.
  ///
  /// ```swift
  /// let deleted = try store.write { try $0.deleteWithDescendants(id) }
  /// undoManager.register { try store.write { try $0.putBack(deleted) } }
  /// ```
  ///
  /// - Throws: `alreadyExists` if an id is taken, as by a second call; `duplicateKey`; nothing is put back then.
  public func putBack(_ deleted: DeletedDocuments) throws {
    let inOrder = deleted.entries.sorted { ($0.position, $0.id) < ($1.position, $1.id) }
    try savepoint { writer in
      // Those that were behind one document, or at the top, go back in their order.
      var last: [DeletedDocuments.Gap: DocumentID] = [:]
      for var entry in inOrder {
        let gap = DeletedDocuments.Gap(collection: entry.collectionUID, previous: entry.previous)
        entry.previous = last[gap] ?? entry.previous
        try writer.putBack(entry)
        last[gap] = entry.id
      }
    }
  }

  private func entry(of id: DocumentID) throws(StoreError) -> DeletedDocuments.Entry {
    let stored = try transaction.storedDocument(id)
    let record = try transaction.requireCollection(of: stored.header)
    let (before, after) = try transaction.neighbours(of: stored.header)
    return DeletedDocuments.Entry(
      id: id, document: stored.document, uid: stored.stamps.uid, collection: CollectionInfo(record, count: 0),
      collectionUID: record.uid,
      position: stored.header.position, previous: before, next: after)
  }

  /// Gives each entry the nearest neighbours that stay.
  private func passOver(_ deleted: Set<DocumentID>, in entries: inout [DeletedDocuments.Entry]) {
    let order = entries.indices.sorted {
      (entries[$0].position, entries[$0].id) < (entries[$1].position, entries[$1].id)
    }
    var places: [DocumentID: Int] = [:]
    for index in order {
      places[entries[index].id] = index
      guard let neighbour = entries[index].previous, deleted.contains(neighbour) else { continue }
      // In the same collection and before it: it has its own nearest one already.
      entries[index].previous = places[neighbour].flatMap { entries[$0].previous }
    }
    for index in order.reversed() {
      guard let neighbour = entries[index].next, deleted.contains(neighbour) else { continue }
      entries[index].next = places[neighbour].flatMap { entries[$0].next }
    }
  }

  private func putBack(_ entry: DeletedDocuments.Entry) throws(StoreError) {
    let record = try collection(of: entry)
    var document = entry.document
    if let parent = document.parent, let fields = try transaction.fieldsIfThere(of: parent),
      fields.collection != record.id
    {
      document.parent = nil
    }
    let placement = try placement(of: entry, in: record)
    _ = try transaction.add(document, in: record, id: entry.id, titleRule: nil, requiringParent: false, uid: entry.uid)
    {
      () throws(StoreError) in
      try transaction.position(for: placement, in: record.id)
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
      return try transaction.fieldsIfThere(of: id)?.collection == record.id
    }
    if try isThere(entry.previous), let previous = entry.previous { return .after(previous) }
    if try isThere(entry.next), let next = entry.next { return .before(next) }
    return try transaction.placement(of: entry.position, entry.id, in: record.id)
  }
}
