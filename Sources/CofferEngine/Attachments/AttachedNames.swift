internal import CofferRecords
internal import CofferSQLite

/// Reads attachment names for indexes, document by document in the order of their IDs.
package final class AttachedNames {
  private let transaction: StoreTransaction
  private let rows: StoreStatement?
  private var next: AttachmentRow?
  private var order = AttachmentOrder()

  /// - Parameter ids: The IDs of the documents.
  package init(of ids: ClosedRange<Int64>, in transaction: StoreTransaction) throws(StoreError) {
    self.transaction = transaction
    rows =
      transaction.state.attachmentCount == 0
      ? nil : try transaction.database.statement(SQL.attachmentsOfAll, ids.lowerBound, ids.upperBound)
    next = try nextRow()
  }

  /// Ends the reading. The last call.
  package func end() { rows?.reset() }

  /// Returns a number that changes when an attachment of a document is added, renamed or removed, without opening one.
  ///
  /// - Parameter document: An ID greater than the IDs in earlier calls.
  package func mark(of document: Int64) throws(StoreError) -> Int64 {
    var mark: Int64 = 0
    try forEachRow(of: document) { row throws(StoreError) in mark &+= try row.element(transaction.keys).mark }
    return mark
  }

  /// Returns the number of ``mark(of:)`` and the names in the order in which the files were attached.
  ///
  /// Damaged attachments, and attachments of a later version, don't have a name.
  package func find(of document: Int64) throws(StoreError) -> (mark: Int64, names: [SearchMatch.AttachmentName]) {
    var mark: Int64 = 0
    var names: [SearchMatch.AttachmentName] = []
    try forEachRow(of: document) { row throws(StoreError) in
      mark &+= try row.element(transaction.keys).mark
      guard let record = try transaction.searchedRecord(row) else { return }
      names.append(
        SearchMatch.AttachmentName(attachment: Attachment.ID(rawValue: record.number), name: record.name, ranges: []))
    }
    return (mark, names)
  }

  private func forEachRow(of document: Int64, _ body: (AttachmentRow) throws(StoreError) -> Void) throws(StoreError) {
    while let row = next, row.document <= document {
      if row.document == document { try body(row) }
      next = try nextRow()
    }
  }

  /// Returns the next row within its bounds. Others aren't attachments, and verify reports them.
  private func nextRow() throws(StoreError) -> AttachmentRow? {
    while let rows, try rows.step() {
      try transaction.requireOpen()
      try order.step(to: rows)
      if let row = try? AttachmentRow(
        try rows.values(), within: transaction.limits, below: transaction.state.nextAttachment)
      {
        return row
      }
    }
    return nil
  }
}
