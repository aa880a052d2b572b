internal import CofferSQLite

// Listing, in order. No text is opened for a header, and one statement reads a whole page.

extension ReadScope where Self: ~Copyable {
  /// A page of headers in order.
  ///
  /// - Parameters:
  ///   - after: the last header of the page before; costs the same wherever it stands.
  ///   - offset: how many to pass over, each at the cost of an index entry.
  /// - Throws: `noSuchCollection`; `damaged` also when the order itself was tampered with.
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

  /// Every header in order, one at a time.
  ///
  /// In `write`, `body` may change and delete documents, but not add or move any within this collection.
  public func forEachHeader(
    in collection: DocumentCollection, after previous: DocumentHeader? = nil, offset: Int = 0, limit: Int = .max,
    _ body: (DocumentHeader) throws -> Void
  ) throws {
    let record = try transaction.requireCollection(collection)
    let statement = try storing { () throws(SQLiteError) in
      let statement = try transaction.database.statement(previous == nil ? SQL.page : SQL.pageAfter)
      try statement.bind(Int64(record.id), at: 1)
      if let previous {
        try statement.bind(previous.position, at: 2)
        try statement.bind(previous.id.rawValue, at: 3)
      }
      try statement.bind(Int64(limit), at: previous == nil ? 2 : 4)
      try statement.bind(Int64(offset), at: previous == nil ? 3 : 5)
      return statement
    }
    let order = OrderCheck(collection: record.id, after: previous, limit: transaction.state.count)
    try transaction.walk(statement, order, Walk(withTexts: false)) { header, _ in try body(header) }
  }

  /// Every document of a collection in order, texts as bytes that are valid during each call.
  ///
  /// One read transaction: in the rollback journal, writers wait until it ends.
  ///
  /// - Throws: what `body` throws; `damaged` with the id at the first document that is.
  public func forEach(in collection: DocumentCollection, _ body: (OpenedDocument) throws -> Void) throws {
    let record = try transaction.requireCollection(collection)
    try transaction.walk(record, Walk(withTexts: true)) { header, text in
      try body(OpenedDocument(header: header, utf8: text))
    }
  }
}

extension StoreTransaction {
  /// A whole collection in order.
  func walk(_ record: CollectionRecord, _ walk: Walk, _ visit: Walk.Visit) throws {
    let statement = try storing { () throws(SQLiteError) in
      let statement = try database.statement(walk.withTexts ? SQL.inOrderWithBody : SQL.inOrder)
      try statement.bind(Int64(record.id), at: 1)
      return statement
    }
    try self.walk(statement, OrderCheck(collection: record.id, after: nil, limit: state.count), walk, visit)
  }
}

/// The order that authenticated rows must come in: an index in disorder could show rows twice or hide them.
struct OrderCheck {
  private enum Listed {
    case collection(UInt32)
    case children(of: Int64)
  }

  private let listed: Listed
  private var last: (position: Int64, id: Int64)?
  /// As many rows as the store had can come; more are rows that the list's own body moves on before it.
  private var left: UInt64

  init(collection: UInt32, after header: DocumentHeader?, limit: UInt64) {
    listed = .collection(collection)
    left = limit
    last = header.map { ($0.position, $0.id.rawValue) }
  }

  init(childrenOf parent: DocumentID, limit: UInt64) {
    listed = .children(of: parent.rawValue)
    left = limit
  }

  mutating func check(_ fields: RowFields, isWriting: Bool) throws(StoreError) {
    switch listed {
    case .collection(let collection): try fields.require(collection)
    case .children(let parent):
      guard fields.parent == parent else { throw .damagedDocument(fields.id, "the list names it under another parent") }
    }
    if let last, (fields.position, fields.id) <= last {
      throw .damagedDocument(fields.id, "the list is not in order")
    }
    last = (fields.position, fields.id)
    guard left > 0 || !isWriting else { throw .writtenWhileListed(fields.id) }
    left = left == 0 ? 0 : left - 1
  }
}
