internal import CofferEngine
internal import CofferRecords

/// The rows of a list, read in one transaction.
struct ListRows {
  let transaction: StoreTransaction

  init(_ transaction: StoreTransaction) {
    self.transaction = transaction
  }

  /// A document and its immediate predecessor in the collection.
  struct Place {
    let header: DocumentHeader
    /// The predecessor, or `nil` for the first document.
    let before: DocumentID?
  }

  /// Returns a collection's first headers in order.
  ///
  /// - Parameter note: Called with each row's fields.
  func headers(
    in record: CollectionRecord, limit: Int, _ note: @escaping (RowFields) -> Void
  ) throws(StoreError) -> [DocumentHeader] {
    var headers: [DocumentHeader] = []
    do {
      let statement = try transaction.database.statement(SQL.page, Int64(record.id), Int64(limit), 0)
      let order = OrderCheck(collection: record.id, after: nil, limit: transaction.state.count)
      var scan = RowScan(withTexts: false, noteFields: note)
      scan.isWhole = limit == .max
      try transaction.scan(statement, order, scan) { header, _ in
        headers.append(header)
      }
    } catch let error as StoreError {
      throw error
    } catch {
      preconditionFailure("internal error: a list threw \(type(of: error))")
    }
    return headers
  }

  /// Returns document places in the collection's order, after verifying both documents of each place.
  ///
  /// - Returns: `nil` if a document isn't in the collection.
  func places(of ids: Set<DocumentID>, in record: CollectionRecord) throws(StoreError) -> [Place]? {
    let collection = CollectionID(record.id)
    var headers: [DocumentHeader] = []
    for id in ids {
      guard try transaction.hasRow(id) else { return nil }
      headers.append(try transaction.header(of: id))
    }
    guard headers.allSatisfy({ $0.collection == collection }) else { return nil }
    headers.sort { ($0.position, $0.id) < ($1.position, $1.id) }
    var places: [Place] = []
    for header in headers {
      let before = try transaction.order.entry(SQL.entryBefore, in: record.id, header.position, header.id.rawValue)?.id
      if let before, !ids.contains(DocumentID(before)) {
        let other = try transaction.header(of: DocumentID(before))
        guard other.collection == collection, (other.position, other.id) < (header.position, header.id) else {
          throw .damagedDocument(header.id.rawValue, "the list is not in order")
        }
      }
      places.append(Place(header: header, before: before.map { DocumentID($0) }))
    }
    return places
  }
}
