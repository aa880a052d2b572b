internal import CofferEngine
internal import CofferRecords

/// The rows that an observed list makes of a collection's documents.
struct ListContent<Element: Sendable>: Sendable {
  /// A Boolean value that indicates whether rows depend on texts, so changing a document's contents can add or remove
  /// its row.
  let readsTexts: Bool
  /// Returns a document's row, or `nil` if the list doesn't contain the document. The text is empty unless it's read.
  let element: @Sendable (OpenedDocument, CodableValues) throws(StoreError) -> Element?
  /// Returns the header in a row.
  let header: @Sendable (Element) -> DocumentHeader

  struct Row {
    let header: DocumentHeader
    let element: Element
    /// The generation that wrote the document's row.
    let revision: UInt64

    var id: DocumentID { header.id }
  }

  /// Returns a document's row, or `nil` if the list doesn't contain the document.
  func element(of header: DocumentHeader, _ transaction: StoreTransaction) throws(StoreError) -> Element? {
    guard readsTexts else { return try element(Self.untexted(header), transaction.values) }
    return try transaction.withOpened(header.id) { opened throws(StoreError) in
      try element(opened, transaction.values)
    }
  }

  /// Returns the first rows of a collection in order, or the first rows after a document.
  func rows(
    of record: CollectionRecord, after previous: DocumentHeader? = nil, limit: Int, _ transaction: StoreTransaction
  ) throws(StoreError) -> [Row] {
    guard limit > 0 else { return [] }
    var rows: [Row] = []
    var revision: UInt64 = 0
    var scan = RowScan(withTexts: readsTexts, noteFields: { revision = $0.revision })
    scan.isWhole = readsTexts || limit == .max
    scan.countsAttachments = true
    let order = OrderCheck(collection: record.id, after: previous, limit: transaction.state.count)
    let statement = try statement(record, previous, limit, transaction)
    try expectingStoreErrors {
      do {
        try transaction.scan(statement, order, scan) { header, text in
          let opened = OpenedDocument(header: header, utf8: text)
          guard let element = try element(opened, transaction.values) else { return }
          rows.append(Row(header: header, element: element, revision: revision))
          if readsTexts, rows.count == limit { throw EnoughFound() }
        }
      } catch is EnoughFound {}
    }
    return rows
  }

  /// Returns a statement without a limit if texts are read, because any number of documents may lack a row.
  private func statement(
    _ record: CollectionRecord, _ previous: DocumentHeader?, _ limit: Int, _ transaction: StoreTransaction
  ) throws(StoreError) -> StoreStatement {
    let database = transaction.database
    switch (previous, readsTexts) {
    case (nil, false): return try database.statement(SQL.page, Int64(record.id), Int64(limit), 0)
    case (nil, true): return try database.statement(SQL.inOrderWithBody, Int64(record.id))
    case (let last?, false):
      return try database.statement(
        SQL.pageAfter, in: record.id, at: last.position, last.id.rawValue, Int64(limit), 0)
    case (let last?, true):
      return try database.statement(SQL.pageAfterWithBody, in: record.id, at: last.position, last.id.rawValue)
    }
  }

  private static func untexted(_ header: DocumentHeader) -> OpenedDocument {
    OpenedDocument(header: header, utf8: UnsafeRawBufferPointer(start: nil, count: 0))
  }
}

extension ListContent<DocumentHeader> {
  /// All documents, without their texts.
  static var headers: Self {
    Self(readsTexts: false, element: { opened, _ throws(StoreError) in opened.header }, header: { $0 })
  }
}

extension ListContent {
  /// Returns a list content with the documents whose values are wanted.
  ///
  /// - Parameter isSkippingOthers: Whether to skip documents that aren't values of this type, instead of throwing.
  static func values<Value: Decodable & Sendable>(
    skippingOthers isSkippingOthers: Bool, where isWanted: @escaping @Sendable (Value) -> Bool
  ) -> ListContent<StoredValue<Value>> {
    ListContent<StoredValue<Value>>(
      readsTexts: true,
      element: { opened, values throws(StoreError) in
        guard let value = try values.value(Value.self, opened, skippingOthers: isSkippingOthers), isWanted(value) else {
          return nil
        }
        return StoredValue(header: opened.header, value: value)
      }, header: \.header)
  }
}
