package import CofferDocuments
package import CofferEngine
internal import CofferRecords
internal import CofferSQLite

/// The document rows that differ between two files of one store, compared without a key.
///
/// An encrypted row only shows that it was rewritten. The cause can be an edit, a move, repositioning for another
/// document, or a rekey.
package struct RowDifferences: Sendable, Hashable {
  /// The rows missing from the first file, sorted by ID.
  package private(set) var added: [DocumentID] = []
  /// The rows missing from the second file, sorted by ID.
  package private(set) var removed: [DocumentID] = []
  /// The documents in both files whose row, or the row of an attachment, differs, sorted by ID.
  package private(set) var changed: [DocumentID] = []

  /// A Boolean value that indicates whether both files have the same rows.
  package var isEmpty: Bool { added.isEmpty && removed.isEmpty && changed.isEmpty }
}

extension RowDifferences {
  /// Compares both files row by row, in the order of the documents' IDs.
  package init(_ one: StoreFile, _ other: StoreFile) throws(StoreError) {
    let hasAttachments = (try one.readHeader().0.hasAttachments, try other.readHeader().0.hasAttachments)
    let (left, right) = (one.database.connection, other.database.connection)
    var attached: Set<DocumentID> = []
    try translatingErrors { () throws(SQLiteError) in
      try Self.forEachDifference(
        try left.statement(SQL.allWithBody), try right.statement(SQL.allWithBody), documentColumn: 0
      ) { id, isInOne, isInOther in
        switch (isInOne, isInOther) {
        case (true, true): changed.append(id)
        case (true, false): removed.append(id)
        default: added.append(id)
        }
      }
      try Self.forEachDifference(
        hasAttachments.0 ? try left.statement(SQL.allAttachments) : nil,
        hasAttachments.1 ? try right.statement(SQL.allAttachments) : nil, documentColumn: 1
      ) { id, _, _ in attached.insert(id) }
    }
    if !attached.isEmpty { changed = attached.union(changed).subtracting(added + removed).sorted() }
  }

  /// Calls a closure for each row that only one statement returns, or that differs. Passes the row's document, and
  /// whether each statement returned a row.
  ///
  /// - Parameter documentColumn: The column with the document's ID. The rows are in the order of these IDs, then of the
  ///   numbers in column 0.
  private static func forEachDifference(
    _ left: Statement?, _ right: Statement?, documentColumn: Int, _ body: (DocumentID, Bool, Bool) -> Void
  ) throws(SQLiteError) {
    defer {
      left?.reset()
      right?.reset()
    }
    var (row, otherRow) = (try left?.nextValues(), try right?.nextValues())
    while row != nil || otherRow != nil {
      let (place, otherPlace) = (Place(row, documentColumn), Place(otherRow, documentColumn))
      if row != otherRow { body(DocumentID(min(place, otherPlace).document), place <= otherPlace, otherPlace <= place) }
      if place <= otherPlace { row = try left?.nextValues() }
      if otherPlace <= place { otherRow = try right?.nextValues() }
    }
  }

  /// A row's sort key, which is last if there's no row.
  private struct Place: Comparable {
    var (document, number) = (Int64.max, Int64.max)

    init(_ row: [SQLiteValue]?, _ documentColumn: Int) {
      if let row, case .integer(let number) = row[0], case .integer(let document) = row[documentColumn] {
        (self.document, self.number) = (document, number)
      }
    }

    static func < (one: Place, other: Place) -> Bool {
      (one.document, one.number) < (other.document, other.number)
    }
  }
}

extension Statement {
  /// Returns the values of the next row, or `nil` at the end.
  fileprivate func nextValues() throws(SQLiteError) -> [SQLiteValue]? { try step() ? try values() : nil }
}
