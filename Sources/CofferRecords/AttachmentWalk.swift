internal import CofferSQLite

/// Reads the rows of all attachments in the order of their numbers.
package struct AttachmentWalk {
  private static let pageSize: Int64 = 64

  private let database: StoreDatabase
  private let limits: RowLimits
  private let next: UInt64
  private var last: Int64

  /// - Parameters:
  ///   - next: The state's next attachment, which is 1 in a store without attachments.
  ///   - last: The number after which to begin.
  package init(_ database: StoreDatabase, within limits: RowLimits, below next: UInt64, after last: Int64 = 0) {
    self.database = database
    self.last = last
    self.limits = limits
    self.next = next
  }

  /// Returns the next row that a closure accepts, or `nil` if there is none.
  package mutating func first(where accepts: (AttachmentRow) throws(StoreError) -> Bool) throws(StoreError)
    -> AttachmentRow?
  {
    while next > 1 {
      let page = try nextPage()
      guard !page.isEmpty else { return nil }
      for columns in page {
        try step(to: columns)
        let row = try row(columns)
        if try accepts(row) { return row }
      }
    }
    return nil
  }

  private func nextPage() throws(StoreError) -> [SQLiteRow] {
    try database.rows(SQL.attachments, last, Self.pageSize)
  }

  /// - Throws: `damaged` for a row that isn't behind the last one. The walk can't go on then.
  private mutating func step(to columns: SQLiteRow) throws(StoreError) {
    guard case .integer(let number) = columns[0], number > last else {
      throw .damagedStore("the attachment behind \(last) is not in its place")
    }
    last = number
  }

  private func row(_ columns: SQLiteRow) throws(StoreError) -> AttachmentRow {
    try AttachmentRow(columns, within: limits, below: next)
  }

  /// Calls a closure for each row.
  ///
  /// - Parameters:
  ///   - refused: Called with the error of a row that is out of its bounds. It throws the error to end the walk.
  /// - Throws: `damaged` for a row out of its place.
  package mutating func forEach(
    refused: (StoreError) throws(StoreError) -> Void = { error throws(StoreError) in throw error },
    _ body: (AttachmentRow) throws(StoreError) -> Void
  ) throws(StoreError) {
    guard next > 1 else { return }
    while true {
      let page = try nextPage()
      guard !page.isEmpty else { return }
      for columns in page {
        try step(to: columns)
        let row: AttachmentRow
        do throws(StoreError) {
          row = try self.row(columns)
        } catch {
          try refused(error)
          continue
        }
        try body(row)
      }
    }
  }
}
