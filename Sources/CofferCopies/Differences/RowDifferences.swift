package import CofferDocuments
package import CofferEngine
internal import CofferRecords
internal import CofferSQLite

/// The document rows that differ between two files of one store, compared without a key.
///
/// An encrypted row shows only that it was rewritten. The cause can be an edit, a move, repositioning for another
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
  /// Compares both files row by row, in ID order.
  package init(_ one: StoreFile, _ other: StoreFile) throws(StoreError) {
    try translatingErrors { () throws(SQLiteError) in
      let left = try one.database.connection.statement(SQL.allWithBody)
      let right = try other.database.connection.statement(SQL.allWithBody)
      defer {
        left.reset()
        right.reset()
      }
      var (hasLeft, hasRight) = (try left.step(), try right.step())
      while hasLeft || hasRight {
        let id = hasLeft ? left.int64(at: 0) : .max
        let otherID = hasRight ? right.int64(at: 0) : .max
        if id < otherID {
          removed.append(DocumentID(id))
        } else if otherID < id {
          added.append(DocumentID(otherID))
        } else if try left.values() != right.values() {
          changed.append(DocumentID(id))
        }
        if hasLeft, id <= otherID { hasLeft = try left.step() }
        if hasRight, otherID <= id { hasRight = try right.step() }
      }
    }
    let attached = try Self.documentsWithOtherAttachments(one, other)
    if !attached.isEmpty { changed = attached.union(changed).subtracting(added + removed).sorted() }
  }

  /// Returns the documents that have an attachment in one file only, or with different bytes.
  private static func documentsWithOtherAttachments(
    _ one: StoreFile, _ other: StoreFile
  ) throws(StoreError) -> Set<DocumentID> {
    let hasRows = (try one.readHeader().0.hasAttachments, try other.readHeader().0.hasAttachments)
    return try translatingErrors { () throws(SQLiteError) in
      let left = hasRows.0 ? try one.database.connection.statement(SQL.allAttachments) : nil
      let right = hasRows.1 ? try other.database.connection.statement(SQL.allAttachments) : nil
      defer {
        left?.reset()
        right?.reset()
      }
      var documents: Set<DocumentID> = []
      var (row, otherRow) = (try left?.nextValues(), try right?.nextValues())
      while row != nil || otherRow != nil {
        // The rows are in the order of their documents, then of their numbers.
        let (place, otherPlace) = (Place(row), Place(otherRow))
        if row != otherRow { documents.insert(DocumentID(min(place, otherPlace).document)) }
        if place <= otherPlace { row = try left?.nextValues() }
        if otherPlace <= place { otherRow = try right?.nextValues() }
      }
      return documents
    }
  }

  /// The place of an attachment's row among the others, which is last if there is no row.
  private struct Place: Comparable {
    var (document, number) = (Int64.max, Int64.max)

    init(_ row: [SQLiteValue]?) {
      if let row, case .integer(let number) = row[0], case .integer(let document) = row[1] {
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
