internal import CofferRecords

/// Writes single documents after checking the rules for their keys, parents and texts. ``RecordWriter`` writes the
/// rows.
package struct DocumentEditor {
  package let transaction: StoreTransaction

  package init(_ transaction: StoreTransaction) {
    self.transaction = transaction
  }

  /// Adds a document, after checking all requirements.
  ///
  /// - Parameters:
  ///   - isNew: Whether the collection isn't written yet.
  ///   - rule: The rule for a missing title, or `nil` to leave it missing.
  ///   - requiresParent: Whether the parent must exist. Otherwise it may be missing, but not in another collection.
  ///   - history: The identity and dots of a restored document, or `nil` for a new document.
  ///   - sharesKey: Whether another document may hold the key.
  package func add(
    _ document: Document, in record: CollectionRecord, isNew: Bool = false, id wanted: DocumentID?,
    titleRule rule: TitleRule?, requiringParent requiresParent: Bool = true,
    history: DocumentHistory? = nil, sharingKey sharesKey: Bool = false,
    at findPosition: () throws(StoreError) -> DocumentPosition
  ) throws(StoreError) -> DocumentID {
    try transaction.requireNoRowInsertion()
    if let wanted, try transaction.hasRow(wanted) {
      throw StoreError(.alreadyExists, "there is a document \(wanted) already", documentID: wanted)
    }
    let id = try DocumentID.next(transaction.nextID, unless: wanted)
    // The first write looks for the key, so the transaction remains without writes if the key is taken. For later
    // writes, the index rejects the row.
    if !sharesKey, !transaction.hasWritten { try requireUnusedKey(document.key, in: record, by: nil) }
    if requiresParent {
      try requireParent(document.parent, of: id, isNew: wanted == nil, in: record.id)
    } else {
      try requireNoParentInOtherCollection(document.parent, of: id, in: record.id)
    }
    let position = try findPosition()
    var document = document
    document.title = document.title ?? rule?.title(for: document)
    let writer = try transaction.writer
    var isKeyHeld = false
    if sharesKey, let key = document.key { isKeyHeld = try transaction.id(forKey: key, in: record) != nil }
    try writer.insert(
      document, id: id, in: record, isNew: isNew, position: position, now: .now(), history: history,
      isKeyHeldElsewhere: isKeyHeld)
    if isKeyHeld, let key = document.key { try writer.settle(key, in: record.id) }
    try detachFormerChildren(of: id, in: record.id)
    return DocumentID(id)
  }

  /// Adds a document to its collection's order.
  ///
  /// - Parameter isNew: Whether the collection isn't written yet.
  package func insert(
    _ document: Document, in record: CollectionRecord, isNew: Bool, id wanted: DocumentID?, at placement: Placement
  ) throws(StoreError) -> DocumentID {
    var position: DocumentPosition?
    let id = try add(document, in: record, isNew: isNew, id: wanted, titleRule: record.titleRule) {
      () throws(StoreError) in
      let found = try transaction.order.position(for: placement, in: record.id)
      position = found
      return found
    }
    if case .bottom = placement, let position {
      let entry = Spot.Entry(position: position, id: id.rawValue)
      transaction.bottom = CollectionOrder.Bottom(
        collection: record.id, entry: entry, rowsWritten: try transaction.writer.rowsWritten)
    }
    return id
  }

  /// Replaces a document, keeping the title, key, attributes, parent and creation date if the new document lacks them.
  package func overwrite(
    _ old: StoredDocument, with document: Document, keepingTitle keepsTitle: Bool = true
  ) throws(StoreError) {
    var titled = old
    if !keepsTitle { titled.document.title = nil }
    var new = document
    new.title = document.title ?? titled.document.title
    new.key = document.key ?? old.document.key
    if document.attributes.isEmpty { new.attributes = CodableValues.attributes(of: old.document, with: document) }
    new.parent = document.parent ?? old.document.parent
    new.created = document.created ?? old.document.created
    new.modified = document.modified ?? .now()
    new.title = try title(of: new, insteadOf: titled)
    try replace(old, with: new)
  }

  /// Returns the title of a changed document. A collection that derives titles updates titles derived from the old
  /// text.
  package func title(of new: Document, insteadOf old: StoredDocument) throws(StoreError) -> String? {
    guard new.title == nil || new.title.isIdentical(to: old.document.title),
      let rule = try transaction.collections().first(where: { $0.id == old.fields.collection })?.titleRule
    else { return new.title }
    return rule.title(for: new, insteadOf: old.document)
  }

  package func replace(_ old: StoredDocument, with new: Document, requiringParent requiresParent: Bool = true)
    throws(StoreError)
  {
    let id = old.header.id
    let record = try transaction.requireCollection(of: old.header)
    if new.key != old.document.key { try requireUnusedKey(new.key, in: record, by: id) }
    if new.parent != old.document.parent {
      if requiresParent {
        try requireParent(new.parent, of: id.rawValue, isNew: false, in: record.id)
      } else {
        try requireNoParentInOtherCollection(new.parent, of: id.rawValue, in: record.id)
      }
    }
    try transaction.writer.replace(old, with: new, in: record)
  }

  // MARK: Requirements

  package func requireUnusedKey(_ key: DocumentKey?, in record: CollectionRecord, by id: DocumentID?) throws(StoreError)
  {
    guard let key, let other = try transaction.id(forKey: key, in: record), other != id else { return }
    throw .keyTaken(by: other)
  }

  /// Returns whether to store a document, because empty text may be skipped or rejected.
  package func takes(_ document: Document, _ mode: Document.EmptyText, as id: DocumentID) throws(StoreError) -> Bool {
    try transaction.requireOpen()
    guard document.text.utf8.isEmpty else { return true }
    switch mode {
    case .store: return true
    case .skip: return false
    case .fail:
      throw StoreError(.emptyText, "the text is empty", hint: "store it as it is, or skip it", documentID: id)
    }
  }

  /// Requires a parent to be another document in the same collection, and not a descendant of the document.
  ///
  /// - Parameters:
  ///   - id: The document's ID, or `nil` if it doesn't have an ID yet.
  ///   - isNew: Whether the document can't have children yet.
  package func requireParent(_ parent: DocumentID?, of id: Int64?, isNew: Bool, in collection: UInt32)
    throws(StoreError)
  {
    guard let parent else { return }
    note(parent: parent)
    guard let fields = try transaction.unverifiedFields(of: parent), fields.collection == collection,
      parent.rawValue != id
    else {
      throw Self.parentElsewhere(parent, of: id)
    }
    guard !isNew, let id else { return }
    // Visit each ancestor once, because rows from other writers may form a cycle.
    var seen: Set<Int64> = [parent.rawValue]
    var next = fields.parent
    while let ancestor = next, seen.insert(ancestor).inserted {
      guard ancestor != id else {
        throw StoreError(
          .invalidArgument, "document \(parent) belongs to document \(DocumentID(id)), so it can't be its parent",
          documentID: DocumentID(id))
      }
      next = try transaction.unverifiedFields(of: DocumentID(ancestor))?.parent
    }
  }

  /// Requires a parent not to be the document itself or in another collection. The parent may be missing, because it
  /// can be added later or was deleted.
  func requireNoParentInOtherCollection(_ parent: DocumentID?, of id: Int64, in collection: UInt32) throws(StoreError) {
    guard let parent else { return }
    note(parent: parent)
    guard parent.rawValue != id,
      try transaction.database.integer(SQL.collectionOf, parent.rawValue) ?? Int64(collection)
        == Int64(collection)
    else { throw Self.parentElsewhere(parent, of: id) }
  }

  /// Removes the parent of documents that named a deleted document with this ID, which a new document has now.
  package func detachFormerChildren(of id: Int64, in collection: UInt32) throws(StoreError) {
    if transaction.highestParent == nil {
      transaction.highestParent = try transaction.database.integer(SQL.highestParent) ?? 0
    }
    let writer = try transaction.writer
    let highest = max(transaction.highestParent ?? 0, transaction.highestWrittenParent, writer.highestSettledParent)
    guard id <= highest else { return }
    let children = try writer.ids(SQL.idsOfChildren, id)
    guard !children.isEmpty, let uid = try writer.uid(ofParent: id) else { return }
    for child in children {
      let isOwn = try transaction.reading { reader throws(StoreError) in
        let row = try reader.row(child, withBody: false, within: transaction.limits)
        let collectionOfChild = row.fields.collection
        return try reader.opener.openHead(row, acceptsNewer: true).parent == uid && collectionOfChild == collection
      }
      if !isOwn { try writer.setParentRow(of: child, to: nil) }
    }
  }

  private func note(parent: DocumentID) {
    transaction.highestWrittenParent = max(transaction.highestWrittenParent, parent.rawValue)
  }

  private static func parentElsewhere(_ parent: DocumentID, of id: Int64?) -> StoreError {
    StoreError(
      .invalidArgument, "the parent \(parent) is no other document of the same collection",
      documentID: id.map { DocumentID($0) })
  }
}
