internal import CofferRecords
internal import CofferSealing

// Documents, one at a time: the rules that decide what is written. ``RecordWriter`` writes.

// MARK: - Reading

extension StoreTransaction {
  func header(of id: DocumentID) throws(StoreError) -> DocumentHeader {
    try reading { reader throws(StoreError) in try reader.header(id, within: limits) }
  }

  func document(_ id: DocumentID) throws(StoreError) -> Document {
    try withOpened(id) { opened throws(StoreError) in Document(opened) }
  }

  /// For code that is compiled into apps, where the result of a generic function is known.
  @usableFromInline
  func visit(_ id: DocumentID, _ body: (OpenedDocument) -> Void) throws(StoreError) {
    try withOpened(id) { opened throws(StoreError) in body(opened) }
  }

  func withOpened<R>(_ id: DocumentID, _ body: (OpenedDocument) throws(StoreError) -> R) throws(StoreError) -> R {
    switch try cached(id) {
    case .document(let cached): return try body(cached.opened)
    case .missing(let room):
      return try reading { reader throws(StoreError) in
        let opened = try reader.document(id, within: limits)
        if opened.utf8.count <= room { keep(opened) }
        return try body(opened)
      }
    }
  }

  func storedDocument(_ id: DocumentID) throws(StoreError) -> StoredDocument {
    try reading { reader throws(StoreError) in try reader.storedDocument(id, within: limits) }
  }

  /// - Throws: `alreadyExists` if it belongs to another collection.
  func storedDocument(_ id: DocumentID, in collection: DocumentCollection) throws(StoreError) -> StoredDocument {
    let stored = try storedDocument(id)
    guard try self.collection(named: collection.name)?.id == stored.fields.collection else {
      throw StoreError(.alreadyExists, "document \(id) is in another collection", documentID: id)
    }
    return stored
  }

  /// Whether there is a row of that id, sound or not.
  func hasRow(_ id: DocumentID) throws(StoreError) -> Bool {
    try reading { reader throws(StoreError) in try reader.hasRow(id) }
  }

  /// The document with that key, found under every live epoch; its head decides whether it really has the key.
  func id(forKey key: ExternalKey, in collection: CollectionRecord) throws(StoreError) -> DocumentID? {
    try reading { reader throws(StoreError) in try reader.id(forKey: key, in: collection, within: limits) }
  }
}

// MARK: - Writing

extension StoreTransaction {
  /// Adds a document; refuses everything that must be refused before it writes.
  ///
  /// - Parameters:
  ///   - isNew: the collection is not written yet either.
  ///   - rule: decides about a missing title; nil leaves it missing.
  ///   - requiresParent: the parent must exist already; otherwise it may be missing, but not be elsewhere.
  ///   - uid: the identity of a document that is put back; nil for a new one.
  func add(
    _ document: Document, in record: CollectionRecord, isNew: Bool = false, id wanted: DocumentID?,
    titleRule rule: TitleRule?, requiringParent requiresParent: Bool = true,
    uid: UInt64? = nil, at findPosition: () throws(StoreError) -> Int64
  ) throws(StoreError) -> DocumentID {
    if let wanted, try hasRow(wanted) {
      throw StoreError(.alreadyExists, "there is a document \(wanted) already", documentID: wanted)
    }
    var id = try DocumentID.next(state.nextID, unless: wanted)
    // A number that a child elsewhere names is passed over.
    while wanted == nil, try childElsewhere(of: id, in: record.id) != nil {
      id = try DocumentID.next(UInt64(id) + 1, unless: nil)
    }
    try requireUnusedKey(document.key, in: record, by: nil)
    if requiresParent {
      try requireParent(document.parent, of: id, isNew: wanted == nil, in: record.id)
    } else {
      try requireNoParentElsewhere(document.parent, of: id, in: record.id)
    }
    if wanted != nil { try requireNoChildrenElsewhere(of: id, in: record.id) }
    let position = try findPosition()
    var document = document
    document.title = document.title ?? rule?.title(for: document)
    let revision = try writer.revision
    try writer.insert(
      document, id: id, in: record, isNew: isNew, position: position, now: .now(),
      stamps: uid.map { DocumentStamps(born: revision, uid: $0) })
    return DocumentID(id)
  }

  /// Upserts: keeps title, attributes, parent and creation date if the new document gives none.
  func overwrite(_ old: StoredDocument, with document: Document) throws(StoreError) {
    var new = document
    new.title = document.title ?? old.document.title
    new.key = document.key ?? old.document.key
    new.attributes = document.attributes.isEmpty ? old.document.attributes : document.attributes
    new.parent = document.parent ?? old.document.parent
    new.created = document.created ?? old.document.created
    new.modified = document.modified ?? .now()
    new.title = try title(of: new, insteadOf: old)
    try replace(old, with: new)
  }

