internal import CofferRecords
internal import CofferSQLite

/// A check of how the rows of the tables fit together, and of SQLite's pages.
struct TableCheck {
  private(set) var damaged: [Verdict.Damage] = []
  private(set) var problems: [String] = []

  /// - Throws: Errors that aren't findings: `systemFailure`, `locked`, `cancelled`.
  init(_ transaction: StoreTransaction) throws(StoreError) {
    let database = transaction.database
    func ids(_ sql: String) throws(StoreError) -> [Int64] {
      do throws(StoreError) {
        return try database.rows(sql).compactMap { if case .integer(let id) = $0[0] { id } else { nil } }
      } catch {
        guard !error.isTransient else { throw error }
        // The pages are corrupt, which the integrity check reports.
        return []
      }
    }
    var known: Set<Int64> = []
    func note(_ sql: String, _ reason: String) throws(StoreError) {
      for id in try ids(sql) where known.insert(id).inserted {
        damaged.append(Verdict.Damage(id: DocumentID(id), reason: reason))
      }
    }
    try note(SQL.recordsWithoutBody, "its text is missing")
    try note(SQL.recordsWithTwoBodies, "it has two texts")
    try note(SQL.bodiesTooShort, "its text is no blob of its place's length")
    for id in try ids(SQL.bodiesWithoutRecord) { problems.append("a text without a document, \(id)") }
    for coll in try ids(SQL.recordsWithoutCollection) {
      problems.append("collection #\(coll) is gone, but documents of it are there")
    }
    do throws(StoreError) {
      let uids = try transaction.storedCollections().map(\.uid)
      if Set(uids).count != uids.count { problems.append("two collections have one identity") }
    } catch {
      guard !error.isTransient else { throw error }
      problems.append(error.message)
    }
    problems += try integrityProblems(database)
  }
}

/// Returns the findings of SQLite's integrity check. A quick_check would miss most index pages in wrong order.
///
/// The check covers the whole file, because only then does SQLite report lost pages and pages with two owners. It computes
/// the expressions of every table, so the schema is compared first, in the same transaction: another process may have
/// changed it since the file was opened.
///
/// - Throws: Errors that aren't findings: `systemFailure`, `locked`, `cancelled`.
package func integrityProblems(_ database: StoreDatabase) throws(StoreError) -> [String] {
  do throws(StoreError) {
    try Schema.check(database)
  } catch {
    guard !error.isTransient else { throw error }
    return [error.message]
  }
  do throws(SQLiteError) {
    return try database.connection.integrityFindings(SQL.integrity).map { "SQLite: \($0)" }
  } catch {
    let failure = StoreError(error)
    guard !failure.isTransient else { throw failure }
    return ["SQLite can't check its pages: \(error.message)"]
  }
}
