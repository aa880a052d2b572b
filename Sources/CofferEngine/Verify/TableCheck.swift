internal import CofferRecords
internal import CofferSQLite

/// A check of how the rows of the tables fit together, and of SQLite's pages.
struct TableCheck {
  private(set) var damaged: [Verdict.Damage] = []
  private(set) var problems: [String] = []
  private var known: Set<Int64> = []
  /// The number of texts in the separate table whose documents don't have a text in their row.
  private let bodiesBesideRecords: Int64?

  /// Checks everything except whether a text is missing, which ``addMissingTexts(_:after:)`` does after the walk.
  ///
  /// - Throws: Errors that aren't findings: `systemFailure`, `locked`, `cancelled`.
  init(_ transaction: StoreTransaction) throws(StoreError) {
    let database = transaction.database
    bodiesBesideRecords = try Self.unlessDamaged { () throws(StoreError) in
      try database.integer(SQL.bodiesBesideRecords)
    }
    try note(SQL.recordsWithTwoBodies, "it has two texts", database)
    try note(SQL.bodiesTooShort, "its text is no blob of its place's length", database)
    for id in try Self.ids(SQL.bodiesWithoutRecord, database) { problems.append("a text without a document, \(id)") }
    for coll in try Self.ids(SQL.recordsWithoutCollection, database) {
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

  /// Adds the documents whose text is missing.
  ///
  /// A complete walk counts the documents without a text in their row. If the separate table has as many matching
  /// texts, all texts exist, and the rows aren't read again.
  mutating func addMissingTexts(
    _ transaction: StoreTransaction, after sum: StoreTransaction.RowSum
  ) throws(StoreError) {
    guard !sum.isComplete || bodiesBesideRecords != Int64(sum.bodiesBesideRecords) else { return }
    try note(SQL.recordsWithoutBody, "its text is missing", transaction.database)
  }

  private mutating func note(_ sql: String, _ reason: String, _ database: StoreDatabase) throws(StoreError) {
    for id in try Self.ids(sql, database) where known.insert(id).inserted {
      damaged.append(Verdict.Damage(id: DocumentID(id), reason: reason))
    }
  }

  private static func ids(_ sql: String, _ database: StoreDatabase) throws(StoreError) -> [Int64] {
    try unlessDamaged { () throws(StoreError) in
      try database.rows(sql).compactMap { if case .integer(let id) = $0[0] { id } else { nil } }
    } ?? []
  }

  /// Runs a query. Returns `nil` if the pages are corrupt, which the integrity check reports.
  private static func unlessDamaged<R>(_ query: () throws(StoreError) -> R?) throws(StoreError) -> R? {
    do throws(StoreError) {
      return try query()
    } catch {
      guard !error.isTransient else { throw error }
      return nil
    }
  }
}

/// Returns the findings of SQLite's integrity check. A quick_check would miss most index pages in wrong order.
///
/// The check covers the whole file, because only then does SQLite report lost pages and pages with two owners. It
/// computes the expressions of every table, so the schema is first compared in the same transaction, because another
/// process may have changed it since the file was opened.
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
