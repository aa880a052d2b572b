internal import CofferSQLite

/// Reads all attachments' rows in the order of their numbers.
package struct AttachmentWalk {
  private static let pageSize: Int64 = 64

  private let database: StoreDatabase
  private let limits: RowLimits
  private let next: UInt64?
  /// The lowest number of the next rows, or `nil` at the end. Rows below 1 are also read, because they're damage.
  private var lowest: Int64?

  /// - Parameters:
  ///   - next: The state's next attachment, or `nil` in a store without attachment tables.
  ///   - number: The number after which to begin, or `nil` to begin with the first row.
  package init(_ database: StoreDatabase, within limits: RowLimits, next: UInt64?, after number: Int64? = nil) {
    self.database = database
    lowest = if let number { number.successor } else { .min }
    self.limits = limits
    self.next = next
  }

  /// Returns the next row that a closure accepts, or `nil` if there isn't one.
  package mutating func first(where accepts: (AttachmentRow) throws(StoreError) -> Bool) throws(StoreError)
    -> AttachmentRow?
  {
    while let next {
      let page = try nextPage()
      guard !page.isEmpty else { return nil }
      for columns in page {
        try step(to: columns)
        let row = try AttachmentRow(columns, within: limits, below: next)
        if try accepts(row) { return row }
      }
    }
    return nil
  }

  private func nextPage() throws(StoreError) -> [SQLiteRow] {
    guard let lowest else { return [] }
    return try database.rows(SQL.attachments, lowest, Self.pageSize)
  }

  /// - Throws: `damaged` for a row that doesn't follow the previous row. The walk can't continue then.
  private mutating func step(to columns: SQLiteRow) throws(StoreError) {
    guard case .integer(let number) = columns[0], let lowest, number >= lowest else {
      throw .damagedStore("the row of an attachment is not in its place")
    }
    self.lowest = number.successor
  }

  /// Calls a closure for each row.
  ///
  /// - Parameters:
  ///   - refused: Called with the error for a row that's out of bounds. Throws the error to end the walk.
  /// - Throws: `damaged` for a row in the wrong order.
  package mutating func forEach(
    refused: (StoreError) throws(StoreError) -> Void = { error throws(StoreError) in throw error },
    _ body: (AttachmentRow) throws(StoreError) -> Void
  ) throws(StoreError) {
    while let next {
      let page = try nextPage()
      guard !page.isEmpty else { return }
      for columns in page {
        try step(to: columns)
        let row: AttachmentRow
        do throws(StoreError) {
          row = try AttachmentRow(columns, within: limits, below: next)
        } catch {
          try refused(error)
          continue
        }
        try body(row)
      }
    }
  }
}

extension Int64 {
  /// The next number, or `nil` after the greatest.
  var successor: Int64? { self == .max ? nil : self + 1 }
}
