package import CofferDocuments
package import CofferSealing

/// Reads single rows: by id, or by the blind index of a key.
///
/// Belongs to one thread at a time. A row, and everything opened from it, points into the reader's statements and
/// memory, and is valid until the reader's next call.
package final class RecordReader {
  package let opener: RecordOpener
  private let database: StoreDatabase
  // Compiled at their first use, and bound again for each row. One thread at a time calls, so the run-time check of
  // exclusive access is left out.
  @exclusivity(unchecked) private var record: StoreStatement?
  @exclusivity(unchecked) private var recordWithBody: StoreStatement?
  @exclusivity(unchecked) private var recordByIndex: StoreStatement?
  /// The one that has been stepped since the last reset.
  @exclusivity(unchecked) private var running: StoreStatement?

  /// - Parameter checksBounds: as in ``RecordOpener/init(_:checksBounds:)``.
  package init(_ database: StoreDatabase, _ keys: RowKeys, checksBounds: Bool = true) {
    self.database = database
    opener = RecordOpener(keys, checksBounds: checksBounds)
  }

  package var keys: RowKeys { opener.keys }

  /// Ends the run of a statement, and with it the lock that it holds.
  package func reset() {
    running?.reset()
    running = nil
  }

  /// Gives the statements back to the connection.
  package func end() {
    running = nil
    record = nil
    recordWithBody = nil
    recordByIndex = nil
  }

  // MARK: Rows

  /// - Throws: `noSuchDocument`, `damaged`.
  package func row(_ id: DocumentID, withBody: Bool, within limits: RowLimits) throws(StoreError) -> RecordRow {
    let statement = try withBody ? prepared(&recordWithBody, SQL.recordWithBody) : prepared(&record, SQL.record)
    try statement.bind(id.rawValue, at: 1)
    guard try statement.step() else { throw .noSuchDocument(id) }
    return try RecordRow(statement.columns(), within: limits)
  }

  /// Whether there is a row of that id, sound or not.
  package func hasRow(_ id: DocumentID) throws(StoreError) -> Bool {
    let statement = try prepared(&record, SQL.record)
    try statement.bind(id.rawValue, at: 1)
    defer { reset() }
    return try statement.step()
  }

  /// The row that the blind index of a key names; nil if it names none.
  package func row(withBlindIndex index: [UInt8], in collection: UInt32, within limits: RowLimits) throws(StoreError)
    -> RecordRow?
  {
    let statement = try prepared(&recordByIndex, SQL.recordByBlindIndex)
    try statement.bind(Int64(collection), at: 1)
    let isFound = try index.withBytes { bytes throws(StoreError) in
      try statement.bindBlob(bytes, at: 2)
      return try statement.step()
    }
    return isFound ? try RecordRow(statement.columns(), within: limits) : nil
  }

  private func prepared(_ statement: inout StoreStatement?, _ sql: String) throws(StoreError) -> StoreStatement {
    reset()
    let prepared = if let statement { statement } else { try database.statement(sql) }
    statement = prepared
    running = prepared
    return prepared
  }

  // MARK: Documents

  /// The header of a document, its head verified.
  package func header(_ id: DocumentID, within limits: RowLimits) throws(StoreError) -> DocumentHeader {
    let row = try row(id, withBody: false, within: limits)
    return DocumentHeader(row, try opener.openHead(row))
  }

  /// A document, verified and opened.
  package func document(_ id: DocumentID, within limits: RowLimits) throws(StoreError) -> OpenedDocument {
    let row = try row(id, withBody: true, within: limits)
    let head = try opener.openHead(row)
    return OpenedDocument(header: DocumentHeader(row, head), utf8: try opener.openBody(row, head))
  }

  /// Stored document, before the change.
  package func storedDocument(_ id: DocumentID, within limits: RowLimits) throws(StoreError) -> StoredDocument {
    let row = try row(id, withBody: true, within: limits)
    let head = try opener.openHead(row)
    let opened = OpenedDocument(header: DocumentHeader(row, head), utf8: try opener.openBody(row, head))
    return StoredDocument(
      header: opened.header, document: Document(opened), fields: row.fields,
      blindIndex: row.blindIndex.map { Array($0) }, bodyTag: Array(row.bodyTag), stamps: head.stamps,
      element: try opener.element(of: row))
  }

  /// The document whose key has that blind index, its head verified.
  package func holder(ofBlindIndex index: [UInt8], in collection: UInt32, within limits: RowLimits)
    throws(StoreError) -> DocumentID?
  {
    guard let row = try row(withBlindIndex: index, in: collection, within: limits) else { return nil }
    _ = try opener.openHead(row)
    return DocumentID(row.fields.id)
  }

  /// The document with that key, found under every live epoch.
  ///
  /// - Throws: `damaged` if the index names a document whose head holds another key.
  package func id(forKey key: ExternalKey, in collection: CollectionRecord, within limits: RowLimits)
    throws(StoreError) -> DocumentID?
  {
    try row(forKey: key, in: collection, within: limits).map { DocumentID($0.row.fields.id) }
  }

  /// The row with that key, without its body, and its opened head.
  package func row(forKey key: ExternalKey, in collection: CollectionRecord, within limits: RowLimits)
    throws(StoreError) -> (row: RecordRow, head: HeadData)?
  {
    let folded = try collection.folded(key)
    for context in keys.epochs {
      let index = try keys.blindIndex(ofFolded: folded, in: collection.id, under: context)
      guard let row = try row(withBlindIndex: index, in: collection.id, within: limits) else { continue }
      let head = try opener.openHead(row)
      guard row.fields.collection == collection.id, try collection.folds(head.key, to: folded) else {
        throw .damagedDocument(row.fields.id, "the index of keys names it for another key")
      }
      return (row, head)
    }
    return nil
  }
}

/// Stored document, before a change.
package struct StoredDocument {
  package let header: DocumentHeader
  package var document: Document
  /// The row's plaintext columns.
  package let fields: RowFields
  package let blindIndex: [UInt8]?
  package let bodyTag: [UInt8]
  package let stamps: DocumentStamps
  /// The row's element of the set hash.
  package let element: SetElement
}

extension Document {
  package init(_ opened: OpenedDocument) {
    let header = opened.header
    self.init(
      title: header.title, text: opened.text, key: header.key, attributes: header.attributes, parent: header.parent,
      created: header.created, modified: header.modified, isJSON: header.isJSON)
  }
}
