internal import CofferEngine
internal import CofferRecords

extension StoreReading where Self: ~Copyable {
  /// Returns the documents with this parent, in order. A deleted document may still have children.
  ///
  /// - Throws: `damaged`.
  public func children(of parent: DocumentID) throws(StoreError) -> [DocumentHeader] {
    try transaction.requireOpen()
    // Children can be in any collection.
    transaction.notes?.noteEverything()
    var headers: [DocumentHeader] = []
    try expectingStoreErrors {
      let statement = try transaction.database.statement(SQL.children, parent.rawValue)
      let order = OrderCheck(childrenOf: parent, limit: transaction.state.count)
      var scan = RowScan(withTexts: false)
      scan.countsAttachments = true
      try transaction.scan(statement, order, scan) { header, _ in headers.append(header) }
    }
    return headers
  }

  /// Returns the children, their children and so on in order, each document before its own children.
  ///
  /// Each document is returned once. The document itself isn't returned, even if parents form a cycle.
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
