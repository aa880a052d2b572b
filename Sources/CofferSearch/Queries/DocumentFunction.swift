internal import CofferEngine
internal import CofferRecords
internal import CofferSQLite

/// The SQL function `document_value(COLUMN, COLLECTION, ID)`, which returns column values for collection views.
///
/// It decrypts a document when a query reads its first column, and the text when a query reads a column that needs it.
/// A query that reads only indexed fields doesn't decrypt documents.
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

  /// Sets the transaction, or `nil` between queries.
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
    guard let transaction else { throw StoreError.queryEnded }
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
