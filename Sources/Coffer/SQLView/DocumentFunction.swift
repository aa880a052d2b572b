internal import CofferRecords
internal import CofferSQLite

/// `document_value(COLUMN, COLLECTION, ID)`: a column of a document that an index names, for the views of collections.
///
/// It opens the document at the first column that is asked for, and the text at the first column that shows it. So a query
/// that reads nothing but indexed fields opens no document.
final class DocumentFunction: ScalarFunction {
  static let name = "document_value"

  let argumentCount = 3
  private let table: DocumentTable
  private var transaction: StoreTransaction?
  private var reader: RecordReader?
  private var document: DocumentValues?

  init(_ table: DocumentTable) {
    self.table = table
  }

  /// Shows another transaction, or none between queries.
  func show(_ transaction: StoreTransaction?) {
    document = nil
    if let reader { self.transaction?.connection.giveBack(reader) }
    reader = nil
    self.transaction = transaction
  }

  func give(_ arguments: ScalarArguments, to result: VirtualResult) throws {
    guard let column = DocumentTable.Column(rawValue: Int(arguments.integer(at: 0))) else { return }
    let (collection, id) = (arguments.integer(at: 1), arguments.integer(at: 2))
    let document = try table.noting { () throws(StoreError) in
      try opened(id, in: collection, withText: [.text, .json].contains(column))
    }
    try document.give(column, to: result)
  }

  private func opened(_ id: Int64, in collection: Int64, withText: Bool) throws(StoreError) -> DocumentValues {
    guard let transaction else { throw StoreError(.misuse, "this query has ended: read its rows within its closure") }
    if let document, document.id == id, document.collection.map(Int64.init) == collection,
      !withText || document.hasBody
    {
      return document
    }
    try transaction.requireOpen()
    let reader = self.reader ?? transaction.connection.takeReader()
    self.reader = reader
    let document = self.document ?? DocumentValues(table, transaction, reader)
    self.document = document
    document.leave()
    do throws(StoreError) {
      let row = try reader.row(DocumentID(rawValue: id), withBody: withText, within: transaction.limits)
      document.load(row, try reader.opener.openHead(row))
    } catch {
      guard error.code == .noSuchDocument else { throw error }
      throw IndexRoot.damaged("it names document \(id), which is not there")
    }
    guard document.collection.map(Int64.init) == collection else {
      throw IndexRoot.damaged("it names document \(id) in another collection")
    }
    return document
  }
}
