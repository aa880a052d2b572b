internal import CofferRecords

extension StoreWriter {
  /// Moves a document within its collection's order. Only its head is sealed again.
  ///
  /// If no position is left between two rows, rows nearby are moved apart. Over many moves these are a few rows for
  /// each move, in a collection of any size.
  ///
  /// - Throws: `noSuchDocument`, `invalidArgument` for a neighbour in another collection.
  public func move(_ id: DocumentID, to placement: Placement) throws(StoreError) {
    let collection = try header(of: id).collection.rawValue
    switch placement {
    case .before(id), .after(id): return
    default: break
    }
    let spot = try transaction.spot(for: placement, in: collection)
    guard !spot.touches(id) else { return }
    try transaction.writer.move(
      id, toPosition: try transaction.position(at: spot, for: placement, in: collection), in: collection)
  }

  /// Moves a document to another collection, which is created if it is missing. Id, dates, key and attributes stay; its
  /// text is sealed again.
  ///
  /// Its parent stays behind, so that it has none afterwards.
  ///
  /// - Throws: `noSuchDocument`, `duplicateKey`, `damaged`; `invalidArgument` if other documents have it as their
  ///   parent, or for a neighbour in another collection.
  public func move(_ id: DocumentID, into collection: DocumentCollection, at placement: Placement = .bottom)
    throws(StoreError)
  {
    let old = try transaction.storedDocument(id)
    let record = try transaction.openOrCreate(collection, titleRule: .asGiven)
    guard record.id != old.fields.collection else { return try move(id, to: placement) }
    let children = try children(of: id).count
    guard children == 0 else {
      throw StoreError(
        .invalidArgument,
        "document \(id) can't move to another collection: it has \(children) \(children == 1 ? "child" : "children") here",
        hint: "move these first, or give them another parent", documentID: id)
    }
    try transaction.requireUnusedKey(old.document.key, in: record, by: id)
    var document = old.document
    document.parent = nil
    let position = try transaction.position(for: placement, in: record.id)
    try transaction.writer.replace(old, with: document, in: record, movedTo: position)
  }

  /// Moves the document at one index to another. Both are indexes from 0 as a table view reports them: the second one
  /// counts without the moved document.
  ///
  /// Each document before an index costs an index entry.
  ///
  /// - Returns: the document that was moved.
  /// - Throws: `indexOutOfRange` if either is out of range.
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

  /// Adds a copy of a document with a new id: title, text, attributes, parent. The key is not copied, since it belongs
  /// to one document only; both dates are now.
  ///
  /// The copy goes right behind the original, unless a `placement` is given.
  ///
  /// - Returns: the copy's id.
  /// - Throws: `noSuchDocument`, `damaged`, `noNumberLeft`; `invalidArgument` for a neighbour in another collection.
  @discardableResult
  public func duplicate(_ id: DocumentID, to placement: Placement? = nil) throws(StoreError) -> DocumentID {
    let original = try transaction.storedDocument(id)
    let record = try transaction.requireCollection(of: original.header)
    var copy = original.document
    copy.key = nil
    copy.created = nil
    copy.modified = nil
    // The original keeps a parent that was deleted, but a new document can't name it.
    if let parent = copy.parent, try !exists(parent) { copy.parent = nil }
    return try insert(copy, into: DocumentCollection(record.name), at: placement ?? .after(id))
  }

  /// Sorts a collection once: documents added later are not sorted in.
  ///
  /// Equal documents keep their order. The documents get new positions, but those whose position stays the same are not
  /// written: a sorted collection costs only reading.
  ///
  /// - Returns: the number of documents that moved; 0 if the collection doesn't exist yet.
  /// - Throws: `damaged`.
  @discardableResult
  public func sort(_ collection: DocumentCollection, by order: DocumentOrder, descending: Bool = false)
    throws(StoreError) -> Int
  {
    guard let record = try transaction.collection(named: collection.name) else { return 0 }
    let sorted = try ids(in: collection, sortedBy: order, descending: descending)
    return try transaction.arrange(sorted, in: record.id)
  }
}

extension ReadScope where Self: ~Copyable {
  /// The index of a document in its collection's order, from 0; each document before it costs an index entry.
  ///
  /// - Throws: `noSuchDocument`, `damaged`.
  public func index(of id: DocumentID) throws(StoreError) -> Int {
    try transaction.index(of: try header(of: id))
  }

  /// The document at an index of its collection's order, from 0; each document before it costs an index entry.
  ///
  /// - Throws: `indexOutOfRange`.
  public func id(at index: Int, in collection: DocumentCollection) throws(StoreError) -> DocumentID {
    guard index >= 0, let record = try transaction.collection(named: collection.name),
      let id = try transaction.id(at: index, in: record.id)
    else {
      throw StoreError(
        .indexOutOfRange, "there is no document at index \(index)",
        hint: "indexes go from 0 to one less than the number of documents")
    }
    return id
  }
}
