internal import CCofferSQLite

/// A rank for FTS5 tables with outdated rows, which it ignores.
///
/// FTS5 can't delete a row from a contentless table without the old text, so the row of a changed text remains in the
/// table. FTS5's own `bm25()` counts such rows, which changes the order of results. This rank applies the same formula
/// to the current rows.
package final class FullTextRank {
  /// The name of the auxiliary function. `current_rank(TABLE)` returns NULL for an outdated row.
  package static let name = "current_rank"

  private let ranking: UnsafeMutablePointer<coffer_sqlite_ranking>
  /// The memory that `ranking` refers to.
  private var outdated: UnsafeMutableBufferPointer<Int64>
  private var ignored: UnsafeMutableBufferPointer<Bool>

  package init() {
    ranking = .allocate(capacity: 1)
    ranking.initialize(to: coffer_sqlite_ranking())
    outdated = UnsafeMutableBufferPointer(start: nil, count: 0)
    ignored = UnsafeMutableBufferPointer(start: nil, count: 0)
  }

  deinit {
    ranking.deallocate()
    outdated.deallocate()
    ignored.deallocate()
  }

  /// Sets the current rows for later queries. Don't call this method while a statement is running.
  ///
  /// - Parameters:
  ///   - rows: The number of current rows, which is at least 1.
  ///   - tokens: The number of tokens in the current rows.
  ///   - outdated: The IDs of the other rows, in ascending order.
  package func set(rows: Int64, tokens: Int64, outdated: [Int64]) {
    self.outdated.deallocate()
    self.outdated = .allocate(capacity: outdated.count)
    _ = self.outdated.initialize(from: outdated)
    ranking.pointee.rows = rows
    ranking.pointee.tokens = tokens
    ranking.pointee.outdated = UnsafePointer(self.outdated.baseAddress)
    ranking.pointee.outdated_count = Int64(outdated.count)
  }

  /// Sets the phrases that contribute to the score of later queries. Don't call this method while a statement is
  /// running.
  ///
  /// - Parameter phrases: Whether each phrase contributes. A query's further phrases also contribute.
  package func countOnly(_ phrases: [Bool]) {
    ignored.deallocate()
    ignored = .allocate(capacity: phrases.count)
    _ = ignored.initialize(from: phrases.map { !$0 })
    ranking.pointee.ignored = UnsafePointer(ignored.baseAddress)
    ranking.pointee.ignored_count = Int32(phrases.count)
  }

  fileprivate func add(to connection: Connection) throws(SQLiteError) {
    guard coffer_sqlite_add_rank(try connection.open(), Self.name, ranking) == SQLITE_OK else {
      throw SQLiteError(.notAllowed, "this SQLite has no full-text search (FTS5)")
    }
  }
}

extension Database {
  /// Registers the rank, which must live as long as this connection.
  package func add(_ rank: FullTextRank) throws(SQLiteError) {
    try rank.add(to: connection)
  }
}
