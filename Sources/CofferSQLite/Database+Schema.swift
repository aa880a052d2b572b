internal import CCofferSQLite
internal import Synchronization

/// The size of a schema that SQLite may read from a stranger's file.
///
/// SQLite finds names in a table that doesn't grow with them: a hundred thousand entries, or as many UNIQUE constraints,
/// take it ten seconds and more. It also reads its statistics, whose columns may be expressions of the file.
package struct SchemaLimits: Sendable {
  /// The number of entries. SQLite gives up at some number between the limit and twice as many.
  package var entries: Int
  /// The bytes of the schema in memory.
  package var bytes: Int
  /// SQLite's own limits while it reads.
  fileprivate var values: [(limit: Int32, value: Int32)]

  /// The limits of a store's schema, whose expressions don't call functions.
  package static func store(entries: Int) -> SchemaLimits {
    SchemaLimits(
      entries: entries, bytes: entries << 12,
      values: [
        (SQLITE_LIMIT_LENGTH, 1 << 20), (SQLITE_LIMIT_SQL_LENGTH, 1 << 14), (SQLITE_LIMIT_COLUMN, 200),
        (SQLITE_LIMIT_FUNCTION_ARG, 0),
      ])
  }

  /// The limits of any other database.
  package static let foreign = SchemaLimits(
    entries: 100_000, bytes: 32 << 20, values: [(SQLITE_LIMIT_LENGTH, 1 << 20), (SQLITE_LIMIT_SQL_LENGTH, 1 << 20)])

  /// The number of entries between two questions.
  fileprivate static let interval = 10
}

extension Database {
  /// Has SQLite read the schema, and give up if the schema is too large.
  ///
  /// - Parameter shouldStop: Polled like a stop condition, besides the condition that is set.
  /// - Throws: `interrupted` if a condition is true, `corrupt` for a schema beyond the limits, which has no extended code
  ///   if SQLite gave up, and others.
  package func readSchema(
    within limits: SchemaLimits, shouldStop: (@Sendable () -> Bool)? = nil
  ) throws(SQLiteError) {
    let handle = try connection.open()
    let before = limits.values.map { sqlite3_limit(handle, $0.limit, $0.value) }
    defer { for (each, value) in zip(limits.values, before) { sqlite3_limit(handle, each.limit, value) } }
    let outer = connection.stopCondition?.shouldStop
    defer { try? connection.setStopCondition(outer) }
    let polls = Atomic(0)
    let gaveUp = Atomic(false)
    nonisolated(unsafe) let database = handle
    // An entry takes SQLite 7 steps or a few more.
    try connection.setStopCondition(every: 12 * Int32(SchemaLimits.interval)) {
      if shouldStop?() == true || outer?() == true { return true }
      let entries = polls.add(SchemaLimits.interval, ordering: .relaxed).newValue
      guard entries >= limits.entries || Self.schemaBytes(database) > limits.bytes else { return false }
      gaveUp.store(true, ordering: .relaxed)
      return true
    }
    do {
      try statement("SELECT count(*) FROM sqlite_schema").run()
    } catch {
      guard gaveUp.load(ordering: .relaxed) else { throw error }
      throw SQLiteError(.corrupt, "the schema has more entries or columns than this program reads")
    }
  }

  /// Returns the memory of the schema so far.
  private static func schemaBytes(_ handle: OpaquePointer) -> Int {
    var (now, most): (Int32, Int32) = (0, 0)
    sqlite3_db_status(handle, SQLITE_DBSTATUS_SCHEMA_USED, &now, &most, 0)
    return Int(now)
  }
}
