internal import CofferEngine
internal import CofferRecords
internal import CofferSearch

// Lists in order. Reading a header doesn't decrypt its text, and one statement reads a whole page. A missing collection
// is empty, because inserting the first document creates it.

extension StoreReading where Self: ~Copyable {
  /// Returns a page of headers in order. Decrypts the page's heads without texts, and keeps only the page in memory.
  ///
  /// - Parameters:
  ///   - collection: The collection. A missing collection is empty.
  ///   - previous: The previous page's last header. Its position doesn't affect the cost.
  ///   - offset: The number of documents to skip, each at the cost of an index entry.
  ///   - limit: The maximum number of headers.
  /// - Returns: The headers, sorted by (position, ID), or an empty array at the end.
  /// - Throws: `damaged`, even if an attacker only changed the order.
  public func headers(
    in collection: DocumentCollection, after previous: DocumentHeader? = nil, offset: Int = 0, limit: Int = .max
  ) throws(StoreError) -> [DocumentHeader] {
    var headers: [DocumentHeader] = []
    try expectingStoreErrors {
      try forEachHeader(in: collection, after: previous, offset: offset, limit: limit) { headers.append($0) }
    }
    return headers
  }

  /// Calls `body` with each header in order. Memory use doesn't depend on the number of headers.
  ///
  /// `previous`, `offset` and `limit` select a page, as in ``headers(in:after:offset:limit:)``.
  ///
  /// In `read`, a whole collection with a titles index is listed from the index. Each index page is verified when it's
  /// read. If a page is damaged or outdated, the remaining headers come from the documents.
  ///
  /// In `write`, `body` may change and delete documents, but can't add or move documents in this collection.
  ///
  /// - Throws: Errors of `body`, which end the iteration. `damaged` with the ID. `misuse` in `write` if `body` adds or
  ///   moves a document in the list.
  public func forEachHeader(
    in collection: DocumentCollection, after previous: DocumentHeader? = nil, offset: Int = 0, limit: Int = .max,
    _ body: (DocumentHeader) throws -> Void
  ) throws {
    // SQLite treats a negative limit as unlimited.
    guard limit > 0, let record = try transaction.collection(named: collection.name) else { return }
    var previous = previous
    if previous == nil, offset <= 0, limit == .max,
      let titles = try TitleListing(transaction).verifiedTitles(of: record)
    {
      guard
        let unfinished = try TitleListing(transaction).forEachTitle(
          in: record, titles, { try body(transaction.counted($0)) })
      else {
        return try transaction.requireCount()
      }
      previous = unfinished.last
    }
    let (number, limit, offset) = (Int64(record.id), Int64(limit), Int64(max(0, offset)))
    let statement =
      if let previous {
        try transaction.database.statement(
          SQL.pageAfter, in: record.id, at: previous.position, previous.id.rawValue, limit, offset)
      } else {
        try transaction.database.statement(SQL.page, number, limit, offset)
      }
    let order = OrderCheck(collection: record.id, after: previous, limit: transaction.state.count)
    var scan = RowScan(withTexts: false)
    scan.isWhole = limit == .max && offset == 0
    scan.countsAttachments = true
    try transaction.scan(statement, order, scan) { header, _ in try body(header) }
  }

  /// Calls `body` with each document of a collection in order. The text's bytes are valid during each call.
  ///
  /// Decrypts every head and text, one at a time, in one read transaction. In rollback journal mode, writers wait until
  /// it ends. With a `previous` header, the iteration starts after that document.
  ///
  /// - Throws: Errors of `body`, which end the iteration. `damaged` with the ID of the first damaged document.
  public func forEach(
    in collection: DocumentCollection, after previous: DocumentHeader? = nil, _ body: (OpenedDocument) throws -> Void
  ) throws {
    guard let record = try transaction.collection(named: collection.name) else { return }
    var scan = RowScan(withTexts: true)
    scan.countsAttachments = true
    try transaction.scan(record, after: previous, scan) { header, text in
      try body(transaction.opened(header, text))
    }
  }

  /// Calls `body` with each document of several collections, and compares the documents with the state.
  ///
  /// When reading all collections, verifies the set hash, which costs a hash of each row. When reading some
  /// collections, verifies the store's row count.
  ///
  /// - Parameter isVerified: Whether to compare. Otherwise, the result is always `nil`.
  /// - Returns: The error `setMismatch`, after all documents have been passed, or `nil` if the documents match.
  package func forEach(
    in collections: [String], isVerified: Bool = true,
    _ body: (OpenedDocument, _ collection: String) throws -> Void
  ) throws -> StoreError? {
    // Names that only differ in composition are equal as Strings.
    let all = Set(try transaction.collections().map { Array($0.name.utf8) })
    let proof = isVerified && all.isSubset(of: collections.map { Array($0.utf8) }) ? SetProof() : nil
    for name in collections {
      guard let record = try transaction.collection(named: name) else { continue }
      var scan = RowScan(withTexts: true)
      scan.proof = proof
      scan.countsAttachments = true
      try transaction.scan(record, isWhole: false, scan) { header, text in
        try body(transaction.opened(header, text), name)
      }
    }
    guard isVerified else { return nil }
    do throws(StoreError) {
      if let proof { try proof.requireWhole(transaction) } else { try transaction.requireCount() }
      return nil
    } catch {
      guard error.code == .setMismatch else { throw error }
      return error
    }
  }
}

extension StoreReading where Self: ~Copyable {
  /// Returns a document's index in its collection's order, from 0. Each preceding document costs an index entry.
  ///
  /// - Throws: `noSuchDocument`, `damaged`.
  public func index(of id: DocumentID) throws(StoreError) -> Int {
    let header = try header(of: id)
    transaction.notes?.note([header.collection.rawValue])
    return try transaction.order.index(of: header)
  }

  /// Returns the document at an index in the collection's order, from 0. Each preceding document costs an index entry.
  ///
  /// - Throws: `indexOutOfRange`.
  public func id(at index: Int, in collection: DocumentCollection) throws(StoreError) -> DocumentID {
    guard index >= 0, let record = try transaction.collection(named: collection.name),
      let id = try transaction.order.id(at: index, in: record.id)
    else {
      throw StoreError(
        .indexOutOfRange, "there is no document at index \(index)",
        hint: "indexes go from 0 to one less than the number of documents")
    }
    return id
  }
}

/// An error that a closure throws to end its own iteration.
struct EnoughFound: Error {}
