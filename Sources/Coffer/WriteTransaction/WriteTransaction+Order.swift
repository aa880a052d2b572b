internal import CofferEngine
internal import CofferRecords

extension WriteTransaction {
  /// Moves a document in its collection's order. Re-encrypts only the head.
  ///
  /// Other documents aren't written, except after a hundred moves that each halve the last gap, when nearby documents
  /// get new positions.
  ///
  /// - Throws: `noSuchDocument`, or `invalidArgument` for a neighbor in another collection.
  public func move(_ id: DocumentID, to placement: Placement) throws(StoreError) {
    let collection = try header(of: id).collection.rawValue
    switch placement {
    case .before(id), .after(id): return
    default: break
    }
    let spot = try transaction.order.spot(for: placement, in: collection)
    guard !spot.touches(id) else { return }
    try transaction.writer.move(
      id, toPosition: try transaction.order.position(at: spot, for: placement, in: collection), in: collection)
  }

  /// Moves a document to another collection, which is created if it's missing. Keeps the ID, dates, key and attributes,
  /// and re-encrypts the text.
  ///
  /// The document loses its parent, which isn't moved.
  ///
  /// - Throws: `noSuchDocument`, `duplicateKey`, `damaged`, or `invalidArgument` if the document has children, or for a
  ///   neighbor in another collection.
  public func move(_ id: DocumentID, into collection: DocumentCollection, at placement: Placement = .bottom)
    throws(StoreError)
  {
    let old = try transaction.storedDocument(id)
    if try transaction.collection(named: collection.name)?.id == old.fields.collection {
      return try move(id, to: placement)
    }
    let children = try children(of: id).count
    guard children == 0 else {
      throw StoreError(
        .invalidArgument,
        "document \(id) can't move to another collection: it has \(children) \(children == 1 ? "child" : "children") here",
        hint: "move these first, or give them another parent", documentID: id)
    }
    var document = old.document
    document.parent = nil
    try undoingOnError { () throws(StoreError) in
      let record = try transaction.collectionEditor.openOrCreate(collection, titleRule: .asGiven)
      try transaction.editor.requireUnusedKey(document.key, in: record, by: id)
      let position = try transaction.order.position(for: placement, in: record.id)
      try transaction.writer.replace(old, with: document, in: record, movedTo: position)
    }
  }

  /// Moves the document at one index to another index. As in a table view, indexes start at 0, and the second index
  /// doesn't count the moved document.
  ///
  /// Each document before an index costs an index entry.
  ///
  /// - Returns: The moved document.
  /// - Throws: `indexOutOfRange` if either index is out of range.
  @discardableResult
  public func move(fromIndex source: Int, toIndex target: Int, in collection: DocumentCollection) throws(StoreError)
    -> DocumentID
  {
    let id = try id(at: source, in: collection)
    let other = try self.id(at: target, in: collection)
    if source < target { try move(id, to: .after(other)) }
    if source > target { try move(id, to: .before(other)) }
    return id
  }

  /// Inserts a copy of a document with a new ID and the same title, text, attributes, parent and attachments. The key
  /// isn't copied, because it must be unique. Both dates are the current date. Attachments are copied with their names and
  /// dates.
  ///
  /// The copy follows the original unless you specify a `placement`.
  ///
  /// - Returns: The copy's ID.
  /// - Throws: `noSuchDocument`, `damaged`, `otherFormat`, `noNumberLeft`, or `invalidArgument` for a neighbor in
  ///   another collection. The document isn't copied then.
  @discardableResult
  public func duplicate(_ id: DocumentID, to placement: Placement? = nil) throws(StoreError) -> DocumentID {
    let original = try transaction.storedDocument(id, provingText: true)
    let record = try transaction.requireCollection(of: original.header)
    var copy = original.document
    copy.key = nil
    copy.created = nil
    copy.modified = nil
    // The original keeps a deleted parent, but a new document can't reference it.
    if let parent = copy.parent, try !exists(parent) { copy.parent = nil }
    var newID = id
    try undoingOnError { () throws(StoreError) in
      // Without a rule, an untitled document's copy is also untitled.
      newID = try transaction.editor.add(copy, in: record, id: nil, titleRule: nil) { () throws(StoreError) in
        try transaction.order.position(for: placement ?? .after(id), in: record.id)
      }
      try transaction.editor.copyAttachments(of: id, to: newID)
    }
    return newID
  }

  /// Sorts a collection once. Documents added later aren't sorted.
  ///
  /// Equal documents keep their order. Only documents with a new position are written, so sorting a sorted collection
  /// only costs reading.
  ///
  /// - Returns: The number of moved documents, or 0 if the collection doesn't exist yet.
  /// - Throws: `damaged`.
  @discardableResult
  public func sort(_ collection: DocumentCollection, by order: DocumentOrder, descending: Bool = false)
    throws(StoreError) -> Int
  {
    guard let record = try transaction.collection(named: collection.name) else { return 0 }
    let sorted = try ids(in: collection, sortedBy: order, descending: descending)
    return try transaction.order.arrange(sorted, in: record.id)
  }
}
