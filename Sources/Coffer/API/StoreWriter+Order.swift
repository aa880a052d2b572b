internal import CofferRecords

extension StoreWriter {
  /// Puts a document elsewhere in its collection's order. Only its head is sealed anew.
  ///
  /// Rows nearby are moved apart where no position is left between two: over many moves a few rows each, whatever the
  /// collection's size.
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

  /// Puts the document that stands at one index at another, both as a table view reports them: counted from 0, and the
  /// second one after the first was taken out.
  ///
  /// Each document before an index costs an index entry.
  ///
  /// - Returns: the document that was moved.
  /// - Throws: `noSuchCollection`, `indexOutOfRange` where either is no document's place.
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

  /// Adds a copy of a document under a number of its own: title, text, attributes, parent. A key is not copied, since
  /// it belongs to one document only; both dates are now.
  ///
  /// - Parameter placement: where to; nil is right behind the original.
  /// - Throws: `noSuchDocument`, `invalidArgument` for a neighbour in another collection.
  @discardableResult
  public func duplicate(_ id: DocumentID, to placement: Placement? = nil) throws(StoreError) -> DocumentID {
    let original = try transaction.storedDocument(id)
    let record = try transaction.requireCollection(of: original.header)
    var copy = original.document
    copy.key = nil
    copy.created = nil
    copy.modified = nil
    // A parent that is gone is kept by the original, but no new document can name it.
    if let parent = copy.parent, try !exists(parent) { copy.parent = nil }
    return try insert(copy, into: DocumentCollection(record.name), at: placement ?? .after(id))
  }

  /// Sorts a collection once, and keeps that order: documents added later go where they are put.
  ///
  /// Documents that are equal in it keep the order they had. Positions are dealt out anew among the documents, so those
  /// whose place stays are not written, and a sorted collection costs its reading only.
  ///
  /// - Returns: how many documents changed their place.
  /// - Throws: `noSuchCollection`, `damaged`.
  @discardableResult
  public func sort(_ collection: DocumentCollection, by order: DocumentOrder, descending: Bool = false)
    throws(StoreError) -> Int
  {
    let record = try transaction.requireCollection(collection)
    let sorted = try ids(in: collection, sortedBy: order, descending: descending)
    return try transaction.arrange(sorted, in: record.id)
  }
}

extension ReadScope where Self: ~Copyable {
  /// The document at a place in its collection's order, counted from 0; each one before it costs an index entry.
  ///
  /// - Throws: `noSuchCollection`, `indexOutOfRange`.
  public func id(at index: Int, in collection: DocumentCollection) throws(StoreError) -> DocumentID {
    let record = try transaction.requireCollection(collection)
    guard index >= 0, let id = try transaction.id(at: index, in: record.id) else {
      throw StoreError(
        .indexOutOfRange, "there is no document at index \(index)",
        hint: "indexes go from 0 to one less than the number of documents")
    }
    return id
  }
}
