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
  /// The rows in both files with different bytes, sorted by ID.
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
  }
}
