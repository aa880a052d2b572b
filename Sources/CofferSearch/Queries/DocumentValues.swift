internal import CofferDocuments
internal import CofferEngine
internal import CofferRecords
internal import CofferSQLite
internal import CofferText

/// The column values of the current document, for a cursor or the views' function.
final class DocumentValues {
  private let table: DocumentTable
  private let transaction: StoreTransaction
  private let reader: RecordReader
  private var row: RecordRow?
  private var head: HeadData?
  private var text: UnsafeRawBufferPointer?
  private var isJSON: Bool?

  /// - Parameter reader: The reader that reads the rows.
  init(_ table: DocumentTable, _ transaction: StoreTransaction, _ reader: RecordReader) {
    self.table = table
    self.transaction = transaction
    self.reader = reader
  }

  var isLoaded: Bool { row != nil }
  var id: Int64? { row?.fields.id }
  var collection: UInt32? { row?.fields.collection }
  var hasBody: Bool { row?.body != nil }

  func load(_ row: RecordRow, _ head: HeadData) {
    (self.row, self.head, text, isJSON) = (row, head, nil, nil)
  }

  func leave() {
    (row, head, text, isJSON) = (nil, nil, nil, nil)
    table.leave(self)
  }

  func give(_ column: DocumentTable.Column, to result: VirtualResult) throws {
    guard let row, let head else { return }
    table.note(self, DocumentID(rawValue: row.fields.id), withText: column == .text)
    switch column {
    case .collection:
      try table.noting { () throws(StoreError) in
        let record = try transaction.collections().first { $0.id == row.fields.collection }
        if let record { result.giveText(record.name) }
      }
    case .id: result.give(row.fields.id)
    case .position: result.giveText(DocumentPosition(verified: row.position).description)
    case .title: if let title = head.title { result.giveText(title) }
    case .text: result.giveText(try openedText(row, head))
    case .key:
      guard let key = head.key, !row.fields.isKeyHeldElsewhere else { return }
      if UTF8Validity.isValid(key) { result.giveText(key) } else { result.giveBlob(key) }
    case .created: result.giveText(Timestamp(millisecondsSince1970: head.created).description)
    case .modified: result.giveText(Timestamp(millisecondsSince1970: head.modified).description)
    case .isJSON: result.give(Int64(row.fields.isJSON ? 1 : 0))
    case .size: result.give(Int64(head.textCount))
    case .parent: if let parent = row.fields.parent { result.give(parent) }
    case .attributes: if !head.attributes.isEmpty { result.giveText(head.attributes) }
    case .json:
      let text = try openedText(row, head)
      let isJSON = self.isJSON ?? JSONScanner.isJSON(text)
      self.isJSON = isJSON
      if isJSON { result.giveText(text) }
    }
  }

  private func openedText(_ row: RecordRow, _ head: HeadData) throws -> UnsafeRawBufferPointer {
    if let text { return text }
    let opened = try table.noting { () throws(StoreError) in try reader.opener.openBody(row, head) }
    text = opened
    return opened
  }
}
