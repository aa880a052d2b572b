package import CofferDocuments
package import CofferSealing

/// Reads single rows by ID, or by a key's blind index.
///
/// Use it on one thread at a time. A row and its opened parts point to the reader's statements and memory, and are
/// valid until the reader's next call.
package final class RecordReader {
  package let opener: RecordOpener
  private let database: StoreDatabase
  // Compiled on first use and bound for each row. Exclusive access isn't checked, because only one thread at a time
  // calls the reader.
  @exclusivity(unchecked) private var record: StoreStatement?
  @exclusivity(unchecked) private var recordWithBody: StoreStatement?
  @exclusivity(unchecked) private var recordByIndex: StoreStatement?
  @exclusivity(unchecked) private var recordByIndexWithBody: StoreStatement?
  /// The statement that was stepped since the last reset.
  @exclusivity(unchecked) private var running: StoreStatement?

  /// - Parameter checksBounds: The same as in ``RecordOpener/init(_:checksBounds:)``.
  package init(_ database: StoreDatabase, _ keys: RowKeys, checksBounds: Bool = true) {
    self.database = database
    opener = RecordOpener(keys, checksBounds: checksBounds)
  }

  package var keys: RowKeys { opener.keys }

  /// Resets the running statement, which releases its lock.
  package func reset() {
    running?.reset()
    running = nil
  }

  /// Releases the statements.
  package func end() {
    running = nil
    record = nil
    recordWithBody = nil
    recordByIndex = nil
    recordByIndexWithBody = nil
  }

  // MARK: Rows

  /// - Throws: `noSuchDocument`, `damaged`.
  package func row(_ id: DocumentID, withBody: Bool, within limits: RowLimits) throws(StoreError) -> RecordRow {
    let statement = try withBody ? prepared(&recordWithBody, SQL.recordWithBody) : prepared(&record, SQL.record)
    try statement.bind(id.rawValue, at: 1)
    guard try statement.step() else { throw .noSuchDocument(id) }
    return try RecordRow(statement.columns(), within: limits)
  }

  /// Returns whether a row with this ID exists, even if it's damaged.
  package func hasRow(_ id: DocumentID) throws(StoreError) -> Bool {
    let statement = try prepared(&record, SQL.record)
    try statement.bind(id.rawValue, at: 1)
    defer { reset() }
    return try statement.step()
  }

  /// Returns the row with a key's blind index, or `nil` if it doesn't exist.
  package func row(
    withBlindIndex index: [UInt8], in collection: UInt32, withBody: Bool = false, within limits: RowLimits
  ) throws(StoreError) -> RecordRow? {
    let statement =
      try withBody
      ? prepared(&recordByIndexWithBody, SQL.recordByBlindIndexWithBody)
      : prepared(&recordByIndex, SQL.recordByBlindIndex)
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

  /// Returns a document's verified header.
  package func header(_ id: DocumentID, within limits: RowLimits) throws(StoreError) -> DocumentHeader {
    let row = try row(id, withBody: false, within: limits)
    return DocumentHeader(row, try opener.openHead(row))
  }

  /// Returns a document after verifying and opening it.
  package func document(_ id: DocumentID, within limits: RowLimits) throws(StoreError) -> OpenedDocument {
    let row = try row(id, withBody: true, within: limits)
    let head = try opener.openHead(row)
    return OpenedDocument(header: DocumentHeader(row, head), utf8: try opener.openBody(row, head))
  }

  /// Returns a stored document before a change.
  ///
  /// - Parameter provesText: Whether the text will be resealed, so its digest must match the head's.
  package func storedDocument(
    _ id: DocumentID, within limits: RowLimits, acceptingNewer acceptsNewer: Bool = false, provingText provesText: Bool
  ) throws(StoreError) -> StoredDocument {
    let row = try row(id, withBody: true, within: limits)
    let head = try opener.openHead(row, acceptsNewer: acceptsNewer)
    let opened = OpenedDocument(
      header: DocumentHeader(row, head), utf8: try opener.openBody(row, head, comparesDigest: provesText ? true : nil))
    return StoredDocument(
      header: opened.header, document: Document(opened), fields: row.fields,
      storedKey: head.key.map { DocumentKey(bytes: $0) }, blindIndex: row.blindIndex.map { Array($0) },
      bodyTag: Array(row.bodyTag), history: DocumentHistory(head),
      textDigest: head.textDigest, extensionBytes: Array(head.extensionPart.bytes),
      element: try opener.element(of: row))
  }

  /// Returns the document whose key has this blind index, after verifying its head.
  package func holder(ofBlindIndex index: [UInt8], in collection: UInt32, within limits: RowLimits)
    throws(StoreError) -> DocumentID?
  {
    guard let row = try row(withBlindIndex: index, in: collection, within: limits) else { return nil }
    _ = try opener.openHead(row)
    return DocumentID(row.fields.id)
  }

  /// Returns the document with a key in any live epoch.
  ///
  /// - Throws: `damaged` if the index lists a document whose head contains another key.
  package func id(forKey key: DocumentKey, in collection: CollectionRecord, within limits: RowLimits)
    throws(StoreError) -> DocumentID?
  {
    try row(forKey: key, in: collection, within: limits).map { DocumentID($0.row.fields.id) }
  }

  /// Returns the row with a key and its opened head.
  package func row(
    forKey key: DocumentKey, in collection: CollectionRecord, withBody: Bool = false, within limits: RowLimits
  ) throws(StoreError) -> (row: RecordRow, head: HeadData)? {
    let folded = try collection.folded(key)
    for context in keys.epochs {
      let index = try keys.blindIndex(ofFolded: folded, in: collection.id, under: context)
      guard let row = try row(withBlindIndex: index, in: collection.id, withBody: withBody, within: limits) else {
        continue
      }
      let head = try opener.openHead(row)
      guard row.fields.collection == collection.id, try collection.folds(head.key, to: folded) else {
        throw .damagedDocument(row.fields.id, "the index of keys names it for another key")
      }
      return (row, head)
    }
    return nil
  }
}

/// A stored document before a change.
package struct StoredDocument {
  package var header: DocumentHeader
  package var document: Document
  /// The row's plaintext columns.
  package let fields: RowFields
  /// The key, even if another document holds it and this document reads as having no key.
  package let storedKey: DocumentKey?
  package let blindIndex: [UInt8]?
  package let bodyTag: [UInt8]
  package let history: DocumentHistory
  package let textDigest: TextDigest
  /// The entries of later versions.
  let extensionBytes: [UInt8]
  /// The row's set hash element.
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
