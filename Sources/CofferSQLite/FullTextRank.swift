internal import CCofferSQLite

/// A rank for FTS5 tables that hold outdated rows, too: they count for nothing.
///
/// FTS5 can't delete from a table without contents unless it gets the old text again. So the row of a text that has
/// changed stays, and FTS5's own `bm25()` counts it: the order of results changes. This rank is the same formula over
/// the rows that are current.
package final class FullTextRank {
  /// The name of the auxiliary function: `current_rank(TABLE)` is NULL for an outdated row.
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

  /// Sets the rows that count in the queries from now on; no statement may be running.
  ///
  /// - Parameters:
  ///   - rows: the number of current rows, 1 at least.
  ///   - tokens: the tokens in them.
  ///   - outdated: the other rows, in rising order.
  package func set(rows: Int64, tokens: Int64, outdated: [Int64]) {
    self.outdated.deallocate()
    self.outdated = .allocate(capacity: outdated.count)
    _ = self.outdated.initialize(from: outdated)
    ranking.pointee.rows = rows
    ranking.pointee.tokens = tokens
    ranking.pointee.outdated = UnsafePointer(self.outdated.baseAddress)
    ranking.pointee.outdated_count = Int64(outdated.count)
  }

  /// Sets the phrases that add to the score of the next queries; no statement may be running.
  ///
  /// - Parameter phrases: Whether each phrase counts. Others that a query has count, too.
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
