internal import CofferRecords

// Listing, in order. Reading a header opens no text, and one statement reads a whole page. A collection that doesn't
// exist yet is empty: the first document that is inserted into it makes it.

extension ReadScope where Self: ~Copyable {
  /// A page of headers in order. Opens the heads of the page and no text; memory holds the page.
  ///
  /// - Parameters:
  ///   - collection: the collection; one that doesn't exist yet is empty.
  ///   - previous: the last header of the page before; its place does not affect the cost.
  ///   - offset: number of documents to pass over, each at the cost of an index entry.
  ///   - limit: the most headers of the page.
  /// - Returns: the headers, sorted by (position, id); empty behind the last one.
  /// - Throws: `damaged`, also if the order itself was tampered with.
  public func headers(
    in collection: DocumentCollection, after previous: DocumentHeader? = nil, offset: Int = 0, limit: Int = .max
  ) throws(StoreError) -> [DocumentHeader] {
    var headers: [DocumentHeader] = []
    do {
      try forEachHeader(in: collection, after: previous, offset: offset, limit: limit) { headers.append($0) }
    } catch let error as StoreError {
      throw error
    } catch {
      preconditionFailure("internal error: a list threw \(type(of: error))")
    }
    return headers
  }

  /// Calls `body` with every header in order, one at a time, so that memory does not grow with the list.
  ///
  /// `previous`, `offset` and `limit` choose a page, as in ``headers(in:after:offset:limit:)``.
  ///
  /// In `read`, a whole collection with an index of titles is listed from its pages, which are proved before the first
  /// header is given: none of them is an older one that was put back.
  ///
  /// In `write`, `body` may change and delete documents, but not add or move any within this collection.
  ///
  /// - Throws: errors of `body`, which end the walk; `damaged` with the id; `misuse` in `write` if `body` adds or moves
  ///   a document of the list.
  public func forEachHeader(
    in collection: DocumentCollection, after previous: DocumentHeader? = nil, offset: Int = 0, limit: Int = .max,
    _ body: (DocumentHeader) throws -> Void
  ) throws {
    // SQLite takes a negative limit for none.
    guard limit > 0, let record = try transaction.collection(named: collection.name) else { return }
    var previous = previous
    if previous == nil, offset <= 0, limit == .max, let titles = try transaction.provedTitles(of: record) {
      guard let unfinished = try transaction.forEachTitle(in: record, titles, body) else { return }
      previous = unfinished.last
    }
    let (number, limit, offset) = (Int64(record.id), Int64(limit), Int64(max(0, offset)))
    let statement =
      if let previous {
        try transaction.database.statement(
          SQL.pageAfter, number, previous.position, previous.id.rawValue, limit, offset)
      } else {
        try transaction.database.statement(SQL.page, number, limit, offset)
      }
    let order = OrderCheck(collection: record.id, after: previous, limit: transaction.state.count)
    try transaction.scan(statement, order, RowScan(withTexts: false)) { header, _ in try body(header) }
  }

  /// Calls `body` with every document of a collection in order, texts as bytes that are valid during each call.
  ///
  /// Opens every head and text, one at a time. One read transaction: in rollback journal mode, writers wait until it
  /// ends. With a `previous` header the walk begins behind that document.
  ///
  /// - Throws: errors of `body`, which end the walk; `damaged` with the id at the first damaged document.
  public func forEach(
    in collection: DocumentCollection, after previous: DocumentHeader? = nil, _ body: (OpenedDocument) throws -> Void
  ) throws {
    guard let record = try transaction.collection(named: collection.name) else { return }
    try transaction.scan(record, after: previous, RowScan(withTexts: true)) { header, text in
      try body(OpenedDocument(header: header, utf8: text))
    }
  }
}

/// Ends a walk from within.
struct EnoughFound: Error {}