  /// The title of a changed document. In a collection that derives titles, a title derived from the old text changes
  /// too.
  func title(of new: Document, insteadOf old: StoredDocument) throws(StoreError) -> String? {
    guard new.title == nil || new.title == old.document.title,
      let rule = try collections().first(where: { $0.id == old.fields.collection })?.titleRule
    else { return new.title }
    return rule.title(for: new, insteadOf: old.document)
  }

  func replace(_ old: StoredDocument, with new: Document, requiringParent requiresParent: Bool = true)
    throws(StoreError)
  {
    let id = old.header.id
    let record = try requireCollection(of: old.header)
    if new.key != old.document.key { try requireUnusedKey(new.key, in: record, by: id) }
    if new.parent != old.document.parent {
      if requiresParent {
        try requireParent(new.parent, of: id.rawValue, isNew: false, in: record.id)
      } else {
        try requireNoParentElsewhere(new.parent, of: id.rawValue, in: record.id)
      }
    }
    try writer.replace(old, with: new, in: record)
  }

  // MARK: Requirements

  func requireUnusedKey(_ key: ExternalKey?, in record: CollectionRecord, by id: DocumentID?) throws(StoreError) {
    guard let key, let other = try self.id(forKey: key, in: record), other != id else { return }
    throw StoreError(.duplicateKey, "document \(other) has that key already", documentID: other)
  }

  /// Whether to store a document: an empty text may be skipped or refused.
  func takes(_ document: Document, _ mode: EmptyTextMode, as id: DocumentID? = nil) throws(StoreError) -> Bool {
    try requireOpen()
    guard document.text.utf8.isEmpty else { return true }
    switch mode {
    case .store: return true
    case .skip: return false
    case .fail:
      throw StoreError(.emptyText, "the text is empty", hint: "store it as it is, or skip it", documentID: id)
    }
  }

  /// Requires that a parent is another document of the same collection and no descendant of the document.
  ///
  /// - Parameters:
  ///   - id: nil if the document has none yet.
  ///   - isNew: no document can have it as parent yet.
  func requireParent(_ parent: DocumentID?, of id: Int64?, isNew: Bool, in collection: UInt32) throws(StoreError) {
    guard let parent else { return }
    note(parent: parent)
    guard let fields = try fieldsIfThere(of: parent), fields.collection == collection, parent.rawValue != id else {
      throw Self.parentElsewhere(parent, of: id)
    }
    guard !isNew, let id else { return }
    // Rows of other writers may form a ring: each ancestor is looked at once.
    var seen: Set<Int64> = [parent.rawValue]
    var next = fields.parent
    while let ancestor = next, seen.insert(ancestor).inserted {
      guard ancestor != id else {
        throw StoreError(
          .invalidArgument, "document \(parent) belongs to document \(DocumentID(id)), so it can't be its parent",
          documentID: DocumentID(id))
      }
      next = try fieldsIfThere(of: DocumentID(ancestor))?.parent
    }
  }

  /// Requires that a parent is not in another collection, and not the document itself. A parent that doesn't exist may
  /// still come, or was deleted.
  func requireNoParentElsewhere(_ parent: DocumentID?, of id: Int64, in collection: UInt32) throws(StoreError) {
    guard let parent else { return }
    note(parent: parent)
    guard parent.rawValue != id,
      try database.integer(SQL.collectionOf, parent.rawValue) ?? Int64(collection)
        == Int64(collection)
    else { throw Self.parentElsewhere(parent, of: id) }
  }

  /// Requires that no document of another collection names this one as its parent, as one may that was left behind when
  /// an earlier document of that id was deleted.
  func requireNoChildrenElsewhere(of id: Int64, in collection: UInt32) throws(StoreError) {
    guard let child = try childElsewhere(of: id, in: collection) else { return }
    throw StoreError(
      .invalidArgument, "document \(DocumentID(child)) of another collection names \(DocumentID(id)) as its parent",
      hint: "give that one another parent first, or use another id", documentID: DocumentID(id))
  }

  /// A document of another collection that names this one as its parent.
  private func childElsewhere(of id: Int64, in collection: UInt32) throws(StoreError) -> Int64? {
    if highestParent == nil { highestParent = try database.integer(SQL.highestParent) ?? 0 }
    guard id <= max(highestParent ?? 0, highestOwnParent) else { return nil }
    return try database.integer(SQL.childElsewhere, id, Int64(collection))
  }

  private func note(parent: DocumentID) {
    highestOwnParent = max(highestOwnParent, parent.rawValue)
  }

  private static func parentElsewhere(_ parent: DocumentID, of id: Int64?) -> StoreError {
    StoreError(
      .invalidArgument, "the parent \(parent) is no other document of the same collection",
      documentID: id.map { DocumentID($0) })
  }

  /// The columns of a row, which nothing has proved; nil if there is none.
  func fieldsIfThere(of id: DocumentID) throws(StoreError) -> RowFields? {
    do throws(StoreError) {
      return try reading { reader throws(StoreError) in
        try reader.row(id, withBody: false, within: limits).fields
      }
    } catch {
      guard error.code == .noSuchDocument else { throw error }
      return nil
    }
  }
}
