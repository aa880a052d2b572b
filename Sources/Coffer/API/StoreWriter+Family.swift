internal import CofferRecords

extension ReadScope where Self: ~Copyable {
  /// The documents that name this one as their parent, in order. A deleted document may still have children.
  ///
  /// - Throws: `damaged`.
  public func children(of parent: DocumentID) throws(StoreError) -> [DocumentHeader] {
    try transaction.requireOpen()
    var headers: [DocumentHeader] = []
    do {
      let statement = try transaction.database.statement(SQL.children, parent.rawValue)
      let order = OrderCheck(childrenOf: parent, limit: transaction.state.count)
      try transaction.scan(statement, order, RowScan(withTexts: false)) { header, _ in headers.append(header) }
    } catch let error as StoreError {
      throw error
    } catch {
      preconditionFailure("internal error: a list threw \(type(of: error))")
    }
    return headers
  }

  /// Children, their children and so on in order, each document before its own children.
  ///
  /// Each appears once, and the document itself never: if parents form a ring, the walk stops.
  ///
  /// - Throws: `damaged`.
  public func descendants(of ancestor: DocumentID) throws(StoreError) -> [DocumentHeader] {
    var seen: Set<DocumentID> = [ancestor]
    var found: [DocumentHeader] = []
    var next: [DocumentHeader] = try children(of: ancestor).reversed()
    while let header = next.popLast() {
      guard seen.insert(header.id).inserted else { continue }
      found.append(header)
      next += try children(of: header.id).reversed()
    }
    return found
  }
}

extension StoreWriter {
  /// Makes a document a child of another one in its collection, or of none. Only its head is sealed again.
  ///
  /// - Throws: `noSuchDocument`; `invalidArgument` for a parent in another collection, the document itself, or one of
  ///   its descendants.
  public func setParent(of id: DocumentID, to parent: DocumentID?) throws(StoreError) {
    let header = try header(of: id)
    guard header.parent != parent else { return }
    try transaction.requireParent(parent, of: id.rawValue, isNew: false, in: header.collection.rawValue)
    try transaction.writer.setParent(of: id, to: parent?.rawValue)
  }

  /// Gives a document another key, or none. Only its head is sealed again.
  ///
  /// - Throws: `noSuchDocument`, `duplicateKey`; `tooLarge` for a key that is empty or longer than 1 KiB.
  public func setKey(of id: DocumentID, to key: ExternalKey?) throws(StoreError) {
    let header = try header(of: id)
    guard header.key != key else { return }
    let record = try transaction.requireCollection(of: header)
    try transaction.requireUnusedKey(key, in: record, by: id)
    let index = try transaction.writer.blindIndex(of: key, in: record)
    guard let key else {
      return try transaction.writer.rewrite(id, changing: .blindIndex, as: .head) { content, _ throws(StoreError) in
        content.key = nil
        content.blindIndex = nil
      }
    }
    try key.bytes.withBytes { bytes throws(StoreError) in
      try transaction.writer.rewrite(id, changing: .blindIndex, as: .head) { content, _ throws(StoreError) in
        content.key = bytes
        content.blindIndex = index
      }
    }
  }
}
