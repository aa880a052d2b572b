public import CofferDocuments
internal import CofferRecords
internal import CofferSQLite

/// The rows of documents that differ between two files of one store, found without a key.
///
/// A sealed row says no more than that it was written since: an edit, a move, making room for another document and a
/// rekey all change it.
public struct RowDifferences: Sendable, Hashable {
  /// Rows in the second file only, sorted by id.
  public internal(set) var added: [DocumentID] = []
  /// Rows in the first file only, sorted by id.
  public internal(set) var removed: [DocumentID] = []
  /// Rows in both files, with other bytes, sorted by id.
  public internal(set) var changed: [DocumentID] = []

  /// Whether the rows of both files are the same.
  public var isEmpty: Bool { added.isEmpty && removed.isEmpty && changed.isEmpty }
}

extension RowDifferences {
  /// Walks the rows of both files by id.
  init(_ one: StoreFile, _ other: StoreFile) throws(StoreError) {
    do throws(SQLiteError) {
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
    } catch {
      throw StoreError(error)
    }
  }
}
