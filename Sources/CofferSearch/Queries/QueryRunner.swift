internal import CofferDocuments
package import CofferEngine
package import CofferRecords
package import CofferSQLite

/// Runs an app's SQL in a transaction.
package struct QueryRunner {
  package let transaction: StoreTransaction

  package init(_ transaction: StoreTransaction) {
    self.transaction = transaction
  }

  /// The decoding for row members stored as JSON in a text column, with the stored values' strategies.
  var nestedDecoding: NestedDecoding {
    let values = transaction.values
    return { type, json in try values.value(type, inJSON: json) }
  }

  package func query(
    _ sql: String, _ parameters: [(any SQLiteValueConvertible)?], within limit: Duration?
  ) throws(StoreError) -> QueryResult {
    do throws(StoreError) {
      return try result(of: sql, parameters, within: limit)
    } catch {
      guard error.isIndexDamage else { throw error }
      _ = try StoreIndexes(transaction).rebuildInMemory(IndexPart.contents, error)
      return try result(of: sql, parameters, within: limit)
    }
  }

  private func result(
    of sql: String, _ parameters: [(any SQLiteValueConvertible)?], within limit: Duration?
  ) throws(StoreError) -> QueryResult {
    let (view, statement) = try begin(sql, parameters, within: limit)
    do throws(SQLiteError) {
      let result = try statement.result(decoding: nestedDecoding)
      view.giveBack(statement, to: transaction.connection)
      return result
    } catch {
      let failure = self.error(ofQuery: error, view, isRunning: true)
      view.close(transaction.connection)
      throw failure
    }
  }

  package func withQuery<R>(
    _ sql: String, _ parameters: [(any SQLiteValueConvertible)?], within limit: Duration?,
    _ body: (inout QueryRows) throws -> R
  ) throws -> R {
    let (view, statement) = try beginWithIndexRepair(sql, parameters, within: limit)
    var rows = QueryRows(statement, view, transaction)
    do {
      let result = try body(&rows)
      view.giveBack(statement, to: transaction.connection)
      return result
    } catch {
      view.close(transaction.connection)
      // Rows that were passed on can't be passed again, but the next query can use the index.
      if let damage = error as? StoreError, damage.isIndexDamage {
        _ = try? StoreIndexes(transaction).rebuildInMemory(IndexPart.contents, damage)
      }
      throw error
    }
  }

  private func beginWithIndexRepair(
    _ sql: String, _ parameters: [(any SQLiteValueConvertible)?], within limit: Duration?
  ) throws(StoreError) -> (QueryView, Statement) {
    do throws(StoreError) {
      return try begin(sql, parameters, within: limit)
    } catch {
      guard error.isIndexDamage else { throw error }
      _ = try StoreIndexes(transaction).rebuildInMemory(IndexPart.contents, error)
      return try begin(sql, parameters, within: limit)
    }
  }

  private func begin(
    _ sql: String, _ parameters: [(any SQLiteValueConvertible)?], within limit: Duration?
  ) throws(StoreError) -> (QueryView, Statement) {
    let view = try QueryView.take(sql, for: transaction, within: limit)
    let statement: Statement
    do throws(SQLiteError) {
      statement = try view.compiled(sql, parameters, values: transaction.values)
    } catch {
      let failure = self.error(ofQuery: error, view, isRunning: false)
      view.close(transaction.connection)
      throw failure
    }
    if let notes = transaction.notes { notes.note(view.reads(of: sql).collections) }
    guard let index = view.indexRead(by: sql) else { return (view, statement) }
    do throws(StoreError) {
      // SQLite recompiles the statement if the update changes tables.
      try StoreIndexes(transaction).updateForView(index)
      return (view, statement)
    } catch {
      view.close(transaction.connection)
      throw error
    }
  }

  // MARK: Errors

  /// Returns the error for an app's query. The message may quote the SQL but never a value.
  func error(ofQuery error: SQLiteError, _ view: QueryView, isRunning: Bool) -> StoreError {
    if let failure = view.failure { return failure }
    if let failure = view.indexFailure(error) { return failure }
    let table = view.table
    switch error.code {
    case .interrupted: return table.stop ?? StoreError(.cancelled, "the query was ended before it was done")
    case .noMemory: return StoreError(.systemFailure, "no memory left for the query")
    case .tooBig: return StoreError(.tooLarge, "a value of the query is longer than SQLite takes")
    case .notAllowed:
      return StoreError(
        .invalidArgument, "a query may only read: one SELECT over \(DocumentTable.name)",
        hint: "no ATTACH, no PRAGMA, no change")
    case _ where isRunning:
      let isJSON = error.message.hasPrefix("malformed JSON")
      let id = isJSON ? documentWithInvalidJSON(table.readings) : table.readings.last?.id
      let place = id.map { " at document \($0)" } ?? ""
      return StoreError(
        .queryFailed, "the query failed\(place): \(error.message)",
        hint: isJSON ? "read the column json in place of text: it is NULL for a text that is no JSON" : nil,
        documentID: id)
    default:
      // The query can name a field or table of words that was declared.
      let isMissing = error.message.hasPrefix("no such ")
      if isMissing, let lost = try? StoreIndexes(transaction).lostDeclaration(of: IndexPart.contents) { return lost }
      return StoreError(.invalidArgument, "the query can't be run: \(error.message)")
    }
  }

  /// Returns the last read document whose text isn't JSON, or the last read document if the query didn't read texts.
  private func documentWithInvalidJSON(_ readings: [DocumentTable.Reading]) -> DocumentID? {
    let texts = readings.reversed().filter(\.withText)
    let found = texts.first { reading in
      let isJSON = try? transaction.withOpened(reading.id) { opened throws(StoreError) in
        JSONScanner.isJSON(opened.utf8)
      }
      return isJSON == false
    }
    return found?.id ?? (texts.isEmpty ? readings.last?.id : nil)
  }
}
