internal import CCofferSQLite
internal import Synchronization

/// The maximum size of an untrusted file's schema.
///
/// SQLite finds names in a table with a fixed size, so a hundred thousand entries or UNIQUE constraints take ten
/// seconds or more. It also reads its statistics, whose columns can be expressions from the file.
package struct SchemaLimits: Sendable {
  /// The maximum number of entries. SQLite gives up between the limit and twice the limit.
  package var entries: Int
  /// The maximum size of the schema in memory, in bytes.
  package var bytes: Int
  /// SQLite's own limits while it reads.
  fileprivate var values: [(limit: Int32, value: Int32)]

  /// Returns the limits for a store's schema, whose expressions don't call functions.
  package static func store(entries: Int) -> SchemaLimits {
    SchemaLimits(
      entries: entries, bytes: entries << 12,
      values: [
        (SQLITE_LIMIT_LENGTH, 1 << 20), (SQLITE_LIMIT_SQL_LENGTH, 1 << 14), (SQLITE_LIMIT_COLUMN, 200),
        (SQLITE_LIMIT_FUNCTION_ARG, 0),
      ])
  }

  /// The limits for other databases.
  package static let foreign = SchemaLimits(
    entries: 100_000, bytes: 32 << 20, values: [(SQLITE_LIMIT_LENGTH, 1 << 20), (SQLITE_LIMIT_SQL_LENGTH, 1 << 20)])

  /// The number of entries between two polls.
  fileprivate static let interval = 10
}

extension Database {
  /// Makes SQLite read the schema, and stops if the schema is too large.
  ///
  /// - Parameter shouldStop: Polled like a stop condition, in addition to the connection's stop condition.
  /// - Throws: `interrupted` if a condition is true, or `corrupt` for a schema beyond the limits, which doesn't have an
  ///   extended code if SQLite gave up. Also throws SQLite's other errors.
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
    // SQLite needs 7 steps or slightly more for each entry.
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

  /// Returns the schema's current memory.
  private static func schemaBytes(_ handle: OpaquePointer) -> Int {
    var (now, most): (Int32, Int32) = (0, 0)
    sqlite3_db_status(handle, SQLITE_DBSTATUS_SCHEMA_USED, &now, &most, 0)
    return Int(now)
  }
}
